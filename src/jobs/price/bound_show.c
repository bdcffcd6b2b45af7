/* bound_show.c - a bound beside what a policy made, and what proves it. */
#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/say.h"
#include "jobs/bound.h"

static json_t *reals(const double *x, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_real(x[i]));
    return list;
}

static json_t *job_tree(const struct hps_pool_job *job, int T)
{
    json_t *one = json_object(), *configs = json_array();

    json_object_set_new(one, "name", hps_json_word(job->name));
    json_object_set_new(one, "arrive", json_real(job->arrive_s));
    for (int c = 0; c < job->nconfig; c++) {
        json_t *config = json_object(), *units = json_array();
        int *of = hps_mem_new((size_t)T, sizeof *of);
        for (int k = 0; k < job->config[c].nparts; k++)
            of[job->config[c].part[k].type] = job->config[c].part[k].units;
        for (int t = 0; t < T; t++)
            json_array_append_new(units, json_integer(of[t]));
        hps_mem_free(of);
        json_object_set_new(config, "seconds", json_real(job->config[c].seconds));
        json_object_set_new(config, "units", units);
        json_array_append_new(configs, config);
    }
    json_object_set_new(one, "configs", configs);
    return one;
}

static json_t *certificate(const struct hps_job_bound *b)
{
    json_t *tree = json_object(), *units = json_array(), *prices = json_array();
    json_t *jobs = json_array();
    const struct hps_prices *p = b->prices;

    for (int t = 0; t < p->T; t++)
        json_array_append_new(units, json_integer(b->pool->type[t].units));
    for (int i = 0; i < p->I; i++)
        json_array_append_new(prices, reals(p->price + (size_t)i * (size_t)p->T, (size_t)p->T));
    for (int j = 0; j < b->workload->n; j++)
        json_array_append_new(jobs, job_tree(&b->workload->job[j], p->T));
    json_object_set_new(tree, "objective", json_string(hps_objective_figure(b->objective)));
    json_object_set_new(tree, "lower_bound", json_real(b->value));
    json_object_set_new(tree, "restart_s", json_real(b->restart_s));
    json_object_set_new(tree, "units", units);
    json_object_set_new(tree, "edges", reals(p->edge, (size_t)p->I + 1));
    json_object_set_new(tree, "prices", prices);
    json_object_set_new(tree, "jobs", jobs);
    return tree;
}

static double gap_of(const struct hps_job_bound *b, const struct hps_job_outcomes *o)
{
    struct hps_job_figures figures = hps_outcomes_figures(o);
    double value = hps_objective_value(b->objective, &figures);

    return (value - b->value) / value;
}

void hps_bound_print(const struct hps_job_bound *b, const struct hps_job_outcomes *o)
{
    static const char *const what[] = { "mean JCT below %.6g s: it is at most %.1f %% too long",
                                        "makespan below %.6g s: it is at most %.1f %% too long",
                                        "rho below %.6g: it is at most %.1f %% too large" };
    char text[128];

    snprintf(text, sizeof text, what[b->objective], b->value, 100 * gap_of(b, o));
    hps_out("%-26s no schedule has a %s\n", "", text);
}

void hps_bound_add(const struct hps_job_bound *b, const struct hps_job_outcomes *o, json_t *tree)
{
    json_object_set_new(tree, "lower_bound", json_real(b->value));
    json_object_set_new(tree, "gap", hps_json_real(gap_of(b, o)));
    json_object_set_new(tree, "certificate", certificate(b));
}
