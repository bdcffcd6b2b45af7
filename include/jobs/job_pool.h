/* job_pool.h - the pool that many jobs share, as schedulers see it: nodes with units of some types.
 *
 * A unit is what a rank of a training computes on: the cores of a CPU rank, or a GPU. */
#ifndef HPS_JOBS_JOB_POOL_H
#define HPS_JOBS_JOB_POOL_H

#include <stdbool.h>

#include "base/deck.h"

enum { HPS_POOL_NODES = 100000, HPS_POOL_UNITS = 10000 };  /* at most; units of a node */

struct hps_job_type {
    char *name;
    double usd_hour;            /* of a unit                  */
    int units;                  /* on all nodes together      */
};

/* Transparent; names are the pool's. */
struct hps_job_pool {
    int T, nnode;
    bool apart;                 /* types that no job connects are pools of their own: a job that
                                   waits in one keeps none in another waiting */
    struct hps_job_type *type;  /* (T)                        */
    int *units;                 /* (nnode, T) of each node    */
    char **node;                /* (nnode) their names; NULL: they have none */
};

/* `nodes` nodes with `units` units each, all of one type "gpu". Pure. */
struct hps_job_pool *hps_job_pool_grid(int nodes, int units);
/* A pool of a deck: sections `types`, each with `name` and `price_usd_hour`, and `nodes`, each with
 * a `name` that may stand for many (jobs/host_list.h) and its `units` by type. HPS_INPUT, HPS_DECK,
 * said. Local. */
enum hps_status hps_job_pool_load(struct hps_job_pool **pool, const char *path);
enum hps_status hps_job_pool_bind(struct hps_job_pool **pool, const struct hps_deck *deck);
/* A text "16x4" (HPS_USAGE, said, where it is a bad one), or else the name of such a deck. */
enum hps_status hps_job_pool_parse(struct hps_job_pool **pool, const char *text);
/* The number of a type by its name; -1: there is none. Pure. */
int hps_job_pool_find(const struct hps_job_pool *pool, const char *type);
void hps_job_pool_free(struct hps_job_pool *pool); /* NULL is fine */

/* Units of all types together. Pure. */
int hps_job_pool_units(const struct hps_job_pool *pool);

/* The reference of a pool as a deck (base/deck.h). On standard output. */
void hps_job_pool_print_reference(enum hps_deck_form form);

#endif
