/* trace_gavel.c - jobs of Gavel's simulator (stanford-futuredata/gavel: scheduler/): lines without
 * a header. A job has a number of steps, of all its workers together, and runs on so many GPUs of
 * any one type; a table in JSON has steps a second of each kind, alone and beside another. */
#include <math.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/say.h"
#include "jobs/trace/gavel_impl.h"
#include "jobs/trace/trace_impl.h"

static const char *const columns[] = { "job_type", "command", "working_directory", "steps_argument",
                                       "needs_data", "total_steps", "scale_factor", "priority",
                                       "slo", "arrival", NULL };

/* ---- the table of speeds ---- */

static enum hps_status add_type(struct hps_speeds *s, const char *path, const json_t *of, int type)
{
    const char *key;
    json_t *beside;

    json_object_foreach((json_t *)of, key, beside) {
        struct hps_gavel_key k;
        double steps_s = json_number_value(json_object_get(beside, "null"));
        if (!hps_gavel_key(&k, key) || !json_is_number(json_object_get(beside, "null")) ||
            steps_s < 0) {
            HPS_SAY(HPS_ERROR, "%s: %s has no steps a second, alone", path, key);
            return HPS_DECK;
        }
        if (steps_s > 0)
            hps_speeds_add(s, (struct hps_speed){
                .model = hps_mem_print("%.*s", k.nname, k.name), .type = type, .units = k.units,
                .step_s = 1 / steps_s });
    }
    return HPS_OK;
}

static enum hps_status load_speeds(struct hps_speeds *s, const struct hps_trace_opt *opt)
{
    int type[HPS_GAVEL_TYPES];
    json_t *tree = NULL;
    enum hps_status st = hps_speeds_wanted(opt, "gavel", 1);

    if (!st) st = hps_trace_types(opt->pool, hps_gavel_types, HPS_GAVEL_TYPES, type);
    if (!st) st = hps_gavel_load(&tree, opt->speeds[0]);
    for (int i = 0; i < HPS_GAVEL_TYPES && !st; i++)
        if (type[i] >= 0)
            st = add_type(s, opt->speeds[0], json_object_get(tree, hps_gavel_types[i]), type[i]);
    hps_speeds_sort(s);
    json_decref(tree);
    return st;
}

/* ---- jobs ---- */

static enum hps_status one(struct hps_pool_job *job, const struct hps_trace_table *t, int row,
                           const void *context)
{
    const struct hps_trace_speeds *c = context;
    double steps = 0, gpus = 0, priority = 0, slo = 0, arrive = 0;
    enum hps_status st = hps_trace_whole(t, row, "total_steps", 1, 1e15, &steps);

    if (!st) st = hps_trace_whole(t, row, "scale_factor", 1, 1e6, &gpus);
    if (!st) st = hps_trace_real(t, row, "priority", 1e-9, 1e9, &priority);
    if (!st) st = hps_trace_real(t, row, "slo", -1, 1e9, &slo);
    if (!st) st = hps_trace_real(t, row, "arrival", 0, 1e12, &arrive);
    if (st) return st;
    job->name = hps_mem_print("%d", row + 1);
    job->model = hps_mem_text(hps_trace_cell(t, row, 0));
    job->arrive_s = arrive;
    job->priority = priority;
    st = hps_speeds_configs(job, &c->speeds, c->opt->pool, steps, (int)gpus, true);
    if (!st && slo > 0) job->deadline_s = arrive + slo * job->config[job->asked].seconds;
    return st;
}

static enum hps_status read_jobs(struct hps_workload **w, const struct hps_trace_table *t,
                                 const struct hps_trace_opt *opt)
{
    return hps_trace_each_at_speeds(w, t, opt, load_speeds, one);
}

const struct hps_trace_format hps_trace_gavel = { .name = "gavel", .columns = columns,
                                                  .bare = '\t', .takes_speeds = true,
                                                  .read = read_jobs };
