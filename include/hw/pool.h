/* pool.h - all ranks' facts at rank 0, sorted into resource types, told to all. */
#ifndef HPS_HW_POOL_H
#define HPS_HW_POOL_H

#include "base/deck.h"
#include "hw/bench.h"

struct hps_resource_opt {       /* one entry of the deck's `resources`    */
    const char *name, *match, *price_per;
    double price_usd_hour;
    long long limit;            /* units; 0: as many as there are         */
    double memory;              /* bytes of a unit; 0: as found           */
    const char *emulate_ranks;  /* "": not emulated; "1-3,5", "none"      */
    double emulate_slow;
    const char *slurm_partition, *slurm_constraint, *slurm_gres;
    int slurm_cores;
    const struct hps_item *item;    /* where in the deck, for messages; NULL: the default entry */
};
extern const struct hps_field hps_resource_fields[], hps_resource_emulate_fields[],
    hps_resource_slurm_fields[];

struct hps_pool_opt { int n; struct hps_resource_opt *entry; };

/* Bind the deck's list (absent: one entry of defaults). Two entries of one name, `emulate` without
 * ranks or with a bad list: HPS_DECK. *opt can be freed in any case. Local. */
enum hps_status hps_pool_bind(struct hps_pool_opt *opt, const struct hps_deck *deck);
void hps_pool_opt_done(struct hps_pool_opt *opt);

/* The next range of a list like "1-3,5": moves *text behind it. 1: there is one, 0: the end,
 * -1: not such a list, as "none". Pure. */
int hps_pool_range(const char **text, int *first, int *last);

struct hps_type {               /* a resource type: ranks that are alike  */
    char name[HPS_NODE_TEXT];   /* the entry's; more kinds of hardware under one entry: "-2" ... */
    struct hps_node node;       /* facts of its first rank; rates are medians over its ranks */
    bool gpu;
    double price_usd_hour;      /* of a unit                              */
    long long limit;            /* the deck's; 0: none given              */
    double memory_bytes;        /* of a unit: the deck's, else its GPU's or its host's by the
                                   ranks there */
    double slow;                /* emulated: >= 1                         */
    int nrank, first;           /* ranks of it, the first of them         */
    int entry;                  /* index into the deck's resources        */
};

struct hps_pool {
    int T, R;
    struct hps_type *type;      /* (T) ordered by entry (which emulates or not), CPU model, cores,
                                   threads, GPU model; never by a measured rate */
    struct hps_node *node;      /* (R) */
    int *type_of;               /* (R) */
    struct hps_link *link;      /* (T, T) symmetric; between the first ranks of two types; inside a
                                   type between its first two (one rank: {0, memory rate}); zeros
                                   when not measured */
};

/* Sort R nodes into types. Emulating entries take the ranks they name, the others go to the first
 * entry whose `match` fits host, CPU or GPU model. Emulated ranks that do not exist, or whose
 * hardware does not match, or that two entries name, and a rank that matches nothing, are HPS_DECK
 * with one message; *pool is NULL then. Pure but for the message. */
enum hps_status hps_pool_make(struct hps_pool **pool, int R, const struct hps_node *node,
                              const struct hps_pool_opt *opt);

/* All ranks' nodes, sorted, told to all: the same answer everywhere. `links`: measure them too.
 * Collective over world (MPI_COMM_NULL: alone). Caller frees. */
enum hps_status hps_pool_gather(struct hps_pool **pool, const struct hps_node *node,
                                const struct hps_pool_opt *opt, bool links, MPI_Comm world);
void hps_pool_free(struct hps_pool *pool);

/* The sum of what the GPUs that ranks compute on tell, each GPU once, of its first rank. of_rank
 * (R), NaN: it tells nothing, and then there is no sum; NaN too where no rank computes on any.
 * Pure. */
double hps_pool_gpu_sum(const struct hps_pool *pool, const double *of_rank);

/* A table of the types and links through hps_out. Local. */
void hps_pool_print(const struct hps_pool *pool);
/* pool.json, "heterps-pool-1"; only rank 0 writes. HPS_OUTPUT with a message. Local. */
enum hps_status hps_pool_save(const struct hps_pool *pool, const char *path);

/* The pool as the JSON of pool.json, to free with hps_mem_free. Local. */
char *hps_pool_text(const struct hps_pool *pool);
/* The `resources` of the reference through hps_out. Local. */
void hps_pool_print_reference(enum hps_deck_form form);

#endif
