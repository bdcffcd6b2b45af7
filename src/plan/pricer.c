#include "plan/pricer.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "plan/provision.h"

/* Plans priced between two looks at the clock. */
#define LOOK 32

/* A stage at the largest tau that keeps the throughput limit: units only grow from there. */
struct least {
    long long units;            /* 0: it cannot keep the limit               */
    double floor;               /* price * units * ET: it never costs less   */
};

struct hps_pricer_desk {
    const struct hps_problem *q;
    struct hps_cost *c;
    struct least *least;        /* stages by first layer, then by last, then by type */
    long long *room, *used;     /* (T) */
    int *keep;                  /* (L) the best assignment */
    long long *keep_units;      /* (L) of its stages       */
    struct hps_provision_job job;
    struct hps_cost_line *line; /* (L) of the plan at hand, as all below */
    double *price;
    long long *most, *units, *work;
    int *first, *type;          /* (L) */
    double until_s;             /* 0: no limit on time */
    bool late;                  /* the clock said so   */
};

static bool fits(void *with, const long long *units)
{
    const struct hps_pricer_desk *d = with;

    for (int s = 0; s < d->job.S; s++)
        d->used[d->type[s]] = 0;
    for (int s = 0; s < d->job.S; s++) {
        int t = d->type[s];
        d->used[t] += units[s];
        if (d->used[t] > d->room[t])
            return false;
    }
    return true;
}

static size_t place(const struct hps_pricer *pr, int i, int j, int t)
{
    size_t first = (size_t)i, L = (size_t)pr->L;

    return (first * L - first * (first + 1) / 2 + (size_t)j) * (size_t)pr->T + (size_t)t;
}

static void fill_least(struct hps_pricer *pr)
{
    struct hps_pricer_desk *d = pr->desk;
    const struct hps_profile *p = d->q->profile;

    for (int i = 0; i < pr->L; i++)
        for (int j = i; j < pr->L; j++)
            for (int t = 0; t < pr->T; t++) {
                const struct hps_cost_line *x = hps_cost_line(d->c, i, j, t);
                struct least *least = &d->least[place(pr, i, j, t)];
                least->units = hps_cost_line_units(x, pr->tau_most, d->room[t]);
                least->floor = p->type[t].price_usd_hour * (double)least->units *
                               hps_cost_line_et(x, (double)(least->units ? least->units : 1));
            }
}

/* More than any feasible plan costs: all units of the pool, at the slowest that is allowed. */
static double ceiling_of(const struct hps_pricer *pr)
{
    const struct hps_pricer_desk *d = pr->desk;
    const struct hps_profile *p = d->q->profile;
    double rate = d->job.server_price, tau = pr->tau_most;

    for (int t = 0; t < pr->T; t++)
        rate += d->room[t] > 0 ? p->type[t].price_usd_hour * (double)d->room[t] : 0;
    if (isinf(tau)) {
        tau = 0;
        for (int l = 0; l < pr->L; l++) {
            double slowest = 0;
            for (int t = 0; t < pr->T; t++) {
                size_t a = (size_t)l * (size_t)pr->T + (size_t)t;
                slowest = fmax(slowest, p->oct[a] + p->sync[a] + p->recv[a] + p->send[a]);
            }
            tau += slowest / p->batch;
        }
    }
    return rate * tau > 0 ? 2 * rate * tau : 1;
}

struct hps_pricer *hps_pricer_new(const struct hps_problem *q)
{
    const struct hps_profile *p = q->profile;
    struct hps_pricer *pr = hps_mem_new(1, sizeof *pr);
    struct hps_pricer_desk *d = hps_mem_new(1, sizeof *d);
    size_t L = (size_t)p->L, T = (size_t)p->T;

    d->q = q;
    d->until_s = q->opt->seconds > 0 ? hps_now_s() + q->opt->seconds : 0;
    d->c = hps_cost_new(p);
    d->least = hps_mem_new(L * (L + 1) / 2 * T, sizeof *d->least);
    d->room = hps_mem_new(2 * T, sizeof *d->room);
    d->used = d->room + T;
    for (int t = 0; t < p->T; t++)
        d->room[t] = hps_cost_room(p, t);
    d->keep = hps_mem_new(3 * L, sizeof *d->keep);
    d->first = d->keep + L;
    d->type = d->keep + 2 * L;
    d->line = hps_mem_new(L, sizeof *d->line);
    d->price = hps_mem_new(2 * L, sizeof *d->price);
    d->most = hps_mem_new(4 * L, sizeof *d->most);
    d->units = d->most + L;
    d->work = d->most + 2 * L;
    d->keep_units = d->most + 3 * L;
    d->job = (struct hps_provision_job){ .line = d->line, .price = d->price, .most = d->most,
                                         .fits = fits, .with = d, .et = d->price + L,
                                         .begun = true };
    if (p->server_units > 0)
        d->job.server_price = p->type[p->server_type].price_usd_hour * (double)p->server_units;
    *pr = (struct hps_pricer){ .L = p->L, .T = p->T, .best = INFINITY, .desk = d,
                               .tau_most = hps_cost_tau_most(q->throughput_limit) };
    pr->ceiling = ceiling_of(pr);
    fill_least(pr);
    return pr;
}

void hps_pricer_free(struct hps_pricer *pr)
{
    if (!pr)
        return;
    struct hps_pricer_desk *d = pr->desk;
    hps_cost_free(d->c);
    hps_mem_free(d->least);
    hps_mem_free(d->room);
    hps_mem_free(d->keep);
    hps_mem_free(d->line);
    hps_mem_free(d->price);
    hps_mem_free(d->most);
    hps_mem_free(d);
    hps_mem_free(pr);
}

bool hps_pricer_over(const struct hps_pricer *pr)
{
    const struct hps_pricer_desk *d = pr->desk;
    long long most = d->q->opt->evaluations;

    return d->late || (most > 0 && pr->evaluations >= most);
}

/* One more plan; false when the budget has none left. */
static bool spend(struct hps_pricer *pr)
{
    struct hps_pricer_desk *d = pr->desk;

    if (d->until_s > 0 && pr->evaluations % LOOK == 0 && hps_now_s() >= d->until_s)
        d->late = true;
    if (hps_pricer_over(pr))
        return false;
    pr->evaluations++;
    return true;
}

/* Cut into stages. True when the limits allow the least units; *floor: the plan costs no less. */
static bool cut_into_stages(struct hps_pricer *pr, int n, const int *type, double *floor)
{
    struct hps_pricer_desk *d = pr->desk;
    bool enough = true;
    int S = 0;

    *floor = 0;
    for (int i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && type[j] == type[i]; j++)
            continue;
        const struct least *x = &d->least[place(pr, i, j - 1, type[i])];
        *floor += x->floor;
        enough = enough && x->units > 0;
        d->work[S] = x->units;
        d->first[S] = i;
        d->type[S++] = type[i];
    }
    d->job.S = S;
    return enough && fits(d, d->work);
}

static void load(struct hps_pricer *pr, int n)
{
    struct hps_pricer_desk *d = pr->desk;
    const struct hps_profile *p = d->q->profile;

    for (int s = 0; s < d->job.S; s++) {
        int last = (s + 1 < d->job.S ? d->first[s + 1] : n) - 1;
        d->line[s] = *hps_cost_line(d->c, d->first[s], last, d->type[s]);
        d->price[s] = p->type[d->type[s]].price_usd_hour;
        d->most[s] = d->room[d->type[s]];
    }
}

/* Stages that find no units, even when every one has as few as its memory allows. */
static long long stages_too_many(struct hps_pricer_desk *d)
{
    long long many = 0;

    for (int s = 0; s < d->job.S; s++)
        d->used[d->type[s]] = 0;
    for (int s = 0; s < d->job.S; s++) {
        int t = d->type[s];
        if (d->line[s].least > d->room[t] - d->used[t])
            many++;
        else
            d->used[t] += d->line[s].least;
    }
    return many;
}

static double price_infeasible(struct hps_pricer *pr, int n, double cutoff)
{
    struct hps_pricer_desk *d = pr->desk;

    if (cutoff <= pr->ceiling)
        return INFINITY;
    load(pr, n);
    long long many = stages_too_many(d);
    if (many > 0)
        return pr->ceiling * (2 + (double)many);
    double share = 2 - cutoff / pr->ceiling;
    double tau = hps_provision_fastest(&d->job, share > 0 ? pr->tau_most / share : INFINITY,
                                       d->units, d->work);
    return isinf(tau) ? INFINITY : pr->ceiling * (2 - pr->tau_most / tau);
}

/* A price to answer, of a plan of all layers with these units; kept where it is the best. */
static void keep(struct hps_pricer *pr, const int *type, const long long *units, double price)
{
    struct hps_pricer_desk *d = pr->desk;

    if (!(price < pr->best))
        return;
    pr->best = price;
    memcpy(d->keep, type, (size_t)pr->L * sizeof *type);
    memcpy(d->keep_units, units, (size_t)d->job.S * sizeof *units);
}

double hps_pricer_prefix(struct hps_pricer *pr, int n, const int *type, double cutoff)
{
    struct hps_pricer_desk *d = pr->desk;
    double floor, price;

    if (!spend(pr))
        return INFINITY;
    if (!cut_into_stages(pr, n, type, &floor)) {
        price = price_infeasible(pr, n, cutoff);
        return price < cutoff ? price : INFINITY;
    }
    if (floor >= cutoff)
        return INFINITY;
    load(pr, n);
    price = hps_provision_cheapest(&d->job, pr->tau_most, cutoff, d->units, d->work);
    if (n == pr->L)
        keep(pr, type, d->units, price);
    return price;
}

double hps_pricer_price(struct hps_pricer *pr, const int *type, double cutoff)
{
    return hps_pricer_prefix(pr, pr->L, type, cutoff);
}

/* Stages with too few units for their memory, and units in use beyond what there is as a share of
 * it, all types summed. */
static double units_amiss(const struct hps_pricer_desk *d, int T, const long long *units)
{
    double many = 0;

    for (int s = 0; s < d->job.S; s++)
        many += units[s] < d->line[s].least;
    for (int t = 0; t < T; t++)
        if (d->used[t] > d->room[t])
            many += (double)(d->used[t] - d->room[t]) / (double)(d->room[t] > 1 ? d->room[t] : 1);
    return many;
}

/* All units that the stages have, by type. */
static void count_used(struct hps_pricer_desk *d, int T, const long long *units)
{
    memset(d->used, 0, (size_t)T * sizeof *d->used);
    for (int s = 0; s < d->job.S; s++)
        d->used[d->type[s]] += units[s];
}

double hps_pricer_given(struct hps_pricer *pr, const int *type, const long long *units,
                        double cutoff)
{
    struct hps_pricer_desk *d = pr->desk;
    double tau = 0, rate = d->job.server_price, price;

    if (!spend(pr))
        return INFINITY;
    cut_into_stages(pr, pr->L, type, &price);
    load(pr, pr->L);
    count_used(d, pr->T, units);
    for (int s = 0; s < d->job.S; s++) {
        tau = fmax(tau, hps_cost_line_et(&d->line[s], (double)units[s]));
        rate += d->price[s] * (double)units[s];
    }
    double many = units_amiss(d, pr->T, units);
    if (many > 0) {
        price = pr->ceiling * (2 + many);
    } else if (tau > pr->tau_most) {
        price = pr->ceiling * (2 - pr->tau_most / tau);
    } else {
        price = tau * rate;
        keep(pr, type, units, price);
    }
    return price < cutoff ? price : INFINITY;
}

static void paint(int *type, int first, int last, int t)
{
    for (int l = first; l <= last; l++)
        type[l] = t;
}

double hps_pricer_singles(struct hps_pricer *pr, int *type)
{
    const struct hps_plan *warm = pr->desk->q->warm;
    double least = INFINITY;
    int best = 0;

    for (int t = 0; t < pr->T; t++) {
        paint(type, 0, pr->L - 1, t);
        double price = hps_pricer_price(pr, type, INFINITY);
        if (price < least) {
            least = price;
            best = t;
        }
    }
    for (int s = 0; warm && s < warm->S; s++)
        paint(type, warm->stage[s].first, warm->stage[s].last, warm->stage[s].type);
    double price = warm ? hps_pricer_price(pr, type, least) : INFINITY;
    if (price < least)
        return price;
    paint(type, 0, pr->L - 1, best);
    return least;
}

struct hps_plan *hps_pricer_plan(const struct hps_pricer *pr)
{
    const struct hps_pricer_desk *d = pr->desk;

    if (isinf(pr->best))
        return NULL;
    struct hps_plan *plan = hps_plan_of_assignment(pr->L, d->keep);
    for (int s = 0; s < plan->S; s++)
        plan->stage[s].units = d->keep_units[s];
    hps_cost_of(plan, d->q->profile);
    plan->evaluations = pr->evaluations;
    return plan;
}
