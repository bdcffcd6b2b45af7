/* provision_servers.c - how many dedicated servers a plan has: at a given tau the fewest are the
 * best, since more cost more and take units from the stages; but where stages wait for them. */
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

double hps_provision_tau(const struct hps_provision_servers *x, double tau, double et)
{
    return fmax(et, tau + x->wait * et);
}

double hps_provision_least_wait(const struct hps_provision_servers *x)
{
    return x->wait * et_of(x, x->can.max);
}

static double tau_with(const struct hps_provision_servers *x, double tau, long long units)
{
    return hps_provision_tau(x, tau, et_of(x, units));
}

/* With n of them, v = work/n, the plan costs max(v, tau + wait v) (rate + price n). It falls with n
 * while v is the larger; then it is a constant and tau price n + wait work rate/n, which is least
 * where both are equal. More are needed where the wait would break the limit. */
static long long wanted(const struct hps_provision_servers *x, double tau, double rate,
                        double tau_max, long long most)
{
    double waits = x->wait * x->can.work, n = 0;
    long long busy = hps_cost_server_units(&x->can, x->wait < 1 ? tau / (1 - x->wait) : INFINITY);

    if (waits > 0 && tau < tau_max)
        n = fmax(sqrt(waits * rate / (tau * x->can.price)), waits / (tau_max - tau));
    long long units = (long long)fmin(fmax(ceil(n), (double)busy), (double)most);
    while (n > 0 && units < most && tau_with(x, tau, units) > tau_max) /* by rounding */
        units++;
    return units;
}

double hps_provision_serve_best(struct hps_provision_servers *x, double tau, double rate,
                                double tau_max, long long max)
{
    long long most = x->can.max < max ? x->can.max : max;

    if (most < x->can.min) return INFINITY;
    x->units = wanted(x, tau, rate, tau_max, most);
    long long fewer = x->units - 1;
    double with = tau_with(x, tau, x->units), without = tau_with(x, tau, fewer);
    if (fewer >= x->can.min && without <= tau_max &&
        without * (rate + x->can.price * (double)fewer) <
            with * (rate + x->can.price * (double)x->units)) {
        x->units = fewer;
        with = without;
    }
    x->et = et_of(x, x->units);
    return with <= tau_max ? with : INFINITY;
}
