/* job_decisions.c - how long policies take to decide, in a pool of several types with many jobs.
 *   job_decisions JOBS TYPES UNITS [POLICY]...
 *       each type has UNITS units; each job 1, 2, 4 and 8 units of each type as its configurations,
 *       its own speed on each; half of the units are in use, three quarters of the jobs have a
 *       deadline. No POLICY: all that a real pool can have.
 *   prints "POLICY FIRST SECOND": seconds of a decision in which all jobs are new to the policy, and
 *   of one a second later, when what the first said is done. Built by `make perf/bin/job_decisions`.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/rng.h"
#include "base/say.h"
#include "jobs/dl2.h"
#include "jobs/policy.h"

enum { SIZES = 4, SAMPLES = 1000 };

static struct hps_job_pool *make_pool(int T, int units)
{
    struct hps_job_pool *pool = hps_job_pool_grid(1, units);

    hps_mem_free(pool->type[0].name);
    hps_mem_free(pool->type);
    hps_mem_free(pool->units);
    pool->T = T;
    pool->type = hps_mem_new((size_t)T, sizeof *pool->type);
    pool->units = hps_mem_new((size_t)T, sizeof *pool->units);
    for (int t = 0; t < T; t++) {
        pool->type[t] = (struct hps_job_type){ hps_mem_print("t%d", t), 1 + t, units };
        pool->units[t] = units;
    }
    return pool;
}

/* Speeds of a job's model on the types, of which there are 26, and how they grow with units. */
static void make_job(struct hps_pool_job *job, int i, const struct hps_job_pool *pool)
{
    uint64_t key = hps_rng_key((uint64_t)i, "job"), model = hps_rng_key((uint64_t)i % 26, "model");
    double work = exp(6 + 2 * hps_rng_normal(key, 0)), power = 0.5 + 0.5 * hps_rng_real(model, 0);

    job->name = hps_mem_print("%d", i);
    job->model = hps_mem_print("%d", i % 26);
    job->arrive_s = i;
    job->nconfig = SIZES * pool->T;
    job->config = hps_mem_new((size_t)job->nconfig, sizeof *job->config);
    for (int t = 0; t < pool->T; t++)
        for (int k = 0; k < SIZES; k++) {
            double speed = (0.2 + hps_rng_real(model, (uint64_t)t + 1)) * pow(1 << k, power);
            job->config[t * SIZES + k] = (struct hps_job_config){
                .nparts = 1, .part = { { t, 1 << k } }, .seconds = work / speed };
        }
    job->asked = (int)hps_rng_below(key, 1, (uint64_t)job->nconfig);
    if (i % 4) job->deadline_s = job->arrive_s + 10000 + work * 4 * hps_rng_real(key, 2);
}

static struct hps_job_view make_view(const struct hps_workload *w, const struct hps_job_pool *pool)
{
    struct hps_job_view view = { w->n, 4, pool, w->n, NULL };
    struct hps_job_room room = hps_job_room_of(pool);

    for (int t = 0; t < pool->T; t++)
        room.units[t] /= 2;
    view.job = hps_mem_new((size_t)w->n, sizeof *view.job);
    for (int i = 0; i < w->n; i++) {
        const struct hps_pool_job *job = &w->job[i];
        bool runs = hps_job_room_take(&room, &job->config[job->asked]);
        double ran = runs ? 100 + i % 400 : 0;
        view.job[i] = (struct hps_job_state){
            .job = job, .left = 1 - 0.5 * runs, .config = runs ? job->asked : -1,
            .since_s = view.now_s - ran, .ran_s = ran,
            .unit_s = ran * hps_config_units(&job->config[job->asked]),
        };
    }
    hps_job_room_done(&room);
    return view;
}

static void measure(const struct hps_workload *w, const struct hps_job_pool *pool,
                    const struct hps_policy *policy, const struct hps_policy_facts *facts)
{
    struct hps_job_view view = make_view(w, pool);
    struct hps_job_decision d = { hps_mem_new((size_t)w->n, sizeof(int)), INFINITY };
    double at[3];

    at[0] = hps_core_s();
    policy->decide(&view, facts, &d);
    at[1] = hps_core_s();
    for (int i = 0; i < w->n; i++)
        if (view.job[i].config != d.config[i]) {
            view.job[i].config = d.config[i];
            view.job[i].since_s = view.now_s;
        }
    view.now_s++;
    double began = hps_core_s();
    policy->decide(&view, facts, &d);
    at[2] = hps_core_s();
    hps_out("%s %.4f %.4f\n", policy->name, at[1] - at[0], at[2] - began);
    hps_out_flush();
    hps_mem_free(d.config);
    hps_mem_free(view.job);
}

static bool wanted(const struct hps_policy *policy, int n, char **name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(name[i], policy->name) == 0) return true;
    return n == 0 && policy->decide;
}

int main(int argc, char **argv)
{
    double sample[SAMPLES];
    struct hps_policy_facts facts = { .nsample = SAMPLES, .sample = sample,
                                      .opt = hps_policy_opt_preset() };

    facts.opt.dl2_taught = facts.opt.dl2_tried = 1;
    if (argc < 4) HPS_DIE("job_decisions JOBS TYPES UNITS [POLICY]...");
    struct hps_job_pool *pool = make_pool(atoi(argv[2]), atoi(argv[3]));
    struct hps_workload *w = hps_workload_new(atoi(argv[1]));
    for (int i = 0; i < SAMPLES; i++)
        sample[i] = 10 * pow(1.01, i);
    for (int i = 0; i < w->n; i++)
        make_job(&w->job[i], i, pool);
    struct hps_dl2 *dl2 = hps_dl2_learn(w, pool, 4, &facts);
    facts.dl2 = dl2;
    for (int p = 0; hps_policy_at(p); p++)
        if (wanted(hps_policy_at(p), argc - 4, argv + 4))
            measure(w, pool, hps_policy_at(p), &facts);
    hps_dl2_free(dl2);
    hps_workload_free(w);
    hps_job_pool_free(pool);
    return 0;
}
