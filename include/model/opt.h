/* opt.h - the deck's `train` section, and the update rule of one step; pure. */
#ifndef HPS_MODEL_OPT_H
#define HPS_MODEL_OPT_H

#include "base/deck.h"
#include "hw/dev.h"

struct hps_train_opt {
    const char *optimizer;          /* sgd|adagrad|adam                                          */
    double learning_rate, beta1, beta2, epsilon, initial_accumulator;
    double l2;                      /* of dense weights and touched rows, added to the gradient  */
    double clip;                    /* most global norm of the gradient; 0: none                 */
    long long warmup_steps;         /* the rate rises linearly over these                        */
    const char *decay;              /* none|linear|cosine|exponential, after warm-up             */
    double decay_to;                /* share of learning_rate that is left after decay_steps     */
    long long decay_steps;          /* 0: to the end of the run                                  */
    long long epochs, steps;        /* whichever comes first; 0: unset; both 0 is refused        */
    const char *synchronization, *precision;   /* bsp; fp32                                      */
    long long eval_interval_steps;  /* evaluate the test set every so many steps; 0: at the end  */
    double log_interval_seconds;    /* a progress line on rank 0                                 */
};
extern const struct hps_field hps_train_fields[];

/* The contradictions that a table cannot say. HPS_DECK at the section `item` (NULL: absent). */
enum hps_status hps_train_check(const struct hps_train_opt *opt, const struct hps_item *item);

/* The rule of 0-based `step` of `total`: kind, rate after warm-up and decay, scale 1. Pure. */
struct hps_rule hps_opt_rule(const struct hps_train_opt *opt, long long step, long long total);
/* What state floats start as (Adagrad's accumulator). Pure. */
float hps_opt_start(const struct hps_train_opt *opt);

#endif
