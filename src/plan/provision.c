#include "plan/provision.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* Costs closer than this are one cost: the first one found, at the larger tau, stays. */
#define SAME 1e-12

void hps_provision_job_init(struct hps_provision_job *job, int S, int T)
{
    size_t n = (size_t)S;

    *job = (struct hps_provision_job){ .line = hps_mem_new(n, sizeof *job->line),
                                       .more = hps_mem_new(n, sizeof *job->more),
                                       .type = hps_mem_new(n, sizeof *job->type),
                                       .price = hps_mem_new(n, sizeof *job->price),
                                       .max = hps_mem_new(n, sizeof *job->max),
                                       .capacity = hps_mem_new((size_t)T, sizeof *job->capacity),
                                       .used = hps_mem_new((size_t)T, sizeof *job->used),
                                       .et = hps_mem_new(n, sizeof *job->et) };
}

void hps_provision_job_done(struct hps_provision_job *job)
{
    hps_mem_free(job->line);
    hps_mem_free(job->more);
    hps_mem_free(job->type);
    hps_mem_free(job->price);
    hps_mem_free(job->max);
    hps_mem_free(job->capacity);
    hps_mem_free(job->used);
    hps_mem_free(job->et);
}

bool hps_provision_fits(const struct hps_provision_job *job, const long long *units)
{
    for (int s = 0; s < job->S; s++)
        job->used[job->type[s]] = 0;
    job->used[job->servers.type] = hps_provision_servers_take(&job->servers);
    for (int s = 0; s < job->S; s++) {
        int t = job->type[s];
        job->used[t] += units[s];
        if (job->used[t] > job->capacity[t]) return false;
    }
    return !job->pack || job->pack(job->packing, units);
}

static bool shared(const struct hps_provision_job *job, int s)
{
    return job->shared && job->more[s].min_units > 0;
}

double hps_provision_et(const struct hps_provision_job *job, int s, long long k)
{
    double et = hps_cost_line_et(&job->line[s], (double)k);

    return shared(job, s) ? et + hps_cost_line_et(&job->more[s], (double)k) : et;
}

/* Of two lines together: at least what each wants alone, and halved from there. */
static long long units_of_both(const struct hps_provision_job *job, int s, double tau)
{
    long long max = job->max[s], first = hps_cost_line_units(&job->line[s], tau, max);
    long long second = hps_cost_line_units(&job->more[s], tau, max);

    if (first == 0 || second == 0 || hps_provision_et(job, s, max) > tau) return 0;
    long long k = first > second ? first : second;
    if (hps_provision_et(job, s, k) <= tau) return k;
    while (max - k > 1) {
        long long mid = k + (max - k) / 2;
        if (hps_provision_et(job, s, mid) <= tau)
            max = mid;
        else
            k = mid;
    }
    return max;
}

long long hps_provision_units(const struct hps_provision_job *job, int s, double tau)
{
    return shared(job, s) ? units_of_both(job, s, tau)
                          : hps_cost_line_units(&job->line[s], tau, job->max[s]);
}

bool hps_provision_at(struct hps_provision_job *job, double tau, long long *units)
{
    if (!hps_provision_serve(&job->servers, tau)) return false;
    for (int s = 0; s < job->S; s++) {
        units[s] = hps_provision_units(job, s, tau);
        if (units[s] == 0) return false;
        job->et[s] = hps_provision_et(job, s, units[s]);
    }
    return hps_provision_fits(job, units);
}

/* Few lines change. */
bool hps_provision_down(struct hps_provision_job *job, double tau, long long *units)
{
    if (job->servers.et > tau && !hps_provision_serve(&job->servers, tau)) return false;
    for (int s = 0; s < job->S; s++) {
        if (job->et[s] <= tau) continue;
        units[s] = hps_provision_units(job, s, tau);
        if (units[s] == 0) return false;
        job->et[s] = hps_provision_et(job, s, units[s]);
    }
    return hps_provision_fits(job, units);
}

static double slowest(const struct hps_provision_job *job)
{
    double tau = job->servers.et;

    for (int s = 0; s < job->S; s++)
        tau = job->et[s] > tau ? job->et[s] : tau;
    return tau;
}

static bool begin_at(struct hps_provision_job *job, double tau, long long *units)
{
    if (!job->begun) return hps_provision_at(job, tau, units);
    hps_provision_serve(&job->servers, tau);
    for (int s = 0; s < job->S; s++)
        job->et[s] = hps_provision_et(job, s, units[s]);
    return true;
}

/* From the largest tau downwards. Units only grow on the way, and so do their price per hour and
 * price * k * ET(k) of each stage: the first shows how far tau must fall to gain, the second when
 * to stop. */
double hps_provision_cheapest(struct hps_provision_job *job, double tau_max, double cutoff,
                              long long *units, long long *scratch)
{
    struct hps_provision_servers *servers = &job->servers, chosen = *servers;
    double best = cutoff, tau = tau_max;
    bool found = false;

    for (bool can = begin_at(job, tau, scratch); can; can = hps_provision_down(job, tau, scratch)) {
        double rate = servers->can.price * (double)servers->units, real = slowest(job);
        double floor = rate * servers->et;
        for (int s = 0; s < job->S; s++) {
            double pay = job->price[s] * (double)scratch[s];
            rate += pay;
            floor += pay * job->et[s];
        }
        if (!found ? real * rate < best : real * rate < best * (1 - SAME)) {
            best = real * rate;
            memcpy(units, scratch, (size_t)job->S * sizeof *units);
            chosen = *servers;
            found = true;
        }
        if (floor >= best || !(real > 0)) break;
        tau = nextafter(real, 0);
        if (rate * tau > best) tau = best / rate;
    }
    *servers = chosen;
    return found ? best : INFINITY;
}

/* Bisection over tau: the smallest double at which the limits hold is the ET of some stage. */
double hps_provision_fastest(struct hps_provision_job *job, double cutoff, long long *units,
                             long long *scratch)
{
    const struct hps_cost_servers *can = &job->servers.can;

    if (!hps_provision_at(job, cutoff, scratch)) return INFINITY;
    memcpy(units, scratch, (size_t)job->S * sizeof *units);
    struct hps_provision_servers servers = job->servers;
    double max = slowest(job), under = can->max > 0 ? can->work / (double)can->max : 0;
    for (int s = 0; s < job->S; s++)
        under = fmax(under, hps_provision_et(job, s, job->max[s]));
    under = nextafter(under, -1);
    for (;;) {
        double mid =
            under > 0 && max > 4 * under ? sqrt(under) * sqrt(max) : under + (max - under) / 2;
        if (!(under < mid && mid < max)) break;
        if (hps_provision_at(job, mid, scratch)) {
            memcpy(units, scratch, (size_t)job->S * sizeof *units);
            servers = job->servers;
            max = slowest(job);
        } else {
            under = mid;
        }
    }
    job->servers = servers;
    return max;
}

/* A plan's stages as a job. */
struct plan_job {
    struct hps_provision_job job;
    long long *units, *scratch; /* (lines) */
    int *line;                  /* (S) of a stage */
};

/* Stage s, unless it shares the units of one before it. */
static void add_line(struct plan_job *d, const struct hps_plan *plan, int s,
                     const struct hps_profile *p, const struct hps_cost *c)
{
    const struct hps_plan_stage *g = &plan->stage[s];
    int partner = hps_plan_partner(plan, s), x = d->job.S;

    if (partner >= 0 && partner < s) {
        d->line[s] = d->line[partner];
        return;
    }
    d->line[s] = x;
    d->job.line[x] = *hps_cost_line(c, g->first, g->last, g->type);
    if (partner >= 0) {
        d->job.more[x] =
            *hps_cost_line(c, plan->stage[partner].first, plan->stage[partner].last, g->type);
        d->job.line[x].min_units = hps_cost_min_units(p, g->type, hps_plan_holds(plan, p, s));
    }
    d->job.price[x] = hps_cost_price(p, g->type);
    d->job.max[x] = hps_cost_capacity(p, g->type);
    d->job.type[x] = g->type;
    d->job.S++;
}

static void begin(struct plan_job *d, struct hps_plan *plan, const struct hps_profile *p,
                  const struct hps_cost *c)
{
    size_t S = (size_t)plan->S;

    *d = (struct plan_job){ .units = hps_mem_new(S, sizeof *d->units),
                            .scratch = hps_mem_new(S, sizeof *d->scratch),
                            .line = hps_mem_new(S, sizeof *d->line) };
    hps_provision_job_init(&d->job, plan->S, p->T);
    d->job.shared = true;
    for (int s = 0; s < plan->S; s++)
        add_line(d, plan, s, p, c);
    for (int t = 0; t < p->T; t++)
        d->job.capacity[t] = hps_cost_capacity(p, t);
    d->job.servers = hps_provision_servers(p);
}

static void end(struct plan_job *d)
{
    hps_provision_job_done(&d->job);
    hps_mem_free(d->units);
    hps_mem_free(d->scratch);
    hps_mem_free(d->line);
}

static void adopt(struct hps_plan *plan, const struct hps_profile *p, const struct plan_job *d)
{
    for (int s = 0; s < plan->S; s++)
        plan->stage[s].units = d->units[d->line[s]] * p->workers;
    plan->server_type = d->job.servers.type;
    plan->server_units = d->job.servers.units;
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
    double tau_max = hps_cost_tau_max(throughput_limit), best = INFINITY;
    struct hps_profile of;
    struct plan_job d;

    for (int t = -1; hps_cost_next_servers(p, &t, &of);) {
        begin(&d, plan, &of, c);
        double cost = hps_provision_cheapest(&d.job, tau_max, best, d.units, d.scratch);
        if (isfinite(cost)) {
            adopt(plan, &of, &d);
            best = cost;
        }
        end(&d);
    }
    if (isfinite(best)) return true;
    hps_provision_min_tau(plan, p, c);
    return false;
}

double hps_provision_min_tau(struct hps_plan *plan, const struct hps_profile *p,
                             const struct hps_cost *c)
{
    double best = INFINITY;
    struct hps_profile of;
    struct plan_job d;

    for (int t = -1; hps_cost_next_servers(p, &t, &of);) {
        begin(&d, plan, &of, c);
        double tau = hps_provision_fastest(&d.job, INFINITY, d.units, d.scratch);
        if (tau < best) {
            adopt(plan, &of, &d);
            best = tau;
        }
        end(&d);
    }
    if (isinf(best)) adopt_none(plan);
    return best;
}
