/* reader.c - a thread that puts whole steps together ahead of time, in a ring of trays. */
#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/block.h"
#include "model/data.h"

enum { AHEAD = 6 };                 /* examples that are fetched before they are copied */

/* One step: its micro-batches one after the other in each column. */
struct tray {
    struct hps_batch *batch;        /* (M) */
    long long *example;             /* (rows) */
    float *label, *dense;           /* (rows), (rows, D); NULL: not wanted */
    long long **ids;                /* (nslot) */
    size_t *ids_cap;                /* (nslot) */
    int **offset;                   /* (nslot) */
    const long long **ids_of;       /* (M, nslot) */
    const int **offset_of;          /* (M, nslot) */
};

struct hps_reader {
    const struct hps_data *data;    /* borrowed */
    struct hps_order order;
    struct hps_steps steps;
    int part, parts, ntray;
    bool label, dense;
    long long first_step;
    struct hps_blocks blocks;
    struct hps_order_memo memo, next;   /* of the window read, and the one behind it */
    long long entered;              /* the window that was entered last, over all epochs */
    long long *example, *spare;     /* (rows of a micro-batch) for sorting       */
    const struct hps_block **block; /* (rows of my share) where each row is,      */
    const char **record;            /* and its record there                       */
    int nsingle, *single_slot;      /* slots in a record, in turn                 */
    long long **single;             /* (nsingle) where the ids of each go         */
    struct tray *tray;              /* (ntray) ring: 2 live, the rest ahead       */
    pthread_t thread;
    pthread_mutex_t lock;           /* of what follows                            */
    pthread_cond_t moved;
    long long made, asked;          /* steps put together; calls of next          */
    bool stop, said;
    enum hps_status status;
};

/* Least significant digit first, only the digits that differ somewhere. `a` holds the result. */
static void sort_radix(long long *a, long long *b, long long n)
{
    enum { BITS = 11, DIGITS = 1 << BITS };
    long long most = 0;

    for (long long i = 0; i < n; i++)
        most |= a[i];
    for (int shift = 0; shift < 63 && most >> shift; shift += BITS) {
        long long at[DIGITS] = { 0 }, sum = 0;
        for (long long i = 0; i < n; i++)
            at[a[i] >> shift & (DIGITS - 1)]++;
        for (int d = 0; d < DIGITS; d++) {
            long long here = at[d];
            at[d] = sum;
            sum += here;
        }
        for (long long i = 0; i < n; i++)
            b[at[a[i] >> shift & (DIGITS - 1)]++] = a[i];
        memcpy(a, b, (size_t)n * sizeof *a);
    }
}

static void sort_short(long long *a, long long n)
{
    for (long long i = 1; i < n; i++) {
        long long x = a[i], j = i;
        for (; j > 0 && a[j - 1] > x; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

/* The examples of a micro-batch by place in the file; my share of them is *mine .. *mine + n. */
static long long share_of_rows(struct hps_reader *r, long long epoch, long long position,
                               long long n, const long long **mine)
{
    long long first = hps_share(n, r->parts, r->part);

    hps_order_rows(&r->order, &r->memo, epoch, position, n, r->example);
    if (r->order.shuffle && n <= 64)
        sort_short(r->example, n);
    else if (r->order.shuffle)
        sort_radix(r->example, r->spare, n);
    *mine = r->example + first;
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

/* All that a record holds, row by row; the records of the next rows are fetched meanwhile. */
static void gather_records(const struct hps_reader *r, struct tray *t, long long row, long long n)
{
    const size_t D = t->dense ? (size_t)r->data->D : 0, bytes = r->blocks.record_bytes;
    const size_t label_at = r->blocks.label_at, dense_at = r->blocks.dense_at;
    const int nsingle = r->nsingle;
    const char *const *records = r->record;
    float *label = t->label ? t->label + row : NULL, *dense = D ? t->dense + row * (long long)D : 0;
    long long **to = r->single;

    for (int j = 0; j < nsingle; j++)
        to[j] = t->ids[r->single_slot[j]] + row;
    for (long long i = 0; i < n; i++) {
        const char *record = records[i], *next = records[i + AHEAD < n ? i + AHEAD : i];
        const long long *id = (const long long *)(const void *)record;
        for (size_t line = 0; line < bytes; line += 64)
            __builtin_prefetch(next + line);
        for (int j = 0; j < nsingle; j++)
            to[j][i] = id[j];
        if (label)
            memcpy(label + i, record + label_at, sizeof *label);
        if (dense)
            memcpy(dense + (size_t)i * D, record + dense_at, D * sizeof *dense);
    }
}

/* The i-th example's ids will soon be read: they lie anywhere in a window. */
static void fetch_ids(const struct hps_reader *r, int j, long long i, const long long *example)
{
    enum { LINE = 64 / sizeof(long long), MOST = 8 * LINE };
    const struct hps_block *b = r->block[i];
    const long long *o = b->offset[j] + example[i] - b->first;
    long long n = o[1] - o[0] < MOST ? o[1] - o[0] : MOST;

    for (long long k = 0; k < n; k += LINE)     /* a block without ids has no array of them */
        __builtin_prefetch(b->ids[j] + o[0] + k);
}

/* Appends at *filled of the tray's column; offsets begin at 0 for each micro-batch. */
static enum hps_status gather_multi(struct hps_reader *r, struct tray *t, int j,
                                    const long long *example, long long n, int *offset,
                                    size_t *filled)
{
    size_t total = 0;

    offset[0] = 0;
    for (long long i = 0; i < n; i++) {
        const long long *o = r->block[i]->offset[j] + example[i] - r->block[i]->first;
        total += (size_t)(o[1] - o[0]);
        if (total > INT_MAX) {
            snprintf(r->blocks.why, sizeof r->blocks.why,
                     "%s: slot %s: a micro-batch has more than %d ids", r->data->path,
                     r->data->slot[j].name, INT_MAX);
            return HPS_DECK;
        }
        offset[i + 1] = (int)total;
    }
    hps_mem_grow(&t->ids[j], &t->ids_cap[j], *filled + total, sizeof **t->ids);
    for (long long i = 0; i < n; i++) {
        const long long *o = r->block[i]->offset[j] + example[i] - r->block[i]->first;
        fetch_ids(r, j, i + AHEAD < n ? i + AHEAD : i, example);
        if (o[1] > o[0])
            memcpy(t->ids[j] + *filled + offset[i], r->block[i]->ids[j] + o[0],
                   (size_t)(o[1] - o[0]) * sizeof **t->ids);
    }
    *filled += total;
    return HPS_OK;
}

/* A step while it is put together: where the next micro-batch goes. */
struct filling {
    struct tray *tray;
    long long row;                  /* rows filled                       */
    size_t *nid;                    /* (nslot) ids filled, multi slots   */
};

static enum hps_status gather_multis(struct hps_reader *r, const struct filling *f, int m,
                                    const long long *example, long long n)
{
    struct tray *t = f->tray;
    enum hps_status s = HPS_OK;

    for (int j = 0; j < r->data->nslot && !s; j++) {
        if (!r->blocks.slot[j] || !r->data->slot[j].multi)
            continue;
        s = gather_multi(r, t, j, example, n, t->offset[j] + f->row + m, &f->nid[j]);
    }
    return s;
}

/* The blocks of a window, by place in the files; *n of them. */
static void window_blocks(struct hps_reader *r, long long epoch, long long window, long long *block,
                          long long *n)
{
    long long first, rows = hps_order_span(&r->order, window, &first), example;
    long long most = (rows + HPS_BLOCK_ROWS - 1) / HPS_BLOCK_ROWS;

    *n = 0;
    for (long long i = 0; i < most && !r->order.shuffle; i++)
        block[(*n)++] = hps_blocks_of(r->data, first + i * HPS_BLOCK_ROWS);
    if (!r->order.shuffle)
        return;
    hps_order_rows(&r->order, &r->next, epoch, first, 1, &example);
    for (long long i = 0; i < most; i++)
        if (r->next.start[i] >= 0)
            block[(*n)++] = hps_blocks_of(r->data, r->next.start[i]);
    sort_short(block, *n);
}

/* When a window is entered, the system is told what the next one will want: of each micro-batch my
 * share is a range of places, so of the window's blocks it is about the same range. */
static void expect_next(struct hps_reader *r, long long epoch, long long window)
{
    enum { MARGIN = 2 };
    long long windows = hps_order_windows(&r->order);
    long long block[HPS_WINDOW_ROWS / HPS_BLOCK_ROWS], n, first, last;

    if (windows == 1 || epoch * windows + window == r->entered)
        return;
    r->entered = epoch * windows + window;
    window_blocks(r, epoch + (window + 1 == windows), (window + 1) % windows, block, &n);
    first = hps_share(n, r->parts, r->part) - MARGIN;
    last = hps_share(n, r->parts, r->part + 1) + MARGIN;
    for (long long i = first < 0 ? 0 : first; i < last && i < n; i++)
        hps_blocks_expect(&r->blocks, block[i]);
}

/* Blocks of windows that lie behind are dropped; where one window is all there is, it stays. */
static enum hps_status fill_batch(struct hps_reader *r, struct filling *f, int m, long long epoch,
                                  long long position, long long n)
{
    struct tray *t = f->tray;
    const long long *mine;
    long long windows = hps_order_windows(&r->order), before = epoch * windows, last = before;
    enum hps_status s;

    t->batch[m].B = 0;
    t->batch[m].data = r->data;
    if (n > 0) {
        long long first = hps_order_window(&r->order, position);
        last = before + hps_order_window(&r->order, position + n - 1);
        if (windows > 1)
            hps_blocks_drop(&r->blocks, before + first);
        expect_next(r, epoch, first);
    }
    n = share_of_rows(r, epoch, position, n, &mine);
    s = find_blocks(r, mine, n, last);
    if (s)
        return s;
    memcpy(t->example + f->row, mine, (size_t)n * sizeof *mine);
    gather_records(r, t, f->row, n);
    s = gather_multis(r, f, m, mine, n);
    t->batch[m].B = (int)n;
    f->row += n;
    return s;
}

/* Columns may have moved while they grew, so the pointers are set when all is filled. */
static void point(const struct hps_reader *r, struct tray *t)
{
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
        const long long *id = t->ids[j];
        row = 0;
        for (int m = 0; m < r->steps.M && r->blocks.slot[j]; row += t->batch[m++].B) {
            int *offset = t->offset[j] ? t->offset[j] + row + m : NULL;
            t->ids_of[m * nslot + j] = id;
            t->offset_of[m * nslot + j] = offset;
            id += offset ? offset[t->batch[m].B] : t->batch[m].B;
        }
    }
}

static enum hps_status fill_tray(struct hps_reader *r, struct filling *f, long long step)
{
    long long epoch, position, n = hps_steps_batch(&r->steps, step, &epoch, &position);
    int M = r->steps.M;
    enum hps_status s = HPS_OK;

    f->row = 0;
    memset(f->nid, 0, (size_t)r->data->nslot * sizeof *f->nid);
    for (int m = 0; m < M && !s; m++) {
        long long first = hps_share(n, M, m);
        s = fill_batch(r, f, m, epoch, position + first, hps_share(n, M, m + 1) - first);
    }
    if (!s)
        point(r, f->tray);
    return s;
}

/* Waits for a free tray; false: the reader is being freed. */
static bool wait_for_tray(struct hps_reader *r)
{
    bool go;

    pthread_mutex_lock(&r->lock);
    /* the calls before the last one have given their trays back */
    while (!r->stop && r->made - (r->asked > 2 ? r->asked - 2 : 0) >= r->ntray)
        pthread_cond_wait(&r->moved, &r->lock);
    go = !r->stop;
    pthread_mutex_unlock(&r->lock);
    return go;
}

static void *read_ahead(void *reader)
{
    struct hps_reader *r = reader;
    struct filling f = { .nid = hps_mem_new((size_t)r->data->nslot, sizeof *f.nid) };
    enum hps_status s = HPS_OK;

    for (long long i = 0; !s && r->first_step + i < r->steps.total && wait_for_tray(r); i++) {
        f.tray = &r->tray[i % r->ntray];
        s = fill_tray(r, &f, r->first_step + i);
        pthread_mutex_lock(&r->lock);
        if (s)
            r->status = s;
        else
            r->made = i + 1;
        pthread_cond_signal(&r->moved);
        pthread_mutex_unlock(&r->lock);
    }
    hps_mem_free(f.nid);
    return NULL;
}

static void new_tray(const struct hps_reader *r, struct tray *t, size_t rows)
{
    size_t nslot = (size_t)r->data->nslot, M = (size_t)r->steps.M;

    t->batch = hps_mem_new(M, sizeof *t->batch);
    t->example = hps_mem_new(rows, sizeof *t->example);
    t->label = r->label ? hps_mem_new(rows, sizeof *t->label) : NULL;
    t->dense = r->dense ? hps_mem_new(rows * (size_t)r->data->D, sizeof *t->dense) : NULL;
    t->ids = hps_mem_new(nslot, sizeof *t->ids);
    t->ids_cap = hps_mem_new(nslot, sizeof *t->ids_cap);
    t->offset = hps_mem_new(nslot, sizeof *t->offset);
    t->ids_of = hps_mem_new(M * nslot, sizeof *t->ids_of);
    t->offset_of = hps_mem_new(M * nslot, sizeof *t->offset_of);
    for (size_t j = 0; j < nslot; j++) {
        if (!r->blocks.slot[j])
            continue;
        hps_mem_grow(&t->ids[j], &t->ids_cap[j], rows, sizeof **t->ids);
        if (r->data->slot[j].multi)
            t->offset[j] = hps_mem_new(rows + M, sizeof **t->offset);
    }
}

static void free_tray(const struct hps_reader *r, struct tray *t)
{
    for (int j = 0; j < r->data->nslot; j++) {
        hps_mem_free(t->ids[j]);
        hps_mem_free(t->offset[j]);
    }
    hps_mem_free(t->offset_of);
    hps_mem_free(t->ids_of);
    hps_mem_free(t->offset);
    hps_mem_free(t->ids_cap);
    hps_mem_free(t->ids);
    hps_mem_free(t->dense);
    hps_mem_free(t->label);
    hps_mem_free(t->example);
    hps_mem_free(t->batch);
}

/* Signals are for the thread that talks to MPI. */
static void start(struct hps_reader *r)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->moved, NULL);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&r->thread, NULL, read_ahead, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        HPS_DIE("no thread for reading: %s", strerror(rc));
}

enum hps_status hps_reader_new(struct hps_reader **reader, const struct hps_data *data,
                               const struct hps_order *order, const struct hps_steps *steps,
                               const struct hps_reader_opt *opt, long long first_step)
{
    struct hps_reader *r = hps_mem_new(1, sizeof *r);
    long long batch = steps->batch < data->N ? steps->batch : data->N;
    long long micro = (batch + steps->M - 1) / steps->M;
    size_t rows = (size_t)((micro + opt->parts - 1) / opt->parts);

    assert(order->N == data->N && steps->N == data->N && opt->ahead >= 1);
    assert(opt->part >= 0 && opt->part < opt->parts && first_step >= 0);
    r->data = data;
    r->order = *order;
    r->steps = *steps;
    r->part = opt->part;
    r->parts = opt->parts;
    r->label = opt->label;
    r->dense = opt->dense && data->D > 0;
    r->ntray = opt->ahead + 2;
    r->first_step = first_step;
    r->memo.window = r->next.window = r->entered = -1;
    hps_blocks_new(&r->blocks, data, r->label, r->dense, opt->slot);
    r->example = hps_mem_new((size_t)micro, sizeof *r->example);
    r->spare = hps_mem_new((size_t)micro, sizeof *r->spare);
    r->block = hps_mem_new(rows, sizeof *r->block);
    r->record = hps_mem_new(rows, sizeof *r->record);
    r->single_slot = hps_mem_new((size_t)data->nslot, sizeof *r->single_slot);
    r->single = hps_mem_new((size_t)data->nslot, sizeof *r->single);
    for (int j = 0; j < data->nslot; j++)
        if (r->blocks.slot_at[j] != SIZE_MAX)
            r->single_slot[r->nsingle++] = j;
    r->tray = hps_mem_new((size_t)r->ntray, sizeof *r->tray);
    for (int i = 0; i < r->ntray; i++)
        new_tray(r, &r->tray[i], rows * (size_t)steps->M);
    start(r);
    *reader = r;
    return HPS_OK;
}

enum hps_status hps_reader_next(struct hps_reader *r, const struct hps_batch **batch)
{
    long long want;
    enum hps_status s;
    bool say;

    *batch = NULL;
    pthread_mutex_lock(&r->lock);
    want = r->asked++;
    pthread_cond_signal(&r->moved);
    while (r->made <= want && !r->status && r->first_step + want < r->steps.total)
        pthread_cond_wait(&r->moved, &r->lock);
    s = r->made > want ? HPS_OK : r->status;
    if (r->made > want)
        *batch = r->tray[want % r->ntray].batch;
    say = s && !r->said;
    r->said |= say;
    pthread_mutex_unlock(&r->lock);
    if (say)
        HPS_SAY_ALL(HPS_ERROR, "%s", r->blocks.why);
    return s;
}

void hps_reader_free(struct hps_reader *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->moved);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    pthread_cond_destroy(&r->moved);
    pthread_mutex_destroy(&r->lock);
    for (int i = 0; i < r->ntray; i++)
        free_tray(r, &r->tray[i]);
    hps_mem_free(r->tray);
    hps_mem_free(r->single);
    hps_mem_free(r->single_slot);
    hps_mem_free(r->record);
    hps_mem_free(r->block);
    hps_mem_free(r->spare);
    hps_mem_free(r->example);
    hps_blocks_free(&r->blocks);
    hps_mem_free(r);
}
