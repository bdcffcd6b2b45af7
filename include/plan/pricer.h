/* pricer.h - prices assignments of types to layers inside a budget and keeps the cheapest feasible
 * plan: the ground that every searching method stands on.
 *
 * Prices are tau * (USD an hour of all units and servers): the cost but for the number of examples.
 * A plan that cannot keep the limits has a price too, above that of every feasible plan, so that a
 * search finds its way in. With `ceiling`, above every feasible price:
 *     too slow at any units       ceiling * (2 - tau_max / least tau)    in (1, 2) * ceiling
 *     more stages than units (as few as memory allows)    ceiling * (2 + stages too many)
 *     given units too few for memory, or more than there are: ceiling * (2 + stages of too few +
 *     units too many as a share of what there is)
 */
#ifndef HPS_PLAN_PRICER_H
#define HPS_PLAN_PRICER_H

#include "plan/cost.h"
#include "plan/sched.h"

struct hps_pricer {
    int L, T;
    double ceiling, tau_max;
    double best;                /* price of the cheapest feasible plan seen, INFINITY: none */
    long long evaluations;      /* plans priced so far, all of them                         */
    struct hps_pricer_workspace *workspace;
};

/* For this problem and the budget of its options, from now on. Borrows q's profile. Caller frees.
 * Local. */
struct hps_pricer *hps_pricer_new(const struct hps_problem *q);
void hps_pricer_free(struct hps_pricer *pr);

/* The price of the plan whose layer l is on type[l] (L), stages being the longest runs; its units
 * are the cheapest. INFINITY when it is not below `cutoff` (INFINITY: any), which is often seen
 * without looking for units; and when the budget is used up: then nothing is priced. A feasible
 * plan below `best` is kept. Under the engine-faithful model, where no rule gives the cheapest
 * units, they are looked for less carefully in plans that are far dearer than `best`. */
double hps_pricer_price(struct hps_pricer *pr, const int *type, double cutoff);

/* The same of the first n layers alone, which is no plan to keep when n < L. */
double hps_pricer_prefix(struct hps_pricer *pr, int n, const int *type, double cutoff);

/* The price of the plan whose layer l is on type[l] (L) and whose stage s, in the pipeline's order,
 * has units[s], neither more nor fewer; otherwise as hps_pricer_price. Where stages may share, two
 * of one type work on the larger of both units where that is cheaper. */
double hps_pricer_given(struct hps_pricer *pr, const int *type, const long long *units,
                        double cutoff);

/* The units that all stages of type t can have together. hps_pricer_capacities: of all types, (T),
 * borrowed. Pure. */
long long hps_pricer_capacity(const struct hps_pricer *pr, int t);
const long long *hps_pricer_capacities(const struct hps_pricer *pr);

/* The fewest units of type t at which a stage of layers i..j keeps the throughput limit, 0 when the
 * type has not enough. Pure. */
long long hps_pricer_min_units(const struct hps_pricer *pr, int i, int j, int t);

/* The lines of all stages, borrowed. Pure. */
const struct hps_cost *hps_pricer_cost(const struct hps_pricer *pr);

/* tau of the plan that was priced last with a finite price below the ceiling. Pure. */
double hps_pricer_last_tau(const struct hps_pricer *pr);

/* Where a search begins: all layers on one type, for every type, and the problem's warm plan. The
 * least price; type (L) [out] is its plan. */
double hps_pricer_single_types(struct hps_pricer *pr, int *type);

/* Is the budget used up? By evaluations alone, where they end it first, and so the same every
 * time. */
bool hps_pricer_over(const struct hps_pricer *pr);
/* The same after a look at the clock, for what takes long or prices nothing. */
bool hps_pricer_late(struct hps_pricer *pr);

/* The cheapest feasible plan seen, with units and prices; NULL: none. Caller frees. */
struct hps_plan *hps_pricer_plan(const struct hps_pricer *pr);

#endif
