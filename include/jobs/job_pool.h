/* job_pool.h - the pool that many jobs share, as schedulers see it: nodes with units of some types.
 *
 * A unit is what a rank of a training computes on: the cores of a CPU rank, or a GPU. */
#ifndef HPS_JOBS_JOB_POOL_H
#define HPS_JOBS_JOB_POOL_H

#include "base/status.h"

struct hps_job_type {
    char *name;
    double usd_hour;            /* of a unit                  */
    int units;                  /* on all nodes together      */
};

/* Transparent; names are the pool's. */
struct hps_job_pool {
    int T, nnode;
    struct hps_job_type *type;  /* (T)                        */
    int *units;                 /* (nnode, T) of each node    */
};

/* `nodes` nodes with `units` units each, all of one type "gpu". Pure. */
struct hps_job_pool *hps_job_pool_grid(int nodes, int units);
/* The same for a text "16x4". HPS_USAGE, said, where it is none. */
enum hps_status hps_job_pool_parse(struct hps_job_pool **pool, const char *text);
void hps_job_pool_free(struct hps_job_pool *pool); /* NULL is fine */

/* Units of all types together. Pure. */
int hps_job_pool_units(const struct hps_job_pool *pool);

#endif
