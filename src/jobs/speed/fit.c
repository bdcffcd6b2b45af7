#include "jobs/fit.h"

#include <math.h>
#include <stdbool.h>

#include "base/mem.h"
#include "jobs/nnls.h"

struct found {
    int n;
    size_t cap;
    struct hps_job_config *config;
};

static bool has(const struct found *f, const struct hps_job_config *config)
{
    for (int i = 0; i < f->n; i++)
        if (hps_config_same(&f->config[i], config)) return true;
    return false;
}

static void add(struct found *f, const struct hps_job_config *config)
{
    if (has(f, config)) return;
    hps_mem_grow(&f->config, &f->cap, (size_t)f->n + 1, sizeof *f->config);
    f->config[f->n++] = *config;
}

static bool alone_on(const struct hps_job_config *c, int type)
{
    return c->nparts == 1 && c->part[0].type == type;
}

static void add_fitted(struct found *f, const struct hps_speed_fit *fit, int type, int units)
{
    struct hps_job_config c = { .nparts = 1, .part = { { type, units } } };

    c.seconds = hps_speed_of(fit, units);
    add(f, &c);
}

/* Where a configuration was measured it has the fit's seconds too: a run's own are noisy. */
static void add_type(struct found *f, int type, int n, const struct hps_job_config *measured,
                     int max)
{
    double *units = hps_mem_new((size_t)n * 2, sizeof *units), *seconds = units + n;
    int points = 0;

    for (int i = 0; i < n; i++) {
        if (!alone_on(&measured[i], type)) continue;
        units[points] = measured[i].part[0].units;
        seconds[points++] = measured[i].seconds;
    }
    if (points > 0) {
        struct hps_speed_fit fit = hps_speed_fit(points, units, seconds);
        for (int k = 1; k < max; k *= 2)
            add_fitted(f, &fit, type, k);
        if (max > 0) add_fitted(f, &fit, type, max);
        for (int i = 0; i < points; i++)
            if (units[i] <= max) add_fitted(f, &fit, type, (int)units[i]);
    }
    hps_mem_free(units);
}

static bool fits(const struct hps_job_config *c, const struct hps_job_pool *pool)
{
    for (int k = 0; k < c->nparts; k++)
        if (c->part[k].type < 0 || c->part[k].units > pool->type[c->part[k].type].units)
            return false;
    return true;
}

/* The geometric mean of all runs in a configuration of several types. */
static void add_mixed(struct found *f, int at, int n, const struct hps_job_config *measured)
{
    struct hps_job_config c = measured[at];
    double sum = 0;
    int same = 0;

    for (int i = 0; i < n; i++) {
        if (!hps_config_same(&measured[i], &c)) continue;
        sum += log(measured[i].seconds);
        same++;
    }
    c.seconds = exp(sum / same);
    add(f, &c);
}

int hps_fit_configs(struct hps_job_config **config, int n, const struct hps_job_config *measured,
                    const struct hps_job_pool *pool, int max)
{
    struct found f = { 0 };

    for (int t = 0; t < pool->T; t++)
        add_type(&f, t, n, measured, pool->type[t].units < max ? pool->type[t].units : max);
    for (int i = 0; i < n; i++)
        if (measured[i].nparts > 1 && fits(&measured[i], pool)) add_mixed(&f, i, n, measured);
    hps_configs_sort(f.config, f.n);
    *config = f.config;
    return f.n;
}
