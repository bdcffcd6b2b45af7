#include "plan/tau_grid.h"

#include <math.h>

#include "base/rng.h"

#define SHARP 20.0              /* a bound that is 5 % above the least: weight 1/e */
#define DEARER 2.0              /* by how much a type alone may be dearer than the best */
#define SLACK (1 + 1e-9)        /* for tau's last bits                             */

/* What the dearest layer needs at least. */
static double lowest(const struct hps_pricer *pr)
{
    const struct hps_cost *c = hps_pricer_cost(pr);
    double low = 0;

    for (int l = 0; l < pr->L; l++) {
        double least = INFINITY;
        for (int t = 0; t < pr->T; t++) {
            double room = (double)hps_pricer_capacity(pr, t);
            if (room > 0) least = fmin(least, hps_cost_line_et(hps_cost_line(c, l, l, t), room));
        }
        low = fmax(low, least);
    }
    return low;
}

/* What types that are not much dearer than the best do alone with one unit, the slowest of them:
 * beyond that nothing is gained. */
static double highest(const struct hps_profile *p, const struct hps_pricer *pr)
{
    double least = INFINITY, high = 0;

    for (int pass = 0; pass < 2; pass++)
        for (int t = 0; t < pr->T; t++) {
            double et = hps_cost_line_et(hps_cost_line(hps_pricer_cost(pr), 0, pr->L - 1, t), 1);
            double dear = et * p->type[t].price_usd_hour;
            if (hps_pricer_capacity(pr, t) > 0) least = fmin(least, dear);
            if (pass && hps_pricer_capacity(pr, t) > 0 && dear <= DEARER * least)
                high = fmax(high, et);
        }
    return fmin(high, pr->tau_max);
}

int hps_tau_grid_best(const struct hps_tau_grid *ladder)
{
    int best = 0;

    for (int q = 1; q < HPS_TAU_GRID; q++)
        if (ladder->bound[q] < ladder->bound[best]) best = q;
    return best;
}

void hps_tau_grid_fill(struct hps_tau_grid *ladder, const struct hps_profile *p,
                       const struct hps_pricer *pr, struct hps_value *value)
{
    double high = highest(p, pr), low = fmin(lowest(pr), high);

    for (int q = 0; q < HPS_TAU_GRID; q++) {
        ladder->tau[q] = low > 0 ? high * pow(low / high, (double)q / (HPS_TAU_GRID - 1)) : high;
        hps_value_fill(value, p, hps_pricer_cost(pr), hps_pricer_capacities(pr),
                       ladder->tau[q] * SLACK);
        ladder->bound[q] = value->rest[0] * ladder->tau[q];
    }
    double least = ladder->bound[hps_tau_grid_best(ladder)];
    for (int q = 0; q < HPS_TAU_GRID; q++)
        ladder->weight[q] = isfinite(least) && least > 0
                                ? exp(-SHARP * (ladder->bound[q] / least - 1)) : q == 0;
}

void hps_tau_grid_value(const struct hps_tau_grid *ladder, const struct hps_profile *p,
                        const struct hps_pricer *pr, struct hps_value *value, double tau)
{
    const struct hps_cost *c = hps_pricer_cost(pr);

    hps_value_fill(value, p, c, hps_pricer_capacities(pr), fmin(tau, ladder->tau[0]) * SLACK);
    if (!isfinite(value->rest[0]))
        hps_value_fill(value, p, c, hps_pricer_capacities(pr), ladder->tau[0] * SLACK);
}

double hps_tau_grid_draw(const struct hps_tau_grid *ladder, uint64_t key)
{
    double sum = 0, step = log(ladder->tau[0] / ladder->tau[HPS_TAU_GRID - 1]) / (HPS_TAU_GRID - 1);
    int q = 0;

    for (int a = 0; a < HPS_TAU_GRID; a++)
        sum += ladder->weight[a];
    for (double x = hps_rng_real(key, 0) * sum; q < HPS_TAU_GRID - 1 && x >= ladder->weight[q]; q++)
        x -= ladder->weight[q];
    return ladder->tau[q] * exp(step * (hps_rng_real(key, 1) - 0.5));
}
