/* row_store.c - the row work of a training (row_work.h) by the row store of `storage.file`: the
 * rows of the next step begin to be read while those of this one are updated. Built by
 * `make perf/bin/row_store`. */
#include "ps/row_store.h"

#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"
#include "row_work.h"

/* The log, what is read and the program have these bytes, and this share of the memory. */
static const double others_bytes = 24 << 20, others_share = 1.0 / 32;

struct store {
    const struct row_work *work;
    struct hps_dev dev;
    struct hps_slots *slots;
    struct hps_table *table;
    struct hps_row_store *rows;
    int *slot[2];               /* (n) of this step and the next       */
    size_t cap[2];
    long long taken;            /* the number of the last taken, or -1 */
};

static void good(enum hps_status st)
{
    if (st) HPS_DIE("the row store ended with %d", (int)st);
}

static int slots_in(const struct row_work *w)
{
    double index = (double)w->nrow * (double)hps_row_store_row_bytes();
    double left = w->bytes * (1 - others_share) - others_bytes - index;
    double n = left / (double)(w->row_bytes + hps_row_store_slot_bytes());

    if (n < 1) HPS_DIE("%.3g bytes are too few for the index of %d rows", w->bytes, w->nrow);
    return n < w->nrow ? (int)n : w->nrow;
}

static void *open_store(const struct row_work *w)
{
    struct store *s = hps_mem_new(1, sizeof *s);
    const struct hps_table_opt opt = { .parts = 1, .train = &w->train, .seed = ROW_WORK_SEED,
                                       .tier = &hps_tier_file, .weights = HPS_AS_FP32,
                                       .states = HPS_AS_FP32,
                                       .slots = s->slots = hps_slots_new(w->nrow, slots_in(w)) };

    s->work = w;
    s->taken = -1;
    good(hps_dev_find("cpu")->open(&s->dev, 0, w->threads));
    good(hps_table_new(&s->table, &w->net, 0, &s->dev, &opt));
    good(hps_row_store_new(&s->rows, &(struct hps_row_store_opt){ 1, &s->table, s->slots,
                                                                  w->directory, 1 }));
    return s;
}

static void close_store(void *context)
{
    struct store *s = context;

    hps_row_store_free(s->rows);
    hps_table_free(s->table);
    hps_slots_free(s->slots);
    s->dev.ops->close(&s->dev);
    hps_mem_free(s->slot[0]);
    hps_mem_free(s->slot[1]);
    hps_mem_free(s);
}

static void fill(void *context, int first, int n, const float *x)
{
    struct store *s = context;

    hps_row_store_write(s->rows, s->table, first, n, x);
    good(hps_row_store_status(s->rows));
}

static void take(struct store *s, const struct row_work_step *t)
{
    int k = (int)(t->number % 2);

    hps_mem_grow(&s->slot[k], &s->cap[k], t->n, sizeof *s->slot[k]);
    if (!hps_row_store_take(s->rows, t->n, t->row, true, s->slot[k]))
        HPS_DIE("there are too few slots for the %zu rows of a step", t->n);
    s->taken = t->number;
}

static uint64_t step(void *context, const struct row_work_step *now,
                     const struct row_work_step *next)
{
    struct store *s = context;
    uint64_t sum = 0;

    if (s->taken < now->number) take(s, now);
    const int *slot = s->slot[now->number % 2];
    hps_row_store_settle(s->rows);
    hps_row_store_change(s->rows, now->n, slot);
    take(s, next);
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(s->work->threads) reduction(+ : sum)
#endif
    for (size_t i = 0; i < now->n; i++)
        sum += row_work_update(s->work, now->number, now->row[i],
                               s->table->row + (size_t)slot[i] * s->table->stride);
    hps_row_store_release(s->rows, now->n, slot);
    good(hps_row_store_status(s->rows));
    return sum;
}

int main(int argc, char **argv)
{
    static const struct row_work_store store = { open_store, fill, step, close_store };

    return row_work_main(argc, argv, &store);
}
