/* compare.h - every method on one problem, side by side. */
#ifndef HPS_PLAN_COMPARE_H
#define HPS_PLAN_COMPARE_H

#include "plan/sched.h"

struct hps_compare {
    double throughput_limit;    /* of all of them; 0: none                                  */
    double lower_bound_usd;     /* no plan costs less: exact's proof, beside every plan     */
    bool proven;                /* exact's plan costs just that                             */
    const struct hps_profile *profile;  /* borrowed                                         */
    int n;
    char **method;              /* (n) as the deck writes it; the cheapest plan's first     */
    struct hps_plan **plan;     /* (n) with that bound and the gap to it; NULL: found none  */
};

/* All methods but `file` and `best`, `single` once for each type, with opt's seed and budget for
 * each one; opt->method and the warm start do not matter: each stands alone. "max" is the most of
 * the whole pool to all of them. A policy is for the methods of its cells, the others search
 * without one. A method that refuses the problem says why and found none. HPS_DECK where it is
 * proven that no plan is feasible and where no method found one, with hps_sched_run's message;
 * statuses of hps_policy_look. Local, one rank; `compare` [out] is to free, also after a failure.
 */
enum hps_status hps_compare_run(struct hps_compare **compare, const struct hps_profile *p,
                                const struct hps_sched_opt *opt);
void hps_compare_free(struct hps_compare *compare);

/* JSON "heterps-plans-1": {"format", "plans": [...]}, each plan with what the engine makes of it
 * (hps_engine_tree). To free with hps_mem_free. */
char *hps_compare_text(const struct hps_compare *compare);

/* The table for people: cost, gap, examples/s, cost as the engine runs it, stages, seconds, plans
 * priced. On standard output, rank 0. */
void hps_compare_print(const struct hps_compare *compare);

#endif
