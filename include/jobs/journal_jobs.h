/* journal_jobs.h - the pool and the jobs in a journal (jobs/journal.h): the fields of the records
 * "pool" and "arrive". With them a journal is a workload. */
#ifndef HPS_JOBS_JOURNAL_JOBS_H
#define HPS_JOBS_JOURNAL_JOBS_H

#include <jansson.h>

#include "base/status.h"
#include "jobs/job_pool.h"
#include "jobs/workload.h"

/* The record "pool": `types` with their prices, `nodes` with their units. */
json_t *hps_journal_pool(const struct hps_job_pool *pool);
/* Back. HPS_DECK, said; `from` names the journal. */
enum hps_status hps_journal_pool_of(struct hps_job_pool **pool, const char *from,
                                    const json_t *record);

/* The record "arrive" of job j: when it arrives and is due, what it waits for, its configurations
 * with the seconds that they were promised to take. */
json_t *hps_journal_job(const struct hps_workload *w, int j, const struct hps_job_pool *pool);

/* All jobs of a journal, in the pool of its record, or in *pool where one is given; a job that
 * arrives twice counts the second time. HPS_INPUT, HPS_DECK, said. Local. */
enum hps_status hps_journal_workload(struct hps_workload **w, struct hps_job_pool **pool,
                                     const char *path);

#endif
