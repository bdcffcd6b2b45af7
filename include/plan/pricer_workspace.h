/* pricer_workspace.h - the plan at hand of a pricer: its stages, which of them share their units,
 * and what units are best for them; between the sources of plan/pricer alone. */
#ifndef HPS_PLAN_PRICER_WORKSPACE_H
#define HPS_PLAN_PRICER_WORKSPACE_H

#include "plan/engine.h"
#include "plan/pricer.h"
#include "plan/provision.h"

/* What a stage does in a step, fixed + divided / k; weights and values of hps_pricer_bound. */
struct hps_pricer_part {
    double e0, e1, o0, o1, d0, d1;      /* e, o of the engine, batch * DT                  */
    double w, q, z;                     /* weights of P, of Q (of its first), of D         */
    double p;                           /* P at the units at hand                          */
    double q_s, d_s;                    /* Q, D                                            */
};

struct hps_pricer_workspace {
    const struct hps_problem *q;
    struct hps_cost *c;
    bool engine, share;                 /* of the options                                   */
    struct hps_pricer_least *least;     /* stages by first layer, then by last, then by type */
    long long *room, *used;             /* (T) units                                        */

    int S;                              /* stages                                           */
    int *first, *last, *type;           /* (S) of a stage                                   */
    int *mate;                          /* (S) the stage that it shares with, -1: none      */
    long long *stage_units;             /* (S) where a value was found                      */
    int *best_mate;                     /* (S) of the best way to share so far              */
    long long *best_units;              /* (S)                                              */

    struct hps_engine_cut cut;          /* where the objective is engine                    */
    struct hps_engine_line *engine_line;    /* (S)                                          */
    struct hps_engine_terms *terms;     /* (S) at the units seen last                       */
    struct hps_pricer_part *part;       /* (S) of hps_pricer_bound                          */

    struct hps_provision_job job;       /* one line a stage, or two that share              */
    const long long *given;             /* (S) units that stages have; NULL: the best       */
    int *line_of;                       /* (S) of a stage                                   */
    int *line_type;                     /* (job.S) as all below                             */
    int *stage_of;                      /* the first of a line                              */
    long long *seen;                    /* units that hps_pricer_tau saw last, 0: none yet  */
    double *seen_et;
    struct hps_cost_line *line, *more;
    double *price, *wish;               /* of a unit; units as real numbers                 */
    double *gain;                       /* of hps_pricer_bound                              */
    long long *most, *units, *work, *trial, *other;

    int *keep, *keep_mate;              /* (L) the best assignment, (its stages)            */
    long long *keep_units;              /* (its stages)                                     */
    double until_s;                     /* 0: no limit on time                              */
    bool late;                          /* the clock said so                                */
};

/* A stage at the largest tau that keeps the throughput limit: units only grow from there. */
struct hps_pricer_least {
    long long units;            /* 0: it cannot keep the limit               */
    double floor;               /* price * units * ET: it never costs less   */
};
const struct hps_pricer_least *hps_pricer_least(const struct hps_pricer *pr, int i, int j, int t);

/* Lines of the stages and their mates, at the least units that keep the throughput limit; false
 * when the limits forbid them. */
bool hps_pricer_load(struct hps_pricer *pr);
/* The price of the loaded lines with their best units, under the objective: INFINITY when it is not
 * below the cutoff; above the ceiling when they keep no limit. stage_units are set when it is
 * finite and below the ceiling. `can`: what load said. */
double hps_pricer_value(struct hps_pricer *pr, bool can, double cutoff);
/* Seconds per example (or anything above `most` where they are more than that) and the price of
 * these units of the loaded lines, which the limits allow. */
double hps_pricer_tau(struct hps_pricer *pr, const long long *units, double most);
double hps_pricer_too_slow(const struct hps_pricer *pr, double tau);    /* what it is worth then */
double hps_pricer_of_units(struct hps_pricer *pr, const long long *units);
/* No units of the loaded lines, none below those in `work`, cost less under the engine-faithful
 * model and keep the limit; not looked at further once that is the cutoff. `wish` are real numbers
 * of units around which to look. */
double hps_pricer_bound(struct hps_pricer *pr, double cutoff);
/* The least price of the loaded lines under the engine-faithful model, and its units: the best of a
 * local search. `work` holds the least units of the paper's model. */
double hps_pricer_engine(struct hps_pricer *pr, double cutoff);
/* The pairs that make the stages cheapest, and their price; without any it is `price`. INFINITY
 * when neither is below the cutoff. */
double hps_pricer_share(struct hps_pricer *pr, double price, double cutoff);

#endif
