/* joint.h - the units of stages, drawn and learned together with their layers and types: for
 * rl-joint.
 *
 * A stage that begins at layer l on type t gets the fewest units that keep the tau of the Markov
 * policy's value, times 2^x, where x is normal around more[l, t]. REINFORCE moves that mean.
 * Local. */
#ifndef HPS_PLAN_JOINT_H
#define HPS_PLAN_JOINT_H

#include "plan/pricer.h"
#include "plan/value.h"

struct hps_joint {
    int L, T, S;
    double *more, *dmore;       /* (L, T) the means learned; their gradient since the last step */
    double *x;                  /* (L) drawn for the last stages                               */
    int *at;                    /* (L) their cells in more                                     */
    long long *units;           /* (L) their units                                             */
};

struct hps_joint *hps_joint_new(int L, int T);  /* nothing learned; caller frees */
void hps_joint_free(struct hps_joint *j);

/* Draw units for the stages of type (L). The same for the same key. */
void hps_joint_draw(struct hps_joint *j, const struct hps_pricer *pr,
                    const struct hps_value *value, const int *type, uint64_t key);
/* The price of the plan with these units. With `improve`, single units are added to and taken from
 * stages while that lowers the price. */
double hps_joint_price(struct hps_joint *j, struct hps_pricer *pr, const int *type, bool improve);

/* hps_joint_add adds weight * d log P of the units drawn last to the gradient. hps_joint_step
 * moves the means by it and lets them decay by the share `fade`. hps_joint_forget sets all to 0. */
void hps_joint_add(struct hps_joint *j, double weight);
void hps_joint_step(struct hps_joint *j, double rate, double fade);
void hps_joint_forget(struct hps_joint *j);

#endif
