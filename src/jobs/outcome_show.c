/* outcome_show.c - the figures of a pool for people and for programs. */
#include <math.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/say.h"
#include "jobs/outcome.h"

/* Seconds of each job by configuration: {"4 gpu": 120.0}, an object a job. */
static json_t **seconds_by_config(const struct hps_job_outcomes *o)
{
    json_t **by = hps_mem_new((size_t)o->workload->n, sizeof(json_t *));

    for (int j = 0; j < o->workload->n; j++)
        by[j] = json_object();
    for (size_t i = 0; i < o->nspan; i++) {
        const struct hps_job_span *s = &o->span[i];
        const struct hps_job_config *c = &o->workload->job[s->job].config[s->config];
        char *key = hps_outcomes_units(o, c);
        double before = json_number_value(json_object_get(by[s->job], key));
        json_object_set_new(by[s->job], key, json_real(before + s->end_s - s->begin_s));
        hps_mem_free(key);
    }
    return by;
}

static json_t *jobs_tree(const struct hps_job_outcomes *o)
{
    json_t *jobs = json_array(), **seconds = seconds_by_config(o);

    for (int j = 0; j < o->workload->n; j++) {
        const struct hps_job_outcome *x = &o->job[j];
        json_t *one = json_object();
        json_object_set_new(one, "name", hps_json_word(o->workload->job[j].name));
        json_object_set_new(one, "arrive", hps_json_real(o->workload->job[j].arrive_s));
        json_object_set_new(one, "start", hps_json_real(x->start_s));
        json_object_set_new(one, "end", hps_json_real(x->end_s));
        json_object_set_new(one, "seconds", seconds[j]);
        json_object_set_new(one, "preempted", json_integer(x->preempted));
        json_object_set_new(one, "resizes", json_integer(x->resized));
        json_object_set_new(one, "moves", json_integer(x->moved));
        json_object_set_new(one, "usd", hps_json_real(x->usd));
        json_array_append_new(jobs, one);
    }
    hps_mem_free(seconds);
    return jobs;
}

json_t *hps_outcomes_tree(const struct hps_job_outcomes *o)
{
    struct hps_job_figures f = hps_outcomes_figures(o);
    json_t *tree = json_object();

    json_object_set_new(tree, "format", json_string("heterps-jobs-1"));
    json_object_set_new(tree, "policy", json_string(o->policy));
    json_object_set_new(tree, "jobs", jobs_tree(o));
    json_object_set_new(tree, "ended", json_integer(f.ended));
    json_object_set_new(tree, "mean_jct_s", hps_json_real(f.mean_jct_s));
    json_object_set_new(tree, "median_jct_s", hps_json_real(f.median_jct_s));
    json_object_set_new(tree, "p99_jct_s", hps_json_real(f.p99_jct_s));
    json_object_set_new(tree, "makespan_s", hps_json_real(f.makespan_s));
    json_object_set_new(tree, "usd", hps_json_real(f.usd));
    json_object_set_new(tree, "deadlines_met", json_integer(f.met));
    json_object_set_new(tree, "deadlines", json_integer(f.deadlines));
    json_object_set_new(tree, "rho_max", hps_json_real(f.rho_max));
    json_object_set_new(tree, "jain", hps_json_real(f.jain));
    json_object_set_new(tree, "resizes", json_integer(f.resizes));
    json_object_set_new(tree, "moves", json_integer(f.moves));
    json_object_set_new(tree, "lost_to_resizes_s", hps_json_real(f.lost_to_resizes_s));
    return tree;
}

/* ---- a table ---- */

void hps_outcomes_print_head(void)
{
    hps_out("%-26s %6s %10s %10s %10s %11s %9s %7s %6s %8s %8s\n", "policy", "ended", "mean JCT",
            "median", "p99", "makespan", "USD", "rho", "Jain", "resizes", "lost");
    hps_out("%-26s %6s %10s %10s %10s %11s %9s %7s %6s %8s %8s\n", "", "", "s", "s", "s", "s", "",
            "max", "", "", "s");
}

void hps_outcomes_print_row(const struct hps_job_outcomes *o)
{
    struct hps_job_figures f = hps_outcomes_figures(o);

    hps_out("%-26s %6d %10.6g %10.6g %10.6g %11.6g %9.4g %7.3g %6.3f %8d %8.6g\n", o->policy,
            f.ended, f.mean_jct_s, f.median_jct_s, f.p99_jct_s, f.makespan_s, f.usd, f.rho_max,
            f.jain, f.resizes, f.lost_to_resizes_s);
    if (f.deadlines > 0) hps_out("%-26s deadlines met: %d of %d\n", "", f.met, f.deadlines);
}
