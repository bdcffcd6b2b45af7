/* contenders.c - the searches' own model finds the moves that come near, the replay orders
 * them. */
#include "plan/contenders.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "plan/moves.h"
#include "plan/promise.h"
#include "plan/provision.h"

enum { CANDIDATES = 32 };       /* replayed at most */

/* The cheapest assignments so far, by price. */
struct candidates {
    int n, L;
    double price[CANDIDATES];
    int *type;                  /* (CANDIDATES, L) */
};

static void insert(struct candidates *x, double price, const int *type)
{
    size_t row = (size_t)x->L;
    int at = x->n;

    for (int i = 0; i < x->n; i++)
        if (memcmp(x->type + (size_t)i * row, type, row * sizeof *type) == 0) return;
    while (at > 0 && x->price[at - 1] > price)
        at--;
    if (at == CANDIDATES) return;
    int moved = (x->n < CANDIDATES ? x->n : CANDIDATES - 1) - at;
    memmove(x->price + at + 1, x->price + at, (size_t)moved * sizeof *x->price);
    memmove(x->type + ((size_t)at + 1) * row, x->type + (size_t)at * row,
            (size_t)moved * row * sizeof *type);
    x->price[at] = price;
    memcpy(x->type + (size_t)at * row, type, row * sizeof *type);
    if (x->n < CANDIDATES) x->n++;
}

static void price(void *candidates, struct hps_pricer *pr, const int *type)
{
    double cost = hps_pricer_price(pr, type, pr->ceiling);

    if (cost < pr->ceiling) insert(candidates, cost, type);
}

/* Each type alone, all moves from the plan's assignment, and from the best of these. type (2 L)
 * scratch. */
static void find_candidates(struct candidates *x, struct hps_pricer *pr,
                            const struct hps_plan *best, int *type)
{
    size_t row = (size_t)pr->L;
    int *now = type, *next = type + row;

    for (int t = 0; t < pr->T; t++) {
        for (int l = 0; l < pr->L; l++)
            next[l] = t;
        price(x, pr, next);
    }
    hps_plan_assignment(best, now);
    hps_moves_walk(pr, now, next, price, x);
    int n = x->n, *first = hps_mem_new(CANDIDATES * row, sizeof *first);
    memcpy(first, x->type, (size_t)n * row * sizeof *first);
    for (int i = 0; i < n; i++)
        hps_moves_walk(pr, first + (size_t)i * row, next, price, x);
    hps_mem_free(first);
}

static struct hps_plan *plan_for(const struct hps_problem *problem, const int *type, double limit)
{
    struct hps_plan *plan = hps_plan_of_assignment(problem->profile->L, type);
    struct hps_problem q = *problem;

    q.throughput_limit = limit;
    hps_sched_adapt(&q, &plan);
    return plan;
}

/* The highest throughput of an assignment. */
static double max_throughput(const struct hps_problem *q, const int *type)
{
    struct hps_plan *plan = hps_plan_of_assignment(q->profile->L, type);
    struct hps_cost *c = hps_cost_new(q->profile);
    double tau = hps_provision_min_tau(plan, q->profile, c);

    hps_cost_free(c);
    hps_plan_free(plan);
    return (1 - HPS_COST_TIE) / tau;
}

/* The plan of an assignment, with the fastest units ("max"), or with units for the limit, or nearly
 * for it. NULL: none. */
static struct hps_plan *plan_of(const struct hps_problem *q, const int *type)
{
    double limit = q->opt->throughput_limit;

    if (isinf(limit)) return plan_for(q, type, max_throughput(q, type));
    struct hps_plan *plan = plan_for(q, type, limit);
    return plan ? plan : plan_for(q, type, limit * (1 - HPS_CONTENDERS_NEAR));
}

/* What a plan is judged by. */
static double loss_of(const struct hps_plan *plan, const struct hps_profile *p, bool by_speed)
{
    double step_s = hps_promise_step(plan, p).step_s;

    return by_speed ? step_s : step_s * hps_cost_usd_hour(plan, p);
}

/* Put a plan into its place among n, the first of which stays; at most max are kept. */
static int add(struct hps_plan **plan, double *loss, int n, int max, struct hps_plan *x, double its)
{
    int at = n;

    for (int i = 0; i < n; i++)
        if (hps_plan_same_work(plan[i], x)) its = INFINITY;
    while (at > 1 && loss[at - 1] > its)
        at--;
    if (at == max || isinf(its)) {
        hps_plan_free(x);
        return n;
    }
    if (n == max) hps_plan_free(plan[--n]);
    memmove(plan + at + 1, plan + at, (size_t)(n - at) * sizeof *plan);
    memmove(loss + at + 1, loss + at, (size_t)(n - at) * sizeof *loss);
    plan[at] = x;
    loss[at] = its;
    return n + 1;
}

/* Behind the best plan, which is the first. */
static int find(struct hps_plan **plan, int max, const struct hps_profile *p,
                const struct hps_sched_opt *opt)
{
    bool by_speed = isinf(opt->throughput_limit);
    double wanted = by_speed ? plan[0]->throughput : opt->throughput_limit, *loss;
    struct hps_sched_opt mine = hps_moves_budget(opt);
    int L = p->L, *type = hps_mem_new(2 * (size_t)L, sizeof *type), n = 1;
    struct candidates x = { .L = L };

    x.type = hps_mem_new((size_t)CANDIDATES * (size_t)L, sizeof *x.type);
    loss = hps_mem_new((size_t)max, sizeof *loss);
    struct hps_problem q = { .profile = p, .opt = &mine, .argument = "",
                             .throughput_limit = wanted * (1 - HPS_CONTENDERS_WIDE) };
    struct hps_pricer *pr = hps_pricer_new(&q);
    find_candidates(&x, pr, plan[0], type);
    hps_pricer_free(pr);
    loss[0] = loss_of(plan[0], p, by_speed);
    for (int i = 0; i < x.n; i++) {
        struct hps_plan *y = plan_of(&q, x.type + (size_t)i * (size_t)L);
        if (y) n = add(plan, loss, n, max, y, loss_of(y, p, by_speed));
    }
    while (n > 2 && loss[n - 1] > loss[0] * (1 + HPS_CONTENDERS_NEAR))
        hps_plan_free(plan[--n]);
    hps_mem_free(loss);
    hps_mem_free(x.type);
    hps_mem_free(type);
    return n;
}

int hps_contenders(struct hps_plan **plan, int max, const struct hps_plan *best,
                   const struct hps_profile *p, const struct hps_sched_opt *opt)
{
    plan[0] = hps_plan_copy(best);
    return max > 1 ? find(plan, max, p, opt) : 1;
}
