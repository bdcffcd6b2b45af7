/* learn.h - search by a policy that learns: what rl, rl-rnn and rl-joint share.
 *
 * Plans are drawn from the policy's chain (plan/markov.h) at a tau of the ladder (plan/tau_grid.h):
 * whole ones first, then windows of the plan at hand. Each that is better is improved by moves of
 * stages whose types the policy proposes. REINFORCE (Williams 1992) with a moving-average baseline
 * and an entropy bonus makes the plans that came out likelier. What is learned for this problem
 * alone is added to the network's preferences (Hottung, Kwon, Tierney 2022); a network that has not
 * learned before learns too, through all its steps. */
#ifndef HPS_PLAN_LEARN_H
#define HPS_PLAN_LEARN_H

#include "plan/markov.h"
#include "plan/policy.h"

#define HPS_LEARN_OUTPUTS 2     /* of the network: go, stay */

/* The search of sched_rl and its kin, under q's budget: ends early when nothing was gained for
 * long. `policy` borrowed, one that learned before; NULL: the file of q's options, or a new one.
 * `joint`: units are drawn too (plan/joint.h). Statuses of hps_policy_load. */
enum hps_status hps_learn_run(const struct hps_problem *q, struct hps_policy *policy,
                              enum hps_cell cell, bool joint, uint64_t key,
                              struct hps_plan **best);

/* Add to the policy's gradient what makes this plan likelier on this problem, when the chain is as
 * sharp as a search makes it least (sharp 0) to most (1). The mean over layers of the plan's log P
 * before. */
double hps_learn_teach(const struct hps_problem *q, struct hps_policy *policy,
                       const struct hps_plan *plan, double sharp);

#endif
