/* reader_fill.c - assembles a step: finds the blocks of its examples, then copies row by row. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/key_sort.h"
#include "base/mem.h"
#include "base/multiversion.h"
#include "data/reader_impl.h"

enum { PREFETCH = 16 };         /* examples that are prefetched ahead */

static void sort_short(long long *a, long long n)
{
    for (long long i = 1; i < n; i++) {
        long long x = a[i], j = i;
        for (; j > 0 && a[j - 1] > x; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

/* The examples of a micro-batch sorted by position; this rank's share is *mine .. *mine + n. */
static long long share_of_rows(struct hps_reader *r, long long epoch, long long position,
                               long long n, const long long **mine)
{
    long long first = hps_share(n, r->parts, r->part), *sorted = r->example;

    hps_order_rows(&r->order, &r->memo, epoch, position, n, r->example);
    if (r->order.shuffle && n <= 64)
        sort_short(r->example, n);
    else if (r->order.shuffle)
        sorted = hps_key_sort(r->example, r->spare, (size_t)n, sizeof *sorted, true);
    *mine = sorted + first;
    return hps_share(n, r->parts, r->part + 1) - first;
}

static enum hps_status find_blocks(struct hps_reader *r, const long long *example, long long n,
                                   long long mark)
{
    long long end = 0;              /* of the block under way */
    size_t record_bytes = r->blocks.record_bytes;
    const struct hps_block *block = NULL;
    enum hps_status s = HPS_OK;

    for (long long i = 0; i < n && !s; i++) {
        if (example[i] >= end) {
            s = hps_blocks_get(&r->blocks, hps_blocks_of(r->data, example[i]), mark, &block);
            end = s ? 0 : block->first + block->rows;
        }
        r->block[i] = block;
        r->record[i] = s ? NULL
                         : block->record + (size_t)(example[i] - block->first) * record_bytes;
    }
    return s;
}

/* Copy the ids of a record to row i of their columns. */
HPS_INLINE void gather_singles(const struct hps_reader *r, const char *record, long long i,
                               bool wide)
{
    const uint32_t *narrow = (const uint32_t *)(const void *)record;
    const long long *id = (const long long *)(const void *)record;

    for (int j = 0; j < r->nsingle; j++)
        if (wide)
            ((long long *)r->single[j])[i] = id[j];
        else
            ((uint32_t *)r->single[j])[i] = narrow[j];
}

/* Prefetch a record: it is anywhere in a window. */
static void fetch(const char *from, size_t bytes)
{
    enum { LINE = 64 };

    for (size_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch(from + at);
}

/* Copy records row by row, prefetching those of later rows. */
static void gather_records(const struct hps_reader *r, struct hps_batch_buffer *t, long long row,
                           long long n)
{
    const size_t D = t->dense ? (size_t)r->data->D : 0, bytes = r->blocks.record_bytes;
    const size_t label_at = r->blocks.label_at, dense_at = r->blocks.dense_at;
    const char *const *records = r->record;
    float *label = t->label ? t->label + row : NULL, *dense = D ? t->dense + row * (long long)D : 0;

    for (int j = 0; j < r->nsingle; j++)
        r->single[j] = (char *)t->ids[r->single_slot[j]] +
                       (size_t)row * hps_ids_size(r->blocks.wide);
    for (long long i = 0; i < n; i++) {
        const char *record = records[i];
        fetch(records[i + PREFETCH < n ? i + PREFETCH : i], bytes);
        if (r->blocks.wide)
            gather_singles(r, record, i, true);
        else
            gather_singles(r, record, i, false);
        if (label) memcpy(label + i, record + label_at, sizeof *label);
        if (dense) memcpy(dense + (size_t)i * D, record + dense_at, D * sizeof *dense);
    }
}

/* Find the ids of each example of a micro-batch in slot j, and fill in the offsets, which begin
 * at 0 for each micro-batch. HPS_DECK: more ids than an int can count. */
static enum hps_status find_multi(struct hps_reader *r, int j, const long long *example,
                                  long long n, int *offset)
{
    size_t total = 0, size = hps_ids_size(r->blocks.wide);

    offset[0] = 0;
    for (long long i = 0; i < n; i++) {
        const struct hps_block *b = r->block[i];
        const long long *o = b->offset[j] + example[i] - b->first;
        total += (size_t)(o[1] - o[0]);
        if (total > INT_MAX) {
            snprintf(r->blocks.why, sizeof r->blocks.why,
                     "%s: slot %s: a micro-batch has more than %d ids", r->data->path,
                     r->data->slot[j].name, INT_MAX);
            return HPS_DECK;
        }
        offset[i + 1] = (int)total;
        /* a block without ids has no array of them */
        r->bag[i] = b->ids[j] ? (const char *)b->ids[j] + (size_t)o[0] * size : NULL;
    }
    return HPS_OK;
}

/* Append to the buffer's column at *filled. */
static enum hps_status gather_multi(struct hps_reader *r, struct hps_batch_buffer *t, int j,
                                    const long long *example, long long n, int *offset,
                                    size_t *filled)
{
    enum { MAX_PREFETCH = 512 };    /* bytes of a long bag */
    size_t size = hps_ids_size(r->blocks.wide);
    enum hps_status s = find_multi(r, j, example, n, offset);

    if (s) return s;
    hps_mem_grow(&t->ids[j], &t->ids_cap[j], *filled + (size_t)offset[n], size);
    char *to = (char *)t->ids[j] + *filled * size;
    for (long long i = 0; i < n; i++) {
        long long next = i + PREFETCH < n ? i + PREFETCH : i;
        size_t bytes = (size_t)(offset[i + 1] - offset[i]) * size;
        size_t ahead = (size_t)(offset[next + 1] - offset[next]) * size;
        fetch(r->bag[next], ahead < MAX_PREFETCH ? ahead : MAX_PREFETCH);
        if (bytes > 0) memcpy(to, r->bag[i], bytes);
        to += bytes;
    }
    *filled += (size_t)offset[n];
    return HPS_OK;
}

static enum hps_status gather_multis(struct hps_reader *r, const struct hps_reader_fill_state *f,
                                     int m, const long long *example, long long n)
{
    struct hps_batch_buffer *t = f->buffer;
    enum hps_status s = HPS_OK;

    for (int j = 0; j < r->data->nslot && !s; j++) {
        if (!r->blocks.slot[j] || !r->data->slot[j].multi) continue;
        s = gather_multi(r, t, j, example, n, t->offset[j] + f->row + m, &f->nid[j]);
    }
    return s;
}

/* The blocks of a window in the order of the files; *n of them. */
static void window_blocks(struct hps_reader *r, long long epoch, long long window, long long *block,
                          long long *n)
{
    long long first, rows = hps_order_span(&r->order, window, &first), example;
    long long most = (rows + HPS_BLOCK_ROWS - 1) / HPS_BLOCK_ROWS;

    *n = 0;
    for (long long i = 0; i < most && !r->order.shuffle; i++)
        block[(*n)++] = hps_blocks_of(r->data, first + i * HPS_BLOCK_ROWS);
    if (!r->order.shuffle) return;
    hps_order_rows(&r->order, &r->next, epoch, first, 1, &example);
    for (long long i = 0; i < most; i++)
        if (r->next.start[i] >= 0) block[(*n)++] = hps_blocks_of(r->data, r->next.start[i]);
    sort_short(block, *n);
}

/* On entering a window, advise the system of the next one. This rank's share of each sorted
 * micro-batch is a range of positions, so it reads about the same range of the window's blocks. */
static void expect_next(struct hps_reader *r, long long epoch, long long window)
{
    enum { MARGIN = 2 };
    long long windows = hps_order_windows(&r->order);
    long long block[HPS_WINDOW_ROWS / HPS_BLOCK_ROWS], n, first, last;

    if (windows == 1 || epoch * windows + window == r->window) return;
    r->window = epoch * windows + window;
    window_blocks(r, epoch + (window + 1 == windows), (window + 1) % windows, block, &n);
    first = hps_share(n, r->parts, r->part) - MARGIN;
    last = hps_share(n, r->parts, r->part + 1) + MARGIN;
    for (long long i = first < 0 ? 0 : first; i < last && i < n; i++)
        hps_blocks_prefetch(&r->blocks, block[i]);
}

/* Drop the blocks of earlier windows, unless there is only one window. */
static enum hps_status fill_batch(struct hps_reader *r, struct hps_reader_fill_state *f, int m,
                                  long long epoch, long long position, long long n)
{
    struct hps_batch_buffer *t = f->buffer;
    const long long *mine;
    long long windows = hps_order_windows(&r->order), before = epoch * windows, last = before;
    enum hps_status s;

    t->batch[m].B = 0;
    t->batch[m].data = r->data;
    if (n > 0) {
        long long first = hps_order_window(&r->order, position);
        last = before + hps_order_window(&r->order, position + n - 1);
        if (windows > 1) hps_blocks_drop(&r->blocks, before + first);
        expect_next(r, epoch, first);
    }
    n = share_of_rows(r, epoch, position, n, &mine);
    s = find_blocks(r, mine, n, last);
    if (s) return s;
    memcpy(t->example + f->row, mine, (size_t)n * sizeof *mine);
    gather_records(r, t, f->row, n);
    s = gather_multis(r, f, m, mine, n);
    t->batch[m].B = (int)n;
    f->row += n;
    return s;
}

/* Columns may have moved while they grew, so the pointers are set when all is filled. */
static void point(const struct hps_reader *r, struct hps_batch_buffer *t)
{
    const bool wide = r->blocks.wide;
    int nslot = r->data->nslot;
    long long row = 0;

    for (int m = 0; m < r->steps.M; row += t->batch[m++].B) {
        struct hps_batch *batch = &t->batch[m];
        batch->example = t->example + row;
        batch->label = t->label ? t->label + row : NULL;
        batch->dense = t->dense ? t->dense + row * r->data->D : NULL;
        batch->ids = t->ids_of + (size_t)m * (size_t)nslot;
        batch->offset = t->offset_of + (size_t)m * (size_t)nslot;
    }
    for (int j = 0; j < nslot; j++) {
        const char *id = t->ids[j];
        row = 0;
        for (int m = 0; m < r->steps.M && r->blocks.slot[j]; row += t->batch[m++].B) {
            int *offset = t->offset[j] ? t->offset[j] + row + m : NULL;
            t->ids_of[m * nslot + j] = (struct hps_ids){ id, wide };
            t->offset_of[m * nslot + j] = offset;
            id += (size_t)(offset ? offset[t->batch[m].B] : t->batch[m].B) * hps_ids_size(wide);
        }
    }
}

enum hps_status hps_reader_fill(struct hps_reader *r, struct hps_reader_fill_state *f,
                                long long step)
{
    long long epoch, position;
    long long n = hps_steps_of_worker(&r->steps, step, r->worker, &epoch, &position);
    int M = r->steps.M;
    enum hps_status s = HPS_OK;

    f->row = 0;
    memset(f->nid, 0, (size_t)r->data->nslot * sizeof *f->nid);
    for (int m = 0; m < M && !s; m++) {
        long long first = hps_share(n, M, m);
        s = fill_batch(r, f, m, epoch, position + first, hps_share(n, M, m + 1) - first);
    }
    if (!s) point(r, f->buffer);
    return s;
}
