/* plan_check.h - what cmocka tests of the plan floor check with; included behind cmocka.h. */
#ifndef HPS_TESTS_PLAN_CHECK_H
#define HPS_TESTS_PLAN_CHECK_H

#include <math.h>

#include "plan/sched.h"

static const struct hps_sched_opt make_preset = {
    .method = "exact", .objective = "model", .profile = "", .plan = "", .policy = "", .warm = "",
    .polish = true, .throughput_limit = INFINITY, .seed = 1, .evaluations = 600,
};

static inline void make_near(double got, double wanted)
{
    if (isinf(got) && isinf(wanted))
        return;
    if (!(fabs(got - wanted) <= 1e-9 * fabs(wanted)))
        fail_msg("got %.17g, wanted %.17g", got, wanted);
}

#endif
