/* ckpt_write.c - plain writes at the offsets of the HDF5 datasets. */
#include "train/ckpt_write.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "base/direct_file.h"
#include "base/finite.h"
#include "base/mem.h"

/* Of one call, which makes progress visible. */
enum { WRITE_BYTES = 4 << 20, PIECES = 4096 };

struct out {
    struct hps_ckpt_write *w;
    struct hps_direct_file file;
    struct hps_background_end *end;
};

static bool fail(struct out *o, const char *what)
{
    o->end->status = HPS_OUTPUT;
    snprintf(o->end->why, sizeof o->end->why, "%s: %s: %s", o->w->path, what, strerror(errno));
    return false;
}

/* The next rows of a snapshot; false: there are no more, or they cannot be read. */
static bool take(struct out *o, const struct hps_ckpt_item *it, float *x, long long *first,
                 long long *n)
{
    *n = hps_snapshot_take(it->snapshot, first, x);
    if (*n >= 0) return *n > 0;
    o->end->status = HPS_OUTPUT;
    snprintf(o->end->why, sizeof o->end->why, "%s: rows of %s cannot be read", o->w->path, it->of);
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

/* After a write of so many bytes. */
static bool wrote(struct out *o, bool good, size_t bytes)
{
    if (!good) return fail(o, "cannot be written");
    atomic_fetch_add(&o->w->bytes, (long long)bytes);
    return !atomic_load(&o->w->quit);
}

static bool put(struct out *o, const void *from, size_t bytes, uint64_t at)
{
    bool good = true;

    for (size_t i = 0; good && i < bytes; i += WRITE_BYTES) {
        size_t n = bytes - i < WRITE_BYTES ? bytes - i : WRITE_BYTES;
        good = wrote(o, hps_direct_put(&o->file, (const char *)from + i, n, at + i), n);
    }
    return good;
}

static bool put_array(struct out *o, struct hps_ckpt_item *it)
{
    size_t n = (size_t)it->rows * (size_t)it->width;

    it->sum = hps_ckpt_block_sum(0, it->copy, n);
    return judge(o, it, it->copy, n) && put(o, it->copy, n * sizeof *it->copy, it->offset);
}

/* The file offset of a block of a table. */
static uint64_t offset_of(const struct hps_ckpt_item *it, long long block)
{
    return it->offset + (uint64_t)(block * HPS_CYCLIC_BLOCK) * (uint64_t)it->width * sizeof(float);
}

/* Add rows first .. first + n - 1 of this rank, complete blocks but for the last, to the
 * checksum; with `alone`, write each block, which are apart in the file. */
static bool put_blocks(struct out *o, struct hps_ckpt_item *it, long long first, long long n,
                       const float *x, bool alone)
{
    struct hps_shard t = hps_snapshot_shard(it->snapshot);

    for (long long r = 0; r < n; r += HPS_CYCLIC_BLOCK) {
        long long rows = n - r < HPS_CYCLIC_BLOCK ? n - r : HPS_CYCLIC_BLOCK;
        long long block = (first + r) / HPS_CYCLIC_BLOCK * t.parts + t.part;
        const float *from = x + (size_t)r * t.stride;
        size_t floats = (size_t)rows * t.stride;
        it->sum += hps_ckpt_block_sum((uint64_t)block, from, floats);
        if (alone && !put(o, from, floats * sizeof *x, offset_of(it, block))) return false;
    }
    return true;
}

/* Write a table that this rank alone has. */
static bool put_table(struct out *o, struct hps_ckpt_item *it)
{
    size_t stride = hps_snapshot_shard(it->snapshot).stride;
    float *x = hps_mem_new((size_t)hps_snapshot_chunk(it->snapshot) * stride, sizeof *x);
    long long first, n = 0;
    bool good = true;

    while (good && take(o, it, x, &first, &n)) {
        size_t bytes = (size_t)n * stride * sizeof *x;
        uint64_t at = offset_of(it, first / HPS_CYCLIC_BLOCK);
        good = judge(o, it, x, (size_t)n * stride) && put_blocks(o, it, first, n, x, false) &&
               put(o, x, bytes, at);
    }
    hps_mem_free(x);
    return good && n == 0;
}

/* Take this rank's next rows of a shared table. */
static bool take_chunk(struct out *o, const struct hps_gather_job *job)
{
    struct hps_ckpt_item *it = job->item;
    long long first, n;

    return take(o, it, job->x, &first, &n) && n == job->rows &&
           judge(o, it, job->x, (size_t)(n * it->width)) &&
           put_blocks(o, it, first, n, job->x, job->alone);
}

/* Write blocks i to n - 1 of a band, or as many as fit. Returns the next one, -1: failed. */
static long long put_run(struct out *o, const struct hps_gather_job *job, long long i, long long n)
{
    size_t width = (size_t)job->item->width, block = HPS_CYCLIC_BLOCK * width, bytes = 0;
    long long parts = hps_snapshot_shard(job->item->snapshot).parts, first = i;
    struct iovec piece[PIECES];
    int npiece = 0;

    for (; i < n && npiece < PIECES && bytes < WRITE_BYTES; i++) {
        long long left = job->rows - i * HPS_CYCLIC_BLOCK, p = i % parts;
        if (job->lacks && job->lacks[p]) break;
        float *x = job->x + (size_t)p * job->chunk + (size_t)(i / parts) * block;
        size_t rows = left < HPS_CYCLIC_BLOCK ? (size_t)left : HPS_CYCLIC_BLOCK;
        piece[npiece++] = (struct iovec){ x, rows * width * sizeof *x };
        bytes += rows * width * sizeof *x;
    }
    uint64_t at = offset_of(job->item, job->first / HPS_CYCLIC_BLOCK + first);
    return wrote(o, hps_direct_put_pieces(&o->file, piece, npiece, at), bytes) ? i : -1;
}

/* Write a band, without the blocks of ranks that wrote theirs alone. */
static bool put_band(struct out *o, const struct hps_gather_job *job)
{
    const struct hps_ckpt_item *it = job->item;
    long long n = (job->rows + HPS_CYCLIC_BLOCK - 1) / HPS_CYCLIC_BLOCK, i = 0;
    int parts = hps_snapshot_shard(it->snapshot).parts;

    while (0 <= i && i < n) {
        bool lacks = job->lacks && job->lacks[i % parts];
        i = lacks ? i + 1 : put_run(o, job, i, n);
    }
    return i == n;
}

static bool put_shared(struct out *o)
{
    struct hps_gather_job job;
    bool good = true;

    while (good && hps_gather_next(o->w->gather, &job, &o->w->quit)) {
        good = job.write ? put_band(o, &job) : take_chunk(o, &job);
        if (good) hps_gather_done(o->w->gather, &job);
    }
    return good;
}

static bool put_all(struct out *o)
{
    bool good = true;

    for (int i = 0; good && i < o->w->n; i++) {
        struct hps_ckpt_item *it = &o->w->item[i];
        if (it->copy) good = put_array(o, it);
        if (good && it->snapshot && hps_snapshot_shard(it->snapshot).parts == 1)
            good = put_table(o, it);
    }
    return good && (!o->w->gather || put_shared(o));
}

void hps_ckpt_write(void *write, struct hps_background_end *end)
{
    struct hps_ckpt_write *w = write;
    struct out o = { .w = w, .end = end };

    bool good = hps_direct_open(&o.file, w->path) || fail(&o, "cannot be opened");
    good = good && put_all(&o);
    for (int i = 0; i < w->n; i++) /* the main thread need not keep rows any more */
        if (w->item[i].snapshot) hps_snapshot_quit(w->item[i].snapshot);
    if (good && !hps_direct_sync(&o.file)) good = fail(&o, "cannot be written");
    if (o.file.fd >= 0 && !hps_direct_close(&o.file) && good) fail(&o, "cannot be written");
}
