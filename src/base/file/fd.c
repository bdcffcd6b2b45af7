/* fd.c - all file descriptors of this process at once, as /proc lists them. */
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { USUAL = 1024 };          /* where there is no /proc: those below this */

/* One by one, those that there may be. */
static bool for_usual(bool (*act)(int fd, const void *with), const void *with)
{
    bool good = true;

    for (int fd = 0; fd < USUAL; fd++)
        good = act(fd, with) && good;
    return good;
}

static bool for_each(bool (*act)(int fd, const void *with), const void *with)
{
    DIR *list = opendir("/proc/self/fd");
    struct dirent *e;
    bool good = true;

    if (!list) return for_usual(act, with);
    while (errno = 0, (e = readdir(list))) {
        int fd = atoi(e->d_name);
        if (e->d_name[0] != '.' && fd != dirfd(list)) good = act(fd, with) && good;
    }
    int why = errno;
    closedir(list);
    return why ? for_usual(act, with) && good : good;   /* the list broke off */
}

static bool close_other(int fd, const void *keep)
{
    if (fd > STDERR_FILENO && fd != *(const int *)keep) close(fd);
    return true;
}

void hps_fd_keep_only(int keep)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (nothing < 0 || dup2(nothing, fd) < 0) close(fd);
    for_each(close_other, &keep);
}

struct diversion {
    const struct stat *file;
    int with;
};

static bool divert(int fd, const void *diversion)
{
    const struct diversion *d = diversion;
    struct stat facts;

    if (fd == d->with || fstat(fd, &facts) != 0 || facts.st_dev != d->file->st_dev ||
        facts.st_ino != d->file->st_ino)
        return true;
    return dup3(d->with, fd, O_CLOEXEC) >= 0;
}

bool hps_fd_divert(const struct stat *file, int with)
{
    const struct diversion d = { file, with };

    return for_each(divert, &d);
}
