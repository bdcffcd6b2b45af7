/* pooled_impl.h - the state of pooled sums in a step; for src/ps/request/pooled*.c only. */
#ifndef HPS_PS_REQUEST_POOLED_IMPL_H
#define HPS_PS_REQUEST_POOLED_IMPL_H

#include "ps/csr.h"
#include "ps/hot_rows.h"
#include "ps/pooled.h"

/* The rows of one owner in a micro-batch, by bag: bag i has row[begin[i] .. begin[i + 1] - 1]; bags
 * in the order layer, slot, example. */
struct hps_pooled_message {
    int *begin, *row;
    size_t nid; /* ids of bags; the hot rows are behind them */
};

/* The arrays of a lookup. */
struct hps_pooled_lists {
    int *index, *offset, *row, *start, *bag;
};

struct hps_pooled {
    struct hps_dev *dev;
    struct hps_csr csr;
    struct hps_hot_rows *hot;     /* (M)                                                    */
    uint64_t *seen;               /* (nthread, HPS_HOT_ROWS_SEEN) scratch                    */
    int *nsum;                    /* (M) bags of a micro-batch: each has a sum at each owner */
    const int *first;                   /* (M + 1) first unique index of a micro-batch; borrowed in
                                           hps_pooled_find, as `lookup`                           */
    /* A message for each owner; the last receiver stands for hot rows, whose ids are not sent. */
    int receivers;                      /* parts + 1                                              */
    struct hps_pooled_message *message; /* (M, receivers)                                     */
    size_t *next;                       /* (nwork, each) ids of a task by micro-batch and receiver,
                                           then where its next one goes; with few receivers:
                                           (receivers) ids so far of micro-batch `now`            */
    size_t each;                        /* M * receivers, padded to cache lines                   */
    int now;                            /* the micro-batch that is distributed                    */
    struct hps_parallel_ordered order;
    int *aside;                         /* (nthread, receivers, aside_each) staging of a thread   */
    size_t aside_each;
    size_t next_cap, aside_cap;
    struct hps_lookup *lookup;          /* (M, nlayer)                                            */
    struct hps_pooled_lists *lists;     /* (M, nlayer)                                            */
    int *hot_index;                     /* unique indices of hot rows, by micro-batch             */
    size_t *front;                      /* (M + 1) where those of a micro-batch begin             */
    size_t hot_index_cap;
};

/* How many hot rows of micro-batch m belong to owner q. Pure. */
static inline int hps_pooled_rows(const struct hps_pooled *p, int m, int q)
{
    return p->hot[m].first[q + 1] - p->hot[m].first[q];
}

/* The unique index of the first sum of owner q in micro-batch m; its hot rows follow its nsum[m]
 * sums. Pure. */
static inline int hps_pooled_first_index(const struct hps_pooled *p, int m, int q)
{
    return p->first[m] + q * p->nsum[m] + p->hot[m].first[q];
}

/* How many bags of the micro-batch are before the first one of a slot. Pure. */
static inline int hps_pooled_before(const struct hps_csr *k, const struct hps_csr_slot *s)
{
    size_t front = hps_csr_front(k, (size_t)(s->q / k->nlayer * k->nlayer));

    return (int)(s->first - (size_t)s->i - front) + s->i * s->B;
}

/* Distribute the ids of the step: to owners as the request says, those of hot rows to `hot`. */
void hps_pooled_distribute(struct hps_pooled *p, const struct hps_pooled_request *request,
                           struct hps_int_mirror *hot);
/* The lookups of the step, after that. */
void hps_pooled_bags(struct hps_pooled *p, struct hps_unique_memory *memory);

#endif
