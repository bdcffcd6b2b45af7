/* sched_best.c - the learned method and then exact, each with the whole budget: the cheaper of
 * both plans. exact starts from the learned plan, so that it can prove that this plan was the
 * best. */
#include <math.h>
#include <stdio.h>

#include "plan/cost.h"
#include "plan/sched.h"

static const struct hps_sched *const learned = &hps_sched_rl;

/* `plan` won, by `by`; the other method's plan costs so many times as much, 0: it has none, or the
 * same. */
static void name(struct hps_plan *plan, const struct hps_sched *by, const struct hps_sched *other,
                 double ratio)
{
    snprintf(plan->by, sizeof plan->by, "%s", by->name);
    snprintf(plan->competitor, sizeof plan->competitor, "%s", other->name);
    plan->competitor_ratio = ratio > 1 + HPS_COST_TIE && isfinite(ratio) ? ratio : 0;
}

/* The learned plan is the cheaper one: exact adds its proof. */
static void keep(struct hps_plan *first, struct hps_plan **proof, double ratio)
{
    hps_cost_certify(first, (*proof)->lower_bound_usd);
    first->evaluations += (*proof)->evaluations;
    name(first, learned, &hps_sched_exact, ratio);
    hps_plan_free(*proof);
    *proof = first;
}

static enum hps_status run(const struct hps_problem *q, uint64_t key, struct hps_plan **best)
{
    struct hps_problem mine = *q;
    struct hps_plan *first = NULL;
    enum hps_status s = learned->run(q, hps_rng_sub(key, 0), &first);

    if (first) mine.fastest = first;
    if (!s) s = hps_sched_exact.run(&mine, key, best);
    if (s || !*best || !first) {
        if (!s && *best) name(*best, &hps_sched_exact, learned, 0);
        hps_plan_free(first);
        return s;
    }
    double ratio = hps_sched_usd(q, *best) / hps_sched_usd(q, first);
    if (!(ratio < 1 - HPS_COST_TIE)) {
        keep(first, best, ratio);
        return HPS_OK;
    }
    (*best)->evaluations += first->evaluations;
    name(*best, &hps_sched_exact, learned, 1 / ratio);
    hps_plan_free(first);
    return HPS_OK;
}

const struct hps_sched hps_sched_best = {
    .name = "best",
    .help = "the cheaper of the learned method's plan and exact's",
    .certifies = true,
    .learns = true,
    .endless = true,
    .run = run,
};
