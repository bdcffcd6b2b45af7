/* snapshot.c - kept rows lie in slabs; each chunk of rows has the list of those that are its own,
 * whose places serve again once the reader has the chunk. */
#include "ps/snapshot.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ps/slots.h"
#include "ps/table.h"

/* Of a shard's chunk, and of what the shards of a table have of the same size. */
enum { CHUNK_BYTES = 2 << 20, ALL_BYTES = 8 << 20, SLAB = 4096 };

/* A place of a kept row: which of its chunk it is, and the one that was kept before it there. */
struct kept {
    int row, before; /* before -1: none */
};

struct hps_snapshot {
    struct hps_table *table; /* borrowed                                                     */
    float *copy;             /* all rows, of a device that is not the host's; else NULL      */
    pthread_mutex_t lock;    /* of all below, and of the table's rows where there is no copy */
    pthread_cond_t passed;   /* the reader came on, or ended                                 */
    long long chunk, next;   /* rows of a chunk; the first row not yet taken                 */
    int *last;               /* (chunks) the row kept last, -1: none                         */
    unsigned char *is_kept;  /* (nrow / 8)                                                   */
    int n, most;             /* places taken so far, and that may be                         */
    int spare;               /* one that serves again, and through `before` the others; -1   */
    struct kept **kept;      /* slabs of SLAB rows                                           */
    unsigned char **row;
    bool pressed;            /* who changes rows waits                                       */
    double cost_s;
};

static long long chunk_of(const struct hps_table *t)
{
    long long block = HPS_CYCLIC_BLOCK, share = ALL_BYTES / t->parts;
    long long bytes = t->parts == 1 ? CHUNK_BYTES / 2 : share < CHUNK_BYTES ? share : CHUNK_BYTES;
    long long n = bytes / (long long)(t->stride * sizeof(float)) / block * block;
    return n > block ? n : block;
}

/* Rows of a device that is not the host's. */
static float *copy_of(struct hps_table *t)
{
    float *copy = hps_mem_new((size_t)t->nrow * t->stride, sizeof *copy);

    t->tier->copy(t, copy);
    return copy;
}

static void make_books(struct hps_snapshot *s, double share)
{
    size_t chunks = (size_t)(s->table->nrow / s->chunk + 1), slabs;

    s->spare = -1;
    s->most = (int)(share * (double)s->table->nrow) + SLAB;
    slabs = (size_t)s->most / SLAB + 1;
    s->last = hps_mem_new(chunks, sizeof *s->last);
    memset(s->last, -1, chunks * sizeof *s->last);
    s->is_kept = hps_mem_new((size_t)s->table->nrow / 8 + 1, 1);
    s->kept = hps_mem_new(slabs, sizeof *s->kept);
    s->row = hps_mem_new(slabs, sizeof *s->row);
}

struct hps_snapshot *hps_snapshot_new(struct hps_table *t, double share)
{
    struct hps_snapshot *s = hps_mem_new(1, sizeof *s);

    *s = (struct hps_snapshot){ .table = t, .chunk = chunk_of(t) };
    t->dev->ops->sync(t->dev);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->passed, NULL);
    if (!t->dev->host)
        s->copy = copy_of(t);
    else {
        make_books(s, share);
        t->snapshot = s;
    }
    return s;
}

void hps_snapshot_free(struct hps_snapshot *s)
{
    if (!s) return;
    for (int i = 0; s->kept && i * SLAB < s->n; i++) {
        hps_mem_free(s->kept[i]);
        hps_mem_free(s->row[i]);
    }
    s->table->snapshot = NULL;
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->passed);
    hps_mem_free(s->last);
    hps_mem_free(s->is_kept);
    hps_mem_free(s->kept);
    hps_mem_free(s->row);
    hps_mem_free(s->copy);
    hps_mem_free(s);
}

/* ---- who changes rows ---- */

static struct kept *kept_at(const struct hps_snapshot *s, int k)
{
    return &s->kept[k / SLAB][k % SLAB];
}

/* As the table keeps it. */
static unsigned char *row_at(const struct hps_snapshot *s, int k)
{
    return s->row[k / SLAB] + (size_t)(k % SLAB) * s->table->format.bytes;
}

/* A place for a row; there is one. */
static int take_place(struct hps_snapshot *s)
{
    int k = s->spare;

    if (k >= 0) {
        s->spare = kept_at(s, k)->before;
        return k;
    }
    if (s->n % SLAB == 0) {
        s->kept[s->n / SLAB] = hps_mem_new(SLAB, sizeof **s->kept);
        s->row[s->n / SLAB] = hps_mem_new(SLAB, s->table->format.bytes);
    }
    return s->n++;
}

/* The old value of a row, which lies in this slot or at its number. */
static void keep(struct hps_snapshot *s, long long row, int at)
{
    size_t bytes = s->table->format.bytes;
    long long c = row / s->chunk;
    int k = take_place(s);

    *kept_at(s, k) = (struct kept){ (int)(row - c * s->chunk), s->last[c] };
    memcpy(row_at(s, k), hps_table_memory(s->table) + (size_t)at * bytes, bytes);
    s->last[c] = k;
    s->is_kept[row / 8] |= (unsigned char)(1 << row % 8);
}

/* Is the row still to be taken, and not kept? */
static bool wanted(const struct hps_snapshot *s, long long row)
{
    return row >= s->next && !(s->is_kept[row / 8] >> row % 8 & 1);
}

static void wait_for_reader(struct hps_snapshot *s)
{
    s->pressed = true;
    pthread_cond_wait(&s->passed, &s->lock);
    s->pressed = false;
}

void hps_snapshot_change(struct hps_snapshot *s, size_t n, const int *at)
{
    double t0 = hps_now_s();

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < n; i++) {
        int row = s->table->slots ? hps_slots_row(s->table->slots, at[i]) : at[i];
        while (wanted(s, row) && s->spare < 0 && s->n == s->most)
            wait_for_reader(s);
        if (wanted(s, row)) keep(s, row, at[i]);
    }
    s->cost_s += hps_now_s() - t0;
}

void hps_snapshot_changed(struct hps_snapshot *s)
{
    pthread_mutex_unlock(&s->lock);
}

double hps_snapshot_cost_s(const struct hps_snapshot *s)
{
    return s->cost_s;
}

bool hps_snapshot_pressed(struct hps_snapshot *s)
{
    pthread_mutex_lock(&s->lock);
    bool pressed = s->pressed;
    pthread_mutex_unlock(&s->lock);
    return pressed;
}

/* ---- the reader ---- */

long long hps_snapshot_chunk(const struct hps_snapshot *s)
{
    return s->chunk;
}

struct hps_shard hps_snapshot_shard(const struct hps_snapshot *s)
{
    return hps_table_shard(s->table);
}

/* Rows of chunk c are as they were, again; their places are free. */
static void put_back(struct hps_snapshot *s, long long c, float *to)
{
    size_t stride = s->table->stride;

    for (int k = s->last[c], before; k >= 0; k = before) {
        struct kept *one = kept_at(s, k);
        hps_row_decode(&s->table->format, 1, row_at(s, k), to + (size_t)one->row * stride);
        before = one->before;
        one->before = s->spare;
        s->spare = k;
    }
    s->last[c] = -1;
}

long long hps_snapshot_take(struct hps_snapshot *s, long long *first, float *to)
{
    const struct hps_table *t = s->table;
    enum hps_status st = HPS_OK;

    pthread_mutex_lock(&s->lock);
    *first = s->next;
    long long left = t->nrow - s->next, n = left < s->chunk ? left : s->chunk;
    if (n > 0) {
        if (s->copy)
            memcpy(to, s->copy + (size_t)*first * t->stride, (size_t)n * t->stride * sizeof *to);
        else
            st = t->tier->read(s->table, *first, n, to);
        if (!s->copy) put_back(s, *first / s->chunk, to);
        s->next += n;
        pthread_cond_signal(&s->passed);
    }
    pthread_mutex_unlock(&s->lock);
    return st ? -1 : n > 0 ? n : 0;
}

void hps_snapshot_quit(struct hps_snapshot *s)
{
    pthread_mutex_lock(&s->lock);
    s->next = s->table->nrow;
    pthread_cond_signal(&s->passed);
    pthread_mutex_unlock(&s->lock);
}
