/* cost.h - a plan's promised rate and price under the paper's model; pure.
 *
 * Per example, for a stage of layers i..j on type t with k units (HeterPS, arXiv 2111.10635,
 * section 4; design 4):
 *     CT = sum oct/Bo * (1 - alpha + alpha/k)
 *     DT = sum sync/Bo * (1 - beta + beta/k) + (recv[i] + send[j]) / (Bo*k)
 *     ET = max(CT, DT);  tau = max ET;  throughput = 1/tau
 *     seconds = epochs * examples * tau;  cost = seconds/3600 * (sum price*k + servers)
 * recv of the first layer and send of the last count as 0.
 *
 * W workers are W pipelines of the same stages side by side, each with k/W of the k units:
 *     CT = CT(k/W) / W;  DT = DT(k/W) / W          so of one worker whose unit is W units
 * Lines and searches are about that one worker: where there is no plan, k counts its units, a unit
 * costs W times the price, and a type has the W-th part of what the servers leave of its limit,
 * rounded down. The stages of a plan have the units of all workers.
 *
 * N dedicated servers of type t are one more term of tau,
 *     ET = sum over all layers of serve/(Bo*N)
 * for all workers together. Where the plan chooses N, at a given tau the fewest are the best.
 *
 * Two stages of one type may share their k units. These units compute both stages, and are paid and
 * counted once: ET_a + ET_b takes the place of both ET in tau.
 *
 * Where the memory of a type is known, a unit must hold its share of the stage (plan/memory.h):
 *     sum over i..j of (weight_bytes + state_bytes) / (k of a table's, else 1) <= memory_bytes
 * The sum never rises with k, so a stage has a smallest k, whatever tau is. Units that two stages
 * share hold both. */
#ifndef HPS_PLAN_COST_H
#define HPS_PLAN_COST_H

#include "plan/memory.h"
#include "plan/plan.h"

#define HPS_COST_TIE 1e-9       /* relative: ties of cost, slack of feasibility */

/* A stage as a function of a worker's number of units k: CT = ct0 + ct1/k, DT = dt0 + dt1/k, in
 * seconds per example of the run. It needs min_units for its memory. */
struct hps_cost_line {
    double ct0, ct1, dt0, dt1;
    long long min_units;
};

static inline double hps_cost_line_et(const struct hps_cost_line *x, double k)
{
    double ct = x->ct0 + x->ct1 / k, dt = x->dt0 + x->dt1 / k;

    return ct > dt ? ct : dt;
}

/* The smallest k in min_units..max with ET(k) <= tau, 0 when there is none. Exact to the last bit
 * of ET. Pure. */
long long hps_cost_line_units(const struct hps_cost_line *x, double tau, long long max);

/* The lines of all stages, each summed directly (a difference of prefix sums would lose digits of
 * a short stage), so that any stage is priced in O(1). Built once for a search. */
struct hps_cost;
struct hps_cost *hps_cost_new(const struct hps_profile *p);   /* borrows p; caller frees */
void hps_cost_free(struct hps_cost *c);

/* Tables with an entry for each stage i..j of L layers on each of T types have them by first layer,
 * then by last, then by type. Pure. */
static inline size_t hps_cost_index(int L, int T, int i, int j, int t)
{
    size_t first = (size_t)i;

    return (first * (size_t)L - first * (first + 1) / 2 + (size_t)j) * (size_t)T + (size_t)t;
}

/* The line of stage i..j on type t; the lines of all types of a stage are contiguous. Borrowed
 * from c. */
const struct hps_cost_line *hps_cost_line(const struct hps_cost *c, int i, int j, int t);

struct hps_cost_et { double ct, dt, et; };
struct hps_cost_et hps_cost_stage(const struct hps_cost *c, int i, int j, int t, double k);

/* The smallest k up to the limit of the type with ET <= tau and enough memory, 0 when there is
 * none. Exact to the last bit of ET(k). */
long long hps_cost_units(const struct hps_cost *c, int i, int j, int t, double tau);

/* Of one worker: the units of type t that all its stages can have together, beside the fewest
 * servers that there may be; the USD per hour of one of them; the fewest that hold m,
 * HPS_MEMORY_NEVER where no number of them does. Pure. */
long long hps_cost_capacity(const struct hps_profile *p, int t);
double hps_cost_price(const struct hps_profile *p, int t);
long long hps_cost_min_units(const struct hps_profile *p, int t, struct hps_memory m);

/* The dedicated servers that a plan may have, by a profile of hps_cost_next_servers. */
struct hps_cost_servers {
    int type;
    double work;                /* seconds per example that one of them is busy  */
    double price;               /* USD per hour of one                           */
    long long min, max;         /* units; both 0: none are wanted                */
};
struct hps_cost_servers hps_cost_servers(const struct hps_profile *p);
/* The fewest of them at which they need at most tau for an example, `max` + 1 when none suffice.
 * Exact to the last bit of work/N. Pure. */
long long hps_cost_server_units(const struct hps_cost_servers *x, double tau);

/* The profile with the next type after *t (-1: the first) for the servers that a plan chooses:
 * their server_units is then the fewest that hold the rows, and *t their type. Every other profile
 * is its own and only one. False when there is no more. *of [out] borrows all of p. Pure. */
bool hps_cost_next_servers(const struct hps_profile *p, int *t, struct hps_profile *of);

/* The largest tau that keeps the throughput limit (slack included); INFINITY for a limit of 0.
 * Pure. */
double hps_cost_tau_max(double throughput_limit);

/* Set ct, dt, et of every stage, and workers, throughput, seconds, cost_usd of the plan, whose
 * units are a multiple of the workers; servers are the profile's, unless the plan chose them. The
 * sums have the same bits as those of struct hps_cost. A tau of 0 gives an infinite throughput.
 * Pure. */
void hps_cost_of(struct hps_plan *plan, const struct hps_profile *p);

/* Set lower_bound_usd and gap of a priced plan from a bound on the costs of all plans: to the cost
 * itself and 0 where the bound is not below it by more than HPS_COST_TIE. Pure. */
void hps_cost_certify(struct hps_plan *plan, double bound_usd);

/* Seconds per example for which the units of stage s of a priced plan are busy, with its partner
 * if it shares them. Pure. */
double hps_cost_busy(const struct hps_plan *plan, int s);

/* Seconds per example of the plan's dedicated servers, 0: none. Pure. */
double hps_cost_server_et(const struct hps_plan *plan, const struct hps_profile *p);
/* tau of a priced plan. Pure. */
double hps_cost_tau(const struct hps_plan *plan, const struct hps_profile *p);

/* USD per hour of all units, and of the dedicated servers. Pure. */
double hps_cost_usd_hour(const struct hps_plan *plan, const struct hps_profile *p);

/* Does a priced plan keep the throughput limit (tau * limit <= 1 + 1e-9) and the limits of its
 * types, and do its units hold their stages, its servers all rows? Pure. */
bool hps_cost_feasible(const struct hps_plan *plan, const struct hps_profile *p,
                       double throughput_limit);

#endif
