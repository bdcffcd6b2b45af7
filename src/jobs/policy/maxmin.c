#include "jobs/maxmin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "jobs/policy/simplex_impl.h"

enum { CELLS = 2048, CLASSES = 16 };    /* of classes x types at most; classes at least */

/* What a job is worth on each type by the fraction of its time. */
struct rows {
    const struct hps_job_view *view;
    int T, T2;                  /* T and the units: numbers of a row      */
    double *at;                 /* (n, T2) worth; the units, of whole jobs */
};

void hps_job_on_types(const struct hps_job_view *view, int i, int *config)
{
    const struct hps_pool_job *job = view->job[i].job;
    const struct hps_job_config *asked = &job->config[job->asked];
    int units = hps_config_units(asked);

    for (int t = 0; t < view->pool->T; t++)
        config[t] = -1;
    if (asked->nparts > 1) {
        config[asked->part[0].type] = job->asked;
        return;
    }
    for (int c = 0; c < job->nconfig; c++) {
        const struct hps_job_config *x = &job->config[c];
        int t = x->part[0].type;
        if (x->nparts > 1 || x->part[0].units != units || units > view->pool->type[t].units)
            continue;
        if (config[t] < 0 || x->seconds < job->config[config[t]].seconds) config[t] = c;
    }
}

/* ---- what fractions are worth ---- */

static double *row_of(const struct rows *r, int i)
{
    return r->at + (size_t)i * (size_t)r->T2;
}

static void fill_row(const struct rows *r, int i, int *config)
{
    const struct hps_pool_job *job = r->view->job[i].job;
    const struct hps_job_pool *pool = r->view->pool;
    double all = hps_job_pool_units(pool), equal = 0, *row = row_of(r, i);
    int units = hps_config_units(&job->config[job->asked]);

    hps_job_on_types(r->view, i, config);
    for (int t = 0; t < r->T; t++) {
        row[t] = config[t] < 0 ? 0 : 1 / job->config[config[t]].seconds;
        equal += row[t] * pool->type[t].units / all;
    }
    for (int t = 0; t < r->T && equal > 0; t++)
        row[t] *= units / (job->priority * equal);
    row[r->T] = units;
}

static struct rows rows_of(const struct hps_job_view *view)
{
    struct rows r = { view, view->pool->T, view->pool->T + 1, NULL };
    int *config = hps_mem_new((size_t)r.T, sizeof *config);

    r.at = hps_mem_new((size_t)view->n * (size_t)r.T2, sizeof *r.at);
    for (int i = 0; i < view->n; i++)
        fill_row(&r, i, config);
    hps_mem_free(config);
    return r;
}

/* ---- one type ---- */

/* All rise alike until they have all of their time, or nothing is left. */
static double fill_one(const struct rows *r, double *x)
{
    int n = r->view->n, rising = n;
    double *key = hps_mem_new((size_t)n, sizeof *key), slope = 0, least = INFINITY;
    double left = r->view->pool->type[0].units;

    for (int i = 0; i < n; i++) {
        key[i] = row_of(r, i)[0];
        if (key[i] > 0) slope += row_of(r, i)[1] / key[i];
    }
    int *order = hps_job_order(r->view, key);
    for (int k = 0; k < n; k++, rising--) {     /* the next to have all of its time */
        int i = order[k];
        if (key[i] <= 0) continue;
        double level = fmin(slope > 0 ? left / slope : INFINITY, key[i]);
        x[i] = level / key[i];
        least = fmin(least, level);
        left -= x[i] * row_of(r, i)[1];
        slope -= row_of(r, i)[1] / key[i];
    }
    hps_mem_free(order);
    hps_mem_free(key);
    return least;
}

/* ---- several types ---- */

/* Jobs as classes of equal rows: a representative of each, and their number. */
struct classes {
    int n;
    int *of;                    /* (jobs) the class of each */
    int *one, *count;           /* (n)                      */
};

/* A row as whole numbers, in steps of a factor; two that are equal there are of one class. */
struct keyed {
    int job, T2;
    const int *key;             /* (T2) */
};

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;

    for (int t = 0; t < x->T2; t++)
        if (x->key[t] != y->key[t]) return x->key[t] < y->key[t] ? -1 : 1;
    return x->job - y->job;
}

static void fill_key(const struct rows *r, int i, double step, int *key)
{
    const double *row = row_of(r, i);

    for (int t = 0; t < r->T2; t++)
        key[t] = row[t] > 0 ? (int)lround(log(row[t]) / step) : -1000000000;
}

static struct classes classes_by(const struct rows *r, double step)
{
    size_t n = (size_t)r->view->n;
    struct classes c = { 0, hps_mem_new(n, sizeof(int)), hps_mem_new(n, sizeof(int)),
                         hps_mem_new(n, sizeof(int)) };
    struct keyed *k = hps_mem_new(n, sizeof *k);
    int *key = hps_mem_new(n * (size_t)r->T2, sizeof *key);

    for (int i = 0; i < r->view->n; i++) {
        fill_key(r, i, step, key + (size_t)i * (size_t)r->T2);
        k[i] = (struct keyed){ i, r->T2, key + (size_t)i * (size_t)r->T2 };
    }
    qsort(k, n, sizeof *k, by_key);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || memcmp(k[i].key, k[i - 1].key, (size_t)r->T2 * sizeof *key) != 0)
            c.one[c.n++] = k[i].job;
        c.of[k[i].job] = c.n - 1;
        c.count[c.n - 1]++;
    }
    hps_mem_free(key);
    hps_mem_free(k);
    return c;
}

static void classes_done(struct classes *c)
{
    hps_mem_free(c->of);
    hps_mem_free(c->one);
    hps_mem_free(c->count);
}

/* Rows count as equal when they are so to 1e-6; further apart where there would be too many. */
static struct classes find_classes(const struct rows *r)
{
    int most = CELLS / r->T > CLASSES ? CELLS / r->T : CLASSES;
    struct classes c = classes_by(r, 1e-6);

    for (double step = 1.0 / 64; c.n > most && step < 64; step *= 2) {
        classes_done(&c);
        c = classes_by(r, step);
    }
    return c;
}

/* Variables: X of each class and type, then the least worth. Rows: that worth against each class's,
 * the time of each class, the units of each type. */
static struct hps_simplex program_of(const struct rows *r, const struct classes *c)
{
    int K = c->n, T = r->T, n = K * T + 1;
    struct hps_simplex s = hps_simplex_new(2 * K + T, n);
    size_t width = (size_t)n + 1;

    for (int k = 0; k < K; k++) {
        const double *row = row_of(r, c->one[k]);
        double *worth = s.at + (size_t)k * width, *time = s.at + (size_t)(K + k) * width;
        worth[K * T] = 1;
        time[n] = 1;
        for (int t = 0; t < T; t++) {
            worth[k * T + t] = -row[t];
            time[k * T + t] = 1;
            s.at[(size_t)(2 * K + t) * width + (size_t)(k * T + t)] =
                row[t] > 0 ? c->count[k] * row[T] : 0;
        }
    }
    for (int t = 0; t < T; t++)
        s.at[(size_t)(2 * K + t) * width + (size_t)n] = r->view->pool->type[t].units;
    s.at[(size_t)(2 * K + T) * width + (size_t)(K * T)] = 1;
    return s;
}

static double solve(const struct rows *r, double *x)
{
    struct classes c = find_classes(r);
    struct hps_simplex s = program_of(r, &c);
    double *y = hps_mem_new((size_t)s.n, sizeof *y), best = hps_simplex_solve(&s, y);

    for (int i = 0; i < r->view->n; i++)
        for (int t = 0; t < r->T; t++)
            x[(size_t)i * (size_t)r->T + (size_t)t] =
                row_of(r, i)[t] > 0 ? y[c.of[i] * r->T + t] : 0;
    hps_mem_free(y);
    hps_simplex_done(&s);
    classes_done(&c);
    return best;
}

double hps_job_maxmin(const struct hps_job_view *view, double *x)
{
    struct rows r = rows_of(view);

    for (size_t i = 0; i < (size_t)view->n * (size_t)r.T; i++)
        x[i] = 0;
    double best = view->n == 0 ? 0 : r.T == 1 ? fill_one(&r, x) : solve(&r, x);
    hps_mem_free(r.at);
    return best;
}
