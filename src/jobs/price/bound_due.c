/* bound_due.c - bounds on the makespan and on rho: up to which value prices prove that not all jobs
 * can have ended when they are due at it.
 *
 * At a value the jobs are a market in which each loses its seconds behind its due time
 * (jobs/price.h): a bound on their sum above 0 proves that no schedule has that value. The search
 * halves the values between one that is proven and one that it could not prove, from the prices of
 * the last proof on; then the last prices say how far they prove. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "jobs/price/bound_impl.h"

enum { INTERVALS = 128, HALVES = 10, EXACT = 60, ALL = 1 << 30 };
#define LEAD 0.3
/* A sum of so many seconds, by job, is none: it could be rounding. */
#define NOTHING 1e-6

/* ---- what prices prove ---- */

/* By how much all jobs together are late at the value R, at least. */
static double late_by(const struct hps_job_bound *b, const struct hps_prices *p, double R)
{
    double *due_s = hps_mem_new((size_t)b->workload->n, sizeof *due_s);

    hps_objective_due(b->objective, R, b->workload, due_s);
    struct hps_bound_market k = hps_bound_market_of(b, p, due_s);
    double late = hps_bound_market_value(&k, p);
    hps_bound_market_done(&k);
    hps_mem_free(due_s);
    return late;
}

static bool proves(const struct hps_job_bound *b, const struct hps_prices *p, double R)
{
    return late_by(b, p, R) > NOTHING * b->workload->n;
}

/* Between a value that the prices prove and one that they do not. */
static double halve(const struct hps_job_bound *b, const struct hps_prices *p, double proven,
                    double open)
{
    for (int k = 0; k < EXACT && open - proven > 1e-9 * open; k++) {
        double R = (proven + open) / 2;
        if (proves(b, p, R))
            proven = R;
        else
            open = R;
    }
    return proven;
}

double hps_bound_due_of(const struct hps_job_bound *b, const struct hps_prices *p)
{
    double open = 1;

    if (b->workload->n == 0 || !proves(b, p, 0)) return 0;
    while (proves(b, p, open))
        open *= 2;
    return halve(b, p, 0, open);
}

/* ---- the search ---- */

/* Until the last time at which a job is due at a value that a schedule has: all jobs one after the
 * other, behind the last arrival, on all units each. */
static struct hps_prices *grid(const struct hps_job_bound *b)
{
    const struct hps_workload *w = b->workload;
    double edge[INTERVALS + 1], last = w->n > 0 ? w->job[w->n - 1].arrive_s : 0;
    double until = last + 2 * hps_bound_busy_seconds(b) + b->restart_s + 1e-3;

    for (int i = 0; i <= INTERVALS; i++)
        edge[i] = until * i / INTERVALS;
    return hps_prices_new(b->pool->T, INTERVALS, edge);
}

static size_t sizeof_prices(const struct hps_prices *p)
{
    return (size_t)p->I * (size_t)p->T * sizeof *p->price;
}

/* Do better prices prove this value? Those that are there are better then. */
static bool find_proof(struct hps_job_bound *b, double R, double seconds)
{
    struct hps_price_ascent opt = { .steps = ALL, .seconds = seconds, .lead = LEAD,
                                    .enough = NOTHING * b->workload->n };
    double *due_s = hps_mem_new((size_t)b->workload->n, sizeof *due_s);
    double *before = hps_mem_new(1, sizeof_prices(b->prices));

    memcpy(before, b->prices->price, sizeof_prices(b->prices));
    hps_objective_due(b->objective, R, b->workload, due_s);
    struct hps_bound_market k = hps_bound_market_of(b, b->prices, due_s);
    bool proven = hps_price_ascend(b->prices, &k.m, &opt, NULL) > opt.enough;
    if (!proven) memcpy(b->prices->price, before, sizeof_prices(b->prices));
    hps_bound_market_done(&k);
    hps_mem_free(before);
    hps_mem_free(due_s);
    return proven;
}

static void guess(struct hps_prices *p, const struct hps_job_bound *b, double until)
{
    for (int i = 0; i < p->I; i++)
        for (int t = 0; t < p->T; t++)
            p->price[(size_t)i * (size_t)p->T + (size_t)t] =
                p->edge[i] < until ? 1.0 / hps_job_pool_units(b->pool) : 0;
}

/* Higher and higher values, then between the last that was proven and one that was not. Without any
 * proof but that of no prices, which is what jobs take alone, none are kept. */
void hps_bound_due_find(struct hps_job_bound *b, double seconds)
{
    double each = seconds / (HALVES + 2);
    bool any = false;

    b->prices = grid(b);
    double alone = hps_bound_due_of(b, b->prices), proven = alone, open = fmax(2 * alone, 1e-9);
    guess(b->prices, b, b->objective == HPS_MAKESPAN ? alone : b->prices->edge[INTERVALS]);
    for (; b->workload->n > 0 && open < 1e12 && find_proof(b, open, each); open *= 2) {
        proven = open;
        any = true;
    }
    for (int k = 0; k < HALVES; k++) {
        double R = (proven + open) / 2;
        bool good = find_proof(b, R, each);
        any = any || good;
        *(good ? &proven : &open) = R;
    }
    if (!any) memset(b->prices->price, 0, sizeof_prices(b->prices));
    b->value = any ? hps_bound_due_of(b, b->prices) : alone;
}
