/* sched_best.c - the learned method and then exact, each with the whole budget: the cheaper plan.
 * exact begins with what it has to beat, so that it says whether that was the best. */
#include <math.h>
#include <stdio.h>

#include "plan/cost.h"
#include "plan/sched.h"

static const struct hps_sched *const learned = &hps_sched_ils;

/* `plan` won, by `by`; the other method's plan costs `usd`, INFINITY: it found none. */
static void name(struct hps_plan *plan, const struct hps_sched *by, const struct hps_sched *other,
                 double usd)
{
    snprintf(plan->by, sizeof plan->by, "%s", by->name);
    snprintf(plan->rival, sizeof plan->rival, "%s", other->name);
    plan->rival_usd = isfinite(usd) ? usd : 0;
}

static enum hps_status run(const struct hps_problem *q, uint64_t key, struct hps_plan **best)
{
    struct hps_plan *first = NULL;
    bool proven;
    enum hps_status s = learned->run(q, hps_rng_sub(key, 0), &first);
    struct hps_exact_wish wish = { .throughput_limit = q->throughput_limit,
                                   .seconds = q->opt->seconds, .evaluations = q->opt->evaluations,
                                   .known = first ? first : q->fastest };

    if (s)
        return s;
    hps_exact_ask(q->profile, &wish, best, &proven);
    if (first && *best) {
        bool beaten = (*best)->cost_usd < first->cost_usd * (1 - HPS_COST_TIE);
        name(*best, beaten ? &hps_sched_exact : learned, beaten ? learned : &hps_sched_exact,
             beaten ? first->cost_usd : INFINITY);
        (*best)->evaluations += first->evaluations;
    } else if (*best) {
        name(*best, &hps_sched_exact, learned, INFINITY);
    }
    hps_plan_free(first);
    return HPS_OK;
}

const struct hps_sched hps_sched_best = {
    .name = "best",
    .help = "the cheaper of the learned method's plan and exact's",
    .certifies = true,
    .endless = true,
    .run = run,
};
