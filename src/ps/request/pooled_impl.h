/* pooled_impl.h - for src/ps/request/pooled*.c only: a step under way. */
#ifndef HPS_PS_REQUEST_POOLED_IMPL_H
#define HPS_PS_REQUEST_POOLED_IMPL_H

#include "ps/csr.h"
#include "ps/hot_rows.h"
#include "ps/pooled.h"

/* Ids of a micro-batch, by bag (csr.h): those of bag i are row[begin[i]] and so on up to
 * row[begin[i + 1] - 1], bags in the order layer, slot, example. */
struct hps_pooled_message {
    int *begin, *row;
    size_t nid; /* ids of bags; behind them, hot rows                */
};

/* The lists of a lookup, to be written. */
struct hps_pooled_lists {
    int *index, *offset, *place, *start, *from;
};

struct hps_pooled {
    struct hps_dev *dev;
    struct hps_csr csr;
    struct hps_hot_rows *hot;     /* (M)                                                    */
    uint64_t *seen;               /* (nthread, HPS_HOT_ROWS_SEEN) scratch                    */
    int *nsum;                    /* (M) bags of a micro-batch: each a sum at each owner   */
    const int *first;                   /* (M + 1) places before those of a micro-batch; as `bag`
                                           the caller's, while it looks for them                  */
    /* To each owner, and behind them, as to one more, ids of hot rows, which stay here. */
    int receivers;                      /* parts + 1                                              */
    struct hps_pooled_message *message; /* (M, receivers)                                     */
    size_t *next;                       /* (nwork, each) ids of a part by micro-batch and receiver,
                                           then the number of its next one; put in turn: (receivers)
                                           ids so far of micro-batch `now`                        */
    size_t each;                        /* M * receivers, and up to another part's cache line     */
    int now;                            /* micro-batch that is put in turn                        */
    struct hps_parallel_ordered turn;
    int *aside;                         /* (nthread, receivers, aside_each) what a thread puts    */
    size_t aside_each;
    size_t next_cap, aside_cap;
    /* Bags. */
    struct hps_lookup *lookup;          /* (M, nlayer)                                            */
    struct hps_pooled_lists *lists;     /* (M, nlayer)                                            */
    int *place;                         /* of hot rows, by micro-batch ...                    */
    size_t *front;                      /* (M + 1) ... how many are before its own                */
    size_t place_cap;
};

/* How many hot rows of micro-batch m are owner q's. Pure. */
static inline int hps_pooled_rows(const struct hps_pooled *p, int m, int q)
{
    return p->hot[m].first[q + 1] - p->hot[m].first[q];
}

/* Of owner q in micro-batch m the place of its first sum; its hot rows have the places behind
 * all nsum[m]. Pure. */
static inline int hps_pooled_place(const struct hps_pooled *p, int m, int q)
{
    return p->first[m] + q * p->nsum[m] + p->hot[m].first[q];
}

/* The bags of its micro-batch before the first one of a slot. Pure. */
static inline int hps_pooled_before(const struct hps_csr *k, const struct hps_csr_slot *s)
{
    size_t front = hps_csr_front(k, (size_t)(s->q / k->nlayer * k->nlayer));

    return (int)(s->first - (size_t)s->i - front) + s->i * s->B;
}

/* What each receiver gets of the step: the request, and what stays here in `mine`. */
void hps_pooled_distribute(struct hps_pooled *p, const struct hps_pooled_request *request,
                           struct hps_int_mirror *mine);
/* The step's bags, behind that. */
void hps_pooled_bags(struct hps_pooled *p, struct hps_unique_room *room);

#endif
