/* partials_own.h - for src/model/partials*.c only: a step under way. */
#ifndef HPS_MODEL_PARTIALS_OWN_H
#define HPS_MODEL_PARTIALS_OWN_H

#include "model/partials.h"
#include "model/popular.h"
#include "model/sacks.h"

enum { HPS_PARTIALS_LINES = 128 / sizeof(size_t) }; /* a pair of cache lines is fetched at once */

/* Ids of a micro-batch, by bag: those of bag i are row[begin[i]] .. row[begin[i + 1] - 1]. */
struct hps_partials_message {
    int *begin, *row;
};

/* The lists of a bag, to be written. */
struct hps_partials_lists {
    int *index, *offset, *place, *start, *from;
};

struct hps_partials {
    struct hps_dev *dev;
    struct hps_sacks sacks;
    struct hps_popular *popular;        /* (M)                                                    */
    int *nsum;                          /* (M) bags of a micro-batch: each a sum at each owner    */
    const int *first;                   /* (M + 1) places before those of a micro-batch           */
    /* To each owner, and behind them, as to one more, ids of popular rows, which stay here. */
    int receivers;                      /* parts + 1                                              */
    struct hps_partials_message *message;   /* (M, receivers)                                     */
    size_t *next;                       /* (nwork, each) ids of a part by micro-batch and receiver,
                                           then the number of its next one                        */
    size_t each;                        /* M * receivers, and up to another part's cache line     */
    int *mine;                          /* what stays here                                        */
    size_t next_cap, mine_cap;
    /* Bags. */
    struct hps_bag *bag;                /* (M, nlayer)                                            */
    struct hps_partials_lists *lists;   /* (M, nlayer)                                            */
    int *place;                         /* (M, HPS_POPULAR_MOST) of popular rows                  */
    size_t *row_at;                     /* (M * nlayer) where a bag's rows begin in `count`       */
    size_t *count;                      /* (nwork, counters) ids of a part by bag and popular row,
                                           then the number of its next one                        */
    size_t counters, count_cap;
};

/* The popular rows of micro-batch m that are owner q's. Pure. */
static inline int hps_partials_rows(const struct hps_partials *p, int m, int q)
{
    return p->popular[m].first[q + 1] - p->popular[m].first[q];
}

/* The place of its first sum; behind those of the other bags are these rows. Pure. */
static inline int hps_partials_place(const struct hps_partials *p, int m, int q)
{
    return p->first[m] + q * p->nsum[m] + p->popular[m].first[q];
}

/* The bags of micro-batch m before the first one of a slot. Pure. */
static inline int hps_partials_before(const struct hps_sacks *k, const struct hps_sacks_slot *s)
{
    size_t before = s->q < k->nlayer ? 0 : k->end[s->q / k->nlayer * k->nlayer - 1];

    return (int)(s->first - (size_t)s->i - before) + s->i * s->B;
}

/* What each receiver gets of the step; out: hps_partials_find's length, at and to. */
void hps_partials_deal(struct hps_partials *p, int *length, size_t *at, struct hps_ints *to);
/* Its bags, behind that. */
void hps_partials_bags(struct hps_partials *p, struct hps_places_room *room);

#endif
