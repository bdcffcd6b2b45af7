/* policy_prices.c - prices of units over the time to come, from the dual of all that the jobs that
 * are here have left to do (jobs/price.h); who gets units now follows from what each job's work is
 * worth under them.
 *
 * A configuration is worth its rate times the job's mu for each second. Of configurations that fit
 * the pool together those of the greatest worth run: a knapsack, exact for one type of units. For
 * more, each job takes what exceeds its price most, the ones that exceed it most first. What runs
 * is worth more than what would have to start: a start's share of the time until the next decision.
 * Jobs that are still to come are not known: they will want a part of the pool, the more the later.
 *
 * Where the makespan is to be least, a job loses nothing until all could have ended. Where rho is,
 * jobs are worth what they are for the mean completion time: due times by shares made it worse.
 *
 * Jobs that can run in one way only need no prices where all fit; where there are very many of
 * them, those with the least unit-seconds left come first, since their ends are bought at the
 * lowest prices. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "jobs/policy.h"
#include "jobs/price_ascent.h"

/* The grid of time, and the search on it. */
enum { INTERVALS = 40, STEPS = 200, WORK = 4000000 };
enum { MANY = 200 };            /* rigid jobs, for which there are no prices */
#define FIRST_S 30.0
#define GROWTH 1.16
#define LEAD 0.3
#define SMOOTH 0.05
/* Of the pool, what jobs will want that are still to come; how fast they do. */
#define LATER 0.4
#define COME_S 1000.0
/* A decision lasts this long at most, on average. */
#define LASTS_S 300.0

/* ---- prices ---- */

static struct hps_prices *grid(int T, int n)
{
    double edge[INTERVALS + 1] = { 0 }, seconds = FIRST_S;

    for (int i = 0; i < n; i++, seconds *= GROWTH * INTERVALS / n)
        edge[i + 1] = edge[i] + seconds;
    return hps_prices_new(T, n, edge);
}

/* The part of the pool that later jobs will want in the end: the less, the longer none has come. */
static double part_of_later(const struct hps_job_view *view)
{
    double last = 0;

    for (int j = 0; j < view->n; j++)
        last = fmax(last, view->job[j].job->arrive_s);
    return LATER * exp(-(view->now_s - last) / COME_S);
}

static double *units_of(const struct hps_prices *p, const struct hps_job_view *view)
{
    double *units = hps_mem_new((size_t)p->I * (size_t)p->T, sizeof *units);
    double later = part_of_later(view);

    for (int i = 0; i < p->I; i++)
        for (int t = 0; t < p->T; t++)
            units[i * p->T + t] = view->pool->type[t].units *
                                  (1 - later * (1 - exp(-p->edge[i] / COME_S)));
    return units;
}

/* What a unit is worth at first sight: all jobs' seconds over all units, less as jobs end. */
static void guess(struct hps_prices *p, const struct hps_job_view *view)
{
    for (int i = 0; i < p->I; i++)
        for (int t = 0; t < p->T; t++)
            p->price[i * p->T + t] = 0.3 * view->n / hps_job_pool_units(view->pool) /
                                     (1 + p->edge[i] / 2000);
}

/* Steps that a decision of so many jobs can afford. */
static int steps_of(const struct hps_price_market *m, int intervals)
{
    double configs = 1;

    for (int j = 0; j < m->n; j++)
        configs += m->job[j]->n;
    double steps = WORK / (configs * intervals);
    return steps < 2 ? 2 : steps > STEPS ? STEPS : (int)steps;
}

/* In how many seconds all could have ended: each alone, and all by the least unit-seconds that they
 * have left, on all units. */
static double soonest_end(const struct hps_job_view *view)
{
    double longest = 0, area = 0;

    for (int j = 0; j < view->n; j++) {
        const struct hps_job_state *job = &view->job[j];
        longest = fmax(longest, job->left * hps_pool_job_best_s(job->job));
        area += job->left * hps_pool_job_least_unit_s(job->job);
    }
    return fmax(longest, area / hps_job_pool_units(view->pool));
}

/* What all of each job's work is worth; now (T) [out]: the prices of now. */
static double *worths(const struct hps_job_view *view, enum hps_objective o, double *now)
{
    double due_s = o == HPS_MAKESPAN ? soonest_end(view) : 0;
    int n = view->n, intervals = n > 1000 ? INTERVALS / 4 : INTERVALS;
    struct hps_prices *p = grid(view->pool->T, intervals);
    double *mu = hps_mem_new((size_t)n, sizeof *mu), *units = units_of(p, view);
    struct hps_price_market m = { n, hps_mem_new((size_t)n, sizeof *m.job), units };

    for (int j = 0; j < n; j++) {
        m.job[j] = hps_price_job_new(view->job[j].job, view->pool);
        m.job[j]->from_s = 0;
        m.job[j]->left = view->job[j].left;
        m.job[j]->weight = view->job[j].job->priority;
        m.job[j]->due_s = due_s;
    }
    guess(p, view);
    struct hps_price_ascent opt = { .steps = steps_of(&m, intervals), .lead = LEAD,
                                    .smooth = SMOOTH };
    hps_price_ascend(p, &m, &opt, mu);
    memcpy(now, p->price, (size_t)p->T * sizeof *now);
    for (int j = 0; j < n; j++)
        hps_price_job_free(m.job[j]);
    hps_mem_free(m.job);
    hps_mem_free(units);
    hps_prices_free(p);
    return mu;
}

/* Of the time until the next decision, the share that a start of a job takes that would take so
 * many seconds for all of its work. */
static double start_share(const struct hps_job_view *view, const struct hps_job_state *job,
                          double seconds)
{
    double lasts = fmin(LASTS_S, job->left * seconds + view->restart_s);

    return fmin(1, view->restart_s / lasts);
}

/* What configuration c is worth to a job for a second, from now until the next decision. One that
 * runs would have to start anew for another configuration, and also when it is stopped, later. */
static double worth(const struct hps_job_view *view, int j, double mu, int c)
{
    const struct hps_job_state *job = &view->job[j];
    double seconds = job->job->config[c].seconds, value = mu / seconds;

    if (job->config < 0) return value;
    if (c != job->config) value *= 1 - start_share(view, job, seconds);
    return value + mu * start_share(view, job, job->job->config[job->config].seconds) /
                       job->job->config[job->config].seconds;
}

/* ---- one type: a knapsack ---- */

static void fill_knapsack(const struct hps_job_view *view, const double *mu,
                          struct hps_job_decision *d)
{
    size_t row = (size_t)view->pool->type[0].units + 1, n = (size_t)view->n;
    double *best = hps_mem_new(row, sizeof *best);
    short *choice = hps_mem_new(n * row, sizeof *choice);

    for (size_t j = 0; j < n; j++) {
        const struct hps_pool_job *job = view->job[j].job;
        for (size_t u = row; u-- > 0;) {
            double was = best[u];
            choice[j * row + u] = -1;
            for (int c = 0; c < job->nconfig; c++) {
                size_t need = (size_t)job->config[c].part[0].units;
                if (need > u) continue;
                double with = best[u - need] + worth(view, (int)j, mu[j], c);
                if (with <= was) continue;
                was = with;
                choice[j * row + u] = (short)c;
            }
            best[u] = was;
        }
    }
    for (size_t j = n, u = row - 1; j-- > 0;) {
        d->config[j] = choice[j * row + u];
        if (d->config[j] < 0) continue;
        u -= (size_t)view->job[j].job->config[d->config[j]].part[0].units;
    }
    hps_mem_free(best);
    hps_mem_free(choice);
}

/* ---- several types: by what exceeds the price ---- */

static double price_of(const struct hps_job_config *c, const double *now)
{
    double sum = 0;

    for (int k = 0; k < c->nparts; k++)
        sum += now[c->part[k].type] * c->part[k].units;
    return sum;
}

/* The configuration that exceeds its price most, of those for which there is room; -1: none. */
static int best_config(const struct hps_job_view *view, int j, double mu, const double *now,
                       struct hps_job_room *room, double *excess)
{
    const struct hps_pool_job *job = view->job[j].job;
    int best = -1;

    *excess = -INFINITY;
    for (int c = 0; c < job->nconfig; c++) {
        double x = worth(view, j, mu, c) - price_of(&job->config[c], now);
        if (x <= *excess || !hps_job_room_fits(room, &job->config[c])) continue;
        *excess = x;
        best = c;
    }
    return best;
}

static void fill_by_excess(const struct hps_job_view *view, const double *mu, const double *now,
                           struct hps_job_decision *d)
{
    struct hps_job_room room = hps_job_room_of(view->pool);
    double *key = hps_mem_new((size_t)view->n, sizeof *key);

    for (int j = 0; j < view->n; j++) {
        best_config(view, j, mu[j], now, &room, &key[j]);
        key[j] = -key[j];
    }
    int *order = hps_job_order(view, key);
    for (int k = 0; k < view->n; k++) {
        double excess;
        int j = order[k], c = best_config(view, j, mu[j], now, &room, &excess);
        d->config[j] = c;
        if (c >= 0) hps_job_room_take(&room, &view->job[j].job->config[c]);
    }
    hps_mem_free(order);
    hps_mem_free(key);
    hps_job_room_done(&room);
}

/* ---- jobs that run in one way only ---- */

static bool all_rigid(const struct hps_job_view *view)
{
    for (int j = 0; j < view->n; j++)
        if (view->job[j].job->nconfig > 1) return false;
    return true;
}

/* Gives each job what it asked for, if that fits. */
static bool all_fit(const struct hps_job_view *view, struct hps_job_decision *d)
{
    struct hps_job_room room = hps_job_room_of(view->pool);
    int n = 0;

    while (n < view->n && hps_job_room_take(&room, &view->job[n].job->config[0]))
        d->config[n++] = 0;
    hps_job_room_done(&room);
    return n == view->n;
}

static void fill_rigid(const struct hps_job_view *view, struct hps_job_decision *d)
{
    double *key = hps_mem_new((size_t)view->n, sizeof *key);

    for (int j = 0; j < view->n; j++) {
        const struct hps_job_state *job = &view->job[j];
        const struct hps_job_config *c = &job->job->config[0];
        double seconds = job->left * c->seconds + (job->config < 0 ? view->restart_s : 0);
        key[j] = seconds * hps_config_units(c) / job->job->priority;
    }
    hps_job_give_asked(view, key, true, d);
    hps_mem_free(key);
}

static void decide(struct hps_job_view *view, const struct hps_policy_facts *facts,
                   struct hps_job_decision *d)
{
    if (view->n == 0) return;
    if (all_rigid(view)) {
        if (all_fit(view, d)) return;
        if (view->n > MANY) {
            fill_rigid(view, d);
            return;
        }
    }
    double *now = hps_mem_new((size_t)view->pool->T, sizeof *now);
    double *mu = worths(view, facts->opt.objective, now);
    if (view->pool->T == 1)
        fill_knapsack(view, mu, d);
    else
        fill_by_excess(view, mu, now, d);
    hps_mem_free(mu);
    hps_mem_free(now);
}

const struct hps_policy hps_policy_prices = { .name = "prices",
                                              .help = "by prices of units over the time to come",
                                              .decide = decide };
