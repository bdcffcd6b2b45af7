/* correct.h - correct the profile by the measured times of a running plan's stages, and decide
 * whether another plan is better then.
 *
 * Over a window of n examples under a plan, each of its stages, layers i..j on type t with k
 * units, has measured ct and dt: seconds per example of computation, and of communication that was
 * not hidden behind it. The profile that the run began with promised CT and DT (plan/cost.h). Each
 * layer l of i..j adds
 *     got[l][t] = got[l][t]/2 + n*ct,   said[l][t] = said[l][t]/2 + n*CT
 * so that a window counts half as much with each later one, and
 *     factor[l][t] = got/said                      a layer that was measured on t
 *     factor[l][t] = sum of got / sum of said      another layer of t: the type's factor
 *     factor[l][t] = the smallest of the types' factors, within [1, 3/2]      t was never measured
 * The last factor is what all types seem to have in common, a busy machine for example; a factor
 * beyond 3/2 is taken to be particular to the measured type. oct and its shares `forward` and
 * `once` are multiplied by the factor. sync, recv and send are corrected in the same way from dt
 * and DT; but communication that is no longer than promised, or hidden behind the computation (dt
 * <= DT or dt <= ct), is added as promised, since its true duration was not seen. Factors always
 * apply to the first profile, so that two windows with the same excess do not correct twice. */
#ifndef HPS_PLAN_CORRECT_H
#define HPS_PLAN_CORRECT_H

#include "plan/plan.h"

/* Measured seconds per example of one stage. Each of two stages on the same units has the sum of
 * both. */
struct hps_correct_stage {
    double ct, dt;
};

struct hps_correct; /* the sums over all windows */

/* Start without measurements on a copy of the profile `first`. Caller frees. Local. */
struct hps_correct *hps_correct_new(const struct hps_profile *first);
void hps_correct_free(struct hps_correct *c);

/* Add a window of `examples` examples: stage (S) of the plan. Pure but for the sums in c. */
void hps_correct_note(struct hps_correct *c, const struct hps_plan *plan,
                      const struct hps_correct_stage *stage, double examples);

/* A copy of the first profile, corrected; without its trial, whose excess was measured again. The
 * caller frees it. Pure. */
struct hps_profile *hps_correct_profile(const struct hps_correct *c);

/* The factor by which type t computes longer than promised; NaN where it was never measured. Pure.
 */
double hps_correct_type(const struct hps_correct *c, int t);

/* Rate and cost of a plan under one profile. */
struct hps_correct_price {
    double examples_s, cost_usd;
};
/* Is the plan `then` better than the plan `now` by more than `margin`? Where both keep
 * throughput_limit (0: none), `then` must cost less than cost / (1 + margin). Where `now` does not
 * keep it, `then` must come closer to it by that factor, or be no slower and cost so much less. A
 * plan that falls short of the limit is never better than one that keeps it. Pure. */
bool hps_correct_better(struct hps_correct_price now, struct hps_correct_price then,
                        double throughput_limit, double margin);

#endif
