#include "app/trial_plans.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "base/world.h"
#include "life/watch.h"
#include "plan/contenders.h"
#include "plan/cost.h"
#include "plan/promise.h"
#include "plan/trial_choice.h"
#include "profile/trial_served.h"

enum { MAX_PLANS = 6 };
enum { AUTO_STEPS = 20, MAX_STEPS = 10000, MIN_WINDOWS = 18 };
#define AUTO_S 0.1              /* of steps, where AUTO_STEPS take less              */
#define AUTO_SHARE 0.01         /* of the run's seconds                              */
#define BYTES_S 1e9             /* at which tables and weights are made, a guess     */

/* ---- the plans ---- */

/* What the user named is tried alone. */
static bool may_take_others(const struct hps_sched_opt *o)
{
    return strcmp(o->method, "file") != 0 && strcmp(o->method, "heuristic") != 0 &&
           strncmp(o->method, "single:", 7) != 0;
}

/* At most max plans, found by rank 0 and broadcast. */
static int make_list(const struct hps_job *j, struct hps_plan **plan, int max)
{
    int n = 0;

    if (hps_rank() == 0) n = hps_contenders(plan, max, j->plan, j->profile, &j->o.sched);
    HPS_MPI(MPI_Bcast(&n, 1, MPI_INT, 0, j->world));
    for (int i = 0; i < n; i++) {
        hps_plan_bcast(&plan[i], j->world);
        hps_cost_of(plan[i], j->profile);
    }
    return n;
}

static double state_bytes(const struct hps_profile *p)
{
    double bytes = 0;

    for (int l = 0; l < p->L; l++)
        bytes += p->layer[l].weight_bytes + p->layer[l].state_bytes;
    return bytes;
}

static int windows_of(int steps)
{
    return steps < MIN_WINDOWS ? 1 : HPS_TRIAL_WINDOWS;
}

/* Seconds of a trial of so many steps of n plans, by the model, with as many that do not count. */
static double trial_s(const struct hps_job *j, int n, int steps)
{
    double step_s = hps_promise_step(j->plan, j->profile).step_s;
    double pauses_s = (windows_of(steps) - 1) * HPS_TRIAL_PAUSE_S;

    return n * (2 * steps * step_s + pauses_s + state_bytes(j->profile) / BYTES_S);
}

/* How many steps to try of *n plans; 0: none. auto: *n becomes what there is time for. */
static int steps_of(const struct hps_job *j, int *n)
{
    double wanted = j->o.sched.trial_steps, share = 0;
    struct hps_engine_result promise = hps_promise_step(j->plan, j->profile);
    int steps = (int)fmin(fmax(AUTO_STEPS, ceil(AUTO_S / promise.step_s)), MAX_STEPS);

    if (!isinf(wanted)) return (int)wanted;
    for (int k = *n; k > 0; k--) {
        share = trial_s(j, k, steps) / promise.seconds;
        if (share <= AUTO_SHARE) {
            *n = k;
            return steps;
        }
    }
    HPS_SAY(HPS_INFO, "schedule.trial_steps auto: no trial, it would take %.2g %% of the run",
            100 * share);
    return 0;
}

/* ---- trying ---- */

static enum hps_status try_plan(struct hps_job *j, const struct hps_plan *plan, int steps,
                                struct hps_trial *trial)
{
    bool async = hps_train_is_async(&j->o.train);
    struct hps_train_opt train = async ? hps_trial_served_train(&j->o.train) : j->o.train;
    const struct hps_trial_opt opt = {
        .train = &train, .storage = &j->o.storage, .data = j->train,
        .batch = j->o.data.batch, .microbatches = j->o.data.microbatches,
        .prefetch = j->o.data.prefetch, .shuffle = j->o.data.shuffle,
        .seed = (uint64_t)j->o.run.seed, .nwindow = windows_of(steps),
        .min_steps = steps, .max_steps = steps };
    int *stage_of = hps_mem_new((size_t)j->pool->R, sizeof *stage_of);
    struct hps_team *team = NULL;
    enum hps_status st = hps_plan_place(plan, j->pool->R, j->pool->type_of, stage_of);

    if (!st) st = hps_team_new(&team, plan, stage_of, j->world);
    if (!st)
        st = (async ? hps_trial_async : hps_trial_run)(trial, j->net, plan, team, &j->dev, &opt);
    hps_team_free(team);
    hps_mem_free(stage_of);
    if (!st) HPS_MPI(MPI_Bcast(trial, (int)sizeof *trial, MPI_BYTE, 0, j->world));
    return st;
}

static struct hps_tried_plan result_of(const struct hps_job *j, const struct hps_plan *plan,
                                       const struct hps_trial *t)
{
    return (struct hps_tried_plan){ .promised_s = hps_promise_step(plan, j->profile).step_s,
                                    .step_s = t->step_s,
                                    .unsure_s = t->unsure * t->step_s,
                                    .usd_hour = hps_cost_usd_hour(plan, j->profile) };
}

/* "2 x cpu 0-9" for each stage. */
static void stages_of(char *text, size_t size, const struct hps_plan *plan,
                      const struct hps_profile *p)
{
    size_t at = 0;

    for (int s = 0; s < plan->S && at < size; s++) {
        const struct hps_plan_stage *g = &plan->stage[s];
        int n = snprintf(text + at, size - at, "%s%d-%d %s x %lld", s > 0 ? ", " : "", g->first,
                         g->last, p->type[g->type].name, g->units);
        at += n > 0 ? (size_t)n : 0;
    }
}

static void print(const struct hps_job *j, int n, struct hps_plan *const *plan,
                  const struct hps_tried_plan *x, int steps, struct hps_trial_choice c)
{
    double batch = (double)j->o.data.batch * j->o.train.workers;

    hps_out("\ntrial of %d steps, discarded        promised       measured   unsure     USD/h  "
            "stages\n", steps);
    for (int i = 0; i < n; i++) {
        char stages[96];
        stages_of(stages, sizeof stages, plan[i], j->profile);
        hps_out("%-30s %14.6g %14.6g %6.1f %% %9.4g  %s\n",
                i == c.best                                      ? "taken"
                : hps_trial_is_tie(&x[i], &x[c.best], c.by_cost) ? "as good, within the spread"
                                                                 : "",
                batch / x[i].promised_s, batch / x[i].step_s, 100 * x[i].unsure_s / x[i].step_s,
                x[i].usd_hour, stages);
    }
}

/* The plan is the job's from now on. */
static void take(struct hps_job *j, struct hps_plan **plan, const struct hps_tried_plan *x)
{
    struct hps_plan *was = j->plan;

    j->plan = *plan;
    *plan = was;
    j->profile->engine.trial = x->step_s / x->promised_s;
}

enum hps_status hps_trial_plans(struct hps_job *j)
{
    struct hps_plan *plan[MAX_PLANS] = { NULL };
    struct hps_tried_plan result[MAX_PLANS];
    struct hps_trial trial = { 0 };
    enum hps_status st = HPS_OK;
    int n = may_take_others(&j->o.sched) ? MAX_PLANS : 1, steps, done = 0;

    if (!(j->o.sched.trial_steps > 0) || j->kept) return HPS_OK;
    j->profile->engine.trial = 0;       /* that of another plan, in a profile that was read */
    hps_job_search(&j->o.sched, 1);
    steps = steps_of(j, &n);
    if (steps == 0) return HPS_OK;
    n = make_list(j, plan, n);
    hps_watch_phase("trying plans", 3 * trial_s(j, n, steps));
    while (!st && done < n) {
        st = try_plan(j, plan[done], steps, &trial);
        if (st || trial.n < steps) break;
        result[done] = result_of(j, plan[done], &trial);
        done++;
    }
    if (!st && done == n) {
        double batch = (double)j->o.data.batch * j->o.train.workers;
        struct hps_trial_choice c = hps_trial_choose(n, result, batch,
                                                     j->o.sched.throughput_limit);
        print(j, n, plan, result, steps, c);
        take(j, &plan[c.best], &result[c.best]);
    }
    for (int i = 0; i < n; i++)
        hps_plan_free(plan[i]);
    return st;
}
