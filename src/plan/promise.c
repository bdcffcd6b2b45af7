#include "plan/promise.h"

#include <math.h>

#include "base/json.h"
#include "base/mem.h"
#include "plan/cost.h"
#include "plan/replay.h"

static double trial_of(const struct hps_profile *p)
{
    return p->engine.trial > 0 ? p->engine.trial : 1;
}

/* Of the stages, without servers. */
static double stages_s(const struct hps_plan *plan, const struct hps_profile *p)
{
    struct hps_engine_terms *x = hps_mem_new((size_t)plan->S, sizeof *x);
    int *mate = hps_mem_new((size_t)plan->S, sizeof *mate);
    hps_engine_stages(plan, p, x, mate);
    double step = hps_replay_step(plan->S, x, mate, (int)hps_engine_cut(p).M);

    hps_mem_free(x);
    hps_mem_free(mate);
    return step;
}

/* Without the trial. */
static double step_s(const struct hps_plan *plan, const struct hps_profile *p)
{
    return hps_engine_with_servers(plan, p, stages_s(plan, p));
}

/* What a worker waits for servers, which may have others to serve first. */
static double served_s(const struct hps_plan *plan, const struct hps_profile *p)
{
    double busy = hps_engine_cut(p).batch * hps_cost_server_et(plan, p);

    return fmax(hps_engine_wait_s(plan, p), busy - stages_s(plan, p));
}

struct hps_engine_result hps_promise_step(const struct hps_plan *plan, const struct hps_profile *p)
{
    return hps_engine_result(plan, p, trial_of(p) * step_s(plan, p));
}

struct hps_engine_result hps_promise_run(const struct hps_plan *plan, const struct hps_profile *p)
{
    struct hps_engine_result e = hps_promise_step(plan, p);
    double longer = 1 + p->engine.run_s / e.seconds;

    return (struct hps_engine_result){ e.step_s, e.examples_s / longer, e.seconds * longer,
                                       e.cost_usd * longer };
}

/* What the rows of a stage, and all that is on servers, travel in a step. The rest of its sums is
 * of dense gradients, over its units. */
static double exchange_s(const struct hps_plan_stage *g, const struct hps_profile *p, double k)
{
    double sum = 0;

    for (int l = g->first; l <= g->last; l++) {
        if (!p->server_dense && !hps_profile_has_table(&p->layer[l])) continue;
        struct hps_engine_line line = hps_engine_line(p, hps_engine_cut(p), l, l, g->type);
        sum += hps_engine_sums(&line, k);
    }
    return sum;
}

/* What a unit of a stage does for rows in files. */
static double busy_s(const struct hps_plan_stage *g, const struct hps_profile *p)
{
    struct hps_tier_curves *curves = hps_tier_curves_new(p);
    double s = hps_tier_time(curves, g->first, g->last, g->type, (double)g->units).busy_s;

    hps_tier_curves_free(curves);
    return s;
}

struct hps_promise_parts hps_promise_parts(const struct hps_plan *plan, const struct hps_profile *p,
                                           int s)
{
    const struct hps_plan_stage *g = &plan->stage[s];
    struct hps_engine_cut cut = hps_engine_cut(p);
    struct hps_engine_line line = hps_engine_line(p, cut, g->first, g->last, g->type);
    double k = (double)(g->units / p->workers), times = trial_of(p);
    double work = cut.M * g->ct * line.rows, served = served_s(plan, p);
    double compute = work * (1 - line.once_share), exchange = exchange_s(g, p, k);
    double pull = work * line.once_share + served + exchange + busy_s(g, p);
    double sums = fmax(hps_engine_sums(&line, k) - exchange, 0);
    double rest = step_s(plan, p) - compute - pull - sums;
    double message = plan->S > 1 ? fmax(rest - line.step - cut.M * line.extra, 0) : 0;

    return (struct hps_promise_parts){ { times * compute, times * pull, times * sums,
                                         times * message, times * (rest - message) } };
}

double hps_promise_unsure(const struct hps_plan *plan, const struct hps_profile *p)
{
    double most = 0;

    for (int s = 0; s < plan->S; s++)
        most = fmax(most, p->engine.unsure[plan->stage[s].type]);
    return most;
}

struct json_t *hps_promise_tree(const struct hps_plan *plan, const struct hps_profile *p)
{
    struct hps_engine_result e = hps_promise_run(plan, p);
    json_t *o = hps_plan_tree(plan), *engine = json_object();

    json_object_set_new(engine, "throughput", hps_json_real(e.examples_s));
    json_object_set_new(engine, "seconds", hps_json_real(e.seconds));
    json_object_set_new(engine, "cost_usd", hps_json_real(e.cost_usd));
    json_object_set_new(o, "engine", engine);
    return o;
}
