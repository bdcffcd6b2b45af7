/* pricer_engine.c - the best units under the engine-faithful model, for which no rule is known: a
 * local search from whole numbers near the real ones of the bound, and from the fewest units at
 * some tau of the paper's model, by single units in one line or in two. */
#include "plan/pricer_impl.h"

#include <math.h>
#include <string.h>

#define STRIDE (1 / 32.0)          /* relative distance of the taus that are tried, at least    */
#define FEW 24                  /* units of a line up to which one of them matters much   */
#define NEAR   1.1                 /* of the best price: below it moves in two lines are tried  */

/* USD per hour of all units but the servers. */
static double rate_of(struct hps_pricer_workspace *w, const long long *units)
{
    double rate = 0;

    memset(w->job.used, 0, (size_t)w->q->profile->T * sizeof *w->job.used);
    for (int x = 0; x < w->job.S; x++) {
        rate += w->job.price[x] * (double)units[x];
        w->job.used[w->job.type[x]] += units[x];
    }
    return rate;
}

/* May line x have so many units more (or fewer)? Of units counted by rate_of, but for what was
 * changed since in the same line. */
static bool may(const struct hps_pricer_workspace *w, const long long *units, int x, long long more)
{
    int t = w->job.type[x];

    return more > 0
               ? units[x] + more <= w->job.max[x] && w->job.used[t] + more <= w->job.capacity[t]
               : units[x] + more >= 1 && units[x] + more >= w->job.line[x].min_units;
}

static void change(struct hps_pricer_workspace *w, long long *units, int x, long long more)
{
    units[x] += more;
    w->job.used[w->job.type[x]] += more;
}

/* Add units where they save most time for their price, but none to line `but`, until the limit is
 * kept; several at once where there are many. False when more units save no time. */
static bool hasten(struct hps_pricer *pr, long long *units, int but)
{
    struct hps_pricer_workspace *w = pr->workspace;
    double tau, allowed = pr->tau_max - hps_provision_least_wait(&w->job.servers);

    rate_of(w, units);
    while ((tau = hps_pricer_tau(pr, units, INFINITY)) > allowed) {
        double max = 0;
        long long more = 0;
        int line = -1;
        for (int x = 0; x < w->job.S; x++) {
            long long step = 1 + units[x] / FEW;
            if (x != but && !may(w, units, x, step)) step = 1;
            if (x == but || !may(w, units, x, step)) continue;
            units[x] += step;
            double saved =
                (tau - hps_pricer_tau(pr, units, tau)) / (w->job.price[x] * (double)step + 1e-300);
            units[x] -= step;
            if (saved > max) {
                max = saved;
                more = step;
                line = x;
            }
        }
        if (line < 0) return false;
        change(w, units, line, more);
    }
    return true;
}

/* The price of these units, which cost `rate` an hour, where it is below `best`; else INFINITY. */
static double price_below(struct hps_pricer *pr, const long long *units, double rate, double best)
{
    const struct hps_cost_servers *can = &pr->workspace->job.servers.can;
    double all = rate + can->price * (double)can->min;
    double max = best > pr->ceiling ? INFINITY : fmin(best / all, pr->tau_max);
    double tau = hps_pricer_tau(pr, units, max);
    double price = tau <= max ? hps_pricer_served(pr, units, tau, rate) : INFINITY;

    return price < best ? price : INFINITY;
}

/* Take the best step in one line, by 1/2^level of its units (at least one), again and again.
 * Returns the price. */
static double settle_by(struct hps_pricer *pr, long long *units, int level)
{
    struct hps_pricer_workspace *w = pr->workspace;
    double rate = rate_of(w, units), price = price_below(pr, units, rate, INFINITY);

    for (;;) {
        double best = price * (1 - HPS_COST_TIE);
        long long gains = 0;
        int line = -1;
        for (int n = 0; n < 2 * w->job.S; n++) {
            int x = n / 2;
            long long step = units[x] >> level > 1 ? units[x] >> level : 1;
            long long more = n % 2 ? -step : step;
            if (!may(w, units, x, more)) continue;
            units[x] += more;
            double gain = price_below(pr, units, rate + (double)more * w->job.price[x], best);
            units[x] -= more;
            if (gain < best) {
                best = gain;
                line = x;
                gains = more;
            }
        }
        if (line < 0) return price;
        change(w, units, line, gains);
        rate += (double)gains * w->job.price[line];
        price = best;
    }
}

/* Ever smaller steps where there are many units, by one in the end. */
static double settle(struct hps_pricer *pr, long long *units)
{
    long long max = 0;
    int level = 4;

    for (int x = 0; x < pr->workspace->job.S; x++)
        max = units[x] > max ? units[x] : max;
    for (; max >> level > 0; level++)
        settle_by(pr, units, level);
    return settle_by(pr, units, level);
}

/* Add or take a unit in two lines of few units at once: the first such move that gains. */
static bool exchange(struct hps_pricer *pr, long long *units, double price)
{
    static const int more[3][2] = { { 1, 1 }, { 1, -1 }, { -1, 1 } };
    struct hps_pricer_workspace *w = pr->workspace;
    double rate = rate_of(w, units), best = price * (1 - HPS_COST_TIE);

    for (int x = 0; x < w->job.S; x++)
        for (int y = x + 1; y < w->job.S; y++)
            for (int n = 0; n < 3 && units[x] <= FEW && units[y] <= FEW; n++) {
                int a = more[n][0], b = more[n][1];
                bool first = b > 0;     /* what takes a unit goes last: it may be the same type */
                if (!may(w, units, first ? x : y, first ? a : b)) continue;
                change(w, units, first ? x : y, first ? a : b);
                if (may(w, units, first ? y : x, first ? b : a)) {
                    units[first ? y : x] += first ? b : a;
                    if (price_below(pr, units, rate + a * w->job.price[x] + b * w->job.price[y],
                                    best) < best)
                        return true;
                    units[first ? y : x] -= first ? b : a;
                }
                change(w, units, first ? x : y, first ? -a : -b);
            }
    return false;
}

/* Local search from these units by moves in one and two lines, and by taking a unit from each line
 * in turn and adding units elsewhere until the limit is kept. Returns the price. */
static double descend(struct hps_pricer *pr, long long *units, double price)
{
    struct hps_pricer_workspace *w = pr->workspace;
    size_t bytes = (size_t)w->job.S * sizeof *units;
    long long *next = w->engine.next;

    for (int x = 0, idle = 0; idle < w->job.S; x = (x + 1) % w->job.S, idle++) {
        while (exchange(pr, units, price))
            price = settle(pr, units);
        if (units[x] > FEW || !may(w, units, x, -1)) continue;
        memcpy(next, units, bytes);
        next[x]--;
        double gain = hasten(pr, next, x) ? settle(pr, next) : INFINITY;
        if (gain < price * (1 - HPS_COST_TIE)) {
            memcpy(units, next, bytes);
            price = gain;
            idle = -1;
        }
    }
    return price;
}

/* Improve these units; without moves in two lines where the plan is much more expensive than the
 * best. */
static double improve(struct hps_pricer *pr, long long *units)
{
    hasten(pr, units, -1);
    double price = settle(pr, units);
    return price < NEAR * pr->best ? descend(pr, units, price) : price;
}

static void try_from(struct hps_pricer *pr, double *best)
{
    struct hps_pricer_workspace *w = pr->workspace;
    double price = improve(pr, w->engine.trial);

    if (price < *best) {
        *best = price;
        memcpy(w->units, w->engine.trial, (size_t)w->job.S * sizeof *w->engine.trial);
    }
}

/* Whole units around w->engine.real, or the limits refuse them. */
static void try_wish(struct hps_pricer *pr, double *best)
{
    struct hps_pricer_workspace *w = pr->workspace;

    for (int x = 0; x < w->job.S; x++)
        w->engine.trial[x] = (long long)(w->engine.real[x] + 0.5);
    if (hps_provision_fits(&w->job, w->engine.trial)) try_from(pr, best);
}

/* Try the fewest units at ever smaller taus; start the search from the cheapest of them. */
static void try_least(struct hps_pricer *pr, double *best)
{
    struct hps_pricer_workspace *w = pr->workspace;
    size_t bytes = (size_t)w->job.S * sizeof *w->engine.trial;
    double min = INFINITY;

    for (bool can = hps_provision_at(&w->job, pr->tau_max, w->low); can;) {
        struct hps_provision_servers servers = w->job.servers;
        double price = hps_pricer_of_units(pr, w->low), tau = servers.et;
        double rate = servers.can.price * (double)servers.units;

        w->job.servers = servers;
        if (price < min) {
            min = price;
            memcpy(w->engine.trial, w->low, bytes);
        }
        for (int x = 0; x < w->job.S; x++) {
            rate += w->job.price[x] * (double)w->low[x];
            tau = fmax(tau, w->job.et[x]);
        }
        tau = fmin(tau * (1 - STRIDE), fmin(*best, min) / rate);
        can = tau > 0 && hps_provision_down(&w->job, tau, w->low);
    }
    if (isfinite(min)) try_from(pr, best);
}

double hps_pricer_engine(struct hps_pricer *pr, double cutoff)
{
    struct hps_pricer_workspace *w = pr->workspace;
    double best = cutoff, bound = hps_pricer_bound(pr, cutoff);

    if (bound >= cutoff && cutoff <= pr->ceiling) return INFINITY;
    try_wish(pr, &best);
    if (best > bound * (1 + HPS_COST_TIE)) try_least(pr, &best);
    if (best < cutoff || cutoff <= pr->ceiling) return best < cutoff ? best : INFINITY;
    hps_provision_fastest(&w->job, INFINITY, w->units, w->low);
    return improve(pr, w->units);
}
