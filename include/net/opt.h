/* opt.h - the deck's `train` section, and the update rule of one step; pure. */
#ifndef HPS_NET_OPT_H
#define HPS_NET_OPT_H

#include "base/deck.h"
#include "hw/dev.h"

struct hps_train_opt {
    const char *optimizer;          /* sgd|momentum|adagrad|...                                  */
    double learning_rate;
    const char *table_optimizer;    /* of rows of tables; same: as `optimizer`                   */
    double table_learning_rate;     /* 0: learning_rate                                          */
    double momentum, beta1, beta2, epsilon, initial_accumulator, ftrl_beta;
    bool nesterov;
    double l1, l2;                  /* see hw/dev.h                                              */
    double clip;                    /* most global norm of the gradient; 0: none                 */
    long long warmup_steps;         /* the rate rises linearly over these                        */
    const char *decay;              /* none|linear|cosine|exponential, after warm-up             */
    double decay_to;                /* share of learning_rate that is left after decay_steps     */
    long long decay_steps;          /* 0: to the end of the run                                  */
    long long epochs, steps;        /* whichever comes first; 0: unset; both 0 is refused        */
    const char *synchronization, *precision;   /* bsp; of HPS_PRECISION_WORDS                     */
    long long eval_interval_steps;  /* evaluate the test set every so many steps; 0: at the end  */
    double log_interval_seconds;    /* a progress line on rank 0                                 */
};
extern const struct hps_field hps_train_fields[];

/* The contradictions that a table cannot say. HPS_DECK at the section `item` (NULL: absent). */
enum hps_status hps_train_check(const struct hps_train_opt *opt, const struct hps_item *item);

/* Keys of a layer for its weights, or its rows: they go before those of the section. */
struct hps_opt_own {
    const char *optimizer;          /* NULL or same: the section's                               */
    double learning_rate;           /* 0: the section's                                          */
    bool table;                     /* rows of a table                                           */
};

/* The optimizer's name in the end. Pure. */
const char *hps_opt_name(const struct hps_train_opt *opt, const struct hps_opt_own *own);
/* The rule of 0-based `step` of `total`: kind, rate after warm-up and decay (ftrl: without, its
 * states are only good for one), scale 1. own NULL: dense weights without keys. Pure. */
struct hps_rule hps_opt_rule(const struct hps_train_opt *opt, const struct hps_opt_own *own,
                             long long step, long long total);
/* The states that n weights (of a row: all of them) begin with; host memory, planes of (n), then
 * the row's. Sums of squares begin as `start`, ftrl's z so that the weights stay what they are, all
 * else with 0. Pure. */
void hps_opt_start(const struct hps_rule *rule, size_t n, const float *w, float *state);

#endif
