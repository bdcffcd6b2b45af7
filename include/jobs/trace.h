/* trace.h - traces of jobs that others published, in their own formats, as workloads.
 *
 * A format is one file and one line of a list. A trace tells its format by the columns of its first
 * line, or by the number of its columns where it has no such line, or it is named. A pool's journal
 * (jobs/journal.h), *.jsonl, is a trace too, and tells its pool.
 *
 * The types of a table of speeds are those of the pool by their names, without regard to case. A
 * pool of one type that has none of the names stands for the last type of the table. */
#ifndef HPS_JOBS_TRACE_H
#define HPS_JOBS_TRACE_H

#include "base/status.h"
#include "jobs/job_pool.h"
#include "jobs/workload.h"

struct hps_trace_opt {
    const char *path;
    const char *format;                 /* NULL: by its first line                       */
    int nspeeds;
    char *const *speeds;                /* (nspeeds) tables of speeds that some need     */
    const char *cluster;                /* the one whose jobs are wanted; NULL: all       */
    const struct hps_job_pool *pool;    /* what its configurations are for; NULL: ...     */
    struct hps_job_pool **own;          /* ... the trace's own, if it tells one: made here */
};

/* The jobs of a trace. HPS_INPUT: missing or unreadable; HPS_DECK: another format, a damaged line,
 * a speed that is missing; HPS_USAGE: there is no such format, a table or a pool is wanted and was
 * not given; one message. Local. */
enum hps_status hps_trace_load(struct hps_workload **w, const struct hps_trace_opt *opt);
/* The formats, "a|b|c". */
const char *hps_trace_words(void);

#endif
