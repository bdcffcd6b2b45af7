/* trace.h - traces of jobs that others published, in their own formats, as workloads.
 *
 * A format is one file and one line of a list. A trace tells its format by the columns of its first
 * line, or is told it. */
#ifndef HPS_JOBS_TRACE_H
#define HPS_JOBS_TRACE_H

#include "base/status.h"
#include "jobs/job_pool.h"
#include "jobs/workload.h"

struct hps_trace_opt {
    const char *path;
    const char *format;                 /* NULL: by its first line                       */
    const char *speeds;                 /* the table of speeds that some need; NULL: none */
    const struct hps_job_pool *pool;    /* what its configurations are for               */
};

/* The jobs of a trace. HPS_INPUT: missing or unreadable; HPS_DECK: another format, a damaged line,
 * a speed that is missing; HPS_USAGE: there is no such format; one message. Local. */
enum hps_status hps_trace_load(struct hps_workload **w, const struct hps_trace_opt *opt);
/* The formats, "a|b|c". */
const char *hps_trace_words(void);

#endif
