#include "plan/cost.h"

#include <assert.h>
#include <math.h>

#include "base/mem.h"

struct hps_cost {
    const struct hps_profile *p;
    struct hps_cost_line *line;     /* stages by first layer, then by last, then by type */
};

/* Layers summed so far, before what crosses the stage's two ends. */
static void add_layer(struct hps_cost_line *x, const struct hps_profile *p, int l, int t)
{
    size_t a = (size_t)l * (size_t)p->T + (size_t)t;
    double n = hps_profile_examples(p), oct = p->oct[a] / n, sync = p->sync[a] / n;

    x->ct0 += oct * (1 - p->alpha[a]);
    x->ct1 += oct * p->alpha[a];
    x->dt0 += sync * (1 - p->beta[a]);
    x->dt1 += sync * p->beta[a];
}

static struct hps_cost_line with_ends(struct hps_cost_line x, const struct hps_profile *p, int i,
                                      int j, int t)
{
    double ends = 0;

    if (i > 0) ends += p->recv[(size_t)i * (size_t)p->T + (size_t)t];
    if (j < p->L - 1) ends += p->send[(size_t)j * (size_t)p->T + (size_t)t];
    x.dt1 += ends / hps_profile_examples(p);
    return x;
}

struct hps_cost *hps_cost_new(const struct hps_profile *p)
{
    struct hps_cost *c = hps_mem_new(1, sizeof *c);
    size_t T = (size_t)p->T, n = (size_t)p->L * ((size_t)p->L + 1) / 2;

    c->p = p;
    c->line = hps_mem_new(n * T, sizeof *c->line);
    for (int t = 0; t < p->T; t++)
        for (int i = 0; i < p->L; i++) {
            struct hps_cost_line sum = { 0 };
            struct hps_memory held = { 0, 0, p->max_rows_bytes };
            for (int j = i; j < p->L; j++) {
                add_layer(&sum, p, j, t);
                hps_memory_add(&held, p, j);
                sum.min_units = hps_cost_min_units(p, t, held);
                c->line[hps_cost_index(p->L, p->T, i, j, t)] = with_ends(sum, p, i, j, t);
            }
        }
    return c;
}

void hps_cost_free(struct hps_cost *c)
{
    if (!c) return;
    hps_mem_free(c->line);
    hps_mem_free(c);
}

const struct hps_cost_line *hps_cost_line(const struct hps_cost *c, int i, int j, int t)
{
    assert(0 <= i && i <= j && j < c->p->L && 0 <= t && t < c->p->T);
    return &c->line[hps_cost_index(c->p->L, c->p->T, i, j, t)];
}

static struct hps_cost_et at_units(const struct hps_cost_line *x, double k)
{
    return (struct hps_cost_et){ x->ct0 + x->ct1 / k, x->dt0 + x->dt1 / k,
                                 hps_cost_line_et(x, k) };
}

struct hps_cost_et hps_cost_stage(const struct hps_cost *c, int i, int j, int t, double k)
{
    return at_units(hps_cost_line(c, i, j, t), k);
}

/* The smallest k in (under, most] by time alone, where `max` is enough: ET never rises with k. */
static long long halve(const struct hps_cost_line *x, double tau, long long under, long long max)
{
    while (max - under > 1) {
        long long k = under + (max - under) / 2;
        if (hps_cost_line_et(x, (double)k) <= tau)
            max = k;
        else
            under = k;
    }
    return max;
}

/* k that a part fixed + shared/k of the time wants; rounding may be off by a few. */
static double wanted(double fixed, double shared, double tau)
{
    return tau > fixed ? shared / (tau - fixed) : 1;
}

/* The smallest k that is fast enough, where `max` is. */
static long long fast_enough(const struct hps_cost_line *x, double tau, long long max)
{
    double ct = wanted(x->ct0, x->ct1, tau), dt = wanted(x->dt0, x->dt1, tau);
    double guess = ceil(ct > dt ? ct : dt);
    long long k = guess < 1 ? 1 : guess > (double)max ? max : (long long)guess;
    if (hps_cost_line_et(x, (double)k) > tau)
        return hps_cost_line_et(x, (double)(k + 1)) <= tau ? k + 1 : halve(x, tau, k + 1, max);
    if (k == 1 || hps_cost_line_et(x, (double)(k - 1)) > tau) return k;
    return halve(x, tau, 0, k - 1);
}

long long hps_cost_line_units(const struct hps_cost_line *x, double tau, long long max)
{
    if (max < 1 || max < x->min_units || hps_cost_line_et(x, (double)max) > tau) return 0;
    long long k = fast_enough(x, tau, max);
    return k < x->min_units ? x->min_units : k;
}

/* Of the whole net on one server of type t. */
static double work_of(const struct hps_profile *p, int t)
{
    double sum = 0;

    for (int l = 0; l < p->L; l++)
        sum += p->serve[(size_t)l * (size_t)p->T + (size_t)t];
    return sum / p->batch;
}

struct hps_cost_servers hps_cost_servers(const struct hps_profile *p)
{
    int t = p->server_type;

    if (!hps_profile_served(p) || t < 0) return (struct hps_cost_servers){ .type = -1 };
    return (struct hps_cost_servers){
        .type = t,
        .work = work_of(p, t),
        .price = p->type[t].price_usd_hour,
        .min = p->server_units,
        .max = p->server_auto ? p->type[t].limit : p->server_units,
    };
}

long long hps_cost_server_units(const struct hps_cost_servers *x, double tau)
{
    double guess = tau > 0 ? ceil(x->work / tau) : x->work > 0 ? INFINITY : 0;
    long long n = guess < (double)x->max ? (long long)guess : x->max;

    n = n > x->min ? n : x->min;
    while (n > x->min && x->work / (double)(n - 1) <= tau) /* rounding: by one */
        n--;
    while (n > 0 && n <= x->max && x->work / (double)n > tau)
        n++;
    return n;
}

bool hps_cost_next_servers(const struct hps_profile *p, int *t, struct hps_profile *of)
{
    *of = *p;
    if (!p->server_auto) return ++*t == 0;
    while (++*t < p->T) {
        if (p->type[*t].gpu || (p->server_type >= 0 && p->server_type != *t)) continue;
        of->server_type = *t;
        of->server_units = hps_memory_min_servers(p, *t);
        if (of->server_units <= p->type[*t].limit) return true;
    }
    return false;
}

long long hps_cost_capacity(const struct hps_profile *p, int t)
{
    long long servers = t == p->server_type ? p->server_units : 0;

    return (p->type[t].limit - servers) / p->workers;
}

double hps_cost_price(const struct hps_profile *p, int t)
{
    return p->type[t].price_usd_hour * p->workers;
}

long long hps_cost_min_units(const struct hps_profile *p, int t, struct hps_memory m)
{
    long long all = hps_memory_min_units(p, t, m);

    return all == HPS_MEMORY_NEVER ? all : (all + p->workers - 1) / p->workers;
}

long long hps_cost_units(const struct hps_cost *c, int i, int j, int t, double tau)
{
    return hps_cost_line_units(hps_cost_line(c, i, j, t), tau, hps_cost_capacity(c->p, t));
}

double hps_cost_tau_max(double throughput_limit)
{
    if (!(throughput_limit > 0)) return INFINITY;
    double tau = (1 + HPS_COST_TIE) / throughput_limit;
    while (tau * throughput_limit > 1 + HPS_COST_TIE)
        tau = nextafter(tau, 0);
    return tau;
}

double hps_cost_busy(const struct hps_plan *plan, int s)
{
    int partner = hps_plan_partner(plan, s);

    return plan->stage[s].et + (partner >= 0 ? plan->stage[partner].et : 0);
}

double hps_cost_server_et(const struct hps_plan *plan, const struct hps_profile *p)
{
    return plan->server_units > 0 ? work_of(p, plan->server_type) / (double)plan->server_units : 0;
}

double hps_cost_tau(const struct hps_plan *plan, const struct hps_profile *p)
{
    double tau = hps_cost_server_et(plan, p);

    for (int s = 0; s < plan->S; s++)
        tau = fmax(tau, hps_cost_busy(plan, s));
    return tau;
}

/* A unit that two stages share is paid once. */
double hps_cost_usd_hour(const struct hps_plan *plan, const struct hps_profile *p)
{
    double usd_hour = 0;

    if (plan->server_units > 0)
        usd_hour = p->type[plan->server_type].price_usd_hour * (double)plan->server_units;
    for (int s = 0; s < plan->S; s++)
        if (!hps_plan_is_second(plan, s))
            usd_hour += p->type[plan->stage[s].type].price_usd_hour * (double)plan->stage[s].units;
    return usd_hour;
}

void hps_cost_of(struct hps_plan *plan, const struct hps_profile *p)
{
    for (int s = 0; s < plan->S; s++) {
        struct hps_plan_stage *g = &plan->stage[s];
        struct hps_cost_line sum = { 0 };
        for (int l = g->first; l <= g->last; l++)
            add_layer(&sum, p, l, g->type);
        sum = with_ends(sum, p, g->first, g->last, g->type);
        struct hps_cost_et e = at_units(&sum, (double)(g->units / p->workers));
        g->ct = e.ct;
        g->dt = e.dt;
        g->et = e.et;
    }
    if (!p->server_auto) {
        plan->server_type = p->server_type;
        plan->server_units = p->server_units;
    }
    plan->workers = p->workers;
    double tau = hps_cost_tau(plan, p);
    plan->throughput = 1 / tau;
    plan->seconds = p->epochs * p->examples * tau;
    plan->cost_usd = plan->seconds / 3600 * hps_cost_usd_hour(plan, p);
}

void hps_cost_certify(struct hps_plan *plan, double bound_usd)
{
    bool equal = bound_usd >= plan->cost_usd * (1 - HPS_COST_TIE);

    plan->lower_bound_usd = equal ? plan->cost_usd : bound_usd;
    plan->gap = equal ? 0 : 1 - bound_usd / plan->cost_usd;
}

static bool holds_all(const struct hps_plan *plan, const struct hps_profile *p)
{
    for (int s = 0; s < plan->S; s++)
        if (plan->stage[s].units <
            hps_memory_min_units(p, plan->stage[s].type, hps_plan_holds(plan, p, s)))
            return false;
    return !p->server_auto ||
           plan->server_units >= hps_memory_min_servers(p, plan->server_type);
}

bool hps_cost_feasible(const struct hps_plan *plan, const struct hps_profile *p,
                       double throughput_limit)
{
    if (hps_cost_tau(plan, p) > hps_cost_tau_max(throughput_limit) || !holds_all(plan, p))
        return false;
    for (int t = 0; t < p->T; t++) {
        long long sum = hps_plan_servers_on(plan, p, t);
        for (int s = 0; s < plan->S; s++)
            if (plan->stage[s].type == t && !hps_plan_is_second(plan, s))
                sum += plan->stage[s].units;
        if (sum > p->type[t].limit) return false;
    }
    return true;
}
