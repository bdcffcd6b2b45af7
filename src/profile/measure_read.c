#include "profile/measure_read.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "data/data.h"

#define ENOUGH_S 0.008

enum { AHEAD = 1, BUFFERS = AHEAD + 2, MIN_SAMPLES = 3, MAX_SAMPLES = 200 };

double hps_measure_bytes(const struct hps_net *net, int l)
{
    const struct hps_layer *y = &net->layer[l];
    double bytes = y->wants_label ? 4 : 0;

    if (y->wants_dense) bytes += 4.0 * net->D;
    for (int i = 0; i < y->nslot; i++) {
        bool before = false;
        for (int e = 0; e < l; e++)
            for (int j = 0; j < net->layer[e].nslot; j++)
                before |= net->layer[e].slot[j] == y->slot[i];
        /* else sampled negatives */
        double ids = y->slot[i] < net->nslot ? net->slot_ids[y->slot[i]] : 1;
        bytes += before ? 0 : 8 * ids;
    }
    return bytes;
}

/* Seconds of an example when steps are taken as fast as they are read. */
static enum hps_status flat_out(double *s, const struct hps_measure_opt *o,
                                const struct hps_reader_opt *columns)
{
    struct hps_order order = hps_order_of_data(o->data, o->shuffle, false, 1);
    struct hps_steps steps = hps_steps_of(o->data->N, o->batch, o->microbatches, 0, INT32_MAX);
    const struct hps_batch *batch;
    struct hps_reader *reader;
    double t0 = 0, rows = 0;
    enum hps_status st = hps_reader_new(&reader, o->data, &order, &steps, columns, 0);

    if (st) return st;
    for (int i = 0; !st && i < MAX_SAMPLES; i++) {
        st = hps_reader_next(reader, &batch);
        if (i <= BUFFERS) t0 = hps_now_s();       /* steps that were read before */
        for (int m = 0; !st && i > BUFFERS && m < o->microbatches; m++)
            rows += batch[m].B;
        if (i > BUFFERS + MIN_SAMPLES && hps_now_s() - t0 > ENOUGH_S) break;
    }
    *s = (hps_now_s() - t0) / fmax(rows, 1);
    hps_reader_free(reader);
    return st;
}

enum hps_status hps_measure_read(struct hps_read_time *m, const struct hps_net *net,
                                 const struct hps_measure_opt *o)
{
    bool *slot = hps_mem_new((size_t)o->data->nslot, sizeof *slot);
    double bytes = 0, all;
    enum hps_status st;

    for (int l = 0; l < net->L; l++) {
        bytes += hps_measure_bytes(net, l);
        hps_net_slots_of(net, l, slot);
    }
    struct hps_reader_opt label = { .label = true, .part = 0, .parts = 1, .ahead = AHEAD };
    struct hps_reader_opt columns = label;
    columns.dense = true;
    columns.slot = slot;
    st = flat_out(&m->order_s, o, &label);
    if (!st) st = flat_out(&all, o, &columns);
    if (!st) m->byte_s = fmax(all - m->order_s, 0) / bytes;
    hps_mem_free(slot);
    return st;
}
