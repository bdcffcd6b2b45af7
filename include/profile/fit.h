/* fit.h - fits what was measured of single layers, and between two units, to whole steps of a
 * training (profile/trial.h), so that the engine-faithful model (plan/engine.h) gives the seconds
 * that these steps took; pure. Layers that are measured one by one find other caches, and do not
 * pay for what lies between them. */
#ifndef HPS_PROFILE_FIT_H
#define HPS_PROFILE_FIT_H

#include "plan/profile.h"
#include "profile/measure_layer.h"
#include "profile/trial.h"

/* Seconds of a step beside its layers: of each micro-batch, and once. */
struct hps_fit_rest {
    double micro_s, step_s;
};

/* The layers m (L) were measured on a unit that computes `slow` times as long as its device, and
 * `trial` is of the whole net on this unit, in steps of M micro-batches. Multiply
 *     the forwards           by forward / (M slow sum of forwards)       as seconds of regions
 *     the backwards          by backward / (M slow sum of backwards)     of the trial's step
 *     what is done once      by (update + push) / (M slow sum of it)
 *     finding rows           by pull / (M sum of it)
 * at all three sizes. What is left of the step is M micro_s + step_s, with micro_s <= max_micro_s.
 * A region whose layers took no time is in the rest. */
struct hps_fit_rest hps_fit_layers(struct hps_layer_time *m, int L, int M, double slow,
                                   const struct hps_trial *trial, double max_micro_s);

/* Two units of type t that have the whole net took step_s a step, which is unsure by that share.
 * The model's step goes d^2/(d^2 + (unsure step_s)^2) of the difference d: noise is not fitted.
 * Where the model gives less, multiply the type's sync by what makes it that long, as long as one
 * unit is not said to wait for it, and lower alpha for the rest; where it gives more, raise alpha,
 * at most to 1, and then reduce sync. One unit's step stays. Returns the model's seconds of a step
 * of two before. */
double hps_fit_pair(struct hps_profile *p, int t, double step_s, double unsure);

/* Two units, of types a and b, that have the net in two stages, cut before layer `cut`, took step_s
 * a step, unsure by that share. Set the profile's engine.move, of 0 to 8, to the one that is most
 * likely where it is 1 +- 1 beforehand, since each rank copies what it sends or receives once: the
 * least of (model/step_s - 1)^2 + unsure^2 (move - 1)^2. Returns the model's seconds of a step
 * without it. */
double hps_fit_move(struct hps_profile *p, int a, int b, int cut, double step_s, double unsure);

/* A server of type t was busy for busy_s in one worker's clock, unsure by that share. Where the
 * profile has servers, multiply the type's serve so that these are the model's seconds, less what
 * the difference may be noise, as in hps_fit_pair. Returns the model's seconds before; 0 is left as
 * it is. */
double hps_fit_serve(struct hps_profile *p, int t, double busy_s, double unsure);

#endif
