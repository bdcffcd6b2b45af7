/* sched_lack.c - whether a problem has no plan because of memory, and which layers need too much.
 */
#include "plan/sched.h"

#include "base/mem.h"
#include "plan/memory.h"

bool hps_exact_lacks(const struct hps_profile *p, double throughput_limit, double seconds,
                     char *text, size_t size)
{
    struct hps_profile bare = *p;
    struct hps_plan *plan;
    bool lacks = false, proven;
    bool homeless = hps_memory_unplaceable(p, text, size);

    bare.type = hps_mem_new((size_t)p->T, sizeof *bare.type);
    for (int u = 0; u < p->T; u++) {
        bare.type[u] = p->type[u];
        bare.type[u].memory_bytes = 0;
    }
    hps_exact_bound(&bare, throughput_limit, seconds, 0, &plan, &proven);
    lacks = plan && homeless;
    for (int s = 0; plan && s < plan->S && !lacks; s++) {
        const struct hps_plan_stage *g = &plan->stage[s];
        lacks = hps_memory_lacks(p, g->first, g->last, g->type, g->units, text, size);
    }
    hps_plan_free(plan);
    hps_mem_free(bare.type);
    return lacks;
}
