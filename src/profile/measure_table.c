/* measure_table.c - a network of one layer, for the parameter server of one rank. */
#include "profile/measure_table.h"

#include "base/mem.h"

/* ---- a table ---- */

/* The range of ids of slot i of a layer. */
static long long ids_of(const struct hps_net *net, const struct hps_layer *y, int i)
{
    return y->modulo[i] > 0 ? y->modulo[i] : net->slot_buckets[y->slot[i]];
}

/* Make the table smaller by the factor `times`. */
static void shrink(struct hps_measure_table *t, const struct hps_net *net, long long times)
{
    struct hps_layer *y = &t->layer;
    size_t n = (size_t)y->nslot, M = (size_t)t->M;

    t->base = hps_mem_new(n, sizeof *t->base);
    t->modulo = hps_mem_new(n, sizeof *t->modulo);
    t->part = hps_mem_new(n, sizeof *t->part);
    t->ids = hps_mem_new(M * (size_t)(net->nslot + net->ndrawn), sizeof *t->ids);
    t->id = hps_mem_new(M * n, sizeof *t->id);
    t->id_cap = hps_mem_new(M * n, sizeof *t->id_cap);
    for (int i = 0; i < y->nslot; i++) {
        long long ids = ids_of(net, y, i) / times;
        t->part[i] = ids > 0 ? ids : 1;
        t->base[i] = y->base[i] / times;
        t->modulo[i] = y->modulo[i] > 0 ? t->part[i] : 0;
    }
    y->base = t->base;
    y->modulo = t->modulo;
    t->shape.rows = t->shape.rows / times + 1;
}

static void make_net(struct hps_measure_table *t, const struct hps_net *net, int l,
                     const struct hps_measure_table_opt *opt)
{
    t->layer = net->layer[l];
    t->shape = net->table[t->layer.table];
    t->layer.table = 0;
    t->net = *net;
    t->net.L = t->net.ntable = 1;
    t->net.layer = &t->layer;
    t->net.table = &t->shape;
    struct hps_rule rule = hps_opt_rule(opt->train, &t->shape.override, hps_update_of(0, 1));
    double row_bytes = (double)hps_rule_stride(&rule, t->shape.dim) * sizeof(float);
    double times = 1 + (double)t->shape.rows * row_bytes / opt->max_bytes;
    if (times >= 2) shrink(t, net, (long long)times);
}

enum hps_status hps_measure_table_new(struct hps_measure_table *t, const struct hps_net *net,
                                      int l, const struct hps_small_team *alone,
                                      struct hps_dev *dev, const struct hps_measure_table_opt *opt)
{
    /* rows as the deck keeps them; nothing else of its storage */
    const struct hps_storage_opt storage = { .file = "", .rows = opt->storage->rows,
                                             .states = opt->storage->states };
    const struct hps_ps_opt ps_opt = { .train = opt->train, .storage = &storage, .seed = 1,
                                         .worker = HPS_TEAM_ALL_WORKERS };

    t->M = opt->M;
    t->batch = hps_mem_new((size_t)t->M, sizeof *t->batch);
    make_net(t, net, l, opt);
    enum hps_status st = hps_ps_new(&t->ps, &t->net, alone->plan, alone->team, dev, &ps_opt);
    if (!st) st = hps_ps_requests_new(&t->requests, t->ps, t->M, true);
    return st;
}

void hps_measure_table_free(struct hps_measure_table *t)
{
    hps_ps_requests_free(t->requests);
    hps_ps_free(t->ps);
    for (int i = 0; t->id && i < t->M * t->layer.nslot; i++)
        hps_mem_free(t->id[i]);
    hps_mem_free(t->id);
    hps_mem_free(t->id_cap);
    hps_mem_free(t->ids);
    hps_mem_free(t->base);
    hps_mem_free(t->modulo);
    hps_mem_free(t->part);
    hps_mem_free(t->batch);
}

/* ---- a step ---- */

static void fold_ids(struct hps_ids from, size_t n, long long part, void *to)
{
    long long *wide = to;
    uint32_t *narrow = to;

    for (size_t i = 0; i < n; i++) {
        long long id = hps_ids_get(from, i) % part;
        if (from.wide)
            wide[i] = id;
        else
            narrow[i] = (uint32_t)id;
    }
}

/* Give micro-batch m its own ids, of the smaller table. */
static void fold(struct hps_measure_table *t, int m)
{
    const struct hps_layer *y = &t->layer;
    struct hps_batch *b = &t->batch[m];
    size_t all = (size_t)(t->net.nslot + t->net.ndrawn);
    struct hps_ids *ids = t->ids + (size_t)m * all;

    for (int i = 0; i < y->nslot; i++) {
        int s = y->slot[i], k = m * y->nslot + i;
        struct hps_ids from = b->ids[s];
        size_t n = (size_t)(b->offset[s] ? b->offset[s][b->B] : b->B);
        hps_mem_grow(&t->id[k], &t->id_cap[k], n, hps_ids_size(from.wide));
        fold_ids(from, n, t->part[i], t->id[k]);
        ids[s] = (struct hps_ids){ t->id[k], from.wide };
    }
    b->ids = ids;
}

const struct hps_batch *hps_measure_table_batch(struct hps_measure_table *t,
                                                const struct hps_batch *batch, int max)
{
    for (int m = 0; m < t->M; m++) {
        t->batch[m] = batch[m];
        if (t->batch[m].B > max) t->batch[m].B = max;
        if (t->part) fold(t, m);
    }
    return t->batch;
}
