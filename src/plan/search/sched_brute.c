/* sched_brute.c - every assignment of types to layers, each with its cheapest units. */
#include <math.h>

#include "base/mem.h"
#include "base/say.h"
#include "plan/pricer.h"

/* Plans that a second surely prices: what a budget of seconds can reach, on any machine alike. */
#define PLANS_S 500000.0

static enum hps_status refuse_beyond(const struct hps_problem *q)
{
    const struct hps_profile *p = q->profile;
    double plans = pow(p->T, p->L), reach = INFINITY;

    if (q->opt->seconds > 0) reach = q->opt->seconds * PLANS_S;
    if (q->opt->evaluations > 0) reach = fmin(reach, (double)q->opt->evaluations);
    if (plans <= reach) return HPS_OK;
    HPS_SAY(HPS_ERROR, "brute: %d types for %d layers are %.3g plans, the budget reaches %.3g "
            "(schedule.seconds, schedule.evaluations)", p->T, p->L, plans, reach);
    return HPS_DECK;
}

/* The next number of L digits in base T, the last digit first; false after the last one. */
static bool next(int *type, int L, int T)
{
    int l = L - 1;

    while (l >= 0 && type[l] == T - 1)
        type[l--] = 0;
    if (l < 0) return false;
    type[l]++;
    return true;
}

static enum hps_status run(const struct hps_problem *q, uint64_t key, struct hps_plan **best)
{
    enum hps_status s = refuse_beyond(q);

    (void)key;
    *best = NULL;
    if (s) return s;
    struct hps_pricer *pr = hps_pricer_new(q);
    int *type = hps_mem_new((size_t)pr->L, sizeof *type);
    do {
        hps_pricer_price(pr, type, pr->best);
    } while (!hps_pricer_over(pr) && next(type, pr->L, pr->T));
    *best = hps_pricer_plan(pr);
    hps_mem_free(type);
    hps_pricer_free(pr);
    return HPS_OK;
}

const struct hps_sched hps_sched_brute = {
    .name = "brute",
    .help = "every plan there is; refused where the budget cannot reach all",
    .run = run,
};
