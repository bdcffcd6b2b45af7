#include "plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/page.h"
#include "base/say.h"
#include "plan/cost.h"
#include "plan/promise.h"

/* "3 h1" or "3-5 h1..deep", cut to the column's width. */
static void layers_of(char *text, size_t size, const struct hps_plan_stage *g,
                      const struct hps_profile *p)
{
    const char *first = p->layer[g->first].name, *last = p->layer[g->last].name;

    if (g->first == g->last)
        snprintf(text, size, "%d %s", g->first, first);
    else
        snprintf(text, size, "%d-%d %s..%s", g->first, g->last, first, last);
}

/* Gigabytes that a unit needs and has, "-" where the memory of the type is unknown. */
static void memory_text(char *text, size_t size, double need, const struct hps_profile_type *t)
{
    if (!(t->memory_bytes > 0))
        snprintf(text, size, "-");
    else if (need < 1e6)
        snprintf(text, size, "<0.001/%.3g", t->memory_bytes / 1e9);
    else
        snprintf(text, size, "%.3g/%.3g", need / 1e9, t->memory_bytes / 1e9);
}

/* Stages and servers on a type have all of it. */
static bool is_used_up(const struct hps_plan *plan, const struct hps_profile *p, int t)
{
    long long left = p->type[t].limit - hps_plan_servers_on(plan, p, t);

    for (int s = 0; s < plan->S; s++)
        if (plan->stage[s].type == t && !hps_plan_is_second(plan, s)) left -= plan->stage[s].units;
    return left < plan->workers;
}

static bool memory_binds(const struct hps_plan *plan, int s, const struct hps_profile *p)
{
    const struct hps_plan_stage *g = &plan->stage[s];
    long long units = g->units / p->workers;

    return units > 1 && units <= hps_cost_min_units(p, g->type, hps_plan_holds(plan, p, s));
}

static void print_stage(const struct hps_plan *plan, int s, const struct hps_profile *p,
                        double usd_hour, double tau)
{
    const struct hps_plan_stage *g = &plan->stage[s];
    int partner = hps_plan_partner(plan, s);
    double mine = p->type[g->type].price_usd_hour * (double)g->units;
    char layers[160], memory[32];
    struct hps_page where = { 0 };

    layers_of(layers, sizeof layers, g, p);
    memory_text(memory, sizeof memory,
                hps_memory_need(hps_plan_holds(plan, p, s), (double)g->units), &p->type[g->type]);
    hps_page_fit(&where, layers, 30);
    hps_page_add(&where, " ");
    hps_page_fit(&where, p->type[g->type].name, 16);
    hps_out("%5d  %s %6lld %12.6g %12.6g  %5.1f %% %11s  %s%s%s%s", s, where.at, g->units, g->et,
            1 / g->et, usd_hour > 0 && !hps_plan_is_second(plan, s) ? 100 * mine / usd_hour : 0,
            memory, g->ct >= g->dt ? "computation" : "communication",
            hps_cost_busy(plan, s) >= tau ? ", slowest" : "",
            memory_binds(plan, s, p) ? ", memory" : "",
            is_used_up(plan, p, g->type) ? ", no unit left" : "");
    if (partner >= 0) hps_out(", units of stage %d", partner);
    hps_out("\n");
    hps_mem_free(where.at);
}

static void print_servers(const struct hps_plan *plan, const struct hps_profile *p, double usd_hour)
{
    double n = (double)plan->server_units, et = hps_cost_server_et(plan, p);
    char memory[32], seconds[2][16] = { "", "" };

    if (plan->server_units == 0) return;
    double mine = p->type[plan->server_type].price_usd_hour * n;
    memory_text(memory, sizeof memory, hps_memory_need(hps_memory_served(p), n),
                &p->type[plan->server_type]);
    if (et > 0) {
        snprintf(seconds[0], sizeof seconds[0], "%.6g", et);
        snprintf(seconds[1], sizeof seconds[1], "%.6g", 1 / et);
    }
    hps_out("%5s  %-30s %-16.16s %6lld %12s %12s  %5.1f %% %11s%s\n", "", "parameter servers",
            p->type[plan->server_type].name, plan->server_units, seconds[0], seconds[1],
            usd_hour > 0 ? 100 * mine / usd_hour : 0, memory,
            et > 0 && et >= hps_cost_tau(plan, p) ? "  slowest" : "");
}

static void print_method(const struct hps_plan *plan)
{
    hps_out("\nplan by %s", plan->method);
    if (*plan->by) hps_out(" (%s)", plan->by);
    if (*plan->instead) hps_out(", since %s was stopped before it found one", plan->instead);
    if (*plan->warm) hps_out(", begun with the plan of %s", plan->warm);
}

static void print_promise(const struct hps_plan *plan, const struct hps_profile *p, double usd_hour)
{
    struct hps_engine_result e = hps_promise_run(plan, p);

    hps_out(": %.6g examples/s, %.6g s, %.6g USD (%.6g USD/h)\n", plan->throughput, plan->seconds,
            plan->cost_usd, usd_hour);
    hps_out("replayed, event by event: %.6g examples/s, %.6g s, %.6g USD\n", e.examples_s,
            e.seconds, e.cost_usd);
}

/* The result of the other method that was run. */
static void print_competitor(const struct hps_plan *plan)
{
    double more = 100 * (plan->competitor_ratio - 1), usd = plan->competitor_ratio * plan->cost_usd;

    if (!*plan->competitor) return;
    if (!*plan->by)
        hps_out("%s %s a plan that costs %.3g %% less: schedule.method: best takes it\n",
                plan->competitor,
                plan->lower_bound_usd >= usd * (1 - HPS_COST_TIE) ? "proved" : "found", -more);
    else if (plan->competitor_ratio > 0)
        hps_out("the plan of %s costs %.3g %% more\n", plan->competitor, more);
    else
        hps_out("%s found none cheaper\n", plan->competitor);
}

void hps_plan_print_snapshot(const struct hps_plan *plan, const struct hps_profile *p)
{
    for (int s = 0; s < plan->S; s++) {
        const struct hps_plan_stage *g = &plan->stage[s];
        struct hps_memory m = hps_plan_holds(plan, p, s);
        double keep = hps_memory_snapshot(p, g->type, m, (double)g->units);
        if (m.rows > 0 && !hps_plan_is_second(plan, s))
            hps_out("while a checkpoint is written, a unit of stage %d keeps at most %.3g GB of "
                    "old rows%s\n",
                    s, keep / 1e9, p->type[g->type].gpu ? " in its host's memory" : "");
    }
}

void hps_plan_print(const struct hps_plan *plan, const struct hps_profile *p)
{
    double usd_hour = hps_cost_usd_hour(plan, p), tau = hps_cost_tau(plan, p);

    hps_out("%5s  %-30s %-16s %6s %12s %12s  %7s %11s  %s\n", "stage", "layers", "type", "units",
            "s/example", "examples/s", "cost", "GB/unit", "bound by");
    for (int s = 0; s < plan->S; s++)
        print_stage(plan, s, p, usd_hour, tau);
    print_servers(plan, p, usd_hour);
    if (plan->workers > 1)
        hps_out("%d workers: each has 1/%d of the units of every stage\n", plan->workers,
                plan->workers);
    print_method(plan);
    print_promise(plan, p, usd_hour);
    if (plan->gap > 0)
        hps_out("by the paper's model no plan costs less than %.6g USD (gap %.2g %%); ",
                plan->lower_bound_usd, 100 * plan->gap);
    else
        hps_out("proven: by the paper's model no plan costs less; ");
    hps_out("%lld plans priced in %.3g s\n", plan->evaluations, plan->search_seconds);
    print_competitor(plan);
}
