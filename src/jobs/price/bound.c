#include "jobs/price/bound_impl.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* Searches on grids that become finer; the intervals of the first. */
enum { COARSE = 64, LEVELS = 4, ALL = 1 << 30 };
#define LEAD 0.3

/* ---- the market of all jobs ---- */

struct hps_bound_market hps_bound_market_of(const struct hps_job_bound *b,
                                            const struct hps_prices *p)
{
    struct hps_bound_market k = { { b->workload->n, NULL, NULL }, NULL };

    k.m.job = hps_mem_new((size_t)b->workload->n, sizeof *k.m.job);
    k.m.units = k.units = hps_mem_new((size_t)p->I * (size_t)p->T, sizeof *k.units);
    for (int i = 0; i < p->I; i++)
        for (int t = 0; t < p->T; t++)
            k.units[i * p->T + t] = b->pool->type[t].units;
    for (int j = 0; j < b->workload->n; j++) {
        k.m.job[j] = hps_price_job_new(&b->workload->job[j], b->pool);
        k.m.job[j]->from_s += b->restart_s;
    }
    return k;
}

void hps_bound_market_done(struct hps_bound_market *k)
{
    for (int j = 0; j < k->m.n; j++)
        hps_price_job_free(k->m.job[j]);
    hps_mem_free(k->m.job);
    hps_mem_free(k->units);
}

double hps_bound_market_value(const struct hps_bound_market *k, const struct hps_prices *p)
{
    int configs = 1;

    for (int j = 0; j < k->m.n; j++)
        configs = k->m.job[j]->n > configs ? k->m.job[j]->n : configs;
    struct hps_price_work *work = hps_price_work_new(p, configs);
    double value = hps_price_bound(p, &k->m, work, NULL, NULL);
    hps_price_work_free(work);
    return value;
}

static double mean_of(const struct hps_job_bound *b, double ends)
{
    for (int j = 0; j < b->workload->n; j++)
        ends -= b->workload->job[j].arrive_s;
    return ends / b->workload->n;
}

/* ---- grids ---- */

double hps_bound_busy_seconds(const struct hps_job_bound *b)
{
    double area = 0, longest = 0;

    for (int j = 0; j < b->workload->n; j++) {
        area += hps_pool_job_least_unit_s(&b->workload->job[j]);
        longest = fmax(longest, hps_pool_job_best_s(&b->workload->job[j]));
    }
    return area / hps_job_pool_units(b->pool) + longest;
}

/* Half of the intervals until the last arrival, if that is not at once, the others behind. */
static struct hps_prices *first_grid(const struct hps_job_bound *b)
{
    const struct hps_workload *w = b->workload;
    double last = w->job[w->n - 1].arrive_s, behind = 2 * hps_bound_busy_seconds(b);
    double edge[COARSE + 1];
    int before = last > 0 ? (int)(COARSE * last / (last + behind / 2)) : 0;

    if (last > 0 && before < 1) before = 1;
    if (before > COARSE - 8) before = COARSE - 8;
    for (int i = 0; i <= COARSE; i++) {
        double x = i <= before ? 0 : (double)(i - before) / (COARSE - before);
        edge[i] = i <= before && before > 0 ? last * i / before : last + behind * x * x;
    }
    return hps_prices_new(b->pool->T, COARSE, edge);
}

/* Each interval in two, at the same prices. */
static struct hps_prices *finer(const struct hps_prices *p)
{
    double *edge = hps_mem_new(2 * (size_t)p->I + 1, sizeof *edge);

    for (int i = 0; i < p->I; i++) {
        edge[2 * i] = p->edge[i];
        edge[2 * i + 1] = (p->edge[i] + p->edge[i + 1]) / 2;
    }
    edge[2 * p->I] = p->edge[p->I];
    struct hps_prices *fine = hps_prices_new(p->T, 2 * p->I, edge);
    for (int i = 0; i < 2 * p->I; i++)
        memcpy(fine->price + (size_t)i * (size_t)p->T, p->price + (size_t)(i / 2) * (size_t)p->T,
               (size_t)p->T * sizeof *p->price);
    hps_mem_free(edge);
    return fine;
}

/* ---- the search ---- */

static void guess(struct hps_prices *p, const struct hps_job_bound *b)
{
    double price = 4.0 / hps_job_pool_units(b->pool), end = p->edge[p->I];

    for (int i = 0; i < p->I; i++)
        for (int t = 0; t < p->T; t++)
            p->price[(size_t)i * (size_t)p->T + (size_t)t] = price * (1 - p->edge[i] / end);
}

/* Where units are no matter, none has a price; a short search need not have found that. */
static void or_no_prices(struct hps_job_bound *b)
{
    struct hps_prices *none = hps_prices_new(b->prices->T, b->prices->I, b->prices->edge);
    double bound = hps_bound_of(b, none);

    if (bound > b->value) {
        b->value = bound;
        memcpy(b->prices->price, none->price,
               (size_t)none->I * (size_t)none->T * sizeof *none->price);
    }
    hps_prices_free(none);
}

static void find_mean(struct hps_job_bound *b, double seconds)
{
    b->prices = first_grid(b);
    guess(b->prices, b);
    for (int level = 0; level < LEVELS; level++) {
        struct hps_price_ascent opt = { .steps = ALL, .seconds = seconds / LEVELS,
                                        .lead = level > 0 ? LEAD / 10 : LEAD };
        struct hps_bound_market k = hps_bound_market_of(b, b->prices);
        hps_price_ascend(b->prices, &k.m, &opt, NULL);
        hps_bound_market_done(&k);
        if (level == LEVELS - 1) break;
        struct hps_prices *fine = finer(b->prices);
        hps_prices_free(b->prices);
        b->prices = fine;
    }
    b->value = hps_bound_of(b, b->prices);
    or_no_prices(b);
}

struct hps_job_bound *hps_bound_find(const struct hps_workload *w, const struct hps_job_pool *pool,
                                     enum hps_objective objective, double restart_s,
                                     double seconds)
{
    struct hps_job_bound *b = hps_mem_new(1, sizeof *b);

    *b = (struct hps_job_bound){ .workload = w, .pool = pool, .objective = objective,
                                 .restart_s = restart_s };
    if (objective == HPS_JCT)
        find_mean(b, seconds);
    else
        hps_bound_due_find(b, seconds);
    return b;
}

void hps_bound_free(struct hps_job_bound *b)
{
    if (!b) return;
    hps_prices_free(b->prices);
    hps_mem_free(b);
}

double hps_bound_of(const struct hps_job_bound *b, const struct hps_prices *prices)
{
    if (b->objective != HPS_JCT) return hps_bound_due_of(b, prices);
    struct hps_bound_market k = hps_bound_market_of(b, prices);
    double ends = hps_bound_market_value(&k, prices);
    hps_bound_market_done(&k);
    return mean_of(b, ends);
}
