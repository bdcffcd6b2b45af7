/* trace_pollux.c - jobs of Pollux' simulator (petuum/adaptdl, branch osdi21-artifact: simulator/):
 * each trains an application with a batch that stays; a table says how long that takes on 1 to 64
 * GPUs. */
#include "base/mem.h"
#include "base/say.h"
#include "jobs/trace/trace_impl.h"

static const char *const columns[] = { "name", "time", "application", "num_replicas", "batch_size",
                                       NULL };
static const char *const speed_columns[] = { "application", "batch", "gpus", "seconds_per_step",
                                             "steps", NULL };

/* ---- the table of speeds ---- */

static enum hps_status add_speed(struct hps_speeds *s, const struct hps_trace_table *t, int row,
                                 int type)
{
    double batch = 0, gpus = 0, step_s = 0, steps = 0;
    enum hps_status st = hps_trace_whole(t, row, "batch", 1, 1e12, &batch);

    if (!st) st = hps_trace_whole(t, row, "gpus", 1, 1e6, &gpus);
    if (!st) st = hps_trace_real(t, row, "seconds_per_step", 1e-9, 1e9, &step_s);
    if (!st) st = hps_trace_real(t, row, "steps", 1e-9, 1e15, &steps);
    if (st) return st;
    const char *application = hps_trace_cell(t, row, hps_trace_column(t, "application"));
    hps_speeds_add(s, (struct hps_speed){
        .model = hps_mem_print("%s %.0f", application, batch), .type = type, .units = (int)gpus,
        .step_s = step_s, .steps = steps });
    return HPS_OK;
}

static enum hps_status load_speeds(struct hps_speeds *s, const struct hps_trace_opt *opt)
{
    static const char *const name[] = { "t4" };
    struct hps_trace_table t;
    int type = -1;
    enum hps_status st = hps_speeds_wanted(opt, "pollux", 1);

    if (!st) st = hps_trace_types(opt->pool, name, 1, &type);
    if (!st) st = hps_trace_table_load(&t, opt->speeds[0]);
    if (st) return st;
    st = hps_trace_wants(&t, speed_columns);
    for (int i = 0; i < t.nrow && !st; i++)
        st = add_speed(s, &t, i, type);
    hps_speeds_sort(s);
    hps_trace_table_done(&t);
    return st;
}

/* ---- jobs ---- */

static enum hps_status one(struct hps_pool_job *job, const struct hps_trace_table *t, int row,
                           const void *context)
{
    const struct hps_trace_speeds *c = context;
    double arrive = 0, asked = 0, batch = 0;
    enum hps_status st = hps_trace_real(t, row, "time", 0, 1e12, &arrive);

    if (!st) st = hps_trace_whole(t, row, "num_replicas", 1, 1e6, &asked);
    if (!st) st = hps_trace_whole(t, row, "batch_size", 1, 1e12, &batch);
    if (st) return st;
    job->name = hps_mem_text(hps_trace_cell(t, row, hps_trace_column(t, "name")));
    const char *application = hps_trace_cell(t, row, hps_trace_column(t, "application"));
    job->model = hps_mem_print("%s %.0f", application, batch);
    job->arrive_s = arrive;
    return hps_speeds_configs(job, &c->speeds, c->opt->pool, 0, (int)asked, false);
}

static enum hps_status read_jobs(struct hps_workload **w, const struct hps_trace_table *t,
                                 const struct hps_trace_opt *opt)
{
    return hps_trace_each_at_speeds(w, t, opt, load_speeds, one);
}

const struct hps_trace_format hps_trace_pollux = { .name = "pollux", .columns = columns,
                                                   .takes_speeds = true, .read = read_jobs };
