#include "jobs/interference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/say.h"
#include "jobs/trace/gavel_impl.h"
#include "jobs/trace/trace_impl.h"

enum { ROUNDS = 60 };           /* of alternating least squares  */

/* ---- prediction ---- */

/* One side's factors, given the other's: a row's, or (`across`) a column's. */
static void fit(const double *share, int n, const double *other, double *mine, bool across)
{
    for (int i = 0; i < n; i++) {
        double up = 0, down = 0;
        for (int k = 0; k < n; k++) {
            double s = across ? share[k * n + i] : share[i * n + k];
            if (isnan(s)) continue;
            up -= other[k] * log(s);
            down += other[k] * other[k];
        }
        if (down > 0) mine[i] = fmax(up / down, 0);
    }
}

void hps_interference_predict(double *share, int n)
{
    double *sensitive = hps_mem_new((size_t)n, sizeof(double));
    double *pressure = hps_mem_new((size_t)n, sizeof(double));

    for (int i = 0; i < n; i++) {
        sensitive[i] = 1;
        pressure[i] = 0.5;
    }
    for (int r = 0; r < ROUNDS; r++) {
        fit(share, n, pressure, sensitive, false);
        fit(share, n, sensitive, pressure, true);
    }
    for (int i = 0; i < n * n; i++)
        if (isnan(share[i])) share[i] = exp(-sensitive[i / n] * pressure[i % n]);
    hps_mem_free(sensitive);
    hps_mem_free(pressure);
}

/* How far off predictions are: every second measured pair from the others. */
static double error_of(const double *share, int n)
{
    double *half = hps_mem_new((size_t)n * (size_t)n, sizeof *half), sum = 0;
    int held = 0, seen = 0;

    for (int i = 0; i < n * n; i++)
        half[i] = !isnan(share[i]) && seen++ % 2 == 0 ? share[i] : NAN;
    double *from = hps_mem_new((size_t)n * (size_t)n, sizeof *from);
    memcpy(from, half, (size_t)n * (size_t)n * sizeof *from);
    hps_interference_predict(half, n);
    for (int i = 0; i < n * n; i++) {
        if (isnan(share[i]) || !isnan(from[i])) continue;
        sum += fabs(half[i] - share[i]);
        held++;
    }
    hps_mem_free(from);
    hps_mem_free(half);
    return held > 0 ? sum / held : NAN;
}

/* ---- Gavel's table ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The kinds of jobs that are measured on one GPU of any type. */
static void add_models(struct hps_interference *x, size_t *cap, const json_t *of)
{
    const char *key;
    json_t *beside;

    json_object_foreach((json_t *)of, key, beside) {
        struct hps_gavel_key k;
        if (!hps_gavel_key(&k, key) || k.units != 1) continue;
        char *name = hps_mem_print("%.*s", k.nname, k.name);
        bool known = false;
        for (int i = 0; i < x->n; i++)
            known = known || strcmp(x->model[i], name) == 0;
        if (known) {
            hps_mem_free(name);
            continue;
        }
        hps_mem_grow(&x->model, cap, (size_t)x->n + 1, sizeof *x->model);
        x->model[x->n++] = name;
    }
}

/* The share of its speed that a keeps beside b; NAN: the table has no such pair, or one that does
 * not fit the memory of one GPU, which says nothing of a node. */
static double measured(const json_t *of, const char *a, const char *b)
{
    char *row = hps_mem_print("('%s', 1)", a), *column = hps_mem_print("('%s', 1)", b);
    const json_t *beside = json_object_get(of, row);
    double alone = json_number_value(json_object_get(beside, "null"));
    double own = json_number_value(json_array_get(json_object_get(beside, column), 0));

    hps_mem_free(row);
    hps_mem_free(column);
    return alone > 0 && own > 0 ? fmin(own / alone, 1) : NAN;
}

static void fill(struct hps_interference *x, const json_t *of, int type)
{
    double *share = x->share + (size_t)type * (size_t)x->n * (size_t)x->n;

    for (int i = 0; i < x->n * x->n; i++) {
        share[i] = measured(of, x->model[i / x->n], x->model[i % x->n]);
        x->measured[type] += !isnan(share[i]);
    }
    x->error[type] = error_of(share, x->n);
    hps_interference_predict(share, x->n);
}

static void allot(struct hps_interference *x, int T)
{
    size_t all = (size_t)T * (size_t)x->n * (size_t)x->n;

    x->T = T;
    x->share = hps_mem_new(all, sizeof *x->share);
    x->measured = hps_mem_new((size_t)T, sizeof *x->measured);
    x->error = hps_mem_new((size_t)T, sizeof *x->error);
    for (size_t i = 0; i < all; i++)
        x->share[i] = 1;
    for (int t = 0; t < T; t++)
        x->error[t] = NAN;
}

enum hps_status hps_interference_load(struct hps_interference **out, const char *path,
                                      const struct hps_job_pool *pool)
{
    int type[HPS_GAVEL_TYPES];
    json_t *tree = NULL;
    size_t cap = 0;
    enum hps_status st = hps_trace_types(pool, hps_gavel_types, HPS_GAVEL_TYPES, type);

    *out = NULL;
    if (!st) st = hps_gavel_load(&tree, path);
    if (st) return st;
    struct hps_interference *x = *out = hps_mem_new(1, sizeof *x);
    for (int i = 0; i < HPS_GAVEL_TYPES; i++)
        add_models(x, &cap, json_object_get(tree, hps_gavel_types[i]));
    if (x->n > 0) qsort(x->model, (size_t)x->n, sizeof *x->model, by_name);
    allot(x, pool->T);
    for (int i = 0; i < HPS_GAVEL_TYPES; i++)
        if (type[i] >= 0) fill(x, json_object_get(tree, hps_gavel_types[i]), type[i]);
    json_decref(tree);
    return HPS_OK;
}

void hps_interference_free(struct hps_interference *x)
{
    if (!x) return;
    for (int i = 0; i < x->n; i++)
        hps_mem_free(x->model[i]);
    hps_mem_free(x->model);
    hps_mem_free(x->share);
    hps_mem_free(x->measured);
    hps_mem_free(x->error);
    hps_mem_free(x);
}

/* ---- use ---- */

int hps_interference_model(const struct hps_interference *x, const char *name)
{
    char **found = x && x->n > 0 ? bsearch(&name, x->model, (size_t)x->n, sizeof *x->model, by_name)
                                 : NULL;

    return found ? (int)(found - x->model) : -1;
}

double hps_interference_share(const struct hps_interference *x, int type, int model, int beside)
{
    if (!x || model < 0 || beside < 0) return 1;
    return x->share[((size_t)type * (size_t)x->n + (size_t)model) * (size_t)x->n + (size_t)beside];
}
