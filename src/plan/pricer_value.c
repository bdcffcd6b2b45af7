/* pricer_value.c - the best units of the stages at hand, and what a plan costs that keeps no limit.
 */
#include "plan/pricer_workspace.h"

#include <math.h>
#include <string.h>

static void load_line(struct hps_pricer *pr, int s)
{
    struct hps_pricer_workspace *d = pr->desk;
    const struct hps_profile *p = d->q->profile;
    int t = d->type[s], with = d->mate[s], x = d->job.S++;

    d->line_of[s] = x;
    d->stage_of[x] = s;
    d->seen[x] = 0;
    d->line_type[x] = t;
    d->price[x] = p->type[t].price_usd_hour;
    d->most[x] = d->room[t];
    d->line[x] = *hps_cost_line(d->c, d->first[s], d->last[s], t);
    d->work[x] = hps_pricer_least(pr, d->first[s], d->last[s], t)->units;
    if (!d->job.more)
        return;
    d->more[x].least = 0;
    if (with < 0)
        return;
    struct hps_memory m = hps_memory_of(p, d->first[s], d->last[s]);
    for (int l = d->first[with]; l <= d->last[with]; l++)
        hps_memory_add(&m, &p->layer[l]);
    d->more[x] = *hps_cost_line(d->c, d->first[with], d->last[with], t);
    d->line[x].least = hps_memory_least(p, t, m);
    d->work[x] = hps_provision_units(&d->job, x, pr->tau_most);
}

bool hps_pricer_load(struct hps_pricer *pr)
{
    struct hps_pricer_workspace *d = pr->desk;
    bool can = true;

    d->job.S = 0;
    d->job.more = NULL;
    for (int s = 0; s < d->S; s++)
        if (d->mate[s] >= 0)
            d->job.more = d->more;
    for (int s = 0; s < d->S; s++) {
        if (d->engine)
            d->engine_line[s] = hps_engine_line(d->q->profile, d->cut, d->first[s], d->last[s],
                                                d->type[s]);
        if (d->mate[s] >= 0 && d->mate[s] < s) {
            d->line_of[s] = d->line_of[d->mate[s]];
            continue;
        }
        load_line(pr, s);
        can = can && d->work[d->job.S - 1] > 0;
    }
    return can && d->job.fits(d, d->work);
}

/* Stages that find no units, even when every one has as few as its memory allows. */
static long long stages_too_many(struct hps_pricer_workspace *d)
{
    long long many = 0;

    for (int x = 0; x < d->job.S; x++)
        d->used[d->line_type[x]] = 0;
    for (int x = 0; x < d->job.S; x++) {
        int t = d->line_type[x];
        if (d->line[x].least > d->room[t] - d->used[t])
            many++;
        else
            d->used[t] += d->line[x].least;
    }
    return many;
}

double hps_pricer_too_slow(const struct hps_pricer *pr, double tau)
{
    return pr->ceiling * (2 - pr->tau_most / tau);
}

static double price_infeasible(struct hps_pricer *pr, double cutoff)
{
    struct hps_pricer_workspace *d = pr->desk;

    if (cutoff <= pr->ceiling)
        return INFINITY;
    long long many = stages_too_many(d);
    if (many > 0)
        return pr->ceiling * (2 + (double)many);
    double share = 2 - cutoff / pr->ceiling;
    double tau = hps_provision_fastest(&d->job, share > 0 ? pr->tau_most / share : INFINITY,
                                       d->units, d->work);
    return isinf(tau) ? INFINITY : hps_pricer_too_slow(pr, tau);
}

/* Seconds per example of line x at units, and what its stages do with them for the engine. */
static void refresh(struct hps_pricer_workspace *d, int x, long long units)
{
    d->seen[x] = units;
    d->seen_et[x] = hps_provision_et(&d->job, x, units);
    if (!d->engine)
        return;
    for (int s = d->stage_of[x]; s >= 0; s = d->mate[s] > s ? d->mate[s] : -1) {
        const struct hps_cost_line *y = s == d->stage_of[x] ? &d->line[x] : &d->more[x];
        double k = (double)units;
        d->terms[s] = hps_engine_terms(&d->engine_line[s], y->ct0 + y->ct1 / k, k);
    }
}

double hps_pricer_tau(struct hps_pricer *pr, const long long *units, double most)
{
    struct hps_pricer_workspace *d = pr->desk;
    double tau = 0;

    for (int x = 0; x < d->job.S; x++) {
        if (d->seen[x] != units[x])
            refresh(d, x, units[x]);
        tau = d->seen_et[x] > tau ? d->seen_et[x] : tau;
    }
    if (!d->engine || tau > most)
        return tau;
    double step = hps_engine_step(d->S, d->terms, d->job.more ? d->mate : NULL, d->cut.M,
                                  most * d->cut.batch);
    return step > d->cut.batch * tau ? step / d->cut.batch : tau;
}

double hps_pricer_of_units(struct hps_pricer *pr, const long long *units)
{
    const struct hps_pricer_workspace *d = pr->desk;
    double tau = hps_pricer_tau(pr, units, INFINITY), rate = d->job.server_price;

    for (int x = 0; x < d->job.S; x++)
        rate += d->price[x] * (double)units[x];
    return tau > pr->tau_most ? hps_pricer_too_slow(pr, tau) : tau * rate;
}

/* Stages with too few units for their memory, and units in use beyond what there is as a share of
 * it, all types summed. */
static double units_amiss(const struct hps_pricer *pr)
{
    const struct hps_pricer_workspace *d = pr->desk;
    double many = 0;

    memset(d->used, 0, (size_t)pr->T * sizeof *d->used);
    for (int x = 0; x < d->job.S; x++) {
        many += d->units[x] < d->line[x].least;
        d->used[d->line_type[x]] += d->units[x];
    }
    for (int t = 0; t < pr->T; t++)
        if (d->used[t] > d->room[t])
            many += (double)(d->used[t] - d->room[t]) / (double)(d->room[t] > 1 ? d->room[t] : 1);
    return many;
}

/* The price with the units that the stages are given; of two that share the larger. */
static double price_given(struct hps_pricer *pr)
{
    struct hps_pricer_workspace *d = pr->desk;

    for (int s = 0; s < d->S; s++) {
        int x = d->line_of[s];
        if (s == d->stage_of[x] || d->given[s] > d->units[x])
            d->units[x] = d->given[s];
    }
    double amiss = units_amiss(pr);
    return amiss > 0 ? pr->ceiling * (2 + amiss) : hps_pricer_of_units(pr, d->units);
}

double hps_pricer_value(struct hps_pricer *pr, bool can, double cutoff)
{
    struct hps_pricer_workspace *d = pr->desk;
    double price;

    if (d->given)
        price = price_given(pr);
    else if (!can)
        price = price_infeasible(pr, cutoff);
    else if (d->engine)
        price = hps_pricer_engine(pr, cutoff);
    else
        price = hps_provision_cheapest(&d->job, pr->tau_most, cutoff, d->units, d->work);
    if (!(price < cutoff))
        return INFINITY;
    if (price > pr->ceiling)
        return price;
    for (int s = 0; s < d->S; s++)
        d->stage_units[s] = d->units[d->line_of[s]];
    return price;
}
