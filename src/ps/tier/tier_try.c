#include "ps/tier_try.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/sort.h"
#include "ps/row_store.h"

#define SLAB_BYTES 16e6         /* of slots, at least for some steps */

/* Rows of a step. New slots are pinned one behind the other, which those of a training are not:
 * many of them would make the search for others long. */
enum { MIN_ROWS = 64, MAX_ROWS = 1 << 11 };
enum { STEPS = 8, MAX_STEPS = 256 };    /* in slots; of a phase */

struct trial {
    struct hps_net net;
    struct hps_table_shape *shape;      /* (ntable) */
    struct hps_table **table;
    int ntable;
    struct hps_slots *slots;
    struct hps_row_store *store;
    int nrow, nslot, n;                 /* rows of the tables, in slots, of a step  */
    int *row, *slot[2];                 /* (n) of a step                            */
    int made;                           /* rows that steps have needed              */
    bool pinned;
    int nstep;                          /* of the phase                             */
    double main_s[MAX_STEPS], others_s[MAX_STEPS];  /* of each: by threads          */
    struct hps_tier_count before;       /* the phase                                */
};

/* Of a step of a phase: the median seconds, the mean rows. */
struct phase {
    double main_s, others_s;
    struct hps_tier_count rows;
};

static double cpu_s(clockid_t clock)
{
    struct timespec t = { 0, 0 };

    clock_gettime(clock, &t);           /* a clock that every Linux has */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- making ---- */

static double row_bytes(const struct hps_tier_try_opt *o)
{
    double bytes = 0;

    for (int i = 0; i < o->ntable; i++)
        bytes += (double)hps_storage_row_format(o->storage, &o->net->table[o->table[i]],
                                                o->train).bytes;
    return bytes;
}

static void size(struct trial *t, const struct hps_tier_try_opt *o)
{
    t->n = (int)fmin(fmax(o->asked, MIN_ROWS), MAX_ROWS);
    t->nslot = (int)fmax(SLAB_BYTES / row_bytes(o), (double)STEPS * t->n);
    t->nrow = 3 * t->nslot;
    t->row = hps_mem_new((size_t)t->n, sizeof *t->row);
    for (int i = 0; i < 2; i++)
        t->slot[i] = hps_mem_new((size_t)t->n, sizeof *t->slot[i]);
}

static enum hps_status open(struct trial *t, const struct hps_tier_try_opt *o,
                            struct hps_dev *dev)
{
    size_t n = (size_t)o->ntable;
    enum hps_status st = HPS_OK;

    size(t, o);
    t->ntable = o->ntable;
    t->net = *o->net;
    t->net.ntable = o->ntable;
    t->net.table = t->shape = hps_mem_new(n, sizeof *t->shape);
    t->table = hps_mem_new(n, sizeof(struct hps_table *));
    t->slots = hps_slots_new(t->nrow, t->nslot);
    for (int i = 0; !st && i < o->ntable; i++) {
        const struct hps_table_shape *shape = &o->net->table[o->table[i]];
        struct hps_row_format f = hps_storage_row_format(o->storage, shape, o->train);
        const struct hps_table_opt own = { 0, 1, o->train, 1, hps_tier_find("file"), t->slots,
                                           f.weights, f.states };
        t->shape[i] = *shape;
        t->shape[i].rows = t->nrow;
        st = hps_table_new(&t->table[i], &t->net, i, dev, &own);
    }
    const struct hps_row_store_opt store = { t->ntable, t->table, t->slots, o->storage->file,
                                             hps_rng_key((uint64_t)getpid(), "a trial of rows") };
    return st ? st : hps_row_store_new(&t->store, &store);
}

static void close_trial(struct trial *t)
{
    hps_row_store_free(t->store);
    for (int i = 0; i < t->ntable; i++)
        hps_table_free(t->table[i]);
    hps_slots_free(t->slots);
    hps_mem_free(t->table);
    hps_mem_free(t->shape);
    hps_mem_free(t->row);
    hps_mem_free(t->slot[0]);
    hps_mem_free(t->slot[1]);
}

/* ---- steps ---- */

/* The rows of a step come and are changed; those of the step before may leave. */
static void step(struct trial *t)
{
    int *slot = t->slot[1];
    size_t n = (size_t)t->n;
    double main_s = cpu_s(CLOCK_THREAD_CPUTIME_ID), all_s = cpu_s(CLOCK_PROCESS_CPUTIME_ID);

    bool taken = hps_row_store_take(t->store, n, t->row, true, slot);
    if (taken) {
        hps_row_store_settle(t->store);
        hps_row_store_change(t->store, n, slot);
        if (t->pinned) hps_row_store_release(t->store, n, t->slot[0]);
        t->pinned = true;
        t->slot[1] = t->slot[0];
        t->slot[0] = slot;
    }
    if (t->nstep == MAX_STEPS) return;
    main_s = cpu_s(CLOCK_THREAD_CPUTIME_ID) - main_s;
    t->main_s[t->nstep] = main_s;
    t->others_s[t->nstep++] = cpu_s(CLOCK_PROCESS_CPUTIME_ID) - all_s - main_s;
}

/* Rows that no step has needed, from anywhere in the table. */
static void draw_new(struct trial *t)
{
    for (int i = 0; i < t->n; i++)
        t->row[i] = (int)hps_rng_permute(1, (uint64_t)t->made++, (uint64_t)t->nrow);
}

/* Rows that have left, of those that were needed from number *from on. False: too few have. */
static bool draw_away(struct trial *t, int *from)
{
    int n = 0;

    for (; n < t->n && *from < t->made; ++*from) {
        int row = (int)hps_rng_permute(1, (uint64_t)*from, (uint64_t)t->nrow);
        if (hps_slots_place(t->slots, row) >= HPS_SLOTS_AWAY) t->row[n++] = row;
    }
    return n == t->n;
}

static void begin(struct trial *t)
{
    t->nstep = 0;
    t->before = hps_row_store_counted(t->store);
}

static struct phase end(struct trial *t)
{
    struct hps_tier_count now = hps_row_store_counted(t->store), *was = &t->before;
    double n = t->nstep > 0 ? (now.asked - was->asked) / t->n : 1;
    struct phase x = { .rows = { .asked = (now.asked - was->asked) / n,
                                 .made = (now.made - was->made) / n,
                                 .read = (now.read - was->read) / n,
                                 .written = (now.written - was->written) / n } };

    if (t->nstep == 0) return x;
    x.main_s = hps_sort_median(t->main_s, (size_t)t->nstep);
    x.others_s = hps_sort_median(t->others_s, (size_t)t->nstep);
    return x;
}

/* Seconds of each of n rows, in what is left of a step. */
static double each(double left_s, double n)
{
    return n > 0 ? fmax(left_s, 0) / n : 0;
}

/* ---- phases ---- */

/* Rows are made, up to so many. */
static void make_up_to(struct trial *t, int made)
{
    while (t->made + t->n <= made) {
        draw_new(t);
        step(t);
    }
}

/* Rows are made for empty slots; the first half touches new memory. */
static struct phase fill_slots(struct trial *t)
{
    make_up_to(t, t->nslot / 2);
    begin(t);
    make_up_to(t, t->nslot);
    return end(t);
}

static struct phase find_again(struct trial *t)
{
    begin(t);
    for (int i = 0; i < STEPS; i++)
        step(t);
    return end(t);
}

/* Rows are made for slots of rows that are written. */
static struct phase write_rows(struct trial *t)
{
    make_up_to(t, t->nslot + t->n);
    begin(t);
    make_up_to(t, 2 * t->nslot);
    return end(t);
}

static struct phase read_rows(struct trial *t)
{
    int from = 0;

    begin(t);
    for (int i = 0; i < 2 * STEPS && draw_away(t, &from); i++)
        step(t);
    return end(t);
}

static struct hps_tier_cost run(struct trial *t, double share)
{
    struct phase fill = fill_slots(t), again = find_again(t), write = write_rows(t);
    struct phase read = read_rows(t);
    struct hps_tier_cost x = { .take_s = each(again.main_s, again.rows.asked) };

    x.make_s = each(fill.main_s - fill.rows.asked * x.take_s, fill.rows.made);
    x.write_s = each(write.main_s - write.rows.asked * x.take_s - write.rows.made * x.make_s,
                     write.rows.written);
    x.read_s = each(read.main_s + share * read.others_s - read.rows.asked * x.take_s -
                    read.rows.written * x.write_s, read.rows.read);
    return x;
}

enum hps_status hps_tier_try(struct hps_tier_cost *cost, const struct hps_tier_try_opt *opt,
                             struct hps_dev *dev)
{
    struct trial *t = hps_mem_new(1, sizeof *t);
    enum hps_status st = open(t, opt, dev);

    if (!st) *cost = run(t, opt->spare ? 0 : 1.0 / dev->nthread);
    if (!st) st = hps_row_store_status(t->store);
    close_trial(t);
    hps_mem_free(t);
    return st;
}
