#include "plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* "3 h1" or "3..5 h1..deep", cut to the column's width. */
static void layers_of(char *text, size_t size, const struct hps_plan_stage *g,
                      const struct hps_profile *p)
{
    const char *first = p->layer[g->first].name, *last = p->layer[g->last].name;

    if (g->first == g->last)
        snprintf(text, size, "%d %s", g->first, first);
    else
        snprintf(text, size, "%d-%d %s..%s", g->first, g->last, first, last);
}

static double usd_hour(const struct hps_profile *p, int type, long long units)
{
    return p->type[type].price_usd_hour * (double)units;
}

static void print_stage(const struct hps_plan *plan, int s, const struct hps_profile *p,
                        double total, double tau)
{
    const struct hps_plan_stage *g = &plan->stage[s];
    char layers[160];

    layers_of(layers, sizeof layers, g, p);
    hps_out("%5d  %-32.32s %-16.16s %6lld %12.6g %12.6g  %5.1f %%  %s%s\n", s, layers,
            p->type[g->type].name, g->units, g->et, 1 / g->et,
            total > 0 ? 100 * usd_hour(p, g->type, g->units) / total : 0,
            g->ct >= g->dt ? "computation" : "communication", g->et >= tau ? ", slowest" : "");
}

static void print_servers(const struct hps_plan *plan, const struct hps_profile *p, double total)
{
    if (plan->server_units == 0)
        return;
    hps_out("%5s  %-32s %-16.16s %6lld %12s %12s  %5.1f %%\n", "", "parameter servers",
            p->type[plan->server_type].name, plan->server_units, "", "",
            total > 0 ? 100 * usd_hour(p, plan->server_type, plan->server_units) / total : 0);
}

static void print_method(const struct hps_plan *plan)
{
    hps_out("\nplan by %s", plan->method);
    if (*plan->by)
        hps_out(" (%s)", plan->by);
    if (*plan->warm)
        hps_out(", begun with the plan of %s", plan->warm);
}

/* What the other method that was asked has to say. */
static void print_rival(const struct hps_plan *plan)
{
    double more = plan->cost_usd > 0 ? 100 * (plan->rival_usd / plan->cost_usd - 1) : 0;

    if (!*plan->rival)
        return;
    if (!*plan->by)
        hps_out("%s %s a plan of %.6g USD, %.3g %% less: schedule.method: best takes it\n",
                plan->rival,
                plan->lower_bound_usd >= plan->rival_usd * (1 - 1e-9) ? "proved" : "found",
                plan->rival_usd, -more);
    else if (plan->rival_usd > 0)
        hps_out("the plan of %s costs %.6g USD, %.3g %% more\n", plan->rival, plan->rival_usd,
                more);
    else
        hps_out("%s found none cheaper\n", plan->rival);
}

void hps_plan_print(const struct hps_plan *plan, const struct hps_profile *p)
{
    double total = 0, tau = 0;

    for (int s = 0; s < plan->S; s++) {
        total += usd_hour(p, plan->stage[s].type, plan->stage[s].units);
        tau = fmax(tau, plan->stage[s].et);
    }
    if (plan->server_units > 0)
        total += usd_hour(p, plan->server_type, plan->server_units);
    hps_out("%5s  %-32s %-16s %6s %12s %12s  %7s  %s\n", "stage", "layers", "type", "units",
            "s/example", "examples/s", "cost", "bound by");
    for (int s = 0; s < plan->S; s++)
        print_stage(plan, s, p, total, tau);
    print_servers(plan, p, total);
    print_method(plan);
    hps_out(": %.6g examples/s, %.6g s, %.6g USD (%.6g USD/h)\n", plan->throughput, plan->seconds,
            plan->cost_usd, total);
    if (plan->gap > 0)
        hps_out("no plan costs less than %.6g USD (gap %.2g %%); ", plan->lower_bound_usd,
                100 * plan->gap);
    else
        hps_out("proven: no plan costs less; ");
    hps_out("%lld plans priced in %.3g s\n", plan->evaluations, plan->search_seconds);
    print_rival(plan);
}
