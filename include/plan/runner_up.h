/* runner_up.h - the plans that a plan was chosen over, and by how much: the best one that is one
 * move of stages away, and the best one on one type alone. */
#ifndef HPS_PLAN_RUNNER_UP_H
#define HPS_PLAN_RUNNER_UP_H

#include "plan/sched.h"

struct hps_runner_up {
    const struct hps_plan *plan;        /* borrowed, as the profile: what they lost to          */
    const struct hps_profile *profile;
    double throughput_limit;
    bool engine;                /* the engine's model is what they are compared under          */
    struct hps_plan *next;      /* the best of those one move away (plan/moves.h); NULL: none
                                   of them keeps the limits                                     */
    struct hps_plan *single;    /* the best on one type; NULL: none keeps the limits            */
    int type;                   /* without single: the type that is fastest alone, -1: none can */
    double max_throughput;      /* of that type    */
};

/* For a plan that was made with these options. With throughput_limit "max", the other plans must
 * be as fast as it is (under the objective). Takes some tenths of a second at most. Local; caller
 * frees. */
struct hps_runner_up *hps_runner_up_new(const struct hps_plan *plan, const struct hps_profile *p,
                                        const struct hps_sched_opt *opt);
void hps_runner_up_free(struct hps_runner_up *r);

/* Print lines after the table of the plan. On standard output, rank 0. */
void hps_runner_up_print(const struct hps_runner_up *r);

/* The plan and what the engine makes of it (hps_promise_tree), and beside it "runner_up" and
 * "single", such plans or null. To free with json_decref. */
struct json_t *hps_runner_up_tree(const struct hps_runner_up *r);

#endif
