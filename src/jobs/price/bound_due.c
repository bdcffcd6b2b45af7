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

/* The jobs as a market whose due times follow a value. */
struct claim {
    const struct hps_job_bound *b;
    struct hps_bound_market k;
    double *due_s;              /* (n) */
};

static struct claim claim_of(const struct hps_job_bound *b, const struct hps_prices *p)
{
    return (struct claim){ b, hps_bound_market_of(b, p),
                           hps_mem_new((size_t)b->workload->n, sizeof(double)) };
}

static void claim_done(struct claim *c)
{
    hps_bound_market_done(&c->k);
    hps_mem_free(c->due_s);
}

static void set_value(struct claim *c, double R)
{
    hps_objective_due(c->b->objective, R, c->b->workload, c->due_s);
    for (int j = 0; j < c->k.m.n; j++)
        c->k.m.job[j]->due_s = c->due_s[j];
}

/* ---- what prices prove ---- */

static double nothing(const struct claim *c)
{
    return NOTHING * c->b->workload->n;
}

/* That no schedule has the value R: by it all jobs together are late. */
static bool proves(struct claim *c, const struct hps_prices *p, double R)
{
    set_value(c, R);
    return hps_bound_market_value(&c->k, p) > nothing(c);
}

/* The greatest value that the prices prove. */
static double proven_by(struct claim *c, const struct hps_prices *p)
{
    double proven = 0, open = 1;

    if (c->b->workload->n == 0 || !proves(c, p, 0)) return 0;
    while (proves(c, p, open))
        open *= 2;
    for (int k = 0; k < EXACT && open - proven > 1e-9 * open; k++) {
        double R = (proven + open) / 2;
        *(proves(c, p, R) ? &proven : &open) = R;
    }
    return proven;
}

double hps_bound_due_of(const struct hps_job_bound *b, const struct hps_prices *p)
{
    struct claim c = claim_of(b, p);
    double proven = proven_by(&c, p);

    claim_done(&c);
    return proven;
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
static bool find_proof(struct claim *c, struct hps_prices *p, double R, double seconds)
{
    struct hps_price_ascent opt = { .steps = ALL, .seconds = seconds, .lead = LEAD,
                                    .enough = nothing(c) };
    size_t bytes = sizeof_prices(p);
    double *before = hps_mem_new(1, bytes);

    memcpy(before, p->price, bytes);
    set_value(c, R);
    bool proven = hps_price_ascend(p, &c->k.m, &opt, NULL) > opt.enough;
    if (!proven) memcpy(p->price, before, bytes);
    hps_mem_free(before);
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
    struct claim c = claim_of(b, b->prices);
    double alone = proven_by(&c, b->prices), proven = alone, open = fmax(2 * alone, 1e-9);
    guess(b->prices, b, b->objective == HPS_MAKESPAN ? alone : b->prices->edge[INTERVALS]);
    for (; b->workload->n > 0 && open < 1e12 && find_proof(&c, b->prices, open, each); open *= 2) {
        proven = open;
        any = true;
    }
    for (int k = 0; k < HALVES; k++) {
        double R = (proven + open) / 2;
        bool good = find_proof(&c, b->prices, R, each);
        any = any || good;
        *(good ? &proven : &open) = R;
    }
    if (!any) memset(b->prices->price, 0, sizeof_prices(b->prices));
    b->value = any ? proven_by(&c, b->prices) : alone;
    claim_done(&c);
}
