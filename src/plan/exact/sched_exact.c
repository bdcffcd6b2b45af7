/* sched_exact.c - the cheapest plan and the fastest one, with proof: the questions put to
 * plan/exact. */
#include "plan/sched.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "plan/budget.h"
#include "plan/exact/exact_impl.h"
#include "plan/moves.h"

/* Plans that are priced when the search for the fastest plan runs first, and cycles of annealing.
 */
#define FIRST 3000
#define CYCLES 4

/* Plans that are priced for one that keeps the limit under the options. */
#define LOCAL_PLANS 100000

struct question {
    const struct hps_profile *p;    /* knows the type of its servers */
    const struct hps_cost *c;
    double tau_max;
    bool min_tau, cuts, share;
    struct hps_exact_end end;
    long long evaluations;      /* [out] */
};

static struct hps_plan *plan_of(const struct hps_exact_leaf *leaf, const struct hps_profile *p)
{
    if (leaf->S == 0) return NULL;
    struct hps_plan *plan = hps_plan_new(p->L, leaf->S);
    for (int s = 0; s < leaf->S; s++) {
        const struct hps_exact_arc *x = &leaf->m->arc[leaf->arc[s]];
        plan->stage[s] = (struct hps_plan_stage){ .first = x->i, .last = x->j,
                                                  .type = leaf->type[s],
                                                  .units = leaf->units[s] * p->workers };
    }
    plan->server_type = leaf->m->servers.can.type;
    plan->server_units = leaf->servers;
    hps_cost_of(plan, p);
    return plan;
}

/* A plan that is known already, to begin with. */
static void seed(struct hps_exact_leaf *leaf, const struct hps_plan *plan)
{
    int *arc = hps_mem_new((size_t)plan->S, sizeof *arc);
    bool all = true;

    for (int s = 0; s < plan->S; s++) {
        const struct hps_plan_stage *g = &plan->stage[s];
        int group = hps_exact_model_group(leaf->m, g->type);
        arc[s] = group < 0 ? -1 : hps_exact_model_arc(leaf->m, g->first, g->last, group);
        all = all && arc[s] >= 0;
    }
    if (all) hps_exact_leaf_try(leaf, plan->S, arc);
    hps_mem_free(arc);
}

/* The bound on plans that share, where the others are known to be infeasible. */
static double solve_shared(const struct question *q)
{
    struct hps_exact_model *m = hps_exact_model_new(q->p, q->c, q->tau_max, false, q->cuts);
    struct hps_exact_leaf *leaf = hps_exact_leaf_new(m);
    double bound = hps_exact_shared(m, leaf);

    hps_exact_leaf_free(leaf);
    hps_exact_model_free(m);
    return bound;
}

/* One question: the best plan takes the place of *best (which may be NULL); the bound. */
static double solve(struct question *q, struct hps_plan **best)
{
    struct hps_exact_model *m = hps_exact_model_new(q->p, q->c, q->tau_max, q->min_tau, q->cuts);
    struct hps_exact_leaf *leaf = hps_exact_leaf_new(m);

    if (*best) seed(leaf, *best);
    double bound = hps_exact_tree(m, leaf, &q->end);
    if (q->share) bound = fmin(bound, hps_exact_shared(m, leaf));
    hps_plan_free(*best);
    *best = plan_of(leaf, q->p);
    q->evaluations += leaf->evaluations;
    hps_exact_leaf_free(leaf);
    hps_exact_model_free(m);
    return bound;
}

static double until(double seconds)
{
    return seconds > 0 ? hps_now_s() + seconds : 0;
}

static bool enough(const struct hps_plan *plan, double tau_max)
{
    return plan && 1 / plan->throughput <= tau_max;
}

static bool over(const struct question *q)
{
    return hps_budget_over(q->end.until_s) ||
           (q->end.evaluations > 0 && q->evaluations >= q->end.evaluations);
}

/* Look for a plan by annealing alone: `x` keeps what it learned in earlier calls. */
static void anneal(struct question *q, struct hps_exact_anneal *x,
                   const struct hps_exact_leaf *leaf, int cycles, struct hps_plan **best)
{
    long long before = leaf->evaluations;

    hps_exact_anneal_run(x, cycles, &q->end);
    q->evaluations += leaf->evaluations - before;
    if (leaf->S > 0) {
        hps_plan_free(*best);
        *best = plan_of(leaf, q->p);
    }
}

/* Continue from the best plan to the fastest one, until it is fast enough. Returns the smallest
 * tau that is not excluded. */
static double hasten(struct question *q, long long evaluations, struct hps_plan **best)
{
    struct question one = *q;

    one.tau_max = INFINITY;
    one.end.enough = q->tau_max;
    one.end.evaluations = evaluations;
    one.evaluations = 0;
    double tau = solve(&one, best);
    q->evaluations += one.evaluations;
    return tau;
}

/* Find a plan that keeps q's tau_max, or a bound above it. The search for the fastest plan, which
 * can prove that there is none, and annealing alternate, each time with twice the budget. */
static double feasible(struct question *q, struct hps_plan **best)
{
    double tau_max = q->tau_max, tau = 0;
    long long all = q->end.evaluations;
    struct hps_exact_model *m = hps_exact_model_new(q->p, q->c, tau_max, false, q->cuts);
    struct hps_exact_leaf *leaf = hps_exact_leaf_new(m);
    struct hps_exact_anneal *x = hps_exact_anneal_new(leaf);

    for (int n = 0; tau <= tau_max && isfinite(tau) && !enough(*best, tau_max) && !over(q); n++) {
        int round = n / 2 < 20 ? n / 2 : 20;
        long long steps = (long long)FIRST << round,
                  remaining = all > 0 ? all - q->evaluations : steps;
        if (n % 2 == 0)
            tau = hasten(q, remaining < steps ? remaining : steps, best);
        else
            anneal(q, x, leaf, CYCLES << round, best);
    }
    hps_exact_anneal_free(x);
    hps_exact_leaf_free(leaf);
    hps_exact_model_free(m);
    return tau;
}

/* The cheapest plan. Prices of units only help against a best plan, so a feasible plan is found
 * first: from the fastest plan, where the plans on one type do not keep the limits. */
static double cheapest(struct question *q, struct hps_plan **best)
{
    struct question fast = *q;

    fast.min_tau = true;
    fast.share = false;
    double tau = feasible(&fast, best);
    q->evaluations += fast.evaluations;
    if (tau > q->tau_max) {
        hps_plan_free(*best);
        *best = NULL;
        return q->share ? solve_shared(q) : INFINITY;
    }
    return solve(q, best);
}

static double usd(const struct hps_profile *p, double cost)
{
    return cost * p->examples * p->epochs / 3600;
}

static bool one_type_enough(const struct hps_profile *p, const struct hps_cost *c, double tau_max)
{
    for (int t = 0; t < p->T; t++)
        if (hps_cost_units(c, 0, p->L - 1, t, tau_max) > 0) return true;
    return false;
}

/* The profile with no fewer servers than every plan has that keeps tau_max. */
static struct hps_profile with_servers_for(const struct hps_profile *p, double tau_max)
{
    struct hps_cost_servers can = hps_cost_servers(p);
    struct hps_profile with = *p;
    long long units = hps_cost_server_units(&can, tau_max);

    if (p->server_auto && units <= can.max) with.server_units = units;
    return with;
}

/* The cheapest plan with servers of the type that p knows, and its bound. */
static double solve_served(const struct hps_profile *p, const struct hps_exact_request *request,
                           struct hps_plan **best, long long *evaluations)
{
    double tau_max = hps_cost_tau_max(request->throughput_limit);
    struct hps_profile of = with_servers_for(p, tau_max);
    struct hps_cost *c = hps_cost_new(&of);
    struct question q = { .p = &of,
                          .c = c,
                          .cuts = request->cuts,
                          .share = request->share,
                          .tau_max = tau_max,
                          .end = { .until_s = until(request->seconds),
                                   .enough = -1,
                                   .evaluations = request->evaluations } };
    struct hps_plan *plan = request->known ? hps_plan_copy(request->known) : NULL;
    bool begun = plan || one_type_enough(&of, c, tau_max);
    double bound = usd(p, begun ? solve(&q, &plan) : cheapest(&q, &plan));

    hps_cost_free(c);
    *evaluations += q.evaluations;
    *best = plan;
    return bound;
}

/* What is left of q's budget for further questions. */
struct remaining {
    double until_s;         /* 0: no end */
    long long evaluations;  /* 0: no end */
    long long used;
};

/* The n-th part of it, as seconds and evaluations; 0: no end. */
static double part_of(const struct remaining *r, int n, long long *evaluations)
{
    long long left = (r->evaluations - r->used) / n;

    *evaluations = r->evaluations == 0 ? 0 : left > 0 ? left : 1;
    return r->until_s > 0 ? fmax((r->until_s - hps_now_s()) / n, 1e-9) : 0;
}

/* How many types may serve? Each is a question of its own. */
static int count_choices(const struct hps_profile *p)
{
    struct hps_profile of;
    int n = 0;

    for (int t = -1; hps_cost_next_servers(p, &t, &of);)
        n++;
    return n;
}

/* `one` takes the place of the best plan where it is better. */
static void keep_better(struct hps_plan **best, struct hps_plan *one, bool better)
{
    hps_plan_free(better ? *best : one);
    if (better) *best = one;
}

double hps_exact_solve(const struct hps_profile *p, const struct hps_exact_request *request,
                       struct hps_plan **best, bool *proven)
{
    struct remaining r = { until(request->seconds), request->evaluations, 0 };
    struct hps_exact_request mine = *request;
    struct hps_plan *plan = NULL, *one;
    struct hps_profile of;
    double bound = INFINITY;

    for (int t = -1, n = count_choices(p); hps_cost_next_servers(p, &t, &of); n--) {
        mine.seconds = part_of(&r, n, &mine.evaluations);
        mine.known = plan ? plan : request->known;
        bound = fmin(bound, solve_served(&of, &mine, &one, &r.used));
        keep_better(&plan, one, one && (!plan || one->cost_usd < plan->cost_usd));
    }
    *proven = plan ? bound >= plan->cost_usd * (1 - 2 * HPS_EXACT_SAME) : isinf(bound);
    if (plan && *proven) bound = plan->cost_usd;
    if (plan) {
        plan->lower_bound_usd = bound;
        plan->gap = *proven || !(plan->cost_usd > 0) ? 0 : 1 - bound / plan->cost_usd;
        plan->evaluations = r.used;
    }
    if (best)
        *best = plan;
    else
        hps_plan_free(plan);
    return bound;
}

double hps_exact_bound(const struct hps_profile *p, double throughput_limit, double seconds,
                       long long evaluations, struct hps_plan **best, bool *proven)
{
    struct hps_exact_request request = { .throughput_limit = throughput_limit,
                                         .seconds = seconds,
                                         .evaluations = evaluations };

    return hps_exact_solve(p, &request, best, proven);
}

/* The fastest plan; returns the smallest tau that is not excluded. */
static double fastest_within(const struct hps_profile *p, struct remaining *r,
                             struct hps_plan **best)
{
    struct hps_profile of;
    double bound = INFINITY;

    *best = NULL;
    for (int t = -1, n = count_choices(p); hps_cost_next_servers(p, &t, &of); n--) {
        struct hps_cost *c = hps_cost_new(&of);
        struct question q = { .p = &of, .c = c, .tau_max = INFINITY, .min_tau = true };
        struct hps_plan *one = NULL;
        q.end.until_s = until(part_of(r, n, &q.end.evaluations));
        q.end.enough = -1;
        bound = fmin(bound, solve(&q, &one));
        r->used += q.evaluations;
        keep_better(best, one, one && (!*best || one->throughput > (*best)->throughput));
        hps_cost_free(c);
    }
    if (*best) (*best)->evaluations = r->used;
    return bound;
}

double hps_exact_max_throughput(const struct hps_profile *p, double seconds, struct hps_plan **best,
                                bool *proven)
{
    struct remaining r = { until(seconds), 0, 0 };
    struct hps_plan *plan;
    double bound = fastest_within(p, &r, &plan), max = plan ? plan->throughput : 0;

    *proven = !plan || !(bound * max < 1 - 2 * HPS_EXACT_SAME); /* tau may be 0 */
    if (best)
        *best = plan;
    else
        hps_plan_free(plan);
    return max;
}

static bool spent(const struct remaining *r)
{
    return hps_budget_over(r->until_s) ||
           (r->evaluations > 0 && r->used >= r->evaluations);
}

/* The fastest plan under the paper's model, with units for the options. */
static struct hps_plan *fastest(const struct hps_problem *q, struct remaining *r)
{
    struct hps_plan *plan = q->fastest ? hps_plan_copy(q->fastest) : NULL;

    if (!plan && !spent(r)) fastest_within(q->profile, r, &plan);
    if (plan) hps_sched_adapt(q, &plan);
    return plan;
}

/* The cheapest plan of ever higher throughput under the paper's model, until one keeps the limit
 * under the options; NULL: none did. */
static struct hps_plan *faster(const struct hps_problem *q, struct remaining *r)
{
    struct hps_plan *plan = NULL;

    for (double more = 1.05; !plan && more < 4 && !spent(r); more *= 1.05) {
        bool proven;
        hps_exact_bound(q->profile, q->throughput_limit * more,
                        r->until_s > 0 ? (r->until_s - hps_now_s()) / 2 : 0,
                        r->evaluations > 0 ? r->evaluations - r->used : 0, &plan, &proven);
        if (!plan) break;
        r->used += plan->evaluations;
        hps_sched_adapt(q, &plan);
    }
    return plan;
}

/* The first plan that keeps the limit under the options, found by an iterated local search; NULL:
 * none. Without a budget it prices LOCAL_PLANS plans. */
static struct hps_plan *any(const struct hps_problem *q, const struct remaining *r)
{
    struct hps_sched_opt opt = *q->opt;
    struct hps_problem mine = *q;
    int L = q->profile->L, T = q->profile->T;

    if (spent(r)) return NULL;
    mine.opt = &opt;
    if (r->until_s > 0) opt.seconds = r->until_s - hps_now_s();
    if (r->evaluations > 0)
        opt.evaluations = r->evaluations - r->used;
    else if (!(r->until_s > 0))
        opt.evaluations = LOCAL_PLANS;
    struct hps_pricer *pr = hps_pricer_new(&mine);
    int *type = hps_mem_new(2 * (size_t)L, sizeof *type);
    double price = hps_pricer_single_types(pr, type);
    for (uint64_t n = 0; isinf(pr->best) && !hps_pricer_over(pr); n++) {
        hps_moves_local_search(pr, type, type + L, price, hps_rng_key(n, "climb"));
        if (n % 4 == 3)
            hps_moves_random(type, L, T, hps_rng_key(n, "random"));
        else
            hps_moves_perturb(type, type + L, L, T, 4, hps_rng_key(n, "shake"));
        price = hps_pricer_price(pr, type, INFINITY);
    }
    struct hps_plan *plan = hps_pricer_plan(pr);        /* with their number */
    hps_mem_free(type);
    hps_pricer_free(pr);
    return plan;
}

/* The proof is that of the paper's model without sharing: its plan is where to begin. Where
 * it keeps no limit under the options, a faster one may. */
static void adapt(const struct hps_problem *q, double until_s, struct hps_plan **plan)
{
    bool found = *plan;
    double bound = found ? (*plan)->lower_bound_usd : 0;
    struct remaining r = { until_s, q->opt->evaluations, found ? (*plan)->evaluations : 0 };

    if (found) hps_sched_adapt(q, plan);
    if (found && !*plan) *plan = faster(q, &r);
    if (!*plan && (found || q->fastest)) *plan = fastest(q, &r);
    if (!*plan && (found || q->fastest)) *plan = any(q, &r);
    if (!*plan || !found) return;
    (*plan)->evaluations += r.used;
    hps_cost_certify(*plan, bound);
}

static enum hps_status run(const struct hps_problem *q, uint64_t key, struct hps_plan **best)
{
    struct hps_exact_request request = { .throughput_limit = q->throughput_limit,
                                         .seconds = q->opt->seconds,
                                         .known = q->fastest,
                                         .evaluations = q->opt->evaluations,
                                         .share = q->opt->share };
    double until_s = until(q->opt->seconds);
    bool proven;

    (void)key;
    hps_exact_solve(q->profile, &request, best, &proven);
    if (q->opt->share || hps_sched_engine(q->opt)) adapt(q, until_s, best);
    return HPS_OK;
}

const struct hps_sched hps_sched_exact = {
    .name = "exact",
    .help = "branch and bound: the cheapest plan with proof",
    .certifies = true,
    .run = run,
};
