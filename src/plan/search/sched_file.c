/* sched_file.c - a plan that was made before: its stages decide, all that they cost is computed
 * anew. */
#include "base/say.h"
#include "plan/cost.h"
#include "plan/sched.h"

/* The plan of the file, priced; it may fall short of the throughput limit. */
static enum hps_status read_plan(const struct hps_problem *q, struct hps_plan **plan)
{
    enum hps_status s = hps_plan_load(plan, q->opt->plan);

    if (!s) s = hps_plan_check(*plan, q->profile, q->opt->plan);
    if (!s) hps_cost_of(*plan, q->profile);
    return s;
}

static enum hps_status run(const struct hps_problem *q, uint64_t key, struct hps_plan **best)
{
    enum hps_status s = read_plan(q, best);

    (void)key;
    if (!s) {
        (*best)->evaluations = 1;
        if (!hps_cost_feasible(*best, q->profile, q->throughput_limit)) {
            HPS_SAY(HPS_ERROR, "%s: the plan has %.10g examples/s, the throughput_limit is %.10g",
                    q->opt->plan, (*best)->throughput, q->throughput_limit);
            s = HPS_DECK;
        }
    }
    if (s) {
        hps_plan_free(*best);
        *best = NULL;
    }
    return s;
}

/* A plan that is read is not changed: "max" is its own throughput. */
static enum hps_status max_throughput(const struct hps_problem *q, double *throughput)
{
    struct hps_plan *plan = NULL;
    enum hps_status s = read_plan(q, &plan);

    if (!s) *throughput = plan->throughput <= 1e300 ? plan->throughput : 0;
    hps_plan_free(plan);
    return s;
}

const struct hps_sched hps_sched_file = {
    .name = "file",
    .help = "the plan in schedule.plan",
    .run = run,
    .max_throughput = max_throughput,
};
