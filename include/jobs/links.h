/* links.h - how much slower jobs are that send through the same links: each node has one, and a job
 * on more than one node uses those of all its nodes.
 *
 * A job alone keeps the link of each of its nodes busy for link_s of the `seconds` of its
 * configuration, since computation and communication overlap (design 4: ET = max(CT, DT)). What
 * jobs want of a link beyond all of its time is shared max-min: nobody gets more of it while
 * another, who wants more, has less (Bertsekas and Gallager, Data Networks, 6.5.2). A job is as
 * fast as the slowest of its links lets it be. */
#ifndef HPS_JOBS_LINKS_H
#define HPS_JOBS_LINKS_H

#include "jobs/place.h"

/* The part of the time of a link that a job on several nodes wants in this configuration, 0..1; 0:
 * nothing is known. The same where it is: 0 on one node. Pure. */
double hps_links_wanted(const struct hps_job_config *config);
double hps_links_part(const struct hps_job_config *config, const struct hps_placed *at);

/* Multiplies share (n) [in, out] by the share of its speed alone that each job keeps. Pure. */
void hps_links_shares(const struct hps_job_pool *pool, const struct hps_place_job *job, int n,
                      double *share);

#endif
