/* ckpt_write.c - plain writes at the places that HDF5 gave. What was written starts on its way to
 * the disk at once, so that the sync at the end finds little left. */
#include "train/ckpt_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/finite.h"
#include "base/mem.h"

enum { PIECE_BYTES = 4 << 20 };

struct out {
    struct hps_ckpt_write *w;
    int fd;
    struct hps_errand_end *end;
};

static bool fail(struct out *o, const char *what)
{
    o->end->status = HPS_OUTPUT;
    snprintf(o->end->why, sizeof o->end->why, "%s: %s: %s", o->w->path, what, strerror(errno));
    return false;
}

static bool judge(struct out *o, const struct hps_ckpt_item *it, const float *x, size_t n)
{
    if (hps_first_not_finite(x, n) == n) return true;
    o->end->status = HPS_DECK;
    snprintf(o->end->why, sizeof o->end->why,
             "%s %s has a weight that is not finite: no checkpoint is kept", it->kind, it->of);
    return false;
}

static bool put(struct out *o, const void *from, size_t bytes, uint64_t at)
{
    const char *x = from;

    while (bytes > 0) {
        size_t most = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
        ssize_t done = pwrite(o->fd, x, most, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return fail(o, "cannot be written");
        x += done;
        at += (uint64_t)done;
        bytes -= (size_t)done;
        atomic_fetch_add(&o->w->bytes, done);
        if (atomic_load(&o->w->quit)) return false;
    }
    return true;
}

/* So many bytes from here on need not wait for the sync. */
static void send_off(const struct out *o, uint64_t at, uint64_t bytes)
{
    sync_file_range(o->fd, (off_t)at, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
}

static bool put_array(struct out *o, struct hps_ckpt_item *it)
{
    size_t n = (size_t)it->rows * (size_t)it->width;

    it->sum = hps_ckpt_piece(0, it->copy, n);
    if (!judge(o, it, it->copy, n) || !put(o, it->copy, n * sizeof *it->copy, it->offset))
        return false;
    send_off(o, it->offset, n * sizeof *it->copy);
    return true;
}

/* Local rows first .. first + n - 1, whole blocks but for the last. Blocks of a shard lie apart in
 * the file, unless it is the whole table. */
static bool put_rows(struct out *o, struct hps_ckpt_item *it, long long first, long long n,
                     const float *x)
{
    const struct hps_table *t = hps_snap_table(it->snap);
    uint64_t row = t->stride * sizeof *x, at = it->offset, begin = 0;

    for (long long r = 0; r < n; r += HPS_TABLE_BLOCK) {
        long long rows = n - r < HPS_TABLE_BLOCK ? n - r : HPS_TABLE_BLOCK;
        long long block = (first + r) / HPS_TABLE_BLOCK * t->parts + t->part;
        const float *from = x + (size_t)r * t->stride;
        at = it->offset + (uint64_t)block * HPS_TABLE_BLOCK * row;
        if (r == 0) begin = at;
        it->sum += hps_ckpt_piece((uint64_t)block, from, (size_t)rows * t->stride);
        if (t->parts > 1 && !put(o, from, (size_t)rows * row, at)) return false;
    }
    if (t->parts == 1 && !put(o, x, (size_t)n * row, begin)) return false;
    send_off(o, begin, at - begin + HPS_TABLE_BLOCK * row);
    return true;
}

static bool put_table(struct out *o, struct hps_ckpt_item *it)
{
    size_t stride = hps_snap_table(it->snap)->stride;
    float *x = hps_mem_new((size_t)hps_snap_chunk(it->snap) * stride, sizeof *x);
    long long first, n;
    bool good = true;

    while (good && (n = hps_snap_take(it->snap, &first, x)) > 0)
        good = judge(o, it, x, (size_t)n * stride) && put_rows(o, it, first, n, x);
    hps_mem_free(x);
    return good;
}

static bool put_all(struct out *o)
{
    bool good = true;

    for (int i = 0; good && i < o->w->n; i++) {
        struct hps_ckpt_item *it = &o->w->item[i];
        if (it->copy) good = put_array(o, it);
        if (good && it->snap) good = put_table(o, it);
    }
    return good;
}

void hps_ckpt_write(void *write, struct hps_errand_end *end)
{
    struct hps_ckpt_write *w = write;
    struct out o = { w, open(w->path, O_WRONLY | O_CLOEXEC), end };

    bool good = o.fd >= 0 || fail(&o, "cannot be opened");
    good = good && put_all(&o);
    for (int i = 0; i < w->n; i++) /* who still keeps rows for me may stop */
        if (w->item[i].snap) hps_snap_quit(w->item[i].snap);
    if (good && fsync(o.fd) != 0) good = fail(&o, "cannot be written");
    if (o.fd >= 0 && close(o.fd) != 0 && good) fail(&o, "cannot be written");
}
