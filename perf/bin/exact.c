/* exact.c - how exact does on random problems, a line each on standard output:
 *   exact LAYERS TYPES tight|loose|cut|tight-cut GROUPS SEEDS SECONDS [EDGE]
 * seed, seconds of the processor, gap (1: no plan found; -1: proven that there is none), plans
 * priced. SECONDS of the clock at most. EDGE: the throughput limit is that share of the most that
 * a search of as many seconds finds. Built by `make perf/bin/exact`. */
#include <stdlib.h>

#include "base/mem.h"
#include "lab.h"
#include "base/say.h"
#include "base/world.h"
#include "plan/sched.h"
#include "random_profile.h"

static void measure(const struct random_wish *w, double seconds, double edge)
{
    struct hps_profile *p = random_profile(w);
    struct hps_plan *plan;
    bool proven;
    if (edge > 0)
        p->throughput_limit = edge * hps_exact_max_throughput(p, seconds, NULL, &proven);
    double began = lab_cpu_s();

    hps_exact_bound(p, p->throughput_limit, seconds, 0, &plan, &proven);
    hps_out("%llu %.4f %.3g %lld\n", (unsigned long long)w->seed, lab_cpu_s() - began,
            plan ? plan->gap : proven ? -1.0 : 1.0, plan ? plan->evaluations : 0LL);
    hps_plan_free(plan);
    hps_profile_free(p);
}

static enum hps_status run(int argc, char **argv)
{
    struct random_wish w = { .feasible = true };

    if (argc < 7 || argc > 8 || !random_limits_of(argv[3], &w.limits)) {
        HPS_SAY(HPS_ERROR, "usage: exact LAYERS TYPES tight|loose|cut|tight-cut GROUPS SEEDS "
                           "SECONDS [EDGE]");
        return HPS_USAGE;
    }
    w.L = atoi(argv[1]);
    w.T = atoi(argv[2]);
    w.groups = atoi(argv[4]);
    for (w.seed = 1; w.seed <= strtoull(argv[5], NULL, 10); w.seed++)
        measure(&w, atof(argv[6]), argc == 8 ? atof(argv[7]) : 0);
    return hps_out_flush();
}

int main(int argc, char **argv)
{
    hps_begin(&argc, &argv, false);
    return hps_end(run(argc, argv));
}
