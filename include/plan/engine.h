/* engine.h - the engine-faithful model of a plan's throughput and cost: the paper's model
 * (plan/cost.h), and what a step of micro-batches takes in addition; pure. Searches use this closed
 * form; what is promised of a plan is its replay (plan/promise.h).
 *
 * A step of `batch` examples goes in M micro-batches of b = batch/M through S stages, one forward
 * and one backward in turn (plan/order.h), with a flush. Of stage s, layers i..j on type t with k
 * units, in seconds, sums over its layers; `forward`, `once` and constants of hps_profile_engine;
 * CT and DT as of one worker:
 *     w_s = CT*b * (1 - once/oct)          forward and backward of a micro-batch, without once
 *     f_s = w_s * forward/(oct - once) + x_s/2                     1/3 where forward is not known
 *     g_s = w_s - its forward part + x_s/2                                              backward
 *     x_s = micro_s[t] + m_s/k + read_s[t]*b if it reads the dataset, but is not the first to
 *     m_s = move * (recv[i][t] + send[j][t]) * b/Bo     t a CPU, which copies what it sends itself
 *     e_s = f_s + g_s
 *     o_s = M*b * (CT * once/oct + Y/Bo) + step_s[t] + busy_s                        once a step
 *     Y   = 2 sum sync * ((1 - beta) (k-1)/k + beta/k * (k-1)/k)
 *           sync is of two units, which have half of the rows each; alone there is none. With
 *           servers the last (k-1)/k is 1: all rows are elsewhere. Dense weights that are there
 *           too are pulled by each of the k, and pushed by all together: the first (k-1)/k is then
 *           (k-1)/k + (1 + 1/k)/2, with k units of one worker
 *     h_s = recv[i][t] * b/Bo             a hop over the boundary before s, there and back; h_0 = 0
 * Of its micro-batches n_s are in flight (hps_plan_in_flight). A stage waits for its first and for
 * its last gradient, unless the n_s - 1 forwards (backwards) that it computes meanwhile take as
 * long as the round trip A_s of a micro-batch to the end of the pipeline and back:
 *     A_s = sum of e_r + h_r over r > s
 *     first = max(0, A_s - (n_s-1) f_s);  last = max(0, A_s - (n_s-1) g_s)
 *     I_s = first + last if M > n_s, else max(first, last): then both are one;  I_{S-1} = 0
 * and the pipeline takes n_s of them for each round trip:
 *     W_s = max( M e_s + I_s, floor(M / n_s) (e_s + A_s) )
 * Between two steps it waits for the slowest of the gradients that travel back to earlier stages
 * and what these compute once a step:
 *     G_0 = o_0;  G_s = max(o_s, G_{s-1} + e_{s-1} + h_s)
 *     step = max( batch*tau, max_s (G_s + W_s, busy_s + disk_s) + wait * batch*ET_servers )
 * and for stages a < b on the same units also G_a + M (e_a + e_b) + o_b. It is the step of the
 * schedule where S = 1, where M = 1, and where stages are alike; else it may be a little less, with
 * shared units a little more (tests/unit/t_engine.c), never less than the paper's model, batch*tau:
 * it only adds.
 *
 * Where memory has not room for all rows (plan/tier_time.h), a unit is busy with those that come
 * and leave, busy_s, and the disk reads those of the next step, disk_s, while it computes this one.
 * Servers do the same: their busy_s, and what disk_s is beyond all that, come to the step.
 *
 * A worker asks servers for rows once a step, when they have applied its gradients of the step
 * before: it waits for what they do for it, wait = 1/W, and where gradients are summed over workers
 * in every clock, whose requests then come together, for what they do for all: wait = 1.
 *
 * Of W workers each does such a step at the same time, a clock, with k of the Wk units of a stage,
 * and gradients are summed and rows exchanged over all of these: (k-1)/k above is (Wk-1)/(Wk).
 *     examples_s = W batch / step;  seconds = epochs * examples / (W batch) * step
 *     cost_usd = seconds/3600 * (sum price*W*k + servers) */
#ifndef HPS_PLAN_ENGINE_H
#define HPS_PLAN_ENGINE_H

#include "plan/plan.h"
#include "plan/tier_time.h"

struct hps_engine_result { double step_s, examples_s, seconds, cost_usd; };

/* Of a priced plan: it reads ct and et of every stage (hps_cost_of). O(L). Pure. */
struct hps_engine_result hps_engine_of(const struct hps_plan *plan, const struct hps_profile *p);

/* The same for a step of step_s. Pure. */
struct hps_engine_result hps_engine_result(const struct hps_plan *plan,
                                           const struct hps_profile *p, double step_s);

/* The examples of a step of all workers, and into how many micro-batches each cuts its own: as the
 * profile says, or 4 micro-batches of Bo where it does not. Pure. */
struct hps_engine_cut { double batch, M; };
struct hps_engine_cut hps_engine_cut(const struct hps_profile *p);

/* The same model in pieces, for searches that price very many plans. hps_engine_line is a stage of
 * layers i..j on type t as a function of a worker's units; hps_engine_terms what the stage does
 * with k of them, given CT of all workers; hps_engine_step the seconds of a step without batch*tau
 * (or anything above `max` where there are more than that). mate (S) is the stage that s shares its
 * units with, -1: none; mate NULL: no stages share. Pure. */
struct hps_engine_line {
    double workers;
    double rows, M;                   /* examples of a micro-batch of each worker, together;
                                         micro-batches                                         */
    double once_share, forward_share; /* of CT: computed once a step; of the rest: forward     */
    double extra, move;               /* x_s without m_s: seconds of a micro-batch beside the
                                         layers; m_s                                           */
    double sync0, sync1;              /* of the seconds of M Y/Bo b: dense sums, rows          */
    bool served, dense_served;        /* rows are on servers; dense weights too                */
    double step, hop;                 /* step_s[t]; h_s                                        */
    int first, last, type;            /* i, j, t                                               */
    struct hps_tier_curves *tier;     /* of rows in files; NULL: there are none; borrowed      */
};
/* Seconds of M Y/Bo b of k units of each worker. */
static inline double hps_engine_sums(const struct hps_engine_line *x, double k)
{
    double all = k * x->workers, others = (all - 1) / all;
    double dense = x->dense_served ? (k - 1) / k + (1 + 1 / k) / 2 : others;

    return x->sync0 * dense + x->sync1 / k * (x->served ? 1 : others);
}
struct hps_engine_terms {
    double forward, backward, once, hop;
    double paging;                    /* least seconds of a step: its rows come from the disk  */
};
struct hps_engine_line hps_engine_line(const struct hps_profile *p, struct hps_engine_cut cut,
                                       int i, int j, int t);
struct hps_engine_terms hps_engine_terms(const struct hps_engine_line *x, double ct, double k);
double hps_engine_step(int S, const struct hps_engine_terms *x, const int *mate, double M,
                       double max);
/* The terms and mates (S) [out] of a priced plan; the seconds that its servers' rows in files add
 * to a step of step_s. Pure. */
double hps_engine_served_s(const struct hps_plan *plan, const struct hps_profile *p,
                           double step_s);
void hps_engine_stages(const struct hps_plan *plan, const struct hps_profile *p,
                       struct hps_engine_terms *x, int *mate);
/* The step of a priced plan whose stages take step_s of it: with the wait for servers, and no less
 * than batch*tau; the seconds of that wait; `wait`. Pure. */
double hps_engine_with_servers(const struct hps_plan *plan, const struct hps_profile *p,
                               double step_s);
double hps_engine_wait_s(const struct hps_plan *plan, const struct hps_profile *p);
double hps_engine_wait(const struct hps_profile *p);

#endif
