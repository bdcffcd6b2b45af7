/* pricer_engine.c - the best units under the engine-faithful model, where no rule gives them. At a
 * tau of the paper's model every line has its least units; those beyond shorten fill and drain.
 * Real numbers of units tell which tau to look at, whole ones are found around them. */
#include "plan/pricer_desk.h"

#include <math.h>
#include <string.h>

#define FEW 8                   /* units that real numbers say little about              */
#define MARGIN 1.02             /* whole units may gain on real ones where a limit is near */
#define STRIDE (1 / 128.0)      /* taus looked at are so far apart, relative, at least */

/* Seconds per example with real units k: ((M - 1) * tau + sum of ET(k)) / M + rest. */
struct relaxed {
    struct hps_pricer *pr;
    double M, rest, tau;
};

/* What of a line's time more units divide. */
static double divided(const struct hps_cost_line *x, double k)
{
    return x->ct0 + x->ct1 / k >= x->dt0 + x->dt1 / k ? x->ct1 : x->dt1;
}

/* The units that are best where a second per example is worth mu, none below those in d->work: what
 * they cost an hour; *time [out] seconds per example. */
static double at_worth(const struct relaxed *r, double mu, double *time)
{
    struct hps_pricer_desk *d = r->pr->desk;
    double rate = d->job.server_price, sum = (r->M - 1) * r->tau;

    for (int x = 0; x < d->job.S; x++) {
        double k = (double)d->work[x], et = hps_cost_line_et(&d->line[x], k), g;
        bool two = d->job.more && d->more[x].least > 0;
        g = divided(&d->line[x], k) + (two ? divided(&d->more[x], k) : 0);
        double wish = d->price[x] > 0 ? sqrt(mu * g / r->M / d->price[x]) : (double)d->most[x];
        if (wish > k) {
            k = fmin(wish, (double)d->most[x]);
            et = hps_cost_line_et(&d->line[x], k);
        }
        d->wish[x] = k;
        rate += d->price[x] * k;
        sum += et + (two ? hps_cost_line_et(&d->more[x], k) : 0);
    }
    *time = sum / r->M + r->rest;
    return rate;
}

/* The least price with real units that keeps the limit: at it a second is worth rate / time, or
 * more where the limit wants that. INFINITY: none. d->wish holds them. */
static double relaxed_price(const struct relaxed *r)
{
    double time, rate = at_worth(r, 0, &time), most = r->pr->tau_most, mu = 0;

    for (int n = 0; n < 6; n++)
        rate = at_worth(r, mu = rate / time, &time);
    if (time <= most)
        return rate * time;
    double low = mu, high = mu > 0 ? mu : 1;
    for (int n = 0; time > most; n++) {
        if (n == 60)
            return INFINITY;
        rate = at_worth(r, high *= 2, &time);
    }
    for (int n = 0; n < 12; n++) {
        double middle = sqrt(fmax(low, high * 1e-9)) * sqrt(high);
        rate = at_worth(r, middle, &time);
        *(time > most ? &low : &high) = middle;
    }
    rate = at_worth(r, high, &time);
    return rate * time;
}

static bool may_add(const struct hps_pricer_desk *d, long long *units, int x)
{
    units[x]++;
    bool may = units[x] <= d->most[x] && d->job.fits(d->job.with, units);
    units[x]--;
    return may;
}

/* Units added where they save most time for their price, but none to line `but`, until the limit is
 * kept. False when more units save no time. */
static bool hasten(struct hps_pricer *pr, long long *units, int but)
{
    struct hps_pricer_desk *d = pr->desk;
    double tau;

    while ((tau = hps_pricer_tau(pr, units)) > pr->tau_most) {
        double most = 0;
        int line = -1;
        for (int x = 0; x < d->job.S; x++) {
            if (x == but || !may_add(d, units, x))
                continue;
            units[x]++;
            double saved = (tau - hps_pricer_tau(pr, units)) / (d->price[x] + 1e-300);
            units[x]--;
            if (saved > most) {
                most = saved;
                line = x;
            }
        }
        if (line < 0)
            return false;
        units[line]++;
    }
    return true;
}

/* The one unit more or fewer that gains most, again and again. The price. */
static double settle(struct hps_pricer *pr, long long *units)
{
    struct hps_pricer_desk *d = pr->desk;
    double price = hps_pricer_of_units(pr, units);

    for (;;) {
        double best = price * (1 - HPS_COST_TIE);
        int line = -1, change = 0;
        for (int n = 0; n < 2 * d->job.S; n++) {
            int x = n / 2, one = n % 2 ? -1 : 1;
            if (one > 0 ? !may_add(d, units, x) : units[x] <= 1 || units[x] <= d->line[x].least)
                continue;
            units[x] += one;
            double gain = hps_pricer_of_units(pr, units);
            units[x] -= one;
            if (gain < best) {
                best = gain;
                line = x;
                change = one;
            }
        }
        if (line < 0)
            return price;
        units[line] += change;
        price = best;
    }
}

/* The best units around these: settled, then one taken from each line in turn and others hastened
 * for it. */
static double descend(struct hps_pricer *pr, long long *units)
{
    struct hps_pricer_desk *d = pr->desk;
    size_t bytes = (size_t)d->job.S * sizeof *units;
    long long *next = d->other;

    hasten(pr, units, -1);
    double price = settle(pr, units);
    for (int x = 0, idle = 0; idle < d->job.S; x = (x + 1) % d->job.S, idle++) {
        if (units[x] <= 1 || units[x] <= d->line[x].least)
            continue;
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

static void try_from(struct hps_pricer *pr, double *best)
{
    struct hps_pricer_desk *d = pr->desk;
    double price = descend(pr, d->trial);

    if (price < *best) {
        *best = price;
        memcpy(d->units, d->trial, (size_t)d->job.S * sizeof *d->trial);
    }
}

/* Whole units around d->wish, and around d->work where the limits refuse them or they are few. */
static void try_whole(struct hps_pricer *pr, double *best)
{
    struct hps_pricer_desk *d = pr->desk;
    bool few = true;

    for (int x = 0; x < d->job.S; x++) {
        d->trial[x] = (long long)(d->wish[x] + 0.5);
        few = few && d->trial[x] <= FEW;
    }
    if (d->job.fits(d, d->trial))
        try_from(pr, best);
    else
        few = true;
    if (few) {
        memcpy(d->trial, d->work, (size_t)d->job.S * sizeof *d->trial);
        try_from(pr, best);
    }
}

/* The next tau whose units may cost less than `best`, 0: none. */
static double next_tau(const struct relaxed *r, double best)
{
    const struct hps_pricer_desk *d = r->pr->desk;
    double rate = d->job.server_price, tau = r->tau * (1 - STRIDE);

    for (int x = 0; x < d->job.S; x++)
        rate += d->price[x] * (double)d->work[x];
    tau = fmin(tau, best / rate);
    return tau > 0 ? fmin(tau, nextafter(r->tau, 0)) : 0;
}

/* tau and rest of the units in d->work. */
static void look(struct relaxed *r)
{
    const struct hps_pricer_desk *d = r->pr->desk;
    double sum = 0;

    r->tau = 0;
    for (int x = 0; x < d->job.S; x++) {
        r->tau = fmax(r->tau, d->job.et[x]);
        sum += d->job.et[x];
    }
    r->rest = hps_pricer_tau(r->pr, d->work) - ((r->M - 1) * r->tau + sum) / r->M;
}

/* From the largest tau downwards: the one with the least relaxed price, or, when `whole`, whole
 * units where that is below *best. */
static double walk(struct relaxed *r, bool whole, double *best)
{
    struct hps_pricer *pr = r->pr;
    struct hps_pricer_desk *d = pr->desk;
    double least = *best, at = 0;

    for (bool can = hps_provision_at(&d->job, pr->tau_most, d->work); can;) {
        look(r);
        double price = relaxed_price(r);
        if (price < least * (whole ? MARGIN : 1)) {
            at = r->tau;
            if (whole)
                try_whole(pr, best);
            else
                least = price;
        }
        if (whole)
            least = *best;
        double tau = next_tau(r, least);
        can = tau > 0 && hps_provision_down(&d->job, tau, d->work);
    }
    return at;
}

double hps_pricer_engine(struct hps_pricer *pr, double cutoff)
{
    struct hps_pricer_desk *d = pr->desk;
    struct relaxed r = { pr, d->cut.M, 0, 0 };
    double best = cutoff;
    double tau = walk(&r, false, &best);
    if (tau > 0) {
        hps_provision_at(&d->job, tau, d->work);
        look(&r);
        relaxed_price(&r);
        try_whole(pr, &best);
        walk(&r, true, &best);
    }
    if (best < cutoff || cutoff <= pr->ceiling)
        return best < cutoff ? best : INFINITY;
    hps_provision_fastest(&d->job, INFINITY, d->units, d->work);
    return descend(pr, d->units);
}
