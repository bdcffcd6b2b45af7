/* plan_make.h - random profiles and the slow truth about plans, for the tests of the plan floor. */
#ifndef HPS_TESTS_PLAN_MAKE_H
#define HPS_TESTS_PLAN_MAKE_H

#include <stdint.h>

#include "plan/plan.h"

/* A random profile: prices near speed, so that mixing types pays. `limit` most units of a type,
 * drawn from 1..limit; `groups` > 0: only so many unlike types, the others are their twins. Free
 * with hps_profile_free. */
struct hps_profile *make_profile(uint64_t seed, int L, int T, long long limit, int groups);

/* Give layers bytes and most types memory: some stages want several units, some have no place. */
void make_memory(struct hps_profile *p, uint64_t seed);

/* The design's formulas, each written out on its own. */
double make_et(const struct hps_profile *p, int i, int j, int t, long long units);
double make_cost(const struct hps_profile *p, const struct hps_plan *plan, double *tau);

bool make_fits(const struct hps_profile *p, const struct hps_plan *plan);

/* The best over all units of these stages (units is set): least cost with tau * limit <= 1 + 1e-9,
 * or least tau. INFINITY: none. */
double make_best_units(const struct hps_profile *p, struct hps_plan *plan, double throughput_limit,
                       bool min_tau);
/* The best over all assignments and units. */
double make_best(const struct hps_profile *p, double throughput_limit, bool min_tau);
/* The best over all stages, also such as cut between layers of one type. */
double make_best_cuts(const struct hps_profile *p, double throughput_limit);

#endif
