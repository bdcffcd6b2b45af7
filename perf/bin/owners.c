/* owners.c - the ids that each owner of a table receives where owners send pooled sums, on paper:
 * each batch of a dataset is what one rank reads, and all slots share the table.
 *   owners DATA BATCH TABLE-ROWS OWNERS...
 *   prints "OWNERS IDS HOT RECEIVED" for each number of owners: the ids that belong to the busiest
 *   owner over its fair share; the share of ids that are of hot rows; the ids that the busiest
 *   owner receives over its fair share. Built by `make perf/bin/owners`. */
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
    struct hps_pooled *pooled;
    double *ids, *received;     /* (n) of each owner */
    double nid, nhot;
    struct hps_unique_memory room;
    struct hps_int_mirror sent;
    int *nrecv, *length;        /* (n) */
    size_t *at;                 /* (n) */
};

static void init(struct owners *o, int n, const struct hps_layer *layer, long long rows,
                 struct hps_dev *dev)
{
    size_t nowner = (size_t)n;

    *o = (struct owners){ .n = n, .ids = hps_mem_new(nowner, sizeof *o->ids),
                          .received = hps_mem_new(nowner, sizeof *o->received),
                          .nrecv = hps_mem_new(nowner, sizeof *o->nrecv),
                          .length = hps_mem_new(nowner, sizeof *o->length),
                          .at = hps_mem_new(nowner, sizeof *o->at) };
    o->pooled = hps_pooled_new(1, &layer, rows, 1, n, dev);
}

static void done(struct owners *o, struct hps_dev *dev)
{
    hps_pooled_free(o->pooled);
    hps_unique_memory_free(&o->room, dev);
    hps_int_mirror_free(&o->sent, dev);
    hps_mem_free(o->ids);
    hps_mem_free(o->received);
    hps_mem_free(o->nrecv);
    hps_mem_free(o->length);
    hps_mem_free(o->at);
}

static void add(struct owners *o, const struct hps_layer *layer, const struct hps_batch *batch)
{
    struct hps_lookup lookup;
    int first[2];
    const struct hps_pooled_step step = { first, o->nrecv, &lookup, &o->room };
    const struct hps_pooled_request request = { o->length, o->at, &o->sent };

    hps_pooled_find(o->pooled, batch, &step, &request);
    for (int q = 0; q < o->n; q++)
        o->received[q] += o->sent.host[o->at[q] + (size_t)o->nrecv[q]];
    o->nhot += lookup.hot.begin[lookup.nslot * lookup.B] - lookup.hot.begin[0];
    for (int i = 0; i < layer->nslot; i++) {
        const int *offset = batch->offset[i];
        size_t n = (size_t)(offset ? offset[batch->B] : batch->B);
        for (size_t k = 0; k < n; k++)
            o->ids[hps_cyclic_owner(hps_ids_get(batch->ids[i], k), o->n)]++;
        o->nid += (double)n;
    }
}

/* The largest of n numbers over their mean. */
static double over_mean(const double *x, int n)
{
    double max = 0, sum = 0;

    for (int q = 0; q < n; q++) {
        max = x[q] > max ? x[q] : max;
        sum += x[q];
    }
    return max * n / sum;
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
        init(&o[i], atoi(owners[i]), &layer, rows, dev);
    enum hps_status st = read_all(data, batch, &layer, o, n);
    for (int i = 0; i < n && !st; i++)
        hps_out("%d %.3f %.3f %.3f\n", o[i].n, over_mean(o[i].ids, o[i].n),
                o[i].nhot / o[i].nid, over_mean(o[i].received, o[i].n));
    for (int i = 0; i < n; i++)
        done(&o[i], dev);
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
