/* owners.c - the ids that owners of a table get where these give sums of bags, on paper: each batch
 * of a data set is what one rank reads, all slots share the table.
 *   owners DATA BATCH TABLE-ROWS OWNERS...
 *   prints for each number of owners "OWNERS PLAIN NAMED TOLD": of the busiest owner, how many times
 *   its fair share of the ids are ids of its rows; the share of ids that name popular rows; how many
 *   times the fair share of what all are told it is told. Built by `make perf/bin/owners`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "base/world.h"
#include "data/data.h"
#include "ps/pooled.h"
#include "ps/table.h"

struct owners {
    int n;
    struct hps_pooled *partials;
    double *plain, *told;       /* (n) ids */
    double nid, named;
    struct hps_unique_room room;
    struct hps_int_mirror to;
    int *ask, *length;
    size_t *at;
};

static void make(struct owners *o, int n, const struct hps_layer *layer, long long rows,
                 struct hps_dev *dev)
{
    size_t parts = (size_t)n;

    *o = (struct owners){ .n = n, .plain = hps_mem_new(parts, sizeof *o->plain),
                          .told = hps_mem_new(parts, sizeof *o->told),
                          .ask = hps_mem_new(parts, sizeof *o->ask),
                          .length = hps_mem_new(parts, sizeof *o->length),
                          .at = hps_mem_new(parts, sizeof *o->at) };
    o->partials = hps_pooled_new(1, &layer, rows, 1, n, dev);
}

static void drop(struct owners *o, struct hps_dev *dev)
{
    hps_pooled_free(o->partials);
    hps_unique_room_free(&o->room, dev);
    hps_int_mirror_free(&o->to, dev);
    hps_mem_free(o->plain);
    hps_mem_free(o->told);
    hps_mem_free(o->ask);
    hps_mem_free(o->length);
    hps_mem_free(o->at);
}

static void add(struct owners *o, const struct hps_layer *layer, const struct hps_batch *b)
{
    struct hps_bag bag;
    int first[2];

    hps_pooled_find(o->partials, b, &o->room, first, o->ask, &bag, o->length, o->at, &o->to);
    for (int q = 0; q < o->n; q++)
        o->told[q] += o->to.host[o->at[q] + (size_t)o->ask[q]];
    o->named += bag.name_begin[bag.nslot * bag.B] - bag.name_begin[0];
    for (int i = 0; i < layer->nslot; i++) {
        size_t n = (size_t)(b->offset[i] ? b->offset[i][b->B] : b->B);
        for (size_t k = 0; k < n; k++)
            o->plain[hps_cyclic_owner(hps_ids_get(b->ids[i], k), o->n)]++;
        o->nid += (double)n;
    }
}

/* The most of n numbers over their mean. */
static double over_mean(const double *x, int n)
{
    double most = 0, sum = 0;

    for (int q = 0; q < n; q++) {
        most = x[q] > most ? x[q] : most;
        sum += x[q];
    }
    return most * n / sum;
}

static enum hps_status read_all(const struct hps_data *data, long long batch,
                                const struct hps_layer *layer, struct owners *o, int nowners)
{
    bool *slot = hps_mem_new((size_t)data->nslot, sizeof *slot);
    struct hps_reader_opt opt = { .label = true, .slot = slot, .parts = 1, .ahead = 1 };
    struct hps_steps steps = hps_steps_of(data->N, batch, 1, 1, 0);
    struct hps_order order = hps_order_of_data(data, true, false, 1);
    struct hps_reader *reader;
    const struct hps_batch *b;

    memset(slot, 1, (size_t)data->nslot * sizeof *slot);
    enum hps_status st = hps_reader_new(&reader, data, &order, &steps, &opt, 0);
    while (!st && !(st = hps_reader_next(reader, &b)) && b)
        for (int i = 0; i < nowners; i++)
            add(&o[i], layer, b);
    hps_reader_free(reader);
    hps_mem_free(slot);
    return st;
}

static enum hps_status print_owners(const struct hps_data *data, long long batch, long long rows,
                                    char **owners, int n, struct hps_dev *dev)
{
    size_t nslot = (size_t)data->nslot;
    struct hps_layer layer = { .nslot = data->nslot,
                               .slot = hps_mem_new(nslot, sizeof *layer.slot),
                               .base = hps_mem_new(nslot, sizeof *layer.base),
                               .modulo = hps_mem_new(nslot, sizeof *layer.modulo) };
    struct owners *o = hps_mem_new((size_t)n, sizeof *o);

    for (int i = 0; i < data->nslot; i++)
        layer.slot[i] = i;
    for (int i = 0; i < n; i++)
        make(&o[i], atoi(owners[i]), &layer, rows, dev);
    enum hps_status st = read_all(data, batch, &layer, o, n);
    for (int i = 0; i < n && !st; i++)
        hps_out("%d %.3f %.3f %.3f\n", o[i].n, over_mean(o[i].plain, o[i].n),
                o[i].named / o[i].nid, over_mean(o[i].told, o[i].n));
    for (int i = 0; i < n; i++)
        drop(&o[i], dev);
    hps_mem_free(o);
    hps_mem_free(layer.slot);
    hps_mem_free(layer.base);
    hps_mem_free(layer.modulo);
    return st ? st : hps_out_flush();
}

static enum hps_status run(MPI_Comm world, int argc, char **argv)
{
    struct hps_data *data;
    struct hps_dev dev;

    if (argc < 5) {
        HPS_SAY(HPS_ERROR, "usage: owners DATA BATCH TABLE-ROWS OWNERS...");
        return HPS_USAGE;
    }
    enum hps_status st = hps_data_open(&data, argv[1], world);
    if (st)
        return st;
    st = hps_dev_cpu.open(&dev, 0, 1);
    if (!st) {
        st = print_owners(data, atoll(argv[2]), atoll(argv[3]), argv + 4, argc - 4, &dev);
        dev.ops->close(&dev);
    }
    hps_data_close(data);
    return st;
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);

    return hps_end(run(world, argc, argv));
}
