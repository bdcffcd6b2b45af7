/* pool.h - the hardware of all ranks: gathered at rank 0, sorted into resource types, broadcast. */
#ifndef HPS_HW_POOL_H
#define HPS_HW_POOL_H

#include "base/deck.h"
#include "hw/bench.h"

struct hps_resource_opt {       /* one entry of the deck's `resources`    */
    const char *name, *match, *price_per;
    double price_usd_hour;
    long long limit;            /* units at most; 0: all there are        */
    double memory;              /* bytes of a unit; 0: as detected        */
    const char *emulate_ranks;  /* "": not emulated; "1-3,5", "none"      */
    double emulate_slow;
    const char *emulate_late;   /* some of them: "3"                      */
    double emulate_late_slow, emulate_stall_share, emulate_stall_slow;
    const char *slurm_partition, *slurm_constraint, *slurm_gres;
    int slurm_cores;
    const struct hps_item *item;    /* its place in the deck, for messages; NULL: the default */
};
extern const struct hps_field hps_resource_fields[], hps_resource_emulate_fields[],
    hps_resource_slurm_fields[];

struct hps_pool_opt { int n; struct hps_resource_opt *entry; };

/* Bind the deck's list (absent: one entry of defaults). Two entries of one name, or `emulate`
 * without ranks or with a bad list: HPS_DECK. Free *opt in any case. Local. */
enum hps_status hps_pool_bind(struct hps_pool_opt *opt, const struct hps_deck *deck);
void hps_pool_opt_done(struct hps_pool_opt *opt);

/* Parse the next range of a list like "1-3,5" and move *text behind it. 1: there is one, 0: the
 * end, -1: no such list, as "none". Pure. */
int hps_pool_range(const char **text, int *first, int *last);

struct hps_type {               /* a resource type: ranks of equal hardware */
    char name[HPS_NODE_TEXT];   /* the entry's; further hardware of one entry: "-2" .. */
    struct hps_node node;       /* facts of its first rank; rates are medians over its ranks */
    bool gpu;
    double price_usd_hour;      /* of a unit                              */
    long long limit;            /* the deck's; 0: none given              */
    double memory_bytes;        /* of a unit: the deck's, else its share of its GPU or host */
    double slow;                /* emulated: >= 1                         */
    int nrank, first;           /* ranks of it, the first of them         */
    int entry;                  /* index into the deck's resources        */
};

struct hps_pool {
    int T, R;
    struct hps_type *type;      /* (T) ordered by entry (emulating or not), CPU model, cores,
                                   threads, GPU model; never by a measured rate */
    struct hps_node *node;      /* (R) */
    int *type_of;               /* (R) */
    struct hps_link *link;      /* (T, T) symmetric: between the first ranks of two types; within
                                   a type between its first two (of one rank: {0, memory rate});
                                   zeros where not measured */
};

/* Sort R nodes into types. An emulating entry gets the ranks that it lists, any other rank goes to
 * the first entry whose `match` fits its host, CPU or GPU model. Emulated ranks that do not exist,
 * do not match or are listed twice, and ranks that match no entry, are HPS_DECK with one message;
 * *pool is NULL then. Pure but for the message. */
enum hps_status hps_pool_make(struct hps_pool **pool, int R, const struct hps_node *node,
                              const struct hps_pool_opt *opt);

/* Gather the nodes of all ranks, sort them, broadcast the pool: it is equal on all ranks. `links`:
 * measure them too. Collective over world (MPI_COMM_NULL: alone). Caller frees. */
enum hps_status hps_pool_gather(struct hps_pool **pool, const struct hps_node *node,
                                const struct hps_pool_opt *opt, bool links, MPI_Comm world);
void hps_pool_free(struct hps_pool *pool);

/* The number of the type of this name; -1: there is none. Pure. */
int hps_pool_find(const struct hps_pool *pool, const char *name);
/* The sum of a quantity over the GPUs that ranks compute on, each GPU once, as its first rank
 * has it in of_rank (R). NaN where one of them is NaN or no rank computes on a GPU. Pure. */
double hps_pool_gpu_sum(const struct hps_pool *pool, const double *of_rank);

/* Print a table of the types and links (hps_out). Local. */
void hps_pool_print(const struct hps_pool *pool);
/* Write pool.json, "heterps-pool-1", on rank 0. HPS_OUTPUT with a message. Local. */
enum hps_status hps_pool_save(const struct hps_pool *pool, const char *path);

/* The pool as the JSON of pool.json, to free with hps_mem_free. Local. */
char *hps_pool_text(const struct hps_pool *pool);
/* Print the `resources` of the reference deck (hps_out). Local. */
void hps_pool_print_reference(enum hps_deck_form form);

#endif
