/* price_ascent.h - prices that raise the Lagrangian bound of a market (jobs/price.h): steps along
 * what is asked for beyond what there is, as long as Polyak's rule has them, with momentum. */
#ifndef HPS_JOBS_PRICE_ASCENT_H
#define HPS_JOBS_PRICE_ASCENT_H

#include "jobs/price.h"

/* Jobs, and the units that there are for them. */
struct hps_price_market {
    int n;
    struct hps_price_job **job; /* (n) borrowed                                                */
    const double *units;        /* (I, T) of each type in each interval, on average            */
};

struct hps_price_ascent {
    int steps;                  /* at most                                                     */
    double seconds;             /* at most, by the clock; 0: any                               */
    double lead;                /* how far above the best bound the target is at first, of it  */
    double smooth;              /* weight of a step in the means of what jobs are worth, 0..1   */
    double enough;              /* it ends at a bound above that; 0: at none                    */
};

/* The sum over the jobs of weight * end of any schedule is at least this, under these prices. mu
 * (n), use (I, T) [out], or NULL: what each job's work is worth; unit-seconds that are asked for.
 * Pure. */
double hps_price_bound(const struct hps_prices *p, const struct hps_price_market *m,
                       struct hps_price_work *w, double *mu, double *use);

/* From the prices that are there to better ones, which p is then; returns their bound. mu (n)
 * [out], or NULL: means over the steps of what each job's work is worth. Pure where `seconds` is
 * 0. */
double hps_price_ascend(struct hps_prices *p, const struct hps_price_market *m,
                        const struct hps_price_ascent *opt, double *mu);

#endif
