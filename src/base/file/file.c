#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/say.h"

/* The errors that open gives for a link that it may not follow and for a FIFO without a reader; and
 * that of a pipe without a writer. They stand for all of their kind. */
enum { IS_LINK = ELOOP, IS_SPECIAL = ENXIO, IS_SILENT = EPIPE };

const char *hps_file_why(int error)
{
    switch (error) {
    case IS_LINK:
        return "a symbolic link has this name, and none is followed here";
    case IS_SPECIAL:
        return "not a regular file";
    case IS_SILENT:
        return "nobody writes to this pipe";
    case ETIMEDOUT:
        return "nothing comes from this pipe";
    default:
        return strerror(error);
    }
}

static int kind_error(mode_t mode)
{
    return S_ISREG(mode) ? 0 : S_ISLNK(mode) ? IS_LINK : S_ISDIR(mode) ? EISDIR : IS_SPECIAL;
}

bool hps_file_fits(const char *path)
{
    struct stat facts;

    if (lstat(path, &facts) != 0) return errno == ENOENT;
    errno = kind_error(facts.st_mode);
    return errno == 0;
}

/* A descriptor that goes on only where it is a regular file's. */
static int regular(int fd)
{
    struct stat facts;
    int error = 0;

    if (fd < 0) return fd;
    if (fstat(fd, &facts) != 0)
        error = errno;
    else
        error = kind_error(facts.st_mode);
    if (error == 0) return fd;
    close(fd);
    errno = error;
    return -1;
}

int hps_file_open(const char *path, int flags)
{
    return regular(open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
}

int hps_file_new(const char *path, int flags)
{
    int mine, fd, error;

    if (unlink(path) != 0 && errno != ENOENT) return -1;
    mine = open(path, flags | O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    fd = regular(mine);
    error = errno;
    if (mine >= 0 && fd < 0) unlink(path);
    errno = error;
    return fd;
}

bool hps_file_put_pieces(int fd, struct iovec *piece, int n, uint64_t at)
{
    while (n > 0) {
        ssize_t done = pwritev(fd, piece, n < IOV_MAX ? n : IOV_MAX, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done == 0) errno = ENOSPC;  /* a write of no bytes without an error */
        if (done <= 0) return false;
        at += (uint64_t)done;
        for (; n > 0 && (size_t)done >= piece->iov_len; piece++, n--)
            done -= (ssize_t)piece->iov_len;
        if (n == 0) return true;
        piece->iov_base = (char *)piece->iov_base + done;
        piece->iov_len -= (size_t)done;
    }
    return true;
}

int hps_file_scratch(const char *directory)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
    char *path = hps_mem_print("%s/.heterps-rows-XXXXXX", directory);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0 && unlink(path) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        fd = -1;
    }
    hps_mem_free(path);
    return fd;
}

bool hps_file_put(int fd, const void *from, size_t n, uint64_t at)
{
    struct iovec piece = { NULL, n };

    memcpy(&piece.iov_base, &from, sizeof from);        /* a write does not change it */
    return hps_file_put_pieces(fd, &piece, 1, at);
}

bool hps_file_sync(const char *path)
{
    int fd = hps_file_open(path, O_WRONLY);
    bool good = fd >= 0 && fsync(fd) == 0;
    int why = errno;

    if (fd >= 0 && close(fd) != 0 && good) return false;
    errno = why;
    return good;
}

bool hps_file_replace(const char *path, const char *part, const char *text)
{
    int fd = hps_file_fits(path) ? hps_file_new(part, 0) : -1, error;

    if (fd < 0) return false;
    bool good = hps_file_put(fd, text, strlen(text), 0);
    error = errno;
    if (close(fd) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good && rename(part, path) == 0) return true;
    error = good ? errno : error;
    unlink(part);
    errno = error;
    return false;
}

enum hps_status hps_file_save(const char *path, const char *text)
{
    char *part = hps_mem_print("%s.part", path);
    bool good = hps_file_replace(path, part, text);
    const char *why = hps_file_why(errno);

    if (!good)
        HPS_SAY_ALL(HPS_ERROR, "%s: cannot be written: %s", hps_file_fits(path) ? part : path, why);
    hps_mem_free(part);
    return good ? HPS_OK : HPS_OUTPUT;
}

/* ---- a user's text ---- */

/* A pipe under way. A read of 0 bytes is its end, unless no writer has come yet. */
struct pipe {
    int fd;
    bool began, late, waits;    /* bytes came, or a writer left; none came in time; it may wait */
};

/* Wait for what read(2) said to wait for; false with errno. */
static bool wait_more(struct pipe *p, bool writer)
{
    const int writer_ms = 3000, bytes_ms = 60000;
    struct pollfd request = { p->fd, POLLIN, 0 };
    int n = 0;

    if (writer || !p->late) n = poll(&request, 1, writer ? bytes_ms : writer_ms);
    if (n < 0) return errno == EINTR;
    p->began = p->began || (n > 0 && (request.revents & POLLHUP));
    if (n > 0 || (!writer && !p->late)) {
        p->late = n == 0;       /* one read more: a writer may have come and gone meanwhile */
        return true;
    }
    errno = writer ? ETIMEDOUT : IS_SILENT;
    return false;
}

/* The next bytes: how many, 0 at the end, -1 with errno. */
static ssize_t next_bytes(struct pipe *p, char *to, size_t size)
{
    for (;;) {
        ssize_t n = read(p->fd, to, size);
        if (n > 0) p->began = true;
        if (n > 0 || (n == 0 && (p->began || !p->waits))) return n;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno != EAGAIN) return -1;
        if (!wait_more(p, n < 0)) return -1;
    }
}

bool hps_file_read(char **text, size_t *length, size_t max, const char *path)
{
    struct pipe p = { open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), false, false, false };
    struct stat facts;
    size_t cap = 0;
    ssize_t n = p.fd < 0 ? -1 : 1;

    *text = NULL;
    *length = 0;
    p.waits = n > 0 && fstat(p.fd, &facts) == 0 && S_ISFIFO(facts.st_mode);
    while (n > 0 && *length <= max) {
        hps_mem_grow(text, &cap, *length + 65536, 1);
        n = next_bytes(&p, *text + *length, cap - *length);
        *length += n > 0 ? (size_t)n : 0;
    }
    int error = errno;
    if (p.fd >= 0) close(p.fd);
    if (n >= 0) return true;
    hps_mem_free(*text);
    *text = NULL;
    errno = error;
    return false;
}
