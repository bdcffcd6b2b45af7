/* ps_impl.h - the state of the parameter server at one rank. For src/ps/ps*.c only. */
#ifndef HPS_PS_PS_IMPL_H
#define HPS_PS_PS_IMPL_H

#include "ps/aggregate.h"
#include "ps/exchange.h"
#include "ps/paging.h"
#include "ps/ps.h"
#include "ps/staging.h"
#include "ps/versions.h"

/* A table of which I have a shard. */
struct hps_ps_table {
    int index;                          /* into net->table                                       */
    int group;
    int stage;                          /* the first of my stages that reads it; 0 on a server   */
    int next;                           /* the micro-batch whose rows are awaited next           */
    struct hps_table *table;
    struct hps_versions versions;       /* where workers are not synchronous, of my rows        */
    struct hps_pulled pulled;           /* and what this worker pulled                          */
    struct hps_aggregate *held;         /* gradients that wait for others; NULL: none do. Whose
                                           the table is                                          */
    struct hps_exchange *exchange;
};

/* Tables that are read for the same ids by the same ranks: one request serves them all. */
struct hps_ps_group {
    MPI_Comm comm;                      /* the ranks that own them or read them, owners first;
                                           owned                                                 */
    struct hps_shm *shm;                /* those of them that share memory with me; or NULL      */
    long long rows;
    int nlayer;                         /* layers of my stages that read one of the tables       */
    const struct hps_layer **layer;     /* (nlayer) these, one for all tables                    */
    bool index;                         /* one of them needs bags with an index                  */
    bool sums;                          /* owners send partial pooled sums, not rows             */
    int request_buffers;                /* the first of the buffers of shm for requests          */
    const struct hps_tier_ops *tier;    /* where their rows are kept                             */
    struct hps_slots *slots;            /* on a device without memory for all rows ...           */
    struct hps_staging *staging;        /* ... what brings those of a step; else both NULL       */
    struct hps_row_store *store;        /* on a host without: slots are of this, ...             */
    struct hps_paging *paging;          /* ... which brings those of a step; else both NULL.
                                           All that says where rows are is the ps' whose the
                                           tables are                                            */
    bool holds;                         /* readers with a cache hold gradients back              */
    struct hps_row_cache *cache;        /* mine, where I am one of them; or NULL                 */
    struct hps_ps_cached cached;        /* what it did so far                                    */
    const struct hps_request_step *step; /* the step under way, ...                              */
    const struct hps_request_step *asked;   /* ... and with numbers of rows, not slots           */
    struct hps_paging_steps *paged;     /* its sequence; NULL: its rows are all in memory        */
};

struct hps_ps {
    const struct hps_net *net;          /* borrowed, as are team, dev, train                     */
    const struct hps_team *team;
    struct hps_dev *dev;
    const struct hps_train_opt *train;
    int ntable, ngroup;                 /* those whose rows I read, or own a part of: readers own
                                           them where there are no dedicated servers             */
    MPI_Comm servers;                   /* dedicated ones; owned; NULL: none, or I am not one    */
    struct hps_exchange_opt codec;      /* in which rows and gradients travel                    */
    bool delta;                         /* numbers of rows travel as differences                 */
    bool versioned;                     /* a server of workers that are not synchronous          */
    bool borrows;                       /* tables, and where their rows are kept                 */
    struct hps_staleness staleness;     /* of the gradients of rows that it applied              */
    int M;                              /* of the step under way                                 */
    struct hps_ps_table *table;
    struct hps_ps_group *group;
    int *layer_table;                   /* (L) index into table, -1: none or not mine           */
    int *layer_bag;                     /* (L) the layer's place in its group's list             */
    struct hps_lookup *lookup;          /* (M, L) of the step under way                          */
    size_t lookup_cap;
};

/* The part of a table's rows that this rank owns; none where part >= parts. */
struct hps_ps_owner {
    int part, parts;
};
struct hps_ps_owner hps_ps_owner_of(const struct hps_ps *ps, const struct hps_ps_table *table);

/* Where the rows of each group are kept; before its tables are made. And what brings those of a
 * step, behind that. Local; a status that is none of HPS_OK has its message. */
enum hps_status hps_ps_make_tiers(struct hps_ps *ps, const struct hps_ps_opt *opt);
enum hps_status hps_ps_make_paging(struct hps_ps *ps, const struct hps_ps_opt *opt);

/* Request a step that returns all gradients that caches hold, in place of the one that is
 * prefetched and not begun, if there is one: is there? Collective. */
bool hps_ps_requests_flush(struct hps_ps_requests *requests);
/* Take the oldest step that was prefetched: it is `step` of each group. Answers its number of
 * micro-batches. Collective. */
int hps_ps_requests_take(struct hps_ps_requests *requests);

#endif
