/* price.h - prices of units over time, and what a job does best under them.
 *
 * A unit of type t costs p_t(i) for each second of interval i; behind the last edge units cost
 * nothing. A job that has the share `left` of its work to do from `from_s` on, and loses `weight`
 * for each second from `due_s` until it ends, chooses when to run in which configuration, for the
 * least of
 *
 *     weight * max(0, end - due_s) + sum over its seconds of price * units
 *
 * It may change its configuration at any instant, at no cost: so this is a lower bound on what it
 * loses and pays in any schedule. For an end C the second term is a linear program with one row;
 * its dual has a multiplier mu, the worth of all of its work:
 *
 *     V(C) = max over mu of  mu * left - integral from from_s to C of h(mu)
 *     h(mu) = max over configurations c of (mu / seconds_c - price * units_c), or 0
 *
 * C + V(C) is convex within an interval. A job that must have ended by some time has only the ends
 * until then: with weight 0 its value is V of that time. Units may cost something at all times, the
 * prices come on top: what a user pays for them. Summed over all jobs, less the prices of all
 * units, this is the Lagrangian bound on the sum of weighted ends of every schedule on the pool;
 * any prices >= 0 give one. */
#ifndef HPS_JOBS_PRICE_H
#define HPS_JOBS_PRICE_H

#include "jobs/job_pool.h"
#include "jobs/workload.h"

struct hps_prices {
    int T, I;
    double *edge;               /* (I + 1) s, ascending                                        */
    double *price;              /* (I, T) of a unit for a second                               */
    double *always;             /* (T) the same, at all times, beside them: 0 at first         */
};

/* Intervals between edges (n + 1), copied; all prices 0. */
struct hps_prices *hps_prices_new(int T, int n, const double *edge);
void hps_prices_free(struct hps_prices *p); /* NULL is fine */

/* A job as its prices see it. */
struct hps_price_job {
    double from_s, left, weight;
    double due_s;               /* it loses nothing until then; 0 at first                     */
    double until_s;             /* it must have ended by then; INFINITY at first               */
    const struct hps_pool_job *job;     /* borrowed                                            */
    int n;
    int *config;                /* (n) those that may be of use, the slowest first             */
};
/* Only configurations that fit the pool. Pure. */
struct hps_price_job *hps_price_job_new(const struct hps_pool_job *job,
                                        const struct hps_job_pool *pool);
void hps_price_job_free(struct hps_price_job *j); /* NULL is fine */

struct hps_price_choice {
    double value;               /* what it loses and pays; INFINITY: it cannot end in time     */
    double end_s;
    double mu;                  /* the worth of all of its work                                */
};
/* Workspace of choices, for jobs of at most so many configurations. */
struct hps_price_work;
struct hps_price_work *hps_price_work_new(const struct hps_prices *p, int configs);
void hps_price_work_free(struct hps_price_work *w); /* NULL is fine */

/* What the job does best. use (I, T) [in, out], or NULL: its unit-seconds are added. Pure. */
struct hps_price_choice hps_price_choose(const struct hps_prices *p, const struct hps_price_job *j,
                                         struct hps_price_work *w, double *use);

#endif
