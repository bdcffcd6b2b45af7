#include "plan/provision.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* Costs closer than this are one cost: the first one found, at the larger tau, stays. */
#define SAME 1e-12

static bool shared(const struct hps_provision_job *job, int s)
{
    return job->more && job->more[s].least > 0;
}

double hps_provision_et(const struct hps_provision_job *job, int s, long long k)
{
    double et = hps_cost_line_et(&job->line[s], (double)k);

    return shared(job, s) ? et + hps_cost_line_et(&job->more[s], (double)k) : et;
}

/* Of two lines together: at least what each wants alone, and halved from there. */
static long long units_of_both(const struct hps_provision_job *job, int s, double tau)
{
    long long most = job->most[s], first = hps_cost_line_units(&job->line[s], tau, most);
    long long second = hps_cost_line_units(&job->more[s], tau, most);

    if (first == 0 || second == 0 || hps_provision_et(job, s, most) > tau)
        return 0;
    long long k = first > second ? first : second;
    if (hps_provision_et(job, s, k) <= tau)
        return k;
    while (most - k > 1) {
        long long mid = k + (most - k) / 2;
        if (hps_provision_et(job, s, mid) <= tau)
            most = mid;
        else
            k = mid;
    }
    return most;
}

long long hps_provision_units(const struct hps_provision_job *job, int s, double tau)
{
    return shared(job, s) ? units_of_both(job, s, tau)
                          : hps_cost_line_units(&job->line[s], tau, job->most[s]);
}

bool hps_provision_at(const struct hps_provision_job *job, double tau, long long *units)
{
    for (int s = 0; s < job->S; s++) {
        units[s] = hps_provision_units(job, s, tau);
        if (units[s] == 0)
            return false;
        job->et[s] = hps_provision_et(job, s, units[s]);
    }
    return job->fits(job->with, units);
}

/* Few lines change. */
bool hps_provision_down(const struct hps_provision_job *job, double tau, long long *units)
{
    for (int s = 0; s < job->S; s++) {
        if (job->et[s] <= tau)
            continue;
        units[s] = hps_provision_units(job, s, tau);
        if (units[s] == 0)
            return false;
        job->et[s] = hps_provision_et(job, s, units[s]);
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
        return hps_provision_at(job, tau, units);
    for (int s = 0; s < job->S; s++)
        job->et[s] = hps_provision_et(job, s, units[s]);
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

    for (bool can = begin_at(job, tau, work); can; can = hps_provision_down(job, tau, work)) {
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
    if (!hps_provision_at(job, cutoff, work))
        return INFINITY;
    memcpy(units, work, (size_t)job->S * sizeof *units);
    double most = slowest(job), under = 0;
    for (int s = 0; s < job->S; s++)
        under = fmax(under, hps_provision_et(job, s, job->most[s]));
    under = nextafter(under, -1);
    for (;;) {
        double mid = under > 0 && most > 4 * under ? sqrt(under) * sqrt(most)
                                                   : under + (most - under) / 2;
        if (!(under < mid && mid < most))
            return most;
        if (hps_provision_at(job, mid, work)) {
            memcpy(units, work, (size_t)job->S * sizeof *units);
            most = slowest(job);
        } else {
            under = mid;
        }
    }
}

/* A plan's stages as a job: lines and prices side by side, sums by type. */
struct sums {
    const struct hps_profile *p;
    int S;
    const int *type;            /* (S) of the lines */
    long long *used;            /* (T) */
};

static bool within(void *with, const long long *units)
{
    const struct sums *x = with;

    memset(x->used, 0, (size_t)x->p->T * sizeof *x->used);
    for (int s = 0; s < x->S; s++) {
        int t = x->type[s];
        x->used[t] += units[s];
        if (x->used[t] > hps_cost_room(x->p, t))
            return false;
    }
    return true;
}

struct desk {
    struct hps_provision_job job;
    struct sums sums;
    struct hps_cost_line *line, *more;
    double *price, *et;
    long long *most, *units, *work;
    int *type, *line_of;        /* (S) of a line; the line of a stage */
};

/* Stage s, unless it shares the units of one before it. */
static void add_line(struct desk *d, const struct hps_plan *plan, int s,
                     const struct hps_profile *p, const struct hps_cost *c)
{
    const struct hps_plan_stage *g = &plan->stage[s];
    int with = hps_plan_partner(plan, s), x = d->job.S;

    if (with >= 0 && with < s) {
        d->line_of[s] = d->line_of[with];
        return;
    }
    d->line_of[s] = x;
    d->line[x] = *hps_cost_line(c, g->first, g->last, g->type);
    if (with >= 0) {
        d->more[x] = *hps_cost_line(c, plan->stage[with].first, plan->stage[with].last, g->type);
        d->line[x].least = hps_memory_least(p, g->type, hps_plan_holds(plan, p, s));
    }
    d->price[x] = p->type[g->type].price_usd_hour;
    d->most[x] = hps_cost_room(p, g->type);
    d->type[x] = g->type;
    d->job.S++;
}

static void begin(struct desk *d, struct hps_plan *plan, const struct hps_profile *p,
                  const struct hps_cost *c)
{
    size_t S = (size_t)plan->S;

    d->line = hps_mem_new(2 * S, sizeof *d->line);
    d->more = d->line + S;
    d->price = hps_mem_new(2 * S, sizeof *d->price);
    d->et = d->price + S;
    d->most = hps_mem_new(3 * S, sizeof *d->most);
    d->units = d->most + S;
    d->work = d->most + 2 * S;
    d->type = hps_mem_new(2 * S, sizeof *d->type);
    d->line_of = d->type + S;
    d->job = (struct hps_provision_job){ .line = d->line, .more = d->more, .price = d->price,
                                         .most = d->most, .fits = within, .with = &d->sums,
                                         .et = d->et };
    for (int s = 0; s < plan->S; s++)
        add_line(d, plan, s, p, c);
    d->sums = (struct sums){ p, d->job.S, d->type, hps_mem_new((size_t)p->T, sizeof(long long)) };
    if (p->server_units > 0)
        d->job.server_price =
            p->type[p->server_type].price_usd_hour * (double)p->server_units;
}

static void end(struct desk *d)
{
    hps_mem_free(d->line);
    hps_mem_free(d->price);
    hps_mem_free(d->most);
    hps_mem_free(d->type);
    hps_mem_free(d->sums.used);
}

static void adopt(struct hps_plan *plan, const struct hps_profile *p, const struct desk *d)
{
    for (int s = 0; s < plan->S; s++)
        plan->stage[s].units = d->units[d->line_of[s]];
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
        adopt(plan, p, &d);
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
        adopt(plan, p, &d);
    else
        adopt_none(plan);
    end(&d);
    return tau;
}
