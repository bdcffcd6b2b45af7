/* pareto.h - the trade-off of cost and throughput: plans from the cheapest to the fastest of a
 * pool. */
#ifndef HPS_PLAN_PARETO_H
#define HPS_PLAN_PARETO_H

#include "plan/sched.h"

struct hps_pareto_point {
    double limit;               /* examples/s that the plan of this point keeps               */
    double cost_usd;            /* of the cheapest plan found for this limit or a higher one,
                                   INFINITY: none was found                                   */
    double throughput;          /* of that plan                                               */
    double lower_bound_usd;     /* no plan that keeps this limit costs less                   */
    int stages;
};

struct hps_pareto_single { int type; double throughput, cost_usd; };

struct hps_pareto {
    const struct hps_profile *profile;  /* borrowed */
    char method[HPS_NAME];
    int n;
    struct hps_pareto_point *point;     /* (n) by limit, from the cheapest plan's throughput to
                                           the most that the method can have */
    int nsingle;
    struct hps_pareto_single *single;   /* (nsingle) each type alone: cheapest and fastest */
};

/* Run the method of the options for a series of throughput limits. Each run has an eighth of the
 * seconds of the options (and all of the evaluations), and so has each bound. HPS_DECK as
 * hps_sched_run, with its message. The caller frees `pareto` [out], also after a failure. Local,
 * one rank. */
enum hps_status hps_pareto_run(struct hps_pareto **pareto, const struct hps_profile *p,
                               const struct hps_sched_opt *opt);
void hps_pareto_free(struct hps_pareto *pareto);

/* The curve as an SVG file, to free with hps_mem_free; and its points as JSON: {"points": [...],
 * "singles": [...]}, to free with json_decref. Pure. */
char *hps_pareto_svg(const struct hps_pareto *pareto);
struct json_t *hps_pareto_tree(const struct hps_pareto *pareto);

#endif
