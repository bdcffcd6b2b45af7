/* correct.h - what the stages of a running plan took corrects the profile; whether another plan is
 * then better.
 *
 * A window of n examples under a plan says of each of its stages, layers i..j on type t with k
 * units: ct, dt seconds an example, computation and the communication that it did not hide. The
 * profile that the run began with promised CT, DT (plan/cost.h). Each layer l of i..j notes
 *     got[l][t] = got[l][t]/2 + n*ct,   said[l][t] = said[l][t]/2 + n*CT
 * so a window counts half as much with each that comes after, and
 *     factor[l][t] = got/said                      a layer that was measured on t
 *     factor[l][t] = sum of got / sum of said      another layer of t: the type's factor
 *     factor[l][t] = the least of the types' factors, within [1, 3/2]      t was never measured
 * The last is what all types seem to have in common, a busy machine for one; what is beyond 3/2 is
 * taken for the measured type's own. Corrected: oct * factor, its parts
 * forward and once too. In the same way sync, recv, send with dt, DT; but communication that is no
 * longer than promised or hidden behind the computation (dt <= DT or dt <= ct) is noted as
 * promised, since nobody saw how long it took. Factors are always on the first profile: what is
 * measured twice corrects once. */
#ifndef HPS_PLAN_CORRECT_H
#define HPS_PLAN_CORRECT_H

#include "plan/plan.h"

/* Seconds an example of one stage, as measured; of two stages on the same units, each has the sum
 * of both. */
struct hps_correct_stage {
    double ct, dt;
};

struct hps_correct; /* the notes of all windows */

/* Notes on `first`, of which a copy is kept. Caller frees. Local. */
struct hps_correct *hps_correct_new(const struct hps_profile *first);
void hps_correct_free(struct hps_correct *c);

/* A window of `examples`: stage (S) of the plan. Pure but for the notes. */
void hps_correct_note(struct hps_correct *c, const struct hps_plan *plan,
                      const struct hps_correct_stage *stage, double examples);

/* The first profile, corrected. Caller frees. Pure. */
struct hps_profile *hps_correct_profile(const struct hps_correct *c);

/* How many times as long as promised type t computes; NaN: it was never measured. Pure. */
double hps_correct_type(const struct hps_correct *c, int t);

/* Two plans under one profile. */
struct hps_correct_price {
    double examples_s, cost_usd;
};
/* Is `then` better than `now` by more than `margin`? Both keep throughput_limit (0: none): it costs
 * less than cost / (1 + margin). `now` does not keep it: `then` comes nearer by that factor, or is
 * no slower and costs so much less. Never when `then` falls short where `now` does not. Pure. */
bool hps_correct_better(struct hps_correct_price now, struct hps_correct_price then,
                        double throughput_limit, double margin);

#endif
