/* split_impl.h - a pool whose types are apart (job_pool.h) as several pools. */
#ifndef HPS_JOBS_SPLIT_IMPL_H
#define HPS_JOBS_SPLIT_IMPL_H

#include "jobs/job_pool.h"
#include "jobs/workload.h"

/* One of the pools, with its jobs. */
struct hps_job_share {
    struct hps_job_pool *pool;
    struct hps_workload *workload;      /* names are the whole workload's                   */
    int *number;                        /* (workload->n) of its jobs in the whole workload  */
};

/* How many pools it is; share_of (T) is which one each type is in. Pure. */
int hps_split_count(const struct hps_workload *w, const struct hps_job_pool *pool, int *share_of);
/* The k-th of them. */
void hps_split_init(struct hps_job_share *s, const struct hps_workload *w,
                    const struct hps_job_pool *pool, const int *share_of, int k);
void hps_split_done(struct hps_job_share *s);

#endif
