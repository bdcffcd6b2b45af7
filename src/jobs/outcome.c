#include "jobs/outcome.h"

#include <math.h>
#include <stdbool.h>

#include "base/mem.h"
#include "base/page.h"
#include "base/sort.h"

struct hps_job_outcomes *hps_outcomes_new(const char *policy, const struct hps_workload *w,
                                          const struct hps_job_pool *pool)
{
    struct hps_job_outcomes *o = hps_mem_new(1, sizeof *o);

    o->policy = policy;
    o->workload = w;
    o->pool = pool;
    o->job = hps_mem_new((size_t)w->n, sizeof *o->job);
    for (int i = 0; i < w->n; i++)
        o->job[i].start_s = o->job[i].end_s = NAN;
    return o;
}

void hps_outcomes_free(struct hps_job_outcomes *o)
{
    if (!o) return;
    for (size_t i = 0; i < o->nspan; i++)
        hps_mem_free(o->span[i].at.part);
    hps_mem_free(o->job);
    hps_mem_free(o->span);
    hps_mem_free(o);
}

void hps_outcomes_span(struct hps_job_outcomes *o, int job, int config, double begin_s,
                       double end_s)
{
    const struct hps_job_config *c = &o->workload->job[job].config[config];

    hps_mem_grow(&o->span, &o->span_cap, o->nspan + 1, sizeof *o->span);
    o->span[o->nspan++] = (struct hps_job_span){ job, config, begin_s, end_s, { 0 } };
    o->job[job].usd += (end_s - begin_s) / 3600 * hps_outcomes_usd_hour(o, c);
}

double hps_outcomes_usd_hour(const struct hps_job_outcomes *o, const struct hps_job_config *c)
{
    double usd = 0;

    for (int i = 0; i < c->nparts; i++)
        usd += c->part[i].units * o->pool->type[c->part[i].type].usd_hour;
    return usd;
}

char *hps_outcomes_units(const struct hps_job_outcomes *o, const struct hps_job_config *c)
{
    struct hps_page text = { 0 };

    for (int k = 0; k < c->nparts; k++)
        hps_page_add(&text, "%s%d %s", k > 0 ? " + " : "", c->part[k].units,
                     o->pool->type[c->part[k].type].name);
    return text.at;
}

/* ---- figures ---- */

/* Jobs in the system over time, as a running integral: at[k] is when their number changed, sum[k]
 * the integral up to then. */
struct crowd {
    size_t n;
    double *at, *sum;
};

static struct crowd crowd_of(const struct hps_job_outcomes *o)
{
    size_t n = (size_t)o->workload->n, in = 0, out = 0, left = 0;
    struct crowd c = { 0, hps_mem_new(2 * n, sizeof *c.at), hps_mem_new(2 * n, sizeof *c.sum) };
    double *end = hps_mem_new(n, sizeof *end), sum = 0, last = 0;

    for (size_t i = 0; i < n; i++)
        if (isfinite(o->job[i].end_s)) end[left++] = o->job[i].end_s;
    hps_sort_ascending(end, left);
    while (in < n || out < left) {
        bool comes = in < n && (out == left || o->workload->job[in].arrive_s <= end[out]);
        double now = comes ? o->workload->job[in].arrive_s : end[out];
        sum += (now - last) * (double)(in - out);
        in += comes;
        out += !comes;
        c.at[c.n] = last = now;
        c.sum[c.n++] = sum;
    }
    hps_mem_free(end);
    return c;
}

static double crowd_until(const struct crowd *c, double at)
{
    size_t next = hps_sort_first_above(c->at, c->n, at);

    return c->sum[next > 0 ? next - 1 : 0];
}

/* Finish-time fairness (Themis, NSDI'20): the completion time over that alone on the share of the
 * pool that the mean number of jobs leaves each, at best. */
static double rho_of(const struct hps_job_outcomes *o, const struct crowd *crowd, int i)
{
    const struct hps_pool_job *job = &o->workload->job[i];
    double jct = o->job[i].end_s - job->arrive_s;
    double jobs = jct > 0 ? (crowd_until(crowd, o->job[i].end_s) -
                             crowd_until(crowd, job->arrive_s)) / jct : 1;

    return jct / (fmax(jobs, 1) * hps_pool_job_best_s(job));
}

static double jain_of(double sum, double squares, int n)
{
    return squares > 0 ? sum * sum / (n * squares) : NAN;
}

struct hps_job_figures hps_outcomes_figures(const struct hps_job_outcomes *o)
{
    struct hps_job_figures f = { .mean_jct_s = NAN, .median_jct_s = NAN, .p99_jct_s = NAN };
    struct crowd crowd = crowd_of(o);
    double *jct = hps_mem_new((size_t)o->workload->n, sizeof *jct);
    double all = 0, speeds = 0, squares = 0;

    for (int i = 0; i < o->workload->n; i++) {
        const struct hps_pool_job *job = &o->workload->job[i];
        const struct hps_job_outcome *x = &o->job[i];
        f.deadlines += isfinite(job->deadline_s);
        f.usd += x->usd;
        f.resizes += x->resized;
        f.moves += x->moved;
        f.lost_to_resizes_s += x->restart_s;
        if (!isfinite(x->end_s)) continue;
        double rho = rho_of(o, &crowd, i);
        f.met += isfinite(job->deadline_s) && x->end_s <= job->deadline_s;
        f.makespan_s = fmax(f.makespan_s, x->end_s);
        f.rho_max = fmax(f.rho_max, rho);
        speeds += 1 / rho;
        squares += 1 / (rho * rho);
        all += jct[f.ended++] = x->end_s - job->arrive_s;
    }
    if (f.ended > 0) {
        f.mean_jct_s = all / f.ended;
        f.median_jct_s = hps_sort_median(jct, (size_t)f.ended);
        f.p99_jct_s = jct[(int)ceil(0.99 * f.ended) - 1];
        f.jain = jain_of(speeds, squares, f.ended);
    }
    hps_mem_free(jct);
    hps_mem_free(crowd.at);
    hps_mem_free(crowd.sum);
    return f;
}
