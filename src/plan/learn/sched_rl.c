/* sched_rl.c - a policy with LSTM cells, one step a layer, learns by REINFORCE which type each
 * layer is on (HeterPS, arXiv 2111.10635, section 5). */
#include "plan/learn.h"

static enum hps_status run(const struct hps_problem *q, uint64_t key, struct hps_plan **best)
{
    return hps_learn_run(q, NULL, HPS_CELL_LSTM, false, key, best);
}

const struct hps_sched hps_sched_rl = {
    .name = "rl",
    .help = "an LSTM policy learns by REINFORCE; its plans are improved by moves of stages",
    .learns = true,
    .endless = true,
    .run = run,
};
