/* sched_heuristic.c - what people do by hand: layers with tables on CPUs, the rest where it
 * computes fastest. */
#include <math.h>

#include "base/mem.h"
#include "base/say.h"
#include "plan/provision.h"
#include "plan/sched.h"

/* Does the type have a unit for a stage beside the servers? */
static bool usable(const struct hps_profile *p, int t)
{
    return hps_cost_capacity(p, t) > 0;
}

static int cheapest_cpu(const struct hps_profile *p)
{
    int best = -1;

    for (int t = 0; t < p->T; t++)
        if (!p->type[t].gpu && usable(p, t) &&
            (best < 0 || p->type[t].price_usd_hour < p->type[best].price_usd_hour))
            best = t;
    return best;
}

/* By the sum of oct over the layers that it would get. */
static int fastest(const struct hps_profile *p)
{
    double min = INFINITY;
    int best = -1;

    for (int t = 0; t < p->T; t++) {
        double sum = 0;
        for (int l = 0; l < p->L; l++)
            if (!hps_profile_has_table(&p->layer[l]))
                sum += p->oct[(size_t)l * (size_t)p->T + (size_t)t];
        if (usable(p, t) && sum < min) {
            min = sum;
            best = t;
        }
    }
    return best;
}

static enum hps_status stages(const struct hps_problem *q, struct hps_plan **plan)
{
    const struct hps_profile *p = q->profile;
    int cpu = cheapest_cpu(p), fast = fastest(p);
    int *type = hps_mem_new((size_t)p->L, sizeof *type);
    bool good = true;

    *plan = NULL;
    for (int l = 0; l < p->L; l++) {
        type[l] = hps_profile_has_table(&p->layer[l]) ? cpu : fast;
        good = good && type[l] >= 0;
    }
    if (good)
        *plan = hps_plan_of_assignment(p->L, type);
    else
        HPS_SAY(HPS_ERROR, "heuristic: this pool has no %s type with a unit free",
                cpu < 0 ? "CPU" : "other");
    hps_mem_free(type);
    return good ? HPS_OK : HPS_DECK;
}

static enum hps_status run(const struct hps_problem *q, uint64_t key, struct hps_plan **best)
{
    (void)key;
    return hps_sched_fixed(q, stages, best);
}

static enum hps_status max_throughput(const struct hps_problem *q, double *throughput)
{
    return hps_sched_fixed_max(q, stages, throughput);
}

const struct hps_sched hps_sched_heuristic = {
    .name = "heuristic",
    .help = "layers with tables on the cheapest CPU type, the rest on the fastest type",
    .run = run,
    .max_throughput = max_throughput,
};
