/* provision_servers.c - how many dedicated servers a plan has: at a given tau the fewest are the
 * best, since more cost more and take units from the stages. */
#include "plan/provision.h"

#include <math.h>

struct hps_provision_servers hps_provision_servers(const struct hps_profile *p)
{
    struct hps_provision_servers x = { .can = hps_cost_servers(p), .workers = p->workers };

    if (x.can.max == 0) return x;
    x.type = x.can.type;
    x.limit = p->type[x.type].limit;
    x.units = x.can.min;
    return x;
}

long long hps_provision_servers_take(const struct hps_provision_servers *x)
{
    if (x->can.max == 0) return 0;
    return (x->limit - x->can.min) / x->workers - (x->limit - x->units) / x->workers;
}

static double et_of(const struct hps_provision_servers *x, long long units)
{
    return units > 0 ? x->can.work / (double)units : 0;
}

bool hps_provision_serve(struct hps_provision_servers *x, double tau)
{
    x->units = hps_cost_server_units(&x->can, tau);
    x->et = et_of(x, x->units);
    return x->units <= x->can.max;
}

/* With n of them the plan costs max(tau, work/n) (rate + price n): it rises with n where work/n is
 * below tau, and falls before. */
double hps_provision_serve_best(struct hps_provision_servers *x, double tau, double rate,
                                double tau_max, long long max)
{
    long long most = x->can.max < max ? x->can.max : max;

    if (most < x->can.min) return INFINITY;
    hps_provision_serve(x, tau);
    if (x->units > most) x->units = most;
    long long fewer = x->units - 1;
    double with = fmax(tau, et_of(x, x->units)), without = fmax(tau, et_of(x, fewer));
    if (fewer >= x->can.min && without <= tau_max &&
        without * (rate + x->can.price * (double)fewer) <
            with * (rate + x->can.price * (double)x->units)) {
        x->units = fewer;
        with = without;
    }
    x->et = et_of(x, x->units);
    return with <= tau_max ? with : INFINITY;
}
