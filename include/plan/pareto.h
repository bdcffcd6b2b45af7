/* pareto.h - cost against throughput: from a pool's cheapest plan to its fastest. */
#ifndef HPS_PLAN_PARETO_H
#define HPS_PLAN_PARETO_H

#include "plan/sched.h"

struct hps_pareto_point {
    double limit;               /* examples/s that every plan here keeps                      */
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

/* Run the options' method over a ladder of limits; each run has an eighth of the options' seconds
 * (and all of the evaluations), each bound as much. HPS_DECK as hps_sched_run, with its message.
 * `pareto` [out] is to free, also after a failure. Local, one rank. */
enum hps_status hps_pareto_run(struct hps_pareto **pareto, const struct hps_profile *p,
                               const struct hps_sched_opt *opt);
void hps_pareto_free(struct hps_pareto *pareto);

/* A whole SVG file, to free with hps_mem_free; and its points as JSON: {"points": [...],
 * "singles": [...]}, to free with json_decref. Pure. */
char *hps_pareto_svg(const struct hps_pareto *pareto);
struct json_t *hps_pareto_tree(const struct hps_pareto *pareto);

#endif
