/* pool.h - all ranks' facts at rank 0, sorted into resource types, told to all. */
#ifndef HPS_HW_POOL_H
#define HPS_HW_POOL_H

#include "base/deck.h"
#include "hw/bench.h"

struct hps_resource_opt {       /* one entry of the deck's `resources` */
    const char *name, *match, *price_per;
    double price_usd_hour;
    long long limit;            /* units; 0: as many as there are     */
    double memory;              /* bytes of a unit; 0: as found        */
    const char *emulate_ranks;  /* "" none; "1-3,5"                     */
    double emulate_slow;
    const char *slurm_partition, *slurm_constraint, *slurm_gres;
    int slurm_cores;
    const struct hps_item *item;   /* where in the deck, for messages  */
};
extern const struct hps_field hps_resource_fields[], hps_resource_emulate_fields[],
    hps_resource_slurm_fields[];

struct hps_pool_opt { int n; struct hps_resource_opt *entry; };
/* Bind the deck's list (absent: one entry of defaults). HPS_DECK. Frees: hps_pool_opt_done. Local. */
enum hps_status hps_pool_bind(struct hps_pool_opt *opt, const struct hps_deck *deck);
void hps_pool_opt_done(struct hps_pool_opt *opt);

struct hps_type {               /* a resource type: ranks that are alike                 */
    char name[HPS_NODE_TEXT];   /* the entry's; a second kind of hardware under one entry gets "-2" */
    struct hps_node node;       /* facts of its first rank; rates are medians over its ranks */
    bool gpu;
    double price_usd_hour;      /* of a unit                                              */
    long long limit;            /* the deck's; 0: none given                              */
    double memory_bytes;        /* of a unit                                              */
    double slow;                /* emulated: >= 1                                         */
    int nrank, first;           /* ranks of it, the first of them                          */
    int entry;                  /* index into the deck's resources                        */
};

struct hps_pool {
    int T, R;
    struct hps_type *type;      /* (T) ordered by entry, CPU model, cores, GPU model, emulation; never a measured rate */
    struct hps_node *node;      /* (R) */
    int *type_of;               /* (R) */
    struct hps_link *link;      /* (T, T) measured between the first ranks of two types (inside a type: first two; one rank:
                                   {0, memory rate}); symmetric */
};

/* Gathered at rank 0, sorted, matched with the deck's entries, told to all. A rank whose hardware no entry matches, emulated ranks that
 * do not exist, are HPS_DECK, the same on all ranks. `links`: measure them. Collective over world. */
enum hps_status hps_pool_gather(struct hps_pool **pool, const struct hps_node *node,
                                const struct hps_pool_opt *opt, bool links, MPI_Comm world);
void hps_pool_free(struct hps_pool *pool);
char *hps_pool_text(const struct hps_pool *pool);     /* JSON, to free with hps_mem_free */
void hps_pool_print_reference(void);                  /* the reference deck's `resources` */
void hps_pool_print(const struct hps_pool *pool);                 /* table, rank 0, stdout */
enum hps_status hps_pool_save(const struct hps_pool *pool, const char *path);   /* pool.json "heterps-pool-1", rank 0 */
/* Same types (names, models, cores, gpu, slow) and ranks of each as the pool.json at `path`? false when unreadable. Local. */
bool hps_pool_same(const struct hps_pool *pool, const char *path);

#endif
