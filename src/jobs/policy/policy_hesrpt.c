/* policy_hesrpt.c - heSRPT (Berg, Vesilo, Harchol-Balter 2020): where all jobs are present and k
 * units are k^q times as fast as one, the mean completion time is least if, with m jobs left, the
 * i-th largest has
 *     (i / m)^(1 / (1 - q)) - ((i - 1) / m)^(1 / (1 - q))
 * of the pool. q is fitted by least squares to the logarithms of all jobs' configurations, each job
 * with its own speed of one unit; units of several types count by how fast they are on average.
 * Whole units by the largest remainder; what is left over goes where it gains the most. */
#include <math.h>

#include "base/mem.h"
#include "jobs/grow.h"
#include "jobs/policy.h"
#include "jobs/settle.h"

#define STEEPEST 0.99           /* of q: at 1 the smallest job has all */

struct shares {
    const struct hps_job_view *view;
    double *value;              /* (T) of a unit of each type: its speed over the best's, a mean */
    double pool;                /* that all units are worth                                      */
    double q;
};

/* ---- what units are worth ---- */

/* Units of all types as so many of the best. */
static double value_of(const struct shares *s, const struct hps_job_config *c)
{
    double value = 0;

    for (int i = 0; i < c->nparts; i++)
        value += s->value[c->part[i].type] * c->part[i].units;
    return value;
}

/* Adds to each type how fast a unit of it is for this job at best, over the fastest. */
static void add_speeds(const struct hps_job_view *view, int i, double *speed, double *sum,
                       int *count)
{
    const struct hps_pool_job *job = view->job[i].job;
    int T = view->pool->T;
    double best = 0;

    for (int t = 0; t < T; t++)
        speed[t] = 0;
    for (int c = 0; c < job->nconfig; c++) {
        const struct hps_job_config *x = &job->config[c];
        int t = x->part[0].type;
        if (x->nparts == 1) speed[t] = fmax(speed[t], 1 / (x->seconds * x->part[0].units));
        if (x->nparts == 1) best = fmax(best, speed[t]);
    }
    for (int t = 0; t < T; t++) {
        if (speed[t] <= 0) continue;
        sum[t] += speed[t] / best;
        count[t]++;
    }
}

static void find_values(struct shares *s)
{
    const struct hps_job_pool *pool = s->view->pool;
    size_t T = (size_t)pool->T;
    double *speed = hps_mem_new(T, sizeof *speed);
    int *count = hps_mem_new(T, sizeof *count);

    s->value = hps_mem_new(T, sizeof *s->value);
    for (int i = 0; i < s->view->n && T > 1; i++)
        add_speeds(s->view, i, speed, s->value, count);
    for (int t = 0; t < pool->T; t++) {
        s->value[t] = count[t] > 0 ? s->value[t] / count[t] : 1;
        s->pool += s->value[t] * pool->type[t].units;
    }
    hps_mem_free(count);
    hps_mem_free(speed);
}

/* The common slope of log speed over log units, each job about its own mean. */
static void fit(struct shares *s)
{
    double over = 0, under = 0;

    for (int i = 0; i < s->view->n; i++) {
        const struct hps_pool_job *job = s->view->job[i].job;
        double x = 0, y = 0, xx = 0, xy = 0;
        for (int c = 0; c < job->nconfig; c++) {
            double u = log(value_of(s, &job->config[c])), v = -log(job->config[c].seconds);
            x += u;
            y += v;
            xx += u * u;
            xy += u * v;
        }
        over += xy - x * y / job->nconfig;
        under += xx - x * x / job->nconfig;
    }
    s->q = under > 1e-9 ? fmin(fmax(over / under, 0), STEEPEST) : 0;
}

/* ---- who has how much ---- */

/* Work that is left: seconds on a unit of the best type. */
static double size_of(const struct shares *s, int i)
{
    int c = hps_job_smallest(s->view, i);
    const struct hps_job_config *x = hps_job_config_of(&s->view->job[i], c);

    return x ? s->view->job[i].left * x->seconds * pow(value_of(s, x), s->q) : 0;
}

/* Whole units of each job, in the order of jobs: the largest first. */
static int *whole_units(const struct shares *s, const int *order)
{
    int m = s->view->n, *units = hps_mem_new((size_t)m, sizeof *units);
    double *rest = hps_mem_new((size_t)m, sizeof *rest), p = 1 / (1 - s->q);
    long long left = (long long)floor(s->pool + 1e-9);

    for (int k = 0; k < m; k++) {
        double share = s->pool * (pow((k + 1.0) / m, p) - pow((double)k / m, p));
        units[order[k]] = (int)floor(share + 1e-9);
        rest[order[k]] = units[order[k]] - share;
        left -= units[order[k]];
    }
    int *next = hps_job_order(s->view, rest);
    for (int k = 0; k < m && left > 0; k++, left--)
        units[next[k]]++;
    hps_mem_free(next);
    hps_mem_free(rest);
    return units;
}

/* The fastest configuration within so many units that there is room for. */
static int best_within(const struct shares *s, int i, int units, const struct hps_job_room *room)
{
    const struct hps_pool_job *job = s->view->job[i].job;
    int best = -1;

    for (int c = 0; c < job->nconfig; c++) {
        const struct hps_job_config *x = &job->config[c];
        if (value_of(s, x) > units * (1 + 1e-9) || !hps_job_room_fits(room, x)) continue;
        if (best < 0 || x->seconds < job->config[best].seconds) best = c;
    }
    return best;
}

static void share_out(const struct shares *s, struct hps_job_decision *d)
{
    int n = s->view->n;
    double *key = hps_mem_new((size_t)n, sizeof *key);
    struct hps_job_room room = hps_job_room_of(s->view->pool);

    for (int i = 0; i < n; i++)
        key[i] = -size_of(s, i);
    int *order = hps_job_order(s->view, key), *units = whole_units(s, order);
    for (int k = n - 1; k >= 0; k--) {
        int i = order[k];
        d->config[i] = best_within(s, i, units[i], &room);
        if (d->config[i] >= 0)
            hps_job_room_take(&room, hps_job_config_of(&s->view->job[i], d->config[i]));
    }
    hps_job_grow(&(struct hps_job_growth){ .worth = hps_job_marginal_gain, .view = s->view },
                 &room, d);
    hps_mem_free(units);
    hps_mem_free(order);
    hps_job_room_done(&room);
    hps_mem_free(key);
}

static void decide(struct hps_job_view *view, const struct hps_policy_facts *facts,
                   struct hps_job_decision *d)
{
    struct shares s = { .view = view };

    find_values(&s);
    fit(&s);
    share_out(&s, d);
    hps_mem_free(s.value);
    hps_job_settle(view, &facts->opt, d);
}

const struct hps_policy hps_policy_hesrpt = { .name = "hesrpt",
                                              .help = "shares by size, for speeds of k^q",
                                              .decide = decide };
