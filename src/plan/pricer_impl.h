/* pricer_impl.h - the plan that a pricer has at hand: its stages, which of them share their units,
 * and the best units for them. Between the sources of plan/pricer alone. */
#ifndef HPS_PLAN_PRICER_IMPL_H
#define HPS_PLAN_PRICER_IMPL_H

#include "plan/engine.h"
#include "plan/pricer.h"
#include "plan/provision.h"

/* The dedicated servers that go with some stages. */
struct hps_pricer_servers {
    int type;
    long long units;
    double et;
};

/* The stages of the plan at hand; all arrays (S). */
struct hps_pricer_stages {
    int S;
    int *first, *last, *type;
    int *mate;        /* the stage that it shares its units with, -1: none    */
    int *line;        /* the line of the job that it belongs to               */
    long long *units; /* set where a value was found, as are the servers      */
    struct hps_pricer_servers servers;
};

/* The best pairs of stages so far in a search for stages that share; (S) each. */
struct hps_pricer_pairing {
    int *mate;
    long long *units;
    struct hps_pricer_servers servers;
};

/* Units of the lines for which hps_pricer_tau computed seconds last, 0: none yet; (lines) each. */
struct hps_pricer_memo {
    long long *units;
    double *et;
};

/* A stage in hps_pricer_bound: what it does in a step, fixed + divided / k, and the weights and
 * values of its terms. */
struct hps_pricer_bound_stage {
    double e0, e1, o0, o1, d0, d1; /* e and o of plan/engine.h, batch * DT                  */
    double w, q, z;                /* weights of P, of Q (at the first of a pair), of D     */
    double p;                      /* P at the units at hand                                */
    double q_s, d_s;               /* Q, D                                                  */
    double c;                      /* weight of the waiting in P                            */
    bool waits;                    /* at the units at hand                                  */
};

/* The search for units under the engine-faithful model. */
struct hps_pricer_engine {
    bool on; /* the deck's objective is the engine-faithful model     */
    struct hps_engine_cut cut;
    struct hps_tier_curves *tier;   /* of rows in files; NULL: there are none                */
    struct hps_engine_line *line;   /* (S)                                                   */
    struct hps_engine_terms *terms; /* (S) at the units in the memo                          */
    struct hps_pricer_bound_stage *bound; /* (S)                                           */
    double *real;            /* (lines) units as real numbers, from the bound         */
    double *gain;            /* (lines) seconds times units that the bound can save   */
    long long *trial, *next; /* (lines) units that are tried                          */
};

/* The cheapest feasible plan seen. */
struct hps_pricer_best {
    int *type;        /* (L) */
    int *mate;        /* (its stages) */
    long long *units; /* (its stages) */
    struct hps_pricer_servers servers;
};

/* A stage at the largest tau that keeps the throughput limit: it never needs fewer units. */
struct hps_pricer_floor {
    long long units; /* 0: it cannot keep the limit                */
    double usd;      /* price * units * ET: it never costs less    */
};

struct hps_pricer_workspace {
    const struct hps_problem *q;
    struct hps_cost *c;
    struct hps_pricer_floor *floor; /* of every stage on every type (hps_cost_index)    */
    struct hps_pricer_stages stages;
    struct hps_pricer_pairing pairing;
    long long *capacity;          /* (T) units of a type, whatever servers there are  */
    int nchoice;                  /* types that the servers may be of, at least 1     */
    struct hps_provision_servers *choice; /* (nchoice)                                */
    struct hps_provision_job job; /* a line for each stage, or pair that shares       */
    int *stage_of;                /* (lines) the first stage of a line                */
    long long *units;             /* (lines) the best units                           */
    long long *low;               /* (lines) units at the largest tau, then below it  */
    long long *start;             /* (lines) a copy of these                          */
    const long long *given;       /* (S) units that stages must have; NULL: the best  */
    struct hps_pricer_memo memo;
    struct hps_pricer_engine engine;
    struct hps_pricer_best best;
    double until_s; /* 0: no limit on time                              */
    bool late;      /* the time is over                                 */
};

/* Fill the job: a line for each stage or pair of stages, and in `low` the fewest units that keep
 * the throughput limit. False when a type has fewer for a line alone. */
bool hps_pricer_load(struct hps_pricer *pr);

/* The price of the loaded lines with their best units and servers, under the objective: INFINITY
 * when it is not below the cutoff, above the ceiling when the lines keep no limit. Sets units of
 * the stages, and the servers, when the price is finite and below the ceiling. `can` is what
 * hps_pricer_load returned. */
double hps_pricer_value(struct hps_pricer *pr, bool can, double cutoff);

/* Seconds per example of the loaded lines with these units, which the limits allow; anything above
 * `max` where there are more than that. hps_pricer_too_slow: the price of a plan with such a tau
 * above tau_max. hps_pricer_of_units: the price of the lines with these units and the servers that
 * are best for them; hps_pricer_served: the same, where tau and the price per hour of the units are
 * known. */
double hps_pricer_tau(struct hps_pricer *pr, const long long *units, double max);
double hps_pricer_too_slow(const struct hps_pricer *pr, double tau);
double hps_pricer_of_units(struct hps_pricer *pr, const long long *units);
double hps_pricer_served(struct hps_pricer *pr, const long long *units, double tau, double rate);

/* A lower bound on the price of the loaded lines under the engine-faithful model, for any units
 * that are at least `low` and keep the limit; it is not raised further once it reaches the cutoff.
 * The engine's `real` are numbers of units near which good ones are expected. */
double hps_pricer_bound(struct hps_pricer *pr, double cutoff);

/* The lowest price of the loaded lines under the engine-faithful model that a local search finds,
 * and its units. `low` holds the fewest units of the paper's model. */
double hps_pricer_engine(struct hps_pricer *pr, double cutoff);

/* Choose the pairs of stages that share their units so that the plan is cheapest; its price, which
 * is `price` without any pair. INFINITY when neither is below the cutoff. */
double hps_pricer_share(struct hps_pricer *pr, double price, double cutoff);

#endif
