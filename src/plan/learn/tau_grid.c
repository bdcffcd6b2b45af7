#include "plan/tau_grid.h"

#include <math.h>

#include "base/rng.h"

#define SHARP 20.0              /* a bound 5 % above the lowest has weight 1/e       */
#define EXPENSIVE 2.0           /* of the best type's cost: more, and a type is left out */
#define SLACK (1 + 1e-9)        /* for tau's last bits                               */

/* The smallest tau of the slowest layer, and of the servers. */
static double lowest(const struct hps_pricer *pr)
{
    const struct hps_cost *c = hps_pricer_cost(pr);
    double low = hps_pricer_servers_tau(pr);

    for (int l = 0; l < pr->L; l++) {
        double min = INFINITY;
        for (int t = 0; t < pr->T; t++) {
            double capacity = (double)hps_pricer_capacity(pr, t);
            if (capacity > 0)
                min = fmin(min, hps_cost_line_et(hps_cost_line(c, l, l, t), capacity));
        }
        low = fmax(low, min);
    }
    return low;
}

/* The largest tau with one unit among the types that alone are not much more expensive than the
 * best: a larger tau gains nothing. */
static double highest(const struct hps_profile *p, const struct hps_pricer *pr)
{
    double min = INFINITY, high = 0;

    for (int pass = 0; pass < 2; pass++)
        for (int t = 0; t < pr->T; t++) {
            double et = hps_cost_line_et(hps_cost_line(hps_pricer_cost(pr), 0, pr->L - 1, t), 1);
            double dear = et * p->type[t].price_usd_hour;
            if (hps_pricer_capacity(pr, t) > 0) min = fmin(min, dear);
            if (pass && hps_pricer_capacity(pr, t) > 0 && dear <= EXPENSIVE * min)
                high = fmax(high, et);
        }
    return fmin(high, pr->tau_max);
}

int hps_tau_grid_best(const struct hps_tau_grid *grid)
{
    int best = 0;

    for (int q = 1; q < HPS_TAU_GRID; q++)
        if (grid->bound[q] < grid->bound[best]) best = q;
    return best;
}

void hps_tau_grid_fill(struct hps_tau_grid *grid, const struct hps_profile *p,
                       const struct hps_pricer *pr, struct hps_value *value)
{
    double high = highest(p, pr), low = fmin(lowest(pr), high);

    for (int q = 0; q < HPS_TAU_GRID; q++) {
        grid->tau[q] = low > 0 ? high * pow(low / high, (double)q / (HPS_TAU_GRID - 1)) : high;
        hps_value_fill(value, p, hps_pricer_cost(pr), hps_pricer_capacities(pr),
                       grid->tau[q] * SLACK);
        grid->bound[q] = value->rest[0] * grid->tau[q];
    }
    double min = grid->bound[hps_tau_grid_best(grid)];
    for (int q = 0; q < HPS_TAU_GRID; q++)
        grid->weight[q] =
            isfinite(min) && min > 0 ? exp(-SHARP * (grid->bound[q] / min - 1)) : q == 0;
}

void hps_tau_grid_value(const struct hps_tau_grid *grid, const struct hps_profile *p,
                        const struct hps_pricer *pr, struct hps_value *value, double tau)
{
    const struct hps_cost *c = hps_pricer_cost(pr);

    hps_value_fill(value, p, c, hps_pricer_capacities(pr), fmin(tau, grid->tau[0]) * SLACK);
    if (!isfinite(value->rest[0]))
        hps_value_fill(value, p, c, hps_pricer_capacities(pr), grid->tau[0] * SLACK);
}

double hps_tau_grid_draw(const struct hps_tau_grid *grid, uint64_t key)
{
    double sum = 0, step = log(grid->tau[0] / grid->tau[HPS_TAU_GRID - 1]) / (HPS_TAU_GRID - 1);
    int q = 0;

    for (int a = 0; a < HPS_TAU_GRID; a++)
        sum += grid->weight[a];
    for (double x = hps_rng_real(key, 0) * sum; q < HPS_TAU_GRID - 1 && x >= grid->weight[q]; q++)
        x -= grid->weight[q];
    return grid->tau[q] * exp(step * (hps_rng_real(key, 1) - 0.5));
}
