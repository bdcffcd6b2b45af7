#include "plan/compare.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/say.h"
#include "plan/cost.h"
#include "plan/promise.h"
#include "plan/policy.h"

static void add(struct hps_compare *c, char *method)
{
    c->method[c->n++] = method;
}

/* exact comes first: its proof is printed with all plans. */
static void list_methods(struct hps_compare *c, const struct hps_profile *p)
{
    const struct hps_sched *x;
    int max = 1;

    for (int a = 0; (x = hps_sched_at(a)); a++)
        max += x->argument ? p->T : 1;
    c->method = hps_mem_new((size_t)max, sizeof *c->method);
    c->plan = hps_mem_new((size_t)max, sizeof *c->plan);
    add(c, hps_mem_text(hps_sched_exact.name));
    for (int a = 0; (x = hps_sched_at(a)); a++) {
        if (x == &hps_sched_exact || x == &hps_sched_file || x == &hps_sched_best) continue;
        for (int t = 0; x->argument && t < p->T; t++)
            add(c, hps_mem_print("%s:%s", x->name, p->type[t].name));
        if (!x->argument) add(c, hps_mem_text(x->name));
    }
}

/* A policy that learned before ("": none), and its cells. */
struct known {
    const char *policy;
    enum hps_cell cell;
};

/* A refusal is this method's own: the others go on. */
static void search(struct hps_compare *c, int a, struct hps_problem *q, struct hps_sched_opt *opt,
                   const struct known *known)
{
    const struct hps_sched *method = hps_sched_find(c->method[a], NULL);
    bool learns = *known->policy && method && method->learns;
    bool fits = learns && (method == &hps_sched_rl_rnn) == (known->cell == HPS_CELL_RNN);

    opt->method = c->method[a];
    opt->policy = fits ? known->policy : "";
    if (learns && !fits)
        HPS_SAY(HPS_INFO, "%s searches without the policy, which has other cells", c->method[a]);
    enum hps_status s = hps_sched_check(opt);
    if (!s) s = hps_sched_search(&c->plan[a], q);
    if (s) HPS_SAY(HPS_INFO, "%s is left out of the comparison", c->method[a]);
    if (c->plan[a]) hps_cost_certify(c->plan[a], c->lower_bound_usd);
}

static double cost_of(const struct hps_plan *plan)
{
    return plan ? plan->cost_usd : INFINITY;
}

/* The cheapest first; ties (to rounding) as they were, and what has no plan last. */
static void sort(struct hps_compare *c)
{
    for (int a = 1; a < c->n; a++)
        for (int b = a; b > 0; b--) {
            double x = cost_of(c->plan[b - 1]), y = cost_of(c->plan[b]);
            if (!(y < x * (1 - HPS_COST_TIE)) && !(isinf(x) && isfinite(y))) break;
            struct hps_plan *plan = c->plan[b];
            char *method = c->method[b];
            c->plan[b] = c->plan[b - 1];
            c->method[b] = c->method[b - 1];
            c->plan[b - 1] = plan;
            c->method[b - 1] = method;
        }
}

/* exact's plan and proof. Where stages share and for the engine it may have no plan where others
 * have one: then the bound alone. HPS_DECK, and why, where it is proven that there is none. */
static enum hps_status prove(struct hps_compare *c, struct hps_problem *q)
{
    enum hps_status s = hps_sched_search(&c->plan[0], q);
    struct hps_exact_request request = { .throughput_limit = q->throughput_limit,
                                         .seconds = q->opt->seconds,
                                         .share = q->opt->share,
                                         .evaluations = q->opt->evaluations };

    c->throughput_limit = q->throughput_limit;
    if (s) return s;
    c->lower_bound_usd = c->plan[0] ? c->plan[0]->lower_bound_usd
                                    : hps_exact_solve(c->profile, &request, NULL, &c->proven);
    c->proven = c->plan[0] && c->plan[0]->gap == 0;
    if (!c->plan[0] && isinf(c->lower_bound_usd))
        return hps_sched_run(&c->plan[0], c->profile, q->opt);
    return HPS_OK;
}

/* The message of a method that found none, where none found any. */
static enum hps_status check_any(struct hps_compare *c, struct hps_sched_opt *opt)
{
    for (int a = 0; a < c->n; a++)
        if (c->plan[a]) return HPS_OK;
    opt->method = hps_sched_exact.name;
    opt->policy = "";
    return hps_sched_run(&c->plan[0], c->profile, opt);
}

enum hps_status hps_compare_run(struct hps_compare **compare, const struct hps_profile *p,
                                const struct hps_sched_opt *opt)
{
    struct hps_compare *c = hps_mem_new(1, sizeof *c);
    struct hps_sched_opt mine = *opt;
    struct hps_problem q = { .profile = p, .opt = &mine };
    struct known known = { .policy = opt->policy };
    struct hps_plan *fastest = NULL;

    *compare = c;
    c->profile = p;
    mine.plan = "";
    mine.warm = "";
    mine.policy = "";
    list_methods(c, p);
    mine.method = c->method[0];
    enum hps_status s = hps_sched_check(&mine);
    if (!s && *known.policy) s = hps_policy_look(known.policy, &known.cell);
    if (!s) s = hps_sched_limit(&q, &hps_sched_exact, &fastest);
    if (!s) s = prove(c, &q);
    q.fastest = NULL;
    for (int a = 1; a < c->n && !s; a++)
        search(c, a, &q, &mine, &known);
    if (!s) s = check_any(c, &mine);
    if (!s) sort(c);
    hps_plan_free(fastest);
    return s;
}

void hps_compare_free(struct hps_compare *c)
{
    if (!c) return;
    for (int a = 0; a < c->n; a++) {
        hps_plan_free(c->plan[a]);
        hps_mem_free(c->method[a]);
    }
    hps_mem_free(c->method);
    hps_mem_free(c->plan);
    hps_mem_free(c);
}

char *hps_compare_text(const struct hps_compare *c)
{
    json_t *list = json_array();

    for (int a = 0; a < c->n; a++)
        if (c->plan[a]) json_array_append_new(list, hps_promise_tree(c->plan[a], c->profile));
    return hps_plan_trees_text(list);
}

/* One line for the types on which alone nothing goes: there may be 64. */
static void print_without(const struct hps_compare *c)
{
    const char *mark = "no plan: ";

    for (int a = 0; a < c->n; a++) {
        if (c->plan[a] || !strchr(c->method[a], ':')) continue;
        hps_out("%s%s", mark, c->method[a]);
        mark = ", ";
    }
    if (*mark == ',') hps_out("\n");
}

void hps_compare_print(const struct hps_compare *c)
{
    hps_out("%-20s %14s %10s %14s %14s %7s %10s %12s\n", "method", "USD", "gap", "examples/s",
            "USD engine", "stages", "seconds", "plans priced");
    for (int a = 0; a < c->n; a++) {
        const struct hps_plan *plan = c->plan[a];
        if (plan)
            hps_out("%-20.20s %14.8g %8.3g %% %14.6g %14.6g %7d %10.3g %12lld\n", c->method[a],
                    plan->cost_usd, 100 * plan->gap, plan->throughput,
                    hps_engine_of(plan, c->profile).cost_usd, plan->S, plan->search_seconds,
                    plan->evaluations);
        else if (!strchr(c->method[a], ':'))
            hps_out("%-20.20s %14s\n", c->method[a], "no plan");
    }
    print_without(c);
    hps_out("\nno plan of at least %.6g examples/s costs less than %.8g USD (%s)\n",
            c->throughput_limit, c->lower_bound_usd,
            c->proven ? "proven" : "bounded");
}
