/* sched_rl_rnn.c - the same as sched_rl with plain recurrent cells: what the gates are worth. */
#include "plan/learn.h"

static enum hps_status run(const struct hps_problem *q, uint64_t key, struct hps_plan **best)
{
    return hps_learn_run(q, NULL, HPS_CELL_RNN, false, key, best);
}

const struct hps_sched hps_sched_rl_rnn = {
    .name = "rl-rnn",
    .help = "the same as rl with plain recurrent cells",
    .learns = true,
    .endless = true,
    .run = run,
};
