/* accounts.h - the accounting of a pool: a line of text for each stretch in which a job had units,
 * with the columns of Helios' traces in their order, and behind them ours. */
#ifndef HPS_JOBS_ACCOUNTS_H
#define HPS_JOBS_ACCOUNTS_H

#include "jobs/outcome.h"

/* "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue,
 * units,usd". What nobody knows is empty: the user, and the nodes. `vc` is `pool` ("": none);
 * cpu_num are units of types whose names begin with "cpu", gpu_num of the others; state: COMPLETED
 * where the job ended then, RESIZED where it went on with others at once, else PREEMPTED; times are
 * seconds from the pool's start, queue the seconds that it waited before. In the order of the ends.
 * To free with hps_mem_free. Pure. */
char *hps_accounts_text(const struct hps_job_outcomes *o, const char *pool);

#endif
