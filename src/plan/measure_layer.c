/* measure_layer.c - run every layer alone on real examples, several times, and take the best: what
 * disturbs a measurement only adds to it. */
#include "plan/measure_layer.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "model/slice.h"
#include "model/table.h"

#define REPEATS     7
#define TABLE_BYTES 268435456.0

/* The rows that a layer's ids need, each once, in the stead of a route: ids of real examples on a
 * part of the table. */
struct rows {
    int n;               /* distinct                        */
    int *at;             /* (n) local rows of the stand-in  */
    int *index, *offset; /* the bag's                       */
    int *map;            /* open addressing: place + 1      */
    size_t slots;        /* a power of two                  */
    float *value, *grad; /* (n, dim) device                 */
};

struct bench {
    const struct hps_net *net;
    struct hps_dev *dev;
    const struct hps_measure_opt *opt;
    struct hps_slice *slice;
    struct hps_table **table; /* (ntable) stand-ins              */
    struct rows *rows;        /* (L)                             */
    struct hps_feed feed;
};

static int place_of(struct rows *r, int row)
{
    size_t i = (size_t)hps_rng_mix((uint64_t)row) & (r->slots - 1);
    while (r->map[i] && r->at[r->map[i] - 1] != row)
        i = (i + 1) & (r->slots - 1);
    if (!r->map[i]) {
        r->at[r->n++] = row;
        r->map[i] = r->n;
    }
    return r->map[i] - 1;
}

static size_t ids_of(const struct hps_batch *b, int slot, int B)
{
    return b->offset[slot] ? (size_t)b->offset[slot][B] : (size_t)B;
}

/* Translate the first B examples' ids of a layer to places. */
static void find_rows(struct bench *w, int l, const struct hps_batch *b, int B)
{
    const struct hps_layer *y = &w->net->layer[l];
    struct rows *r = &w->rows[l];
    struct hps_bag *bag = &w->feed.bag[l];
    long long nlocal = w->table[y->table]->nrow;
    int k = 0;

    memset(r->map, 0, r->slots * sizeof *r->map);
    r->n = 0;
    *bag = (struct hps_bag){
        .nslot = y->nslot, .B = B, .index = r->index, .offset = r->offset, .single = true
    };
    for (int i = 0; i < y->nslot; i++) {
        const long long *id = b->ids[y->slot[i]];
        const int *off = b->offset[y->slot[i]];
        for (int e = 0; e < B; e++) {
            r->offset[i * B + e] = k;
            for (int j = off ? off[e] : e; j < (off ? off[e + 1] : e + 1); j++) {
                long long row = y->base[i] + (y->modulo[i] ? id[j] % y->modulo[i] : id[j]);
                r->index[k++] = place_of(r, (int)(row % nlocal));
            }
        }
        if (off) bag->single = false;
    }
    r->offset[y->nslot * B] = k;
    bag->nid = (size_t)k;
    w->feed.nrow[l] = (size_t)r->n;
    w->feed.rows[l] = r->value;
    w->feed.rows_grad[l] = r->grad;
}

static void make_rows(struct bench *w, int l, const struct hps_batch *b, int B)
{
    const struct hps_layer *y = &w->net->layer[l];
    struct rows *r = &w->rows[l];
    size_t n = 0;
    for (int i = 0; i < y->nslot; i++)
        n += ids_of(b, y->slot[i], B);
    for (r->slots = 64; r->slots < 2 * n; r->slots *= 2)
        ;
    r->map = hps_mem_new(r->slots, sizeof *r->map);
    r->at = hps_mem_new(n, sizeof *r->at);
    r->index = hps_mem_new(n, sizeof *r->index);
    r->offset = hps_mem_new((size_t)y->nslot * (size_t)B + 1, sizeof *r->offset);
    r->value = w->dev->ops->alloc(w->dev, (n + 1) * (size_t)y->dim * sizeof(float));
    r->grad = w->dev->ops->alloc(w->dev, (n + 1) * (size_t)y->dim * sizeof(float));
}

static enum hps_status make_tables(struct bench *w)
{
    enum hps_status st = HPS_OK;
    int nstate = hps_opt_rule(w->opt->train, 0, 1).nstate;
    w->table = hps_mem_new((size_t)w->net->ntable, sizeof *w->table);
    for (int t = 0; !st && t < w->net->ntable; t++) {
        const struct hps_table_shape *shape = &w->net->table[t];
        double bytes = (double)shape->rows * shape->dim * (1 + nstate) * 4;
        st = hps_table_new(&w->table[t], w->net, t, 0, 1 + (int)(bytes / TABLE_BYTES), w->dev,
                           w->opt->train, 1);
    }
    return st;
}

/* The work on a layer's rows: find them, get them, apply their gradients. */
static double rows_s(struct bench *w, int l, const struct hps_batch *b, int B,
                     const struct hps_rule *rule)
{
    struct rows *r = &w->rows[l];
    struct hps_table *t = w->table[w->net->layer[l].table];
    double t0 = hps_now_s();
    find_rows(w, l, b, B);
    hps_table_gather(t, (size_t)r->n, r->at, r->value);
    hps_table_apply(t, rule, (size_t)r->n, r->at, r->grad);
    w->dev->ops->sync(w->dev);
    return hps_now_s() - t0;
}

static double update_s(struct bench *w, int l, const struct hps_rule *rule)
{
    struct hps_slice *s = w->slice;
    size_t at = s->offset[l];
    double t0 = hps_now_s();
    w->dev->ops->update(w->dev, rule, w->net->layer[l].nparam, s->param + at, s->grad + at,
                        s->state ? s->state + at : NULL);
    w->dev->ops->sync(w->dev);
    return hps_now_s() - t0;
}

static double layer_s(struct bench *w, int l, const struct hps_batch *b, int B)
{
    const struct hps_layer *y = &w->net->layer[l];
    struct hps_rule rule = hps_opt_rule(w->opt->train, 0, 1);
    double best = INFINITY;

    w->feed.B = B;
    for (int i = 0; i < REPEATS; i++) {
        double took = y->table >= 0 ? rows_s(w, l, b, B, &rule) : 0;
        took += hps_slice_time(w->slice, &w->feed, l, 1);
        if (y->nparam > 0) took += update_s(w, l, &rule) * B / (double)w->opt->batch;
        best = fmin(best, took);
    }
    return best;
}

static void measure_all(struct bench *w, struct hps_measured *m, const struct hps_batch *b, int Bo)
{
    int most = b->B < Bo ? b->B : Bo;
    w->feed.example = b->example;
    w->feed.label = b->label;
    w->feed.dense = b->dense;
    w->feed.weight = 1.0f / (float)Bo;
    for (int l = 0; l < w->net->L; l++) {
        if (w->net->layer[l].table >= 0) make_rows(w, l, b, most);
        for (int i = 0; i < 3; i++) {
            int B = most >> i > 0 ? most >> i : 1;
            m[l].batch[i] = B;
            m[l].seconds[i] = layer_s(w, l, b, B);
            if (i == 0) m[l].rows = w->rows[l].n;
        }
        double scale = (double)Bo / most; /* a dataset smaller than Bo */
        m[l].rows *= scale;
        for (int i = 0; i < 3; i++) {
            m[l].batch[i] *= scale;
            m[l].seconds[i] *= scale;
        }
    }
}

static void done(struct bench *w)
{
    for (int l = 0; l < w->net->L; l++) {
        struct rows *r = &w->rows[l];
        hps_mem_free(r->map);
        hps_mem_free(r->at);
        hps_mem_free(r->index);
        hps_mem_free(r->offset);
        if (r->value) w->dev->ops->free(w->dev, r->value);
        if (r->grad) w->dev->ops->free(w->dev, r->grad);
    }
    for (int t = 0; w->table && t < w->net->ntable; t++)
        hps_table_free(w->table[t]);
    hps_slice_free(w->slice);
    hps_mem_free(w->table);
    hps_mem_free(w->rows);
    hps_mem_free(w->feed.bag);
    hps_mem_free(w->feed.rows);
    hps_mem_free(w->feed.rows_grad);
    hps_mem_free(w->feed.nrow);
}

static enum hps_status first_batch(struct hps_reader **reader, const struct hps_batch **batch,
                                   const struct hps_data *data, int Bo)
{
    struct hps_order order = hps_order_of(data->N, false, 1);
    struct hps_steps steps = hps_steps_of(data->N, Bo, 1, 0, 1);
    bool *slot = hps_mem_new((size_t)data->nslot, sizeof *slot);
    for (int i = 0; i < data->nslot; i++)
        slot[i] = true;
    struct hps_reader_opt opt = {
        .label = true, .dense = true, .slot = slot, .part = 0, .parts = 1, .ahead = 1
    };
    enum hps_status st = hps_reader_new(reader, data, &order, &steps, &opt, 0);
    if (!st) st = hps_reader_next(*reader, batch);
    hps_mem_free(slot);
    return st;
}

enum hps_status hps_measure_layers(struct hps_measured *m, const struct hps_net *net,
                                   struct hps_dev *dev, const struct hps_measure_opt *opt, int Bo)
{
    struct bench w = { .net = net, .dev = dev, .opt = opt };
    struct hps_reader *reader = NULL;
    const struct hps_batch *batch = NULL;
    size_t L = (size_t)net->L;

    w.rows = hps_mem_new(L, sizeof *w.rows);
    w.feed.bag = hps_mem_new(L, sizeof *w.feed.bag);
    w.feed.rows = hps_mem_new(L, sizeof *w.feed.rows);
    w.feed.rows_grad = hps_mem_new(L, sizeof *w.feed.rows_grad);
    w.feed.nrow = hps_mem_new(L, sizeof *w.feed.nrow);
    enum hps_status st = first_batch(&reader, &batch, opt->data, Bo);
    if (!st) st = hps_slice_new(&w.slice, net, 0, net->L - 1, dev, Bo, 1, opt->train, 1, true);
    if (!st) st = make_tables(&w);
    if (!st) measure_all(&w, m, batch, Bo);
    hps_reader_free(reader);
    done(&w);
    return st;
}
