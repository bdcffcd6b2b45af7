/* sched.h - the scheduling methods: rank 0 searches for a plan and broadcasts it, each rank checks
 * it. */
#ifndef HPS_PLAN_SCHED_H
#define HPS_PLAN_SCHED_H

#include "base/deck.h"
#include "base/rng.h"
#include "plan/plan.h"

struct hps_sched_opt {
    const char *method, *objective, *profile, *plan, *policy, *warm;
    bool polish, replan, share;
    double throughput_limit, seconds, replan_margin;
    double trial_steps;         /* INFINITY: auto */
    int seed;
    long long evaluations;
};
extern const struct hps_field hps_sched_fields[];

/* What every method is given. throughput_limit is finite here ("max" was resolved before). */
struct hps_problem {
    const struct hps_profile *profile;
    const struct hps_sched_opt *opt;
    double throughput_limit;
    const char *argument;       /* what follows the method's colon ("cpu" of "single:cpu"), or "" */
    const struct hps_plan *fastest;     /* exact's plan for "max", NULL without "max" */
    const struct hps_plan *warm;        /* a search begins with it; NULL: from nothing */
};

/* A method: one such table in one source. `best` [out] is the cheapest feasible plan that it
 * found, priced, or NULL when it found none; the status is HPS_OK also then, and another one (with
 * a message) when the method cannot run at all. */
struct hps_sched {
    const char *name, *help;
    bool argument;              /* needs ":WORD" behind its name          */
    bool certifies;             /* sets lower_bound_usd and gap itself    */
    bool learns;                /* may begin with a policy that learned before */
    bool endless;               /* only the budget ends it, so it needs one; and it may begin
                                   with the plan of another method (q->warm) */
    enum hps_status (*run)(const struct hps_problem *q, uint64_t key, struct hps_plan **best);
    /* The throughput that "max" means for the method. NULL: the highest of the whole pool over all
     * plans. Methods whose stages do not depend on the limit return the highest of these stages
     * (0: none). */
    enum hps_status (*max_throughput)(const struct hps_problem *q, double *throughput);
};
extern const struct hps_sched hps_sched_rl, hps_sched_rl_rnn, hps_sched_rl_joint;
extern const struct hps_sched hps_sched_exact, hps_sched_brute, hps_sched_greedy, hps_sched_ils;
extern const struct hps_sched hps_sched_genetic, hps_sched_heuristic, hps_sched_single;
extern const struct hps_sched hps_sched_file, hps_sched_best, hps_sched_bayes;

/* For methods whose stages do not depend on the limit: `stages` makes a plan of them, without
 * units, or returns why it cannot. *plan [out] has the cheapest feasible units (NULL: there are
 * none); *throughput [out] is the highest that these stages can have. */
typedef enum hps_status hps_sched_stages(const struct hps_problem *q, struct hps_plan **plan);
enum hps_status hps_sched_fixed(const struct hps_problem *q, hps_sched_stages *stages,
                                struct hps_plan **plan);
enum hps_status hps_sched_fixed_max(const struct hps_problem *q, hps_sched_stages *stages,
                                    double *throughput);

/* Is the engine-faithful model the objective? Pure. */
bool hps_sched_engine(const struct hps_sched_opt *opt);
/* What the plan, priced by hps_cost_of, costs under the objective of q's options. Pure. */
double hps_sched_usd(const struct hps_problem *q, const struct hps_plan *plan);
/* Replace *plan by the plan with the same assignment, in maximal runs of equal types, and with the
 * units (and pairs that share them) that are best for the options of q; *plan is freed and NULL
 * where none are feasible. */
void hps_sched_adapt(const struct hps_problem *q, struct hps_plan **plan);

/* The method of that name, NULL: unknown. `argument` (may be NULL) [out]: what follows its colon,
 * or "". */
const struct hps_sched *hps_sched_find(const char *method, const char **argument);
const char *hps_sched_words(void);          /* "exact|heuristic|..." for fields and messages */
const struct hps_sched *hps_sched_at(int a);        /* the a-th of the list, NULL behind its end */

/* Branch and bound (sched_exact): a lower bound on the cost of every feasible plan, INFINITY when
 * it is proven that none is feasible (among plans of maximal runs of one type, as all methods but
 * `file` make them). The search ends after `seconds` (0: no limit) or `evaluations` (0: no limit).
 * *best may be NULL. */
double hps_exact_bound(const struct hps_profile *p, double throughput_limit, double seconds,
                       long long evaluations, struct hps_plan **best, bool *proven);
/* The same with more options. `best` and its bound and gap as above. */
struct hps_exact_request {
    double throughput_limit, seconds;
    long long evaluations;
    bool cuts;                  /* a plan may cut inside one type, as one that is read may */
    bool share;                 /* stages may share their units: the bound holds for these plans
                                   too, the best plan is of those that do not */
    const struct hps_plan *known; /* a feasible plan to start from, NULL: none          */
};
double hps_exact_solve(const struct hps_profile *p, const struct hps_exact_request *request,
                       struct hps_plan **best, bool *proven);

/* The highest throughput of this pool over all plans, with its plan; the best found where it is
 * not proven. */
double hps_exact_max_throughput(const struct hps_profile *p, double seconds, struct hps_plan **best,
                                bool *proven);

/* For a limit that no plan keeps: would there be a plan if memory were unlimited? Then text names
 * what needs how much and has how much: a layer that no type can hold, or a stage of that plan. */
bool hps_exact_lacks(const struct hps_profile *p, double throughput_limit, double seconds,
                     char *text, size_t size);

/* Check what the table of fields cannot express: refuse keys that have no effect on the method,
 * and contradictions. HPS_DECK with one message. Pure but for the message. */
enum hps_status hps_sched_check(const struct hps_sched_opt *opt);

/* Resolve the throughput limit of q's options for this method and set q's throughput_limit and
 * fastest. Where the options say "max" under the engine-faithful model, the limit is the
 * throughput that the fastest plan of the paper's model has there. The caller frees *fastest [out]
 * when q is no longer used. */
enum hps_status hps_sched_limit(struct hps_problem *q, const struct hps_sched *method,
                                struct hps_plan **fastest);

/* Run the method that q's options name on this problem with its limit; nothing is certified. Where
 * the options name a warm start, that method runs first, with a budget as large, and the search
 * begins with its plan. *plan is NULL (and the status HPS_OK) when no plan was found. */
enum hps_status hps_sched_search(struct hps_plan **plan, struct hps_problem *q);

/* Resolve the limit (of opt, not of the profile), run the method, certify: the plan is named,
 * priced and bounded. "max" is the highest throughput of the pool, or of their own stages for
 * methods whose stages are fixed (single, heuristic, file). Local, one rank.
 *
 * HPS_DECK with the message of the design when no plan is feasible (if proven, it names the
 * highest possible throughput, rounded down, and its cost). search_seconds is the time of the
 * method alone; the certificate of a method other than exact takes at most opt->seconds more.
 * Where a stop was requested before any plan was found, the result is a makeshift plan without a
 * promise. */
enum hps_status hps_sched_run(struct hps_plan **plan, const struct hps_profile *p,
                              const struct hps_sched_opt *opt);

/* The same on rank 0, broadcast to all ranks and checked by all. `p` and `opt` are the same on
 * every rank. Waiting ranks sleep. Collective over world (MPI_COMM_NULL: alone). */
enum hps_status hps_sched_plan(struct hps_plan **plan, const struct hps_profile *p,
                               const struct hps_sched_opt *opt, MPI_Comm world);

#endif
