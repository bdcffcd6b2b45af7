/* sched_lack.c - is it memory that no plan has enough of? And whose. */
#include "plan/sched.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "plan/cost.h"

/* Layers i..j on as many units of t as there are: how many times what they have they need. */
static double times(const struct hps_profile *p, int i, int j, int t, long long units)
{
    double need = hps_memory_need(hps_memory_of(p, i, j), (double)units);

    return p->type[t].memory_bytes > 0 ? need / p->type[t].memory_bytes : 0;
}

static void tell(char *text, size_t size, const struct hps_profile *p, int i, int j, int t,
                 long long units)
{
    double need = hps_memory_need(hps_memory_of(p, i, j), (double)units);

    if (i == j)
        snprintf(text, size, "layer %s", p->layer[i].name);
    else
        snprintf(text, size, "a stage of layers %s to %s", p->layer[i].name, p->layer[j].name);
    size_t n = strlen(text);
    snprintf(text + n, size - n, " needs %.10g bytes on each of %lld units of type %s, which has "
             "%.10g", need, units, p->type[t].name, p->type[t].memory_bytes);
}

/* The layer that no type can hold with all its units, on the type that comes nearest; -1: none. */
static int homeless(const struct hps_profile *p, int *type)
{
    for (int l = 0; l < p->L; l++) {
        double least = INFINITY;
        for (int t = 0; t < p->T; t++) {
            if (hps_cost_room(p, t) < 1 || !(times(p, l, l, t, hps_cost_room(p, t)) < least))
                continue;
            least = times(p, l, l, t, hps_cost_room(p, t));
            *type = t;
        }
        if (least > 1 + HPS_COST_TIE)
            return l;
    }
    return -1;
}

bool hps_exact_lacks(const struct hps_profile *p, double throughput_limit, double seconds,
                     char *text, size_t size)
{
    struct hps_profile bare = *p;
    struct hps_plan *plan;
    bool lacks = false, proven;
    int t = 0, l = homeless(p, &t);

    bare.type = hps_mem_new((size_t)p->T, sizeof *bare.type);
    for (int u = 0; u < p->T; u++) {
        bare.type[u] = p->type[u];
        bare.type[u].memory_bytes = 0;
    }
    hps_exact_bound(&bare, throughput_limit, seconds, 0, &plan, &proven);
    if (plan && l >= 0) {
        tell(text, size, p, l, l, t, hps_cost_room(p, t));
        lacks = true;
    }
    for (int s = 0; plan && s < plan->S && !lacks; s++) {
        const struct hps_plan_stage *g = &plan->stage[s];
        if (times(p, g->first, g->last, g->type, g->units) <= 1 + HPS_COST_TIE)
            continue;
        tell(text, size, p, g->first, g->last, g->type, g->units);
        lacks = true;
    }
    hps_plan_free(plan);
    hps_mem_free(bare.type);
    return lacks;
}
