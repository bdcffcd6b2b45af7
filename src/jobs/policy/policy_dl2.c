/* policy_dl2.c - jobs/dl2.h as a policy. */
#include "jobs/dl2.h"

const struct hps_policy hps_policy_dl2 = { .name = "dl2",
                                           .help = "a network that learned from such jobs",
                                           .learns = true,
                                           .decide = hps_dl2_decide };
