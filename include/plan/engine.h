/* engine.h - a plan's promise as the engine keeps it: the paper's model (plan/cost.h), and what a
 * step of micro-batches spends beside it; pure.
 *
 * A step of `batch` examples goes in M micro-batches of b = batch/M through S stages, one forward
 * and one backward in turn (step/order.h), with a flush. Of stage s, layers i..j on type t with k
 * units, in seconds, sums over its layers; `forward`, `once` and constants of hps_profile_engine:
 *     w_s = CT*b * (1 - once/oct)          forward and backward of a micro-batch, without once
 *     f_s = w_s * forward/(oct - once) + x_s/2                     1/3 where forward is not known
 *     g_s = w_s - its forward part + x_s/2                                              backward
 *     x_s = micro_s[t] + read_s[t]*b if it reads the dataset, but is not the first that does
 *     e_s = f_s + g_s
 *     o_s = M*b * (CT * once/oct + Y/Bo) + step_s[t]                                 once a step
 *     Y   = sum sync * (1 - beta + beta/k) * 2(k-1)/k     sync is of two units; alone there is none
 *     h_s = recv[i][t] * b/Bo             a hop over the boundary before s, there and back; h_0 = 0
 * A stage is idle for its first and its last gradient, as far as the n = min(M, S-s) - 1 forwards
 * (backwards) that it has to do meanwhile are shorter than the way A_s of a micro-batch to the end
 * and back:
 *     A_s = sum of e_r + h_r over r > s;  first = max(0, A_s - n f_s);  last = max(0, A_s - n g_s)
 *     I_s = first + last if M > S - s, else max(first, last): then both are one;  I_{S-1} = 0
 * and no more than S - s micro-batches are under way between s and the end:
 *     W_s = max( M e_s + I_s, floor(M / min(M, S-s)) (e_s + A_s) )
 * Between two steps it waits for the slowest way back to an earlier stage, over its once, and here:
 *     G_0 = o_0;  G_s = max(o_s, G_{s-1} + e_{s-1} + h_s)
 *     step = max( batch*tau, max_s (G_s + W_s) )
 * and for stages a < b on the same units also G_a + M (e_a + e_b) + o_b. It is the step of the
 * schedule where S = 1, where M = 1, and where stages are alike; else it may be a little less
 * (tests/unit/t_engine.c), never less than the paper's model, batch*tau: it only adds.
 *     examples_s = batch / step;  seconds = epochs * examples / batch * step
 *     cost_usd = seconds/3600 * (sum price*k + servers) */
#ifndef HPS_PLAN_ENGINE_H
#define HPS_PLAN_ENGINE_H

#include "plan/plan.h"

struct hps_engine_result { double step_s, examples_s, seconds, cost_usd; };

/* Of a priced plan: ct and et of every stage are read (hps_cost_of). O(L). Pure. */
struct hps_engine_result hps_engine_of(const struct hps_plan *plan, const struct hps_profile *p);

/* The plan as its JSON file has it, and beside it "engine": {"throughput", "seconds", "cost_usd"}.
 * To free with json_decref. */
struct json_t *hps_engine_tree(const struct hps_plan *plan, const struct hps_profile *p);

/* How a step is cut: the profile's, or 4 micro-batches of Bo where it does not say. Pure. */
struct hps_engine_cut { double batch, M; };
struct hps_engine_cut hps_engine_cut(const struct hps_profile *p);

/* The same in parts, for searches that price very many plans. A stage of layers i..j on type t as a
 * function of its units; what it does with k of them, CT given; and the seconds of a step,
 * batch*tau left out (or anything above `most` where they are more than that). mate (S): the stage
 * that s shares its units with, -1: none; NULL: none shares. Pure. */
struct hps_engine_line { double rows, M, share, part, extra, sync0, sync1, step, hop; };
struct hps_engine_terms { double forward, backward, once, hop; };
struct hps_engine_line hps_engine_line(const struct hps_profile *p, struct hps_engine_cut cut,
                                       int i, int j, int t);
struct hps_engine_terms hps_engine_terms(const struct hps_engine_line *x, double ct, double k);
double hps_engine_step(int S, const struct hps_engine_terms *x, const int *mate, double M,
                       double most);

#endif
