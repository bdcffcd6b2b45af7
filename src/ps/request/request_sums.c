/* request_sums.c - each owner receives its ids of the bags, sends the sums of their rows, and finds
 * for each row the sums that it is in. */
#include "base/mem.h"
#include "ps/pooled.h"
#include "ps/request/request_impl.h"
#include "ps/table.h"

struct sums {
    struct hps_pooled *pooled;
    struct hps_merge *merge;
};

static void *open_sums(const struct hps_request_opt *use, long long rows, struct hps_request *r)
{
    struct sums *w = hps_mem_new(1, sizeof *w);

    w->pooled = hps_pooled_new(use->nlayer, use->layer, rows, r->M, r->owners, r->dev);
    w->merge = hps_merge_new(hps_cyclic_nlocal(rows, 0, r->owners), r->M * r->parts);
    for (int i = 0; i < HPS_REQUEST_NSLOT; i++)
        r->slot[i].step.sums =
            hps_mem_new((size_t)r->M * (size_t)r->parts, sizeof(struct hps_merge_list));
    return w;
}

static void close_sums(void *context)
{
    struct sums *w = context;

    hps_pooled_free(w->pooled);
    hps_merge_free(w->merge);
    hps_mem_free(w);
}

static void find(struct hps_request *r, struct hps_request_slot *t, const struct hps_batch *batch)
{
    struct sums *w = r->context;

    struct hps_pooled_step step = { t->step.first, t->step.nrecv, t->step.lookup, &t->memory };
    struct hps_pooled_request request = { t->length, t->at, &t->outgoing };

    hps_pooled_find(w->pooled, batch, &step, &request);
    hps_request_spread(r, t->step.nrecv, sizeof *t->step.nrecv);
    hps_request_spread(r, t->length, sizeof *t->length);
    hps_request_spread(r, t->at, sizeof *t->at);
}

/* ---- at owners ---- */

static void read_lists(struct hps_request *r, struct hps_request_slot *t)
{
    for (int q = 0, i = 0; q < r->parts; q++) {
        const int *received = t->received[q];
        for (int m = 0; m < r->M; m++, i++) {
            struct hps_merge_list l = hps_pooled_list(t->step.nsend[m * r->parts + q], received);
            received += l.n > 0 ? l.n + 1 + l.begin[l.n] : 0;
            t->step.sums[i] = l;
        }
    }
}

static void merge(struct hps_request *r, struct hps_request_slot *t)
{
    struct sums *w = r->context;

    read_lists(r, t);
    hps_merge_lists(w->merge, t->step.sums, r->dev->nthread, &t->merged);
    hps_request_to_device(r, t);
}

const struct hps_request_ops hps_request_by_sums = {
    .open = open_sums, .close = close_sums, .find = find, .merge = merge
};
