#include "plan/runner_up.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/say.h"
#include "plan/promise.h"
#include "plan/moves.h"
#include "plan/provision.h"

/* The same problem with a small budget of its own. */
struct subproblem {
    struct hps_sched_opt opt;
    struct hps_problem q;
    struct hps_pricer *pr;
};

/* What a plan promises under the objective. */
struct promise { double rate, usd; };

static struct promise promise_of(const struct hps_runner_up *r, const struct hps_plan *plan)
{
    struct hps_engine_result e = hps_engine_of(plan, r->profile);

    return r->engine ? (struct promise){ e.examples_s, e.cost_usd }
                     : (struct promise){ plan->throughput, plan->cost_usd };
}

static void subproblem_begin(struct subproblem *d, const struct hps_runner_up *r,
                             const struct hps_sched_opt *opt)
{
    d->opt = hps_moves_budget(opt);
    d->q = (struct hps_problem){ .profile = r->profile, .opt = &d->opt, .argument = "",
                                 .throughput_limit = r->throughput_limit };
    d->pr = hps_pricer_new(&d->q);
}

/* The bound of the plan that won is one for every plan. */
static void name(struct hps_plan *x, const struct hps_runner_up *r)
{
    double bound = fmin(r->plan->lower_bound_usd, x->cost_usd);

    if (x->S == 1)
        snprintf(x->method, sizeof x->method, "single");
    else
        snprintf(x->method, sizeof x->method, "one move of %.40s", r->plan->method);
    x->lower_bound_usd = bound;
    x->gap = x->cost_usd > 0 ? 1 - bound / x->cost_usd : 0;
    hps_plan_name(x, r->profile);
}

/* The plan of an assignment, or of the best of the types alone where there is none. NULL: it does
 * not keep the limits. */
static struct hps_plan *plan_of(const struct hps_runner_up *r, const struct hps_sched_opt *opt,
                                const int *type)
{
    int *scratch = hps_mem_new((size_t)r->profile->L, sizeof *scratch);
    struct subproblem d;

    subproblem_begin(&d, r, opt);
    if (type)
        hps_pricer_price(d.pr, type, INFINITY);
    else
        hps_pricer_single_types(d.pr, scratch);
    struct hps_plan *plan = hps_pricer_plan(d.pr);
    hps_pricer_free(d.pr);
    hps_mem_free(scratch);
    if (plan) name(plan, r);
    return plan;
}

/* The cheapest assignment so far. */
struct cheapest { double price; int *type; };

static void price(void *cheapest, struct hps_pricer *pr, const int *type)
{
    struct cheapest *x = cheapest;
    double its = hps_pricer_price(pr, type, fmin(x->price, pr->ceiling));

    if (!(its < x->price)) return;
    x->price = its;
    memcpy(x->type, type, (size_t)pr->L * sizeof *type);
}

static void find_next(struct hps_runner_up *r, const struct hps_sched_opt *opt)
{
    int L = r->profile->L, *now = hps_mem_new(3 * (size_t)L, sizeof *now);
    struct cheapest next = { INFINITY, now + 2 * L };
    struct subproblem d;

    hps_plan_assignment(r->plan, now);
    subproblem_begin(&d, r, opt);
    hps_moves_walk(d.pr, now, now + L, price, &next);
    hps_pricer_free(d.pr);
    if (isfinite(next.price)) r->next = plan_of(r, opt, next.type);
    hps_mem_free(now);
}

/* No type alone keeps the limits: which comes nearest? */
static void find_fastest(struct hps_runner_up *r)
{
    struct hps_cost *c = hps_cost_new(r->profile);

    for (int t = 0; t < r->profile->T; t++) {
        struct hps_plan *plan = hps_plan_new(r->profile->L, 1);
        plan->stage[0] = (struct hps_plan_stage){ .last = r->profile->L - 1, .type = t };
        double tau = hps_provision_min_tau(plan, r->profile, c);
        if (tau > 0 && 1 / tau > r->max_throughput) {
            r->max_throughput = 1 / tau;
            r->type = t;
        }
        hps_plan_free(plan);
    }
    hps_cost_free(c);
}

struct hps_runner_up *hps_runner_up_new(const struct hps_plan *plan, const struct hps_profile *p,
                                        const struct hps_sched_opt *opt)
{
    struct hps_runner_up *r = hps_mem_new(1, sizeof *r);

    *r = (struct hps_runner_up){ .plan = plan,
                                 .profile = p,
                                 .type = -1,
                                 .throughput_limit = opt->throughput_limit,
                                 .engine = hps_sched_engine(opt) };
    if (isinf(r->throughput_limit))
        r->throughput_limit = isfinite(promise_of(r, plan).rate) ? promise_of(r, plan).rate : 0;
    find_next(r, opt);
    r->single = plan_of(r, opt, NULL);
    if (!r->single) find_fastest(r);
    return r;
}

void hps_runner_up_free(struct hps_runner_up *r)
{
    if (!r) return;
    hps_plan_free(r->next);
    hps_plan_free(r->single);
    hps_mem_free(r);
}

/* ---- output ---- */

/* "3.1 % less" for x compared with y, "the same" within rounding. */
static const char *compare(char *text, size_t size, double x, double y, const char *less,
                           const char *more)
{
    if (!(fabs(x - y) > HPS_COST_TIE * fabs(y)))
        snprintf(text, size, "the same");
    else
        snprintf(text, size, "%.3g %% %s", 100 * fabs(x / y - 1), x < y ? less : more);
    return text;
}

static void print_loss(const struct hps_runner_up *r, const struct hps_plan *x)
{
    double hour = hps_cost_usd_hour(x, r->profile), mine = hps_cost_usd_hour(r->plan, r->profile);
    struct promise its = promise_of(r, x), ours = promise_of(r, r->plan);
    double unsure = hps_promise_unsure(x, r->profile) + hps_promise_unsure(r->plan, r->profile);
    char usd[64], rate[64], price[64];

    hps_out(": %.6g examples/s, %.6g USD, %s (speed: %s; an hour: %s)", its.rate, its.usd,
            compare(usd, sizeof usd, its.usd, ours.usd, "less", "more"),
            compare(rate, sizeof rate, its.rate, ours.rate, "less", "more"),
            compare(price, sizeof price, hour, mine, "less", "more"));
    if (unsure > 0 && fabs(its.usd / ours.usd - 1) <= unsure)
        hps_out("; a tie: what was measured is unsure by %.3g %%", 100 * unsure);
    hps_out("\n");
}

static bool has_stage(const struct hps_plan *plan, const struct hps_plan_stage *g)
{
    for (int s = 0; s < plan->S; s++) {
        const struct hps_plan_stage *x = &plan->stage[s];
        if (x->first == g->first && x->last == g->last && x->type == g->type &&
            x->units == g->units)
            return true;
    }
    return false;
}

/* Those stages in which x differs. */
static void print_stages(const struct hps_runner_up *r, const struct hps_plan *x)
{
    const char *mark = "runner-up: layers ";

    for (int s = 0; s < x->S; s++) {
        const struct hps_plan_stage *g = &x->stage[s];
        if (has_stage(r->plan, g)) continue;
        hps_out("%s%d", mark, g->first);
        if (g->last > g->first) hps_out("-%d", g->last);
        hps_out(" on %lld %s", g->units, r->profile->type[g->type].name);
        mark = ", ";
    }
}

void hps_runner_up_print(const struct hps_runner_up *r)
{
    if (r->next) {
        print_stages(r, r->next);
        print_loss(r, r->next);
    } else if (r->profile->T > 1) {
        hps_out("runner-up: none, no plan one move away keeps the limits\n");
    }
    if (r->single && r->plan->S > 1) {
        hps_out("one type alone: %lld %s", r->single->stage[0].units,
                r->profile->type[r->single->stage[0].type].name);
        print_loss(r, r->single);
    } else if (!r->single && r->type >= 0) {
        hps_out("one type alone: none keeps the limit of %.6g examples/s, all of %s have %.6g\n",
                r->throughput_limit, r->profile->type[r->type].name, r->max_throughput);
    } else if (!r->single) {
        hps_out("one type alone: none has the memory for all layers\n");
    }
}

struct json_t *hps_runner_up_tree(const struct hps_runner_up *r)
{
    json_t *o = hps_promise_tree(r->plan, r->profile);

    json_object_set_new(o, "runner_up",
                        r->next ? hps_promise_tree(r->next, r->profile) : json_null());
    json_object_set_new(o, "single",
                        r->single ? hps_promise_tree(r->single, r->profile) : json_null());
    return o;
}
