/* pricer_value.c - the best units of the stages at hand, and what a plan costs that keeps no limit.
 */
#include "plan/pricer_impl.h"

#include <math.h>
#include <string.h>

static void load_line(struct hps_pricer *pr, int s)
{
    struct hps_pricer_workspace *w = pr->workspace;
    const struct hps_profile *p = w->q->profile;
    int t = w->stages.type[s], partner = w->stages.mate[s], x = w->job.S++;

    w->stages.line[s] = x;
    w->stage_of[x] = s;
    w->memo.units[x] = 0;
    w->job.type[x] = t;
    w->job.price[x] = hps_cost_price(p, t);
    w->job.max[x] = w->capacity[t];
    w->job.line[x] = *hps_cost_line(w->c, w->stages.first[s], w->stages.last[s], t);
    w->low[x] = hps_pricer_min_units(pr, w->stages.first[s], w->stages.last[s], t);
    if (!w->job.shared) return;
    w->job.more[x].min_units = 0;
    if (partner < 0) return;
    struct hps_memory m = hps_memory_of(p, w->stages.first[s], w->stages.last[s]);
    for (int l = w->stages.first[partner]; l <= w->stages.last[partner]; l++)
        hps_memory_add(&m, p, l);
    w->job.more[x] = *hps_cost_line(w->c, w->stages.first[partner], w->stages.last[partner], t);
    w->job.line[x].min_units = hps_cost_min_units(p, t, m);
    w->low[x] = hps_provision_units(&w->job, x, pr->tau_max);
}

bool hps_pricer_load(struct hps_pricer *pr)
{
    struct hps_pricer_workspace *w = pr->workspace;
    bool can = true;

    w->job.S = 0;
    w->job.shared = false;
    for (int s = 0; s < w->stages.S; s++)
        w->job.shared = w->job.shared || w->stages.mate[s] >= 0;
    for (int s = 0; s < w->stages.S; s++) {
        if (w->engine.on) {
            w->engine.line[s] = hps_engine_line(w->q->profile, w->engine.cut, w->stages.first[s],
                                                w->stages.last[s], w->stages.type[s]);
            w->engine.line[s].tier = w->engine.tier;
        }
        if (w->stages.mate[s] >= 0 && w->stages.mate[s] < s) {
            w->stages.line[s] = w->stages.line[w->stages.mate[s]];
            continue;
        }
        load_line(pr, s);
        can = can && w->low[w->job.S - 1] > 0;
    }
    return can;
}

/* Stages that find no units, even when every one has as few as its memory allows. */
static long long stages_too_many(struct hps_pricer_workspace *w)
{
    long long many = 0;

    for (int x = 0; x < w->job.S; x++)
        w->job.used[w->job.type[x]] = 0;
    for (int x = 0; x < w->job.S; x++) {
        int t = w->job.type[x];
        if (w->job.line[x].min_units > w->job.capacity[t] - w->job.used[t])
            many++;
        else
            w->job.used[t] += w->job.line[x].min_units;
    }
    return many;
}

double hps_pricer_too_slow(const struct hps_pricer *pr, double tau)
{
    return pr->ceiling * (2 - pr->tau_max / tau);
}

static double price_infeasible(struct hps_pricer *pr, double cutoff)
{
    struct hps_pricer_workspace *w = pr->workspace;

    if (cutoff <= pr->ceiling) return INFINITY;
    long long many = stages_too_many(w);
    if (many > 0) return pr->ceiling * (2 + (double)many);
    double share = 2 - cutoff / pr->ceiling;
    double tau = hps_provision_fastest(&w->job, share > 0 ? pr->tau_max / share : INFINITY,
                                       w->units, w->low);
    return isinf(tau) ? INFINITY : hps_pricer_too_slow(pr, tau);
}

/* Seconds per example of line x at units, and what its stages do with them for the engine. */
static void refresh(struct hps_pricer_workspace *w, int x, long long units)
{
    w->memo.units[x] = units;
    w->memo.et[x] = hps_provision_et(&w->job, x, units);
    if (!w->engine.on) return;
    for (int s = w->stage_of[x]; s >= 0; s = w->stages.mate[s] > s ? w->stages.mate[s] : -1) {
        const struct hps_cost_line *y = s == w->stage_of[x] ? &w->job.line[x] : &w->job.more[x];
        double k = (double)units;
        w->engine.terms[s] = hps_engine_terms(&w->engine.line[s], y->ct0 + y->ct1 / k, k);
    }
}

double hps_pricer_tau(struct hps_pricer *pr, const long long *units, double max)
{
    struct hps_pricer_workspace *w = pr->workspace;
    double tau = 0;

    for (int x = 0; x < w->job.S; x++) {
        if (w->memo.units[x] != units[x]) refresh(w, x, units[x]);
        tau = w->memo.et[x] > tau ? w->memo.et[x] : tau;
    }
    if (!w->engine.on || tau > max) return tau;
    double step =
        hps_engine_step(w->stages.S, w->engine.terms, w->job.shared ? w->stages.mate : NULL,
                        w->engine.cut.M, max * w->engine.cut.batch);
    return step > w->engine.cut.batch * tau ? step / w->engine.cut.batch : tau;
}

double hps_pricer_of_units(struct hps_pricer *pr, const long long *units)
{
    const struct hps_pricer_workspace *w = pr->workspace;
    double tau = hps_pricer_tau(pr, units, INFINITY), rate = 0;

    for (int x = 0; x < w->job.S; x++)
        rate += w->job.price[x] * (double)units[x];
    return hps_pricer_served(pr, units, tau, rate);
}

double hps_pricer_served(struct hps_pricer *pr, const long long *units, double tau, double rate)
{
    struct hps_pricer_workspace *w = pr->workspace;
    struct hps_provision_servers *x = &w->job.servers;
    long long left = x->limit;

    if (x->can.max == 0) return tau > pr->tau_max ? hps_pricer_too_slow(pr, tau) : tau * rate;
    for (int l = 0; l < w->job.S; l++)
        if (w->job.type[l] == x->type) left -= units[l] * x->workers;
    double all = hps_provision_serve_best(x, tau, rate, pr->tau_max, left);
    if (isinf(all)) return hps_pricer_too_slow(pr, hps_provision_tau(x, tau, x->et));
    return all * (rate + x->can.price * (double)x->units);
}

/* Stages with too few units for their memory, and units in use beyond what there is as a share of
 * it, all types summed. */
static double units_amiss(const struct hps_pricer *pr)
{
    const struct hps_pricer_workspace *w = pr->workspace;
    double many = 0;

    memset(w->job.used, 0, (size_t)pr->T * sizeof *w->job.used);
    for (int x = 0; x < w->job.S; x++) {
        many += w->units[x] < w->job.line[x].min_units;
        w->job.used[w->job.type[x]] += w->units[x];
    }
    for (int t = 0; t < pr->T; t++)
        if (w->job.used[t] > w->job.capacity[t])
            many += (double)(w->job.used[t] - w->job.capacity[t]) /
                    (double)(w->job.capacity[t] > 1 ? w->job.capacity[t] : 1);
    return many;
}

/* The price with the units that the stages are given; of two that share the larger. */
static double price_given(struct hps_pricer *pr)
{
    struct hps_pricer_workspace *w = pr->workspace;

    for (int s = 0; s < w->stages.S; s++) {
        int x = w->stages.line[s];
        if (s == w->stage_of[x] || w->given[s] > w->units[x]) w->units[x] = w->given[s];
    }
    double amiss = units_amiss(pr);
    return amiss > 0 ? pr->ceiling * (2 + amiss) : hps_pricer_of_units(pr, w->units);
}

/* With the servers at hand. */
static double value_served(struct hps_pricer *pr, bool can, double cutoff)
{
    struct hps_pricer_workspace *w = pr->workspace;
    double price;

    can = hps_provision_serve(&w->job.servers, pr->tau_max) && can &&
          hps_provision_fits(&w->job, w->low);
    if (w->given)
        price = price_given(pr);
    else if (!can)
        price = price_infeasible(pr, cutoff);
    else if (w->engine.on)
        price = hps_pricer_engine(pr, cutoff);
    else
        price = hps_provision_cheapest(&w->job, pr->tau_max, cutoff, w->units, w->low);
    if (!(price < cutoff)) return INFINITY;
    if (price > pr->ceiling) return price;
    if (w->engine.on) hps_pricer_of_units(pr, w->units); /* the servers of the last units tried */
    for (int s = 0; s < w->stages.S; s++)
        w->stages.units[s] = w->units[w->stages.line[s]];
    w->stages.servers = (struct hps_pricer_servers){ w->job.servers.type, w->job.servers.units,
                                                     w->job.servers.et };
    return price;
}

/* The n-th type that servers may be of, in place of the one before. */
static void choose(struct hps_pricer_workspace *w, int n)
{
    const struct hps_provision_servers *x = &w->choice[n];

    w->job.capacity[w->job.servers.type] = w->capacity[w->job.servers.type];
    w->job.servers = *x;
    if (x->can.max > 0) w->job.capacity[x->type] = (x->limit - x->can.min) / x->workers;
}

double hps_pricer_value(struct hps_pricer *pr, bool can, double cutoff)
{
    struct hps_pricer_workspace *w = pr->workspace;
    size_t bytes = (size_t)w->job.S * sizeof *w->low;
    double best = INFINITY;

    if (w->nchoice > 1) memcpy(w->start, w->low, bytes);
    for (int n = 0; n < w->nchoice; n++) {
        choose(w, n);
        if (n > 0) memcpy(w->low, w->start, bytes);
        best = fmin(best, value_served(pr, can, fmin(best, cutoff)));
    }
    return best;
}
