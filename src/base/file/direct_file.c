#include "base/direct_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

/* Direct I/O wants whole pages, in memory and in the file. Of little it is slower: each call waits
 * for the disk. */
enum { PAGE = HPS_DIRECT_PAGE, MIN_BYTES = HPS_DIRECT_MIN_BYTES, BUFFER_BYTES = 4 << 20 };

bool hps_direct_open(struct hps_direct_file *f, const char *path)
{
    *f = (struct hps_direct_file){ .fd = hps_file_open(path, O_WRONLY), .direct = -1 };
    if (f->fd < 0) return false;
    f->direct = hps_file_open(path, O_WRONLY | O_DIRECT);
    return true;
}

/* Through the page cache; the writeback of much begins at once, so that a sync is short. */
static bool put_cached(const struct hps_direct_file *f, struct iovec *piece, int n, size_t bytes,
                       uint64_t at)
{
    bool good = hps_file_put_pieces(f->fd, piece, n, at);

    if (!good || bytes < MIN_BYTES) return good;
    sync_file_range(f->fd, (off_t)at, (off_t)bytes, SYNC_FILE_RANGE_WRITE);     /* a hint */
    return good;
}

/* The next n bytes of the pieces, which are taken off the list. */
static void gather(char *to, size_t n, struct iovec **piece)
{
    while (n > 0) {
        struct iovec *p = *piece;
        size_t some = n < p->iov_len ? n : p->iov_len;
        if (some > 0) memcpy(to, p->iov_base, some);
        to += some;
        n -= some;
        p->iov_base = (char *)p->iov_base + some;
        p->iov_len -= some;
        if (p->iov_len == 0) ++*piece;
    }
}

/* How many of `left` bytes are written by the next call at that place: up to the next page, whole
 * pages, or what is left of one. */
static size_t next_bytes(uint64_t at, size_t left)
{
    size_t to_page = (PAGE - at % PAGE) % PAGE;

    if (to_page > 0) return left < to_page ? left : to_page;
    if (left < PAGE) return left;
    return left < BUFFER_BYTES ? left - left % PAGE : BUFFER_BYTES;
}

/* The first n bytes of the buffer. A file system may take the flag and refuse the write. */
static bool put_buffer(struct hps_direct_file *f, size_t n, uint64_t at)
{
    struct iovec piece = { f->buffer, n };

    if (at % PAGE == 0 && n % PAGE == 0 && f->direct >= 0) {
        if (hps_file_put(f->direct, f->buffer, n, at)) return true;
        if (errno != EINVAL) return false;
        close(f->direct);
        f->direct = -1;
    }
    return put_cached(f, &piece, 1, n, at);
}

bool hps_direct_put_pieces(struct hps_direct_file *f, struct iovec *piece, int n, uint64_t at)
{
    size_t left = 0, some;
    bool good = true;

    for (int i = 0; i < n; i++)
        left += piece[i].iov_len;
    if (f->direct < 0 || left < MIN_BYTES) return put_cached(f, piece, n, left, at);
    if (!f->buffer) f->buffer = hps_mem_new(BUFFER_BYTES, 1);
    for (; good && left > 0; left -= some, at += some) {
        some = next_bytes(at, left);
        gather(f->buffer, some, &piece);
        good = put_buffer(f, some, at);
    }
    return good;
}

bool hps_direct_put(struct hps_direct_file *f, const void *from, size_t n, uint64_t at)
{
    struct iovec piece = { NULL, n };

    memcpy(&piece.iov_base, &from, sizeof from);        /* a write does not change it */
    return hps_direct_put_pieces(f, &piece, 1, at);
}

bool hps_direct_sync(struct hps_direct_file *f)
{
    return fsync(f->fd) == 0;
}

bool hps_direct_close(struct hps_direct_file *f)
{
    bool good = close(f->fd) == 0;
    int why = errno;

    if (f->direct >= 0) close(f->direct);
    hps_mem_free(f->buffer);
    *f = (struct hps_direct_file){ -1, -1, NULL };
    errno = why;
    return good;
}
