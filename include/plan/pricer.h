/* pricer.h - the objective function of every search: prices assignments of types to layers within
 * a budget, and keeps the cheapest feasible plan.
 *
 * A price is tau * (USD per hour of all units and servers): the cost up to the number of examples.
 * Units are those of one worker (plan/cost.h), but in the plan that hps_pricer_plan returns.
 * A plan that breaks the limits has a price too, above that of every feasible plan, so that a
 * search can descend to feasible ones. With `ceiling` above every feasible price:
 *     too slow at any units       ceiling * (2 - tau_max / smallest tau)    in (1, 2) * ceiling
 *     more stages than units (as few as memory allows)    ceiling * (2 + stages too many)
 *     given units too few for memory, or more than there are: ceiling * (2 + stages of too few +
 *     units too many as a share of what there is) */
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

/* Start to price plans of this problem within the budget of its options. Borrows the profile of q
 * and q itself. Caller frees. Local. */
struct hps_pricer *hps_pricer_new(const struct hps_problem *q);
void hps_pricer_free(struct hps_pricer *pr);

/* The price of the plan whose layer l is on type[l] (L) and whose stages are the maximal runs of
 * equal types, with the cheapest units. INFINITY when the price is not below `cutoff` (INFINITY:
 * any), which a bound often shows without a search for units, and when the budget is used up: then
 * nothing is priced. A feasible plan below `best` is stored. Under the engine-faithful model no
 * rule gives the cheapest units; the search for them is less thorough in plans that are far more
 * expensive than `best`. */
double hps_pricer_price(struct hps_pricer *pr, const int *type, double cutoff);

/* The price of the first n layers alone. Where n < L this is no plan, and is not stored. */
double hps_pricer_prefix(struct hps_pricer *pr, int n, const int *type, double cutoff);

/* The price of the plan whose layer l is on type[l] (L) and whose stage s, in the pipeline's order,
 * has units[s], neither more nor fewer; otherwise as hps_pricer_price. Where stages may share, two
 * of one type work on the larger of both units where that is cheaper. */
double hps_pricer_given(struct hps_pricer *pr, const int *type, const long long *units,
                        double cutoff);

/* The units that all stages of type t can have together; hps_pricer_capacities: of all types, (T),
 * borrowed. Pure. */
long long hps_pricer_capacity(const struct hps_pricer *pr, int t);
const long long *hps_pricer_capacities(const struct hps_pricer *pr);

/* Below this tau no number of servers suffices; 0: there are none, or none that limit it. Pure. */
double hps_pricer_servers_tau(const struct hps_pricer *pr);

/* The fewest units of type t at which a stage of layers i..j keeps the throughput limit, 0 when the
 * type has not enough. Pure. */
long long hps_pricer_min_units(const struct hps_pricer *pr, int i, int j, int t);

/* The lines of all stages, borrowed. Pure. */
const struct hps_cost *hps_pricer_cost(const struct hps_pricer *pr);

/* tau of the plan that was priced last with a finite price below the ceiling. Pure. */
double hps_pricer_last_tau(const struct hps_pricer *pr);

/* Price the plans from which a search begins: all layers on one type, for every type, and the warm
 * plan of the problem. Returns the lowest price; type (L) [out] is its plan. */
double hps_pricer_single_types(struct hps_pricer *pr, int *type);

/* Is the budget used up? Where evaluations end it before the time does, the answer is the same in
 * every run. */
bool hps_pricer_over(const struct hps_pricer *pr);
/* The same, but the clock is read first: for searches whose steps take long or price nothing. */
bool hps_pricer_late(struct hps_pricer *pr);

/* The cheapest feasible plan so far, with units and prices; NULL: none. Caller frees. */
struct hps_plan *hps_pricer_plan(const struct hps_pricer *pr);

#endif
