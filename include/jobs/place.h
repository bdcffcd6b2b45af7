/* place.h - from units of each type to units of each node.
 *
 * A job that stays in its configuration stays where it is. The others come, the largest first, to
 *   whole nodes, while they want as many units as a node has;
 *   with the rest to one node: that where all that are there take least longer together, by
 *   memory (jobs/interference.h) and by the link if the job is on other nodes too, then one that
 *   the job was on, then the one with the fewest units free that suffice (buddy: what is free
 *   stays in one piece).
 * Where no node has room in one piece although there are units, jobs move away from one, if they
 * may: the fewest jobs, then the fewest units; else the units are spread over nodes. */
#ifndef HPS_JOBS_PLACE_H
#define HPS_JOBS_PLACE_H

#include <stdbool.h>

#include "jobs/interference.h"
#include "jobs/workload.h"

struct hps_placed_part {
    int node, type, units;
};

struct hps_placed {
    int n;
    struct hps_placed_part *part;       /* (n) hps_mem                                      */
};

struct hps_place_job {
    const struct hps_job_config *config;        /* that it gets; NULL: none                 */
    bool keeps;                 /* it had that before                                       */
    int model;                  /* its kind, for interference; -1: not known                */
    struct hps_placed at;       /* where it was; [out] where it is                          */
    bool moved, spread;         /* [out] it keeps its configuration, elsewhere; in more pieces
                                   than it wants                                            */
};

struct hps_place_opt {
    const struct hps_job_pool *pool;
    bool may_move;              /* a job that keeps its configuration, for one that comes   */
    const struct hps_interference *beside;      /* NULL: nothing is known                   */
    bool links;                 /* what configurations want of links counts (jobs/links.h)  */
};

/* A copy, its parts to free. */
void hps_placed_copy(struct hps_placed *to, const struct hps_placed *from);

/* The configurations together fit the pool. Pure. */
void hps_place(const struct hps_place_opt *opt, struct hps_place_job *job, int n);

/* The share of its speed alone that each job keeps where it is, by all that share a node with it:
 * on its slowest node; and by those that share its links. share (n) [out]. Pure. */
void hps_place_shares(const struct hps_place_opt *opt, const struct hps_place_job *job, int n,
                      double *share);

#endif
