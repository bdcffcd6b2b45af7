/* compare.h - the plans of all methods for one problem, in one table. */
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

/* Run all methods but `file` and `best`, `single` once for each type, each with the seed and the
 * whole budget of `opt`; opt->method and the warm start have no effect. For all methods "max" is
 * the highest throughput of the whole pool. A policy is given to the methods with its kind of
 * cells; the other methods that learn run without one. A method that refuses the problem prints
 * why and has no plan.
 *
 * HPS_DECK where it is proven that no plan is feasible, and where no method found one, with the
 * message of hps_sched_run; else the statuses of hps_policy_look. Local, one rank. The caller
 * frees `compare` [out], also after a failure. */
enum hps_status hps_compare_run(struct hps_compare **compare, const struct hps_profile *p,
                                const struct hps_sched_opt *opt);
void hps_compare_free(struct hps_compare *compare);

/* JSON "heterps-plans-1": {"format", "plans": [...]}, each plan with its cost under the
 * engine-faithful model (hps_promise_tree). The caller frees the text with hps_mem_free. */
char *hps_compare_text(const struct hps_compare *compare);

/* Print a table: cost, gap, examples/s, cost under the engine-faithful model, stages, seconds,
 * plans priced. On standard output, rank 0. */
void hps_compare_print(const struct hps_compare *compare);

#endif
