/* provision.h - how many units each stage gets: exact, over all integers; pure. */
#ifndef HPS_PLAN_PROVISION_H
#define HPS_PLAN_PROVISION_H

#include "plan/cost.h"

/* Refines the limits of a job whose types stand for several real ones (plan/exact). */
struct hps_provision_packing;

/* The dedicated servers of a job: at every tau the fewest. */
struct hps_provision_servers {
    struct hps_cost_servers can; /* all 0: there are none                                       */
    long long limit, units;      /* of their real type, with all stages; that were computed last */
    int type, workers;           /* in the job's types; a worker's unit is so many of them       */
    double et;                   /* seconds per example with these units                         */
    double wait;                 /* the share of et that stages wait for beside their own seconds
                                    (plan/engine.h); 0 in the paper's model                      */
};
struct hps_provision_servers hps_provision_servers(const struct hps_profile *p);
/* Units of a worker that they take beside those that the fewest servers take. Pure. */
long long hps_provision_servers_take(const struct hps_provision_servers *x);
/* Set the fewest for tau; false when no number suffices. */
bool hps_provision_serve(struct hps_provision_servers *x, double tau);
/* The tau of all where the stages need tau and the servers et; the least that stages wait, where
 * there are as many servers as there can be. Pure. */
double hps_provision_tau(const struct hps_provision_servers *x, double tau, double et);
double hps_provision_least_wait(const struct hps_provision_servers *x);
/* The best number, up to `max`, for stages that need tau and cost `rate` an hour; sets it, and
 * returns the tau of all: INFINITY where none is at most tau_max. */
double hps_provision_serve_best(struct hps_provision_servers *x, double tau, double rate,
                                double tau_max, long long max);

/* The question on bare numbers, for searches that price very many plans: units are those of one
 * worker (plan/cost.h). A line is one stage, or two stages that share their units: `more` is the
 * second one. */
struct hps_provision_job {
    int S;                      /* lines                                                         */
    struct hps_cost_line *line; /* (S) its min_units hold all stages of the line                 */
    struct hps_cost_line *more; /* (S) min_units 0: the line is one stage; read if `shared`      */
    bool shared;                /* some lines are two stages                                     */
    int *type;                  /* (S) the type whose units a line uses                          */
    double *price;              /* (S) of one unit, in any currency                              */
    long long *max;             /* (S) units that a line alone could have                        */
    long long *capacity;        /* (T) units of a type that all lines can have together, with the
                                   fewest servers                                                */
    long long *used;            /* (T) units of a type that were counted last                    */
    double *et;                 /* (S) seconds per example at the units computed last            */
    struct hps_provision_servers servers;
    bool begun;                 /* `scratch` of hps_provision_cheapest holds the units at tau_max
                                   already, and the limits allow them                            */
    /* Do the real types have room for these units, whose sums are within capacity? If for some,
     * then for fewer too. NULL: yes. */
    bool (*pack)(struct hps_provision_packing *packing, const long long *units);
    struct hps_provision_packing *packing;
};

/* Allocate the arrays for up to S lines and T types, all 0; free them. */
void hps_provision_job_init(struct hps_provision_job *job, int S, int T);
void hps_provision_job_done(struct hps_provision_job *job);

/* Do the limits allow these units (S), and the servers? Sets `used` as far as they do. */
bool hps_provision_fits(const struct hps_provision_job *job, const long long *units);

/* Seconds per example that k units of line s are at work. Never rises with k. Pure. */
double hps_provision_et(const struct hps_provision_job *job, int s, long long k);

/* The fewest units of line s at which that is at most tau, 0 when there are none. Pure. */
long long hps_provision_units(const struct hps_provision_job *job, int s, double tau);

/* The fewest units of all lines, and servers, at this tau, and their et. False when a line has none
 * or the limits refuse them. In hps_provision_down `units` and et hold those of a larger tau
 * before. */
bool hps_provision_at(struct hps_provision_job *job, double tau, long long *units);
bool hps_provision_down(struct hps_provision_job *job, double tau, long long *units);

/* The lowest tau * (sum of price * units, and of the servers) with tau <= tau_max, INFINITY when
 * none is below `cutoff` (INFINITY: none is feasible). units (S) [out], and the servers', are set
 * when it is finite; scratch (S). */
double hps_provision_cheapest(struct hps_provision_job *job, double tau_max, double cutoff,
                              long long *units, long long *scratch);

/* The smallest tau, INFINITY when none is below `cutoff`; units and scratch as above. */
double hps_provision_fastest(struct hps_provision_job *job, double cutoff, long long *units,
                             long long *scratch);

/* Set the cheapest units, and servers, for fixed stages (first, last, type given) under the limits
 * of the types and the throughput limit, which is finite. ET never rises with k, so tau of the
 * optimum is the ET of some stage, or of the servers, at some k, and at a fixed tau each wants the
 * smallest k with ET <= tau (design 4). Returns false when no units are feasible: then the units
 * are those of the smallest tau that the limits allow, if any, else 0. The plan is priced either
 * way. */
bool hps_provision(struct hps_plan *plan, const struct hps_profile *p, const struct hps_cost *c,
                   double throughput_limit);

/* The smallest tau that these stages can have within the limits (INFINITY when even one unit each
 * is too many); sets those units and prices them. */
double hps_provision_min_tau(struct hps_plan *plan, const struct hps_profile *p,
                             const struct hps_cost *c);

#endif
