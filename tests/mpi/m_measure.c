/* m_measure: what a layer's profile is measured with is its table, whether owners give rows or
 * sums, whether it is all there or a smaller one stands in: bags are the sums of the rows of their
 * ids, an update takes what was pushed to these. A profile has seconds where there is work, and the
 * number of rows that were read. On each rank for itself. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/quit.h"
#include "base/rng.h"
#include "base/world.h"
#include "profile/measure_layer.h"
#include "profile/measure_table.h"
#include "tests/lib/sample.h"
#include "tests/lib/toy.h"

enum { M = 2, B = 40, SLOTS = 3, DIM = 3, WIDTH = SLOTS * DIM, ROWS = 64, MAX_BAG = 3 };

/* ---- a table ---- */

/* Two steps of micro-batches: slots a and b have one id an example, c has 0 to 3. */
struct ids {
    uint32_t single[M][2][B];
    long long multi[M][B * MAX_BAG];
    int begin[M][B + 1];
    struct hps_ids list[M][4];
    const int *offset[M][4];
    struct hps_batch batch[M];
};

static void make_ids(struct ids *x, const struct toy *toy, uint64_t step)
{
    memset(x, 0, sizeof *x);
    for (int m = 0; m < M; m++) {
        uint64_t key = hps_rng_sub(hps_rng_key(step, "ids"), (uint64_t)m);
        for (int b = 0; b < B; b++) {
            int n = (int)(hps_rng_bits(key, (uint64_t)b) % (MAX_BAG + 1));
            for (int s = 0; s < 2; s++)
                x->single[m][s][b] =
                    (uint32_t)(hps_rng_bits(hps_rng_sub(key, 1 + (uint64_t)s), (uint64_t)b) %
                               (uint64_t)toy->slot[s].buckets);
            for (int i = x->begin[m][b]; i < x->begin[m][b] + n; i++)
                x->multi[m][i] = (long long)(hps_rng_bits(hps_rng_sub(key, 3), (uint64_t)i) %
                                             (uint64_t)toy->slot[2].buckets);
            x->begin[m][b + 1] = x->begin[m][b] + n;
        }
        for (int s = 0; s < 2; s++)
            x->list[m][s] = (struct hps_ids){ x->single[m][s], false };
        x->list[m][2] = (struct hps_ids){ x->multi[m], true };
        x->offset[m][2] = x->begin[m];
        x->batch[m] = (struct hps_batch){ .B = B, .ids = x->list[m], .offset = x->offset[m] };
    }
}

/* The row of id k of a slot in a table that has one row of `times`. */
static long long row_of(const struct toy *toy, const struct ids *x, int m, int slot, int k,
                        int times)
{
    const struct hps_layer *l = &toy->net->layer[0];
    long long id = hps_ids_get(x->list[m][slot], (size_t)k), modulo = l->modulo[slot];
    long long ids = modulo > 0 ? modulo : toy->slot[slot].buckets;

    return l->base[slot] / times + id % (ids / times);
}

/* The twin: what the bags of an example are, or what they push to its rows. */
static void add(const struct toy *toy, const struct ids *x, int m, int b, int times,
                double row[ROWS][DIM], double bag[WIDTH], bool push)
{
    for (int s = 0; s < SLOTS; s++) {
        const int *begin = x->offset[m][s];
        for (int k = begin ? begin[b] : b; k < (begin ? begin[b + 1] : b + 1); k++) {
            double *r = row[row_of(toy, x, m, s, k, times)];
            for (int d = 0; d < DIM; d++)
                *(push ? &r[d] : &bag[s * DIM + d]) += push ? bag[s * DIM + d] : r[d];
        }
    }
}

static void check_bags(const struct toy *toy, const struct ids *x, int m, int most, int times,
                       double row[ROWS][DIM], const float *y)
{
    for (int b = 0; b < most; b++) {
        double bag[WIDTH] = { 0 };
        add(toy, x, m, b, times, row, bag, false);
        for (int i = 0; i < WIDTH; i++)
            if (fabs(bag[i] - (double)y[b * WIDTH + i]) > 1e-5 * (1 + fabs(bag[i])))
                HPS_DIE("number %d of example %d is %g, not %g", i, b, (double)y[b * WIDTH + i],
                        bag[i]);
    }
}

/* A step: its bags, and gradients pushed; the twin's rows learn the same. */
static void step(struct hps_measure_table *t, struct toy *toy, uint64_t number, int most, int times,
                 double row[ROWS][DIM])
{
    static struct ids x;
    double grad[ROWS][DIM] = { { 0 } };
    float y[B * WIDTH], dy[B * WIDTH];

    make_ids(&x, toy, number);
    hps_ps_prefetch(t->requests, hps_measure_table_batch(t, x.batch, most));
    hps_ps_begin(t->ps, t->requests);
    for (int m = 0; m < M; m++) {
        const struct hps_lookup *u = hps_ps_pull(t->ps, m, 0);
        toy->dev.ops->rows->bag_forward(&toy->dev, u, DIM, HPS_POOL_SUM, HPS_COMBINE_CONCAT,
                                        hps_tensor_of(y, WIDTH));
        toy->dev.ops->sync(&toy->dev);
        check_bags(toy, &x, m, most, times, row, y);
        for (int b = 0; b < most; b++) {
            double push[WIDTH];
            for (int i = b * WIDTH; i < (b + 1) * WIDTH; i++)
                push[i % WIDTH] = (double)(dy[i] = hps_rng_unit(number + (uint64_t)m, (uint64_t)i));
            add(toy, &x, m, b, times, grad, push, true);
        }
        bool adds = hps_row_grad_adds(u->grad);
        toy->dev.ops->rows->bag_backward(&toy->dev, u, DIM, HPS_POOL_SUM, HPS_COMBINE_CONCAT,
                                         hps_tensor_of(dy, WIDTH), adds);
        toy->dev.ops->sync(&toy->dev);
    }
    hps_ps_push_begin(t->ps);
    hps_ps_push_end(t->ps);
    hps_ps_apply(t->ps, 0, hps_update_of(0, 1), 1);
    toy->dev.ops->sync(&toy->dev);
    for (int i = 0; i < ROWS * DIM; i++)
        row[i / DIM][i % DIM] -= 0.5 * grad[i / DIM][i % DIM];
}

static void check_table(const char *more, int times)
{
    struct hps_small_team alone;
    struct hps_measure_table t = { 0 };
    char deck[512];
    struct toy toy;
    float start[ROWS * DIM];
    double row[ROWS][DIM] = { { 0 } };

    snprintf(deck, sizeof deck,
             "model: [{name: e, type: embedding, slots: [a, b, c], dim: 3, init_std: 0.5%s},"
             " {name: h, type: fc, width: 1}, {name: l, type: logistic}]\n"
             "train: {optimizer: sgd, learning_rate: 0.5}\n", more);
    toy_open(&toy, deck);
    const struct hps_table_shape *shape = &toy.net->table[0];
    struct hps_rule rule = hps_opt_rule(&toy.train, &shape->override, hps_update_of(0, 1));
    double bytes = (double)shape->rows * (double)hps_rule_stride(&rule, DIM) * sizeof(float);
    const struct hps_storage_opt storage = { .file = "" };
    struct hps_measure_table_opt opt = { M, bytes / (times - 0.5), &toy.train, &storage };
    if (hps_small_team_new(&alone, 1, 0, MPI_COMM_SELF) ||
        hps_measure_table_new(&t, toy.net, 0, &alone, &toy.dev, &opt))
        HPS_DIE("no table");
    if (t.shape.rows > shape->rows / times + (times > 1) || t.shape.rows > ROWS)
        HPS_DIE("%lld rows stand in for %lld", t.shape.rows, shape->rows);
    hps_net_init_rows(&t.net, 0, hps_net_rows_key(&t.net, 0, 1), 0, t.shape.rows, start, DIM);
    for (int i = 0; i < t.shape.rows * DIM; i++)
        row[i / DIM][i % DIM] = (double)start[i];
    for (int s = 0; s < 6; s++)
        step(&t, &toy, (uint64_t)s, s % 2 ? B / 3 : B, times, row);
    hps_measure_table_free(&t);
    hps_small_team_free(&alone);
    toy_close(&toy);
}

/* ---- a profile ---- */

enum { N = 64, BUCKETS = 50 };

static const char net_deck[] =
    "model: [{name: e, type: embedding, slots: all, dim: 4}, {name: h, type: fc, width: 64},"
    " {name: o, type: fc, width: 1}, {name: l, type: logistic}]\n"
    "train: {optimizer: sgd}\n";

/* Of both slots of all examples, each a part of the table. */
static double distinct(const struct sample *s)
{
    bool read[2 * BUCKETS] = { false };
    double n = 0;

    for (int i = 0; i < N; i++)
        for (int slot = 0; slot < 2; slot++)
            for (int k = 0; k < sample_nid(s, slot, i); k++)
                read[slot * BUCKETS + sample_id(s, slot, i, k)] = true;
    for (int r = 0; r < 2 * BUCKETS; r++)
        n += read[r];
    return n;
}

static void check_measured(const struct hps_layer_time *m, int l, double rows)
{
    for (int i = 0; i < 3; i++) {
        if (m->batch[i] != (N / M) >> i) HPS_DIE("layer %d: size %d is %g", l, i, m->batch[i]);
        if (!(m->work_s[i] > 0 && m->work_s[i] < 1) || (m->rows_s[i] > 0) != (l == 0))
            HPS_DIE("layer %d: %g s of work, %g s of rows", l, m->work_s[i], m->rows_s[i]);
    }
    if (m->rows != (l == 0 ? rows : 0)) HPS_DIE("layer %d: %g rows, not %g", l, m->rows, rows);
    if (m->forward_s < 0 || m->once_s < 0 || m->forward_s + m->once_s > m->work_s[0])
        HPS_DIE("layer %d: %g s forward, %g s once", l, m->forward_s, m->once_s);
}

/* The dataset is one step: all steps read the same rows. */
static void check_profile(struct hps_dev *dev)
{
    const struct sample s = { .N = N, .D = 1, .nsingle = 1, .nmulti = 1, .buckets = BUCKETS };
    struct hps_layer_time m[4] = { { .rows = 0 } };
    struct hps_data *data;
    struct hps_deck *deck;
    struct hps_net *net;
    const struct hps_item *item;
    struct hps_train_opt train;
    char path[64];

    snprintf(path, sizeof path, "m_measure.%d.h5", hps_rank());
    sample_write(path, &s);
    if (hps_data_open(&data, path, MPI_COMM_SELF) ||
        hps_deck_parse(&deck, "m_measure", net_deck, strlen(net_deck), 0, NULL) ||
        hps_net_new(&net, deck, data) || hps_deck_map(deck, "train", &item) ||
        hps_deck_bind(deck, item, hps_train_fields, NULL, NULL, &train))
        HPS_DIE("no network");
    const struct hps_storage_opt storage = { .file = "" };
    const struct hps_measure_opt opt = { .train = &train, .storage = &storage, .data = data,
                                         .batch = N, .microbatches = M };
    if (hps_measure_layers(m, net, dev, &opt, N / M)) HPS_DIE("nothing is measured");
    for (int l = 0; l < net->L; l++)
        check_measured(&m[l], l, distinct(&s) / M);
    hps_net_free(net);
    hps_deck_free(deck);
    hps_data_close(data);
    unlink(path);
}

int main(int argc, char **argv)
{
    struct hps_dev dev;

    hps_begin(&argc, &argv, true);
    for (int times = 1; times <= 3; times++) {
        check_table("", times);
        check_table(", exchange: bags", times);
        check_table(", buckets: 6, hash: mod", times);
    }
    if (hps_dev_cpu.open(&dev, 0, 1)) HPS_DIE("no device");
    check_profile(&dev);
    hps_dev_cpu.close(&dev);
    if (hps_mem_held_bytes() != 0) HPS_DIE("%zu bytes are still held", hps_mem_held_bytes());
    return hps_end(HPS_OK);
}
