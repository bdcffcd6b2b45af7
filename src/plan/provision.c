#include "plan/provision.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* Costs closer than this are one cost: the first one found, at the larger tau, stays. */
#define SAME 1e-12

/* The least units at this tau, and et with them; false when a stage has none or the limits refuse
 * them. */
static bool at_tau(const struct hps_provision_job *job, double tau, long long *units)
{
    for (int s = 0; s < job->S; s++) {
        units[s] = hps_cost_line_units(&job->line[s], tau, job->most[s]);
        if (units[s] == 0)
            return false;
        job->et[s] = hps_cost_line_et(&job->line[s], (double)units[s]);
    }
    return job->fits(job->with, units);
}

/* The same at a smaller tau, when units and et are those of a larger one: few stages change. */
static bool down_to(const struct hps_provision_job *job, double tau, long long *units)
{
    for (int s = 0; s < job->S; s++) {
        if (job->et[s] <= tau)
            continue;
        units[s] = hps_cost_line_units(&job->line[s], tau, job->most[s]);
        if (units[s] == 0)
            return false;
        job->et[s] = hps_cost_line_et(&job->line[s], (double)units[s]);
    }
    return job->fits(job->with, units);
}

static double slowest(const struct hps_provision_job *job)
{
    double tau = 0;

    for (int s = 0; s < job->S; s++)
        tau = job->et[s] > tau ? job->et[s] : tau;
    return tau;
}

static bool begin_at(const struct hps_provision_job *job, double tau, long long *units)
{
    if (!job->begun)
        return at_tau(job, tau, units);
    for (int s = 0; s < job->S; s++)
        job->et[s] = hps_cost_line_et(&job->line[s], (double)units[s]);
    return true;
}

/* From the largest tau downwards. Units only grow on the way, so does what they cost in an hour,
 * and so does price * k * ET(k) of each stage: the first says how far tau must fall to gain, the
 * second when to stop. */
double hps_provision_cheapest(const struct hps_provision_job *job, double tau_most, double cutoff,
                              long long *units, long long *work)
{
    double best = cutoff, tau = tau_most;
    bool found = false;

    for (bool can = begin_at(job, tau, work); can; can = down_to(job, tau, work)) {
        double real = slowest(job), rate = job->server_price, floor = 0;
        for (int s = 0; s < job->S; s++) {
            double pay = job->price[s] * (double)work[s];
            rate += pay;
            floor += pay * job->et[s];
        }
        if (!found ? real * rate < best : real * rate < best * (1 - SAME)) {
            best = real * rate;
            memcpy(units, work, (size_t)job->S * sizeof *units);
            found = true;
        }
        if (floor >= best || !(real > 0))
            break;
        tau = nextafter(real, 0);
        if (rate * tau > best)
            tau = best / rate;
    }
    return found ? best : INFINITY;
}

/* Halves the bits of tau: the least double at which the limits hold is the ET of some stage. */
double hps_provision_fastest(const struct hps_provision_job *job, double cutoff, long long *units,
                             long long *work)
{
    if (!at_tau(job, cutoff, work))
        return INFINITY;
    memcpy(units, work, (size_t)job->S * sizeof *units);
    double most = slowest(job), under = 0;
    for (int s = 0; s < job->S; s++)
        under = fmax(under, hps_cost_line_et(&job->line[s], (double)job->most[s]));
    under = nextafter(under, -1);
    for (;;) {
        double mid = under > 0 && most > 4 * under ? sqrt(under) * sqrt(most)
                                                   : under + (most - under) / 2;
        if (!(under < mid && mid < most))
            return most;
        if (at_tau(job, mid, work)) {
            memcpy(units, work, (size_t)job->S * sizeof *units);
            most = slowest(job);
        } else {
            under = mid;
        }
    }
}

/* A plan's stages as a job: lines and prices side by side, sums by type. */
struct sums {
    const struct hps_plan *plan;
    const struct hps_profile *p;
    long long *used;            /* (T) */
};

static bool within(void *with, const long long *units)
{
    const struct sums *x = with;

    memset(x->used, 0, (size_t)x->p->T * sizeof *x->used);
    for (int s = 0; s < x->plan->S; s++) {
        int t = x->plan->stage[s].type;
        x->used[t] += units[s];
        if (x->used[t] > hps_cost_room(x->p, t))
            return false;
    }
    return true;
}

struct desk {
    struct hps_provision_job job;
    struct sums sums;
    struct hps_cost_line *line;
    double *price, *et;
    long long *most, *units, *work;
};

static void begin(struct desk *d, struct hps_plan *plan, const struct hps_profile *p,
                  const struct hps_cost *c)
{
    size_t S = (size_t)plan->S;

    d->line = hps_mem_new(S, sizeof *d->line);
    d->price = hps_mem_new(2 * S, sizeof *d->price);
    d->et = d->price + S;
    d->most = hps_mem_new(3 * S, sizeof *d->most);
    d->units = d->most + S;
    d->work = d->most + 2 * S;
    d->sums = (struct sums){ plan, p, hps_mem_new((size_t)p->T, sizeof(long long)) };
    for (size_t s = 0; s < S; s++) {
        const struct hps_plan_stage *g = &plan->stage[s];
        d->line[s] = *hps_cost_line(c, g->first, g->last, g->type);
        d->price[s] = p->type[g->type].price_usd_hour;
        d->most[s] = hps_cost_room(p, g->type);
    }
    d->job = (struct hps_provision_job){ .S = plan->S, .line = d->line, .price = d->price,
                                         .most = d->most, .fits = within, .with = &d->sums,
                                         .et = d->et };
    if (p->server_units > 0)
        d->job.server_price =
            p->type[p->server_type].price_usd_hour * (double)p->server_units;
}

static void end(struct desk *d)
{
    hps_mem_free(d->line);
    hps_mem_free(d->price);
    hps_mem_free(d->most);
    hps_mem_free(d->sums.used);
}

static void adopt(struct hps_plan *plan, const struct hps_profile *p, const long long *units)
{
    for (int s = 0; s < plan->S; s++)
        plan->stage[s].units = units[s];
    hps_cost_of(plan, p);
}

/* Units 0 and the price of nothing that runs: no rate, no end. */
static void adopt_none(struct hps_plan *plan)
{
    for (int s = 0; s < plan->S; s++) {
        struct hps_plan_stage *g = &plan->stage[s];
        g->units = 0;
        g->ct = g->dt = g->et = INFINITY;
    }
    plan->throughput = 0;
    plan->seconds = plan->cost_usd = INFINITY;
}

bool hps_provision(struct hps_plan *plan, const struct hps_profile *p, const struct hps_cost *c,
                   double throughput_limit)
{
    struct desk d;

    begin(&d, plan, p, c);
    double cost = hps_provision_cheapest(&d.job, hps_cost_tau_most(throughput_limit), INFINITY,
                                         d.units, d.work);
    if (isfinite(cost))
        adopt(plan, p, d.units);
    end(&d);
    if (isfinite(cost))
        return true;
    hps_provision_least_tau(plan, p, c);
    return false;
}

double hps_provision_least_tau(struct hps_plan *plan, const struct hps_profile *p,
                               const struct hps_cost *c)
{
    struct desk d;

    begin(&d, plan, p, c);
    double tau = hps_provision_fastest(&d.job, INFINITY, d.units, d.work);
    if (isfinite(tau))
        adopt(plan, p, d.units);
    else
        adopt_none(plan);
    end(&d);
    return tau;
}
