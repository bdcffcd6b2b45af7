/* sched_single.c - all layers on one type. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "plan/provision.h"
#include "plan/sched.h"

static enum hps_status unknown(const struct hps_profile *p, const char *name)
{
    const char **names = hps_mem_new((size_t)p->T, sizeof *names);

    for (int t = 0; t < p->T; t++)
        names[t] = p->type[t].name;
    const char *near = hps_deck_nearest(name, names, p->T);
    HPS_SAY(HPS_ERROR, "schedule.method: single:%s names no type of this pool%s%s%s", name,
            near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    hps_mem_free(names);
    return HPS_DECK;
}

static enum hps_status stages(const struct hps_problem *q, struct hps_plan **plan)
{
    const struct hps_profile *p = q->profile;

    for (int t = 0; t < p->T; t++)
        if (strcmp(p->type[t].name, q->argument) == 0) {
            *plan = hps_plan_new(p->L, 1);
            (*plan)->stage[0] = (struct hps_plan_stage){ .last = p->L - 1, .type = t };
            return HPS_OK;
        }
    return unknown(p, q->argument);
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

const struct hps_sched hps_sched_single = {
    .name = "single",
    .help = "all layers on one type: single:TYPE",
    .argument = true,
    .run = run,
    .max_throughput = max_throughput,
};
