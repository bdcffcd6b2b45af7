/* engine.h - a plan's promise as the engine keeps it: the paper's model (plan/cost.h), and what a
 * step of micro-batches spends beside it; pure.
 *
 * A step of `batch` examples goes in M micro-batches through S stages, one forward, one backward
 * (train/order.h), with a flush. For stage s on type t, seconds:
 *     e_s = ET_s * batch / M + 2 * latency_s * (boundaries of s) + micro_s[t]     a micro-batch
 *     o_s = step_s[t]                                                             once a step
 *     step = (M - 1) * max e_s + sum_s e_s + max_s (o_s - sum of e_r over r < s)
 * where the e_s of two stages that share their units add up in the maximum. The first two terms are
 * fill, steady state and drain: from the first forward of stage 0 to its last backward. What is
 * done once a step delays the next step only as far as a stage would not wait anyhow: stage s works
 * in a step for sum_{r<s} e_r less than stage 0. The third term is not negative (s = 0), so a step
 * never takes less than batch * tau of the paper's model: the model only adds.
 *     examples_s = batch / step;  seconds = epochs * examples / batch * step
 *     cost_usd = seconds/3600 * (sum price*k + servers)
 * batch, M and the constants are the profile's (struct hps_profile_engine). */
#ifndef HPS_PLAN_ENGINE_H
#define HPS_PLAN_ENGINE_H

#include "plan/plan.h"

struct hps_engine_result { double step_s, examples_s, seconds, cost_usd; };

/* Of a priced plan: et of every stage is read (hps_cost_of). Allocates nothing. Pure. */
struct hps_engine_result hps_engine_of(const struct hps_plan *plan, const struct hps_profile *p);

/* How a step is cut: the profile's, or 4 micro-batches of Bo where it does not say. Pure. */
struct hps_engine_cut { double batch, M; };
struct hps_engine_cut hps_engine_cut(const struct hps_profile *p);

#endif
