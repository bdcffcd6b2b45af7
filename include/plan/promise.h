/* promise.h - what is promised of a plan: its replay (plan/replay.h), never less than the paper's
 * model, batch*tau, and what trials and a run beside its steps add; pure.
 *
 * Where a plan was tried (profile/trial.h), steps last engine.trial times as long: measured over
 * promised; the promise is then the measured one, and may be above the paper's model. */
#ifndef HPS_PLAN_PROMISE_H
#define HPS_PLAN_PROMISE_H

#include "plan/engine.h"

/* Of a priced plan, whose ct and et it reads (hps_cost_of): a step, and a run as long as its steps.
 * Pure. */
struct hps_engine_result hps_promise_step(const struct hps_plan *plan,
                                          const struct hps_profile *p);

/* The same of a whole run, which lasts engine.run_s longer than its steps. Pure. */
struct hps_engine_result hps_promise_run(const struct hps_plan *plan, const struct hps_profile *p);

/* The seconds of a step of stage s, by what it does in them: forwards and backwards; what is done
 * once a step for rows and weights, pull, push and update, the exchange of rows, rows in files,
 * traffic with servers and the wait for them; sums of dense gradients over its units; messages of
 * other stages, until they come; the rest of the step, in which it counts, reads and waits for
 * other ranks. Their sum is step_s. Pure. */
enum hps_promise_part {
    HPS_PROMISE_COMPUTE, HPS_PROMISE_PULL, HPS_PROMISE_REDUCE, HPS_PROMISE_MESSAGE,
    HPS_PROMISE_WAIT, HPS_PROMISE_PARTS
};
struct hps_promise_parts { double seconds[HPS_PROMISE_PARTS]; };
struct hps_promise_parts hps_promise_parts(const struct hps_plan *plan, const struct hps_profile *p,
                                           int s);

/* By what share the promise of a plan is unsure: the most of the types of its stages. Pure. */
double hps_promise_unsure(const struct hps_plan *plan, const struct hps_profile *p);

/* The tree of the plan as in its JSON file, with "engine": {"throughput", "seconds", "cost_usd"} of
 * the promised run added. The caller frees it with json_decref. */
struct json_t *hps_promise_tree(const struct hps_plan *plan, const struct hps_profile *p);

#endif
