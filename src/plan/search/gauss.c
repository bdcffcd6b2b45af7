#include "plan/gauss.h"

#include <assert.h>
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/quit.h"

#define JITTER 1e-6             /* on the diagonal: plans almost alike stay apart in rounding */

static const double grid_a[] = { 1, 4, 16, 64 }, grid_b[] = { 0, 1, 4, 16 };

struct hps_gauss {
    int L, max, n;
    int ready;                  /* rows of the factor that are there */
    double a, b, mean, height;
    double *weight;             /* (L) */
    int *type;                  /* (max, L)  */
    double *H, *D;              /* (max, max) distances, below the diagonal   */
    double *factor;             /* (max, max) lower, by columns   */
    double *trial;              /* the same, of a and b that are tried */
    double *coefficient;        /* (max) factor^-T factor^-1 (value - mean)  */
    double *row;                /* (max)  */
    double *columns;            /* (max, capacity) correlations of the plans to predict */
    size_t capacity;
};

static size_t at(const struct hps_gauss *g, int i, int j)
{
    return (size_t)j * (size_t)g->max + (size_t)i;
}

struct hps_gauss *hps_gauss_new(int L, int max, const double *weight)
{
    struct hps_gauss *g = hps_mem_new(1, sizeof *g);
    size_t n = (size_t)max;

    *g = (struct hps_gauss){ .L = L, .max = max, .a = grid_a[1], .b = grid_b[1], .height = 1 };
    g->weight = hps_mem_new((size_t)L + 2 * n, sizeof *g->weight);
    g->coefficient = g->weight + L;
    g->row = g->coefficient + n;
    memcpy(g->weight, weight, (size_t)L * sizeof *weight);
    g->type = hps_mem_new(n * (size_t)L, sizeof *g->type);
    g->H = hps_mem_new(4 * n * n, sizeof *g->H);
    g->D = g->H + n * n;
    g->factor = g->D + n * n;
    g->trial = g->factor + n * n;
    return g;
}

void hps_gauss_free(struct hps_gauss *g)
{
    if (!g) return;
    hps_mem_free(g->weight);
    hps_mem_free(g->type);
    hps_mem_free(g->H);
    hps_mem_free(g->columns);
    hps_mem_free(g);
}

int hps_gauss_count(const struct hps_gauss *g)
{
    return g->n;
}

const int *hps_gauss_plan(const struct hps_gauss *g, int i)
{
    return g->type + (size_t)i * (size_t)g->L;
}

static double layers_apart(const struct hps_gauss *g, const int *x, const int *y)
{
    double sum = 0;

    for (int l = 0; l < g->L; l++)
        sum += x[l] != y[l] ? g->weight[l] : 0;
    return sum;
}

static double boundaries_apart(const struct hps_gauss *g, const int *x, const int *y)
{
    int sum = 0;

    for (int l = 1; l < g->L; l++)
        sum += (x[l] != x[l - 1]) != (y[l] != y[l - 1]);
    return g->L > 1 ? (double)sum / (g->L - 1) : 0;
}

static double alike(double a, double b, double H, double D)
{
    return exp(-a * H - b * D);
}

bool hps_gauss_add(struct hps_gauss *g, const int *type)
{
    size_t bytes = (size_t)g->L * sizeof *type;

    for (int i = 0; i < g->n; i++)
        if (memcmp(hps_gauss_plan(g, i), type, bytes) == 0) return false;
    if (g->n == g->max) return false;
    memcpy(g->type + (size_t)g->n * (size_t)g->L, type, bytes);
    for (int j = 0; j < g->n; j++) {
        g->H[at(g, g->n, j)] = layers_apart(g, type, hps_gauss_plan(g, j));
        g->D[at(g, g->n, j)] = boundaries_apart(g, type, hps_gauss_plan(g, j));
    }
    g->n++;
    return true;
}

void hps_gauss_keep(struct hps_gauss *g, int n, const int *keep)
{
    for (int i = 0; i < n; i++) {
        memmove(g->type + (size_t)i * (size_t)g->L, hps_gauss_plan(g, keep[i]),
                (size_t)g->L * sizeof *g->type);
        for (int j = 0; j < i; j++) {
            g->H[at(g, i, j)] = g->H[at(g, keep[i], keep[j])];
            g->D[at(g, i, j)] = g->D[at(g, keep[i], keep[j])];
        }
    }
    g->n = n;
    g->ready = 0;
}

/* All of the factor for a and b, into `to`; false when rounding made the matrix indefinite. */
static bool factorise(const struct hps_gauss *g, double a, double b, double *to)
{
    for (int j = 0; j < g->n; j++) {
        to[at(g, j, j)] = 1 + JITTER;
        for (int i = j + 1; i < g->n; i++)
            to[at(g, i, j)] = alike(a, b, g->H[at(g, i, j)], g->D[at(g, i, j)]);
    }
    return LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', g->n, to, g->max) == 0;
}

static double mean_of(const double *x, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum / n;
}

/* Twice the negative log-likelihood of the values under a factor, up to a constant, at the most
 * likely variance. */
static double unlikely(struct hps_gauss *g, const double *factor, const double *value)
{
    double mean = mean_of(value, g->n), sum = 0;

    for (int i = 0; i < g->n; i++)
        g->row[i] = value[i] - mean;
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, g->n, factor, g->max, g->row,
                1);
    for (int i = 0; i < g->n; i++)
        sum += 2 * log(factor[at(g, i, i)]);
    double square = cblas_ddot(g->n, g->row, 1, g->row, 1);
    return g->n * log(square / g->n + 1e-300) + sum;
}

void hps_gauss_fit(struct hps_gauss *g, const double *value)
{
    double min = INFINITY;

    for (size_t i = 0; i < sizeof grid_a / sizeof *grid_a; i++)
        for (size_t j = 0; j < sizeof grid_b / sizeof *grid_b; j++) {
            if (!factorise(g, grid_a[i], grid_b[j], g->trial)) continue;
            double x = unlikely(g, g->trial, value);
            if (!(x < min)) continue;
            double *swap = g->factor;
            min = x;
            g->a = grid_a[i];
            g->b = grid_b[j];
            g->factor = g->trial;
            g->trial = swap;
            g->ready = g->n;
        }
}

/* One more row of the factor, from those above it: what a plan adds costs no new factor. */
static void grow(struct hps_gauss *g)
{
    int n = g->ready++;

    for (int j = 0; j < n; j++)
        g->row[j] = alike(g->a, g->b, g->H[at(g, n, j)], g->D[at(g, n, j)]);
    if (n > 0)
        cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, g->factor, g->max,
                    g->row, 1);
    double variance = 1 + JITTER - cblas_ddot(n, g->row, 1, g->row, 1);
    for (int j = 0; j < n; j++)
        g->factor[at(g, n, j)] = g->row[j];
    g->factor[at(g, n, n)] = sqrt(variance > JITTER ? variance : JITTER);
}

void hps_gauss_solve(struct hps_gauss *g, const double *value)
{
    assert(g->n > 0);
    while (g->ready < g->n)
        grow(g);
    g->mean = mean_of(value, g->n);
    for (int i = 0; i < g->n; i++)
        g->coefficient[i] = value[i] - g->mean;
    if (LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'L', g->n, 1, g->factor, g->max, g->coefficient, g->max) !=
        0)
        HPS_DIE("dpotrs refused a factor of %d rows", g->n);
    double square = 0;
    for (int i = 0; i < g->n; i++)
        square += g->coefficient[i] * (value[i] - g->mean);
    g->height = square > 0 ? square / g->n : 0;
}

void hps_gauss_predict(struct hps_gauss *g, int n, const int *type, double *mean, double *deviation)
{
    size_t rows = (size_t)g->n;

    hps_mem_grow(&g->columns, &g->capacity, (size_t)n * rows, sizeof *g->columns);
    for (int c = 0; c < n; c++) {
        const int *x = type + (size_t)c * (size_t)g->L;
        double *column = g->columns + (size_t)c * rows;
        for (int i = 0; i < g->n; i++)
            column[i] = alike(g->a, g->b, layers_apart(g, x, hps_gauss_plan(g, i)),
                              boundaries_apart(g, x, hps_gauss_plan(g, i)));
        mean[c] = g->mean + cblas_ddot(g->n, column, 1, g->coefficient, 1);
    }
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, g->n, n, 1,
                g->factor, g->max, g->columns, g->n);
    for (int c = 0; c < n; c++) {
        const double *column = g->columns + (size_t)c * rows;
        double variance = 1 - cblas_ddot(g->n, column, 1, column, 1);
        deviation[c] = sqrt(g->height * (variance > 2 * JITTER ? variance : 0));
    }
}
