/* status_file.c - replaces a file atomically, or overwrites it on a full disk. */
#include "life/status_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

enum { SIZE = 1024 };   /* of a status in bytes; a longer one has several of these */

/* The text padded with blanks to a multiple of SIZE, n bytes, ending in a newline. To free. */
static char *fill_up(const char *text, size_t *n)
{
    size_t length = strlen(text);
    char *full;

    while (length > 0 && text[length - 1] == '\n')
        length--;
    *n = (length / SIZE + 1) * SIZE;
    full = hps_mem_new(*n + 1, 1);
    memset(full, ' ', *n);
    memcpy(full, text, length);
    full[*n - 1] = '\n';
    return full;
}

static bool put(int fd, const char *full, size_t n)
{
    ssize_t done = fd < 0 ? -1 : pwrite(fd, full, n, 0);

    if (done >= 0 && (size_t)done < n) errno = ENOSPC;
    return done == (ssize_t)n;
}

/* Overwrite only where the file is large enough: half a status would be useless. */
static bool write_over(const char *path, const char *full, size_t n)
{
    int fd = hps_file_open(path, O_WRONLY);
    struct stat facts;
    bool good = fd >= 0 && fstat(fd, &facts) == 0 && facts.st_size == (off_t)n && put(fd, full, n);

    if (fd >= 0) close(fd);
    return good;
}

bool hps_status_write(const char *path, const char *part, const char *text)
{
    size_t n;
    char *full = fill_up(text, &n);
    bool good = hps_file_replace(path, part, full);
    int why = errno;

    if (!good) good = write_over(path, full, n);
    if (!good) errno = why;
    hps_mem_free(full);
    return good;
}
