/* sched.h - the list of scheduling methods; rank 0 decides, all are told, each checks. */
#ifndef HPS_PLAN_SCHED_H
#define HPS_PLAN_SCHED_H

#include "base/deck.h"
#include "base/rng.h"
#include "plan/plan.h"

struct hps_sched_opt {
    const char *method, *objective, *profile, *plan, *policy, *warm;
    bool polish, replan, share;
    double throughput_limit, seconds, replan_margin;
    int seed;
    long long evaluations;
};
extern const struct hps_field hps_sched_fields[];

/* What every method sees: const facts. throughput_limit is finite here ("max" was resolved
 * before). */
struct hps_problem {
    const struct hps_profile *profile;
    const struct hps_sched_opt *opt;
    double throughput_limit;
    const char *argument;       /* what follows the method's colon ("cpu" of "single:cpu"), or "" */
    const struct hps_plan *fastest;     /* exact's plan for "max", NULL without "max" */
    const struct hps_plan *warm;        /* a search begins with it; NULL: from nothing */
};

/* A method: one of these in one file. `best` [out] is the cheapest feasible plan it saw, priced,
 * or NULL when it saw none. HPS_OK also then; another status (with a message) when it cannot run
 * at all. */
struct hps_sched {
    const char *name, *help;
    bool argument;              /* wants ":WORD" behind its name          */
    bool certifies;             /* sets lower_bound_usd and gap itself    */
    bool learns;                /* may begin with a policy that learned before */
    bool endless;               /* only the budget ends it: it needs one, and may begin with
                                   another method's plan (q->warm)        */
    enum hps_status (*run)(const struct hps_problem *q, uint64_t key, struct hps_plan **best);
    /* The throughput that "max" means to it; NULL: the most of the whole pool, over all plans. For
     * methods whose stages do not depend on the limit: the most of those stages (0: none). */
    enum hps_status (*most)(const struct hps_problem *q, double *throughput);
};
extern const struct hps_sched hps_sched_rl, hps_sched_rl_rnn, hps_sched_rl_joint;
extern const struct hps_sched hps_sched_exact, hps_sched_brute, hps_sched_greedy, hps_sched_ils;
extern const struct hps_sched hps_sched_genetic, hps_sched_heuristic, hps_sched_single;
extern const struct hps_sched hps_sched_file, hps_sched_best, hps_sched_bayes;

/* For methods whose stages do not depend on the limit: the cheapest units for *plan (freed and
 * NULL when none are feasible), and the most throughput of its stages (frees plan). HPS_OK. */
enum hps_status hps_sched_fixed(const struct hps_problem *q, struct hps_plan **plan);
enum hps_status hps_sched_fixed_max(const struct hps_problem *q, struct hps_plan *plan,
                                    double *throughput);

/* Is the engine-faithful model what a plan is best under? Pure. */
bool hps_sched_engine(const struct hps_sched_opt *opt);
/* What the plan, priced by hps_cost_of, costs under the objective of q's options. Pure. */
double hps_sched_usd(const struct hps_problem *q, const struct hps_plan *plan);
/* The assignment of *plan, maximal runs, with the units (and pairs that share) that are best for
 * q's options in place of its own; *plan is freed and NULL where none are feasible. */
void hps_sched_adapt(const struct hps_problem *q, struct hps_plan **plan);

/* The method of that name, NULL: unknown. `argument` (may be NULL) [out]: what follows its colon,
 * or "". */
const struct hps_sched *hps_sched_find(const char *method, const char **argument);
const char *hps_sched_words(void);          /* "exact|heuristic|..." for fields and messages */
const struct hps_sched *hps_sched_at(int a);        /* the a-th of the list, NULL behind its end */

/* Certificate and proof (sched_exact): a lower bound on the cost of any feasible plan, INFINITY
 * when proven that none is feasible (plans of maximal runs of one type, as all methods but `file`
 * make); the search ends on `seconds` (0: no limit on time) or `evaluations` (0: none). *best may
 * be NULL. */
double hps_exact_bound(const struct hps_profile *p, double throughput_limit, double seconds,
                       long long evaluations, struct hps_plan **best, bool *proven);
/* The same with more to say. `best` and its bound and gap as above. */
struct hps_exact_request {
    double throughput_limit, seconds;
    long long evaluations;
    bool cuts;                  /* a plan may cut inside one type, as one that is read may */
    bool share;                 /* stages may share their units: the bound holds for these plans
                                   too, the best plan is of those that do not */
    const struct hps_plan *known;   /* a feasible plan to begin with, NULL: none          */
};
double hps_exact_solve(const struct hps_profile *p, const struct hps_exact_request *wish,
                       struct hps_plan **best, bool *proven);

/* The highest throughput that this pool can have, over all plans (with plan; proven or best
 * found). */
double hps_exact_max_throughput(const struct hps_profile *p, double seconds, struct hps_plan **best,
                                bool *proven);

/* Would there be a plan if memory had no limits? Then text says who needs what and has what: a
 * layer that no type can hold, or a stage of that plan. For a limit that no plan keeps. */
bool hps_exact_lacks(const struct hps_profile *p, double throughput_limit, double seconds,
                     char *text, size_t size);

/* What the table of fields cannot say: keys that no method here works with yet are refused, so is a
 * contradiction. HPS_DECK with one message. Pure but for the message. */
enum hps_status hps_sched_check(const struct hps_sched_opt *opt);

/* The limit of q's options, where "max" is what it means to the method (under the engine-faithful
 * model: what the fastest plan of the paper's model has there): q's throughput_limit and
 * fastest are set; *fastest [out] is to free when q is done with. */
enum hps_status hps_sched_limit(struct hps_problem *q, const struct hps_sched *method,
                                struct hps_plan **fastest);

/* The method that q's options name, on this problem with its limit; nothing is certified. Where the
 * options name a warm start, that method runs first, with a budget as large, and its plan is what
 * the search begins with. *plan is NULL (and HPS_OK) when none was found. */
enum hps_status hps_sched_search(struct hps_plan **plan, struct hps_problem *q);

/* Resolve the limit (opt's, not the profile's), run the method, certify: the plan is named,
 * priced, bounded. "max" is the most of the pool; of their own stages for methods whose stages are
 * fixed (single, heuristic, file). Local, one rank. HPS_DECK with the design's message when no
 * plan is feasible (proven: names the highest throughput that can be had, rounded down, and its
 * cost). search_seconds is the method's own; the certificate of a method other than exact takes at
 * most opt->seconds more. Where the wish of plan/budget was heard before any plan was found, one is
 * made up that promises nothing. */
enum hps_status hps_sched_run(struct hps_plan **plan, const struct hps_profile *p,
                              const struct hps_sched_opt *opt);

/* The same on rank 0, told to all, checked by all. `p` and `opt` are the same on every rank.
 * Waiting ranks sleep. Collective over world (MPI_COMM_NULL: alone). */
enum hps_status hps_sched_plan(struct hps_plan **plan, const struct hps_profile *p,
                               const struct hps_sched_opt *opt, MPI_Comm world);

#endif
