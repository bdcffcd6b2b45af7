/* opt.h - the deck's `train` section, and the update rule of one step; pure. */
#ifndef HPS_NET_OPT_H
#define HPS_NET_OPT_H

#include "base/deck.h"
#include "hw/dev.h"

struct hps_train_opt {
    const char *optimizer;          /* sgd|momentum|adagrad|...                                  */
    double learning_rate;
    const char *table_optimizer;    /* of rows of tables; same: that of `optimizer`              */
    double table_learning_rate;     /* 0: learning_rate                                          */
    double momentum, beta1, beta2, epsilon, initial_accumulator, ftrl_beta;
    bool nesterov;
    double l1, l2;                  /* see hw/rule.h                                             */
    double clip;                    /* max global norm of the gradient; 0: no clipping           */
    long long warmup_steps;         /* the rate rises linearly over these                        */
    const char *decay;              /* none|linear|cosine|exponential, after warm-up             */
    double decay_to;                /* fraction of learning_rate left after decay_steps          */
    long long decay_steps;          /* 0: to the end of the run                                  */
    long long epochs, steps;        /* whichever comes first; 0: unset; both 0 is refused        */
    const char *synchronization;    /* bsp|ssp|asp|hybrid                                        */
    const char *precision;          /* of HPS_PRECISION_WORDS                                    */
    int workers;                    /* pipelines, each with a batch of its own                   */
    long long staleness;            /* clocks that a worker may be ahead of another              */
    long long cache_clocks;         /* of these, for rows in a worker's cache; 0: it has none    */
    const char *staleness_rate;     /* none|inverse                                              */
    int aggregate;                  /* gradients that a server applies together, as one sum      */
    bool record;                    /* the order of updates, for a replay                        */
    long long interleaving;         /* seed of the order of updates; 0: that of arrival          */
    long long eval_interval_steps;  /* evaluate the test set every so many steps; 0: at the end  */
    double log_interval_seconds;    /* a progress line on rank 0                                 */
};
extern const struct hps_field hps_train_fields[];

/* Are there workers that do not wait for each other in every step? ssp of staleness 0 is bsp.
 * Pure. */
bool hps_train_is_async(const struct hps_train_opt *opt);
/* Are dense gradients summed over the workers in every step? Pure. */
bool hps_train_sums_dense(const struct hps_train_opt *opt);
/* Is the rate of an update divided by its staleness? Pure. */
bool hps_train_slows_stale(const struct hps_train_opt *opt);
/* How many clocks a pull may lag behind at a server; HPS_TRAIN_UNBOUNDED. With a cache of H clocks
 * (cache_clocks) it is L = staleness - 2 H: a row that a worker uses in clock c was pulled for
 * clock c - H or later, when the servers had applied all that was sent for clocks up to
 * c - H - 1 - L; and a gradient is sent at most H clocks after its own. So what the worker uses,
 * from its cache or not, has all gradients of clocks up to c - 1 - staleness. Pure. */
long long hps_train_staleness(const struct hps_train_opt *opt);
enum { HPS_TRAIN_UNBOUNDED = -1 };

/* HPS_DECK, at the section `item` (NULL: absent), where keys contradict each other. */
enum hps_status hps_train_check(const struct hps_train_opt *opt, const struct hps_item *item);

/* The keys of a layer that override those of the section, for its dense weights or its rows. */
struct hps_opt_override {
    const char *optimizer;          /* NULL or same: that of the section                         */
    double learning_rate;           /* 0: that of the section                                    */
    bool table;                     /* it is for rows of a table                                 */
};

/* The name of the optimizer that the override and the section give together. Pure. */
const char *hps_opt_name(const struct hps_train_opt *opt, const struct hps_opt_override *override);

/* Which update of a run it is. */
struct hps_update {
    long long step, total;          /* 0-based number of its first batch, of so many             */
    int batches;                    /* that a full one learns from: one of each worker           */
    long long before;               /* updates before it                                         */
    long long staleness;            /* updates since its weights were read: the rate is divided by
                                       it where it is above 1                                    */
    int application;                /* of gradients that are applied one after the other, all
                                       before the next update, from 1; 0: of the update itself   */
};
/* That of a run in which each batch is an update. Pure. */
static inline struct hps_update hps_update_of(long long step, long long total)
{
    return (struct hps_update){ step, total, 1, step, 0, 0 };
}

/* The rule of an update, with its rate after warm-up and decay; scale is 1. Warm-up and decay go by
 * examples: several workers' updates have the rates of one worker with as large a batch. The rate
 * of ftrl is constant, since its states hold for one rate only. override NULL: dense weights
 * without keys of their own. Pure. */
struct hps_rule hps_opt_rule(const struct hps_train_opt *opt,
                             const struct hps_opt_override *override, struct hps_update update);
/* Initial optimiser states of the weights w (n), or of one row of n: planes of (n), then the states
 * of the row; host memory. Sums of squares begin as rule->start, z of ftrl so that the weights keep
 * their values, all others as 0. Pure. */
void hps_opt_init_states(const struct hps_rule *rule, size_t n, const float *w, float *state);

#endif
