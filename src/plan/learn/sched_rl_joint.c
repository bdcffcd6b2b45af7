/* sched_rl_joint.c - the policy of sched_rl that also chooses the units of each stage, which the
 * paper names as future work (HeterPS, arXiv 2111.10635, section 7). */
#include "plan/learn.h"

static enum hps_status run(const struct hps_problem *q, uint64_t key, struct hps_plan **best)
{
    return hps_learn_run(q, NULL, HPS_CELL_LSTM, true, key, best);
}

const struct hps_sched hps_sched_rl_joint = {
    .name = "rl-joint",
    .help = "the same as rl, and the policy chooses the units of each stage too",
    .learns = true,
    .endless = true,
    .run = run,
};
