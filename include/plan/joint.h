/* joint.h - the units of stages, drawn and learned beside their layers and types: for rl-joint.
 *
 * A stage that begins at layer l on type t gets the least units that keep the tau of the chain's
 * value, times 2^x, x normal around more[l, t]; REINFORCE moves the mean. Local. */
#ifndef HPS_PLAN_JOINT_H
#define HPS_PLAN_JOINT_H

#include "plan/pricer.h"
#include "plan/value.h"

struct hps_joint {
    int L, T, S;
    double *more, *dmore;       /* (L, T) what was learned; the gradient since the last step   */
    double *x;                  /* (L) of the stages drawn last                                */
    int *at;                    /* (L) their cells in more                                     */
    long long *units;           /* (L) their units                                             */
};

struct hps_joint *hps_joint_new(int L, int T);  /* nothing learned; caller frees */
void hps_joint_free(struct hps_joint *j);

/* Units for the stages of type (L). The same for the same key. */
void hps_joint_draw(struct hps_joint *j, const struct hps_pricer *pr,
                    const struct hps_value *value, const int *type, uint64_t key);
/* The plan's price with them. With `improve` one unit is taken from or given to a stage while that
 * lowers the price. */
double hps_joint_price(struct hps_joint *j, struct hps_pricer *pr, const int *type, bool improve);

/* Add weight * d log P of the units drawn last; learn what was added, and fade. */
void hps_joint_add(struct hps_joint *j, double weight);
void hps_joint_step(struct hps_joint *j, double rate, double fade);
void hps_joint_forget(struct hps_joint *j);

#endif
