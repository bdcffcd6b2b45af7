/* learn.h - search by a policy that learns: what rl, rl-rnn and rl-joint share.
 *
 * Plans are drawn from the Markov policy (plan/markov.h) at a tau of the grid (plan/tau_grid.h):
 * whole plans first, then windows of the current plan. Each plan that is better is improved by
 * moves of stages, whose types the policy proposes. REINFORCE (Williams 1992) with a
 * moving-average baseline and an entropy bonus makes good plans more likely. What is learned for
 * this problem alone is added to the preferences of the network (Hottung, Kwon, Tierney 2022); a
 * network that was not trained before is trained too, through all its steps. */
#ifndef HPS_PLAN_LEARN_H
#define HPS_PLAN_LEARN_H

#include "plan/markov.h"
#include "plan/policy.h"

#define HPS_LEARN_OUTPUTS 2 /* outputs of the network: the preferences go and stay */

/* The search of sched_rl, sched_rl_rnn and sched_rl_joint, under the budget of q; it ends early
 * when nothing was gained for long. `policy` is a trained one, borrowed; NULL: the file that q's
 * options name, or a new policy. `joint`: units are drawn too (plan/joint.h). Statuses of
 * hps_policy_load. */
enum hps_status hps_learn_run(const struct hps_problem *q, struct hps_policy *policy,
                              enum hps_cell cell, bool joint, uint64_t key,
                              struct hps_plan **best);

/* Add to the gradient of the policy what makes this plan more likely on this problem, when the
 * Markov policy is as sharp as a search makes it at least (sharp 0) up to at most (sharp 1).
 * Returns the mean over layers of the plan's log P before that. */
double hps_learn_teach(const struct hps_problem *q, struct hps_policy *policy,
                       const struct hps_plan *plan, double sharp);

#endif
