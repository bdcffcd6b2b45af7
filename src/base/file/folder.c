/* folder.c - folders for what is written, and where this program lies. */
#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/say.h"

int hps_folder_make(const char *path)
{
    char *p = hps_mem_text(path);
    struct stat facts;
    int rc = 0;
    for (char *s = p + 1; *s && rc == 0; s++) {
        if (*s != '/') continue;
        *s = 0;
        if (mkdir(p, 0777) != 0 && errno != EEXIST) rc = -1;
        *s = '/';
    }
    if (rc == 0 && mkdir(p, 0777) != 0 && errno != EEXIST) rc = -1;
    if (rc == 0 && (stat(p, &facts) != 0 || !S_ISDIR(facts.st_mode))) {
        errno = ENOTDIR;
        rc = -1;
    }
    int why = errno;
    hps_mem_free(p);
    errno = why;
    return rc;
}

bool hps_folder_is(const char *path)
{
    struct stat facts;

    if (lstat(path, &facts) != 0) return false;
    errno = S_ISDIR(facts.st_mode) ? 0 : ENOTDIR;
    return errno == 0;
}

enum hps_status hps_folder_for(const char *file)
{
    char *folder = hps_mem_text(file), *slash = strrchr(folder, '/');
    enum hps_status s = HPS_OK;

    if (slash && slash > folder) {
        *slash = 0;
        if (hps_folder_make(folder) != 0) {
            HPS_SAY(HPS_ERROR, "cannot make the folder %s: %s", folder, strerror(errno));
            s = HPS_OUTPUT;
        }
    }
    hps_mem_free(folder);
    return s;
}

bool hps_folder_list(const char *path, void *with, void (*take)(void *with, const char *name))
{
    DIR *d = opendir(path);

    if (!d) return false;
    for (;;) {
        errno = 0;
        struct dirent *e = readdir(d);
        if (!e) break;
        take(with, e->d_name);
    }
    int why = errno;
    closedir(d);
    errno = why;
    return why == 0;
}

bool hps_folder_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0) return errno == EACCES; /* it may be written and not be read */
    bool good = fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
    int why = errno;
    close(fd); /* nothing was written through it */
    errno = why;
    return good;
}

bool hps_folder_sync_of(const char *file)
{
    char *folder = hps_mem_text(file), *slash = strrchr(folder, '/');

    if (slash) slash[slash == folder] = 0;
    bool good = hps_folder_sync(slash ? folder : ".");
    int why = errno;
    hps_mem_free(folder);
    errno = why;
    return good;
}

char *hps_program(void)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    self[n > 0 ? n : 0] = 0;
    return hps_mem_text(n > 0 ? self : "heterps");
}

char *hps_folder_program(void)
{
    char *self = hps_program(), *slash = strrchr(self, '/');

    if (slash) {
        *slash = 0;
        return self;
    }
    hps_mem_free(self);
    return hps_mem_text(".");
}
