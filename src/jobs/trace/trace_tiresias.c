/* trace_tiresias.c - jobs of Tiresias' simulator (SymbioticLab/Tiresias:simulator): each needs
 * num_gpu GPUs for `duration` seconds, of which a fraction does not count. */
#include <math.h>

#include "base/mem.h"
#include "jobs/trace/trace_impl.h"

static const char *const columns[] = { "job_id", "num_gpu", "submit_time", "duration", NULL };

static enum hps_status one(struct hps_pool_job *job, const struct hps_trace_table *t, int row,
                           const void *context)
{
    double gpus = 0, submit = 0, seconds = 0;
    enum hps_status st = hps_trace_whole(t, row, "num_gpu", 1, 1e6, &gpus);

    if (!st) st = hps_trace_whole(t, row, "submit_time", 0, 1e12, &submit);
    if (!st) st = hps_trace_real(t, row, "duration", 0, 1e12, &seconds);
    (void)context;
    if (st) return st;
    int model = hps_trace_column(t, "model_name");
    job->name = hps_mem_text(hps_trace_cell(t, row, hps_trace_column(t, "job_id")));
    job->model = hps_mem_text(model < 0 ? "" : hps_trace_cell(t, row, model));
    job->arrive_s = submit;
    job->nconfig = 1;
    job->config = hps_mem_new(1, sizeof *job->config);
    job->config[0] = (struct hps_job_config){ .nparts = 1, .part = { { 0, (int)gpus } },
                                              .seconds = floor(seconds) };
    return HPS_OK;
}

static enum hps_status read_jobs(struct hps_workload **w, const struct hps_trace_table *t,
                                 const struct hps_trace_opt *opt)
{
    (void)opt;
    return hps_trace_each(w, t, one, NULL);
}

const struct hps_trace_format hps_trace_tiresias = { .name = "tiresias", .columns = columns,
                                                     .read = read_jobs };
