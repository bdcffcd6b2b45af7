#include "jobs/nnls.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The normal equations, G = A'A and h = A'b, whose columns were scaled to length 1. */
struct problem {
    int n;
    double G[HPS_NNLS_MAX][HPS_NNLS_MAX], h[HPS_NNLS_MAX];
};

/* z of the free columns alone, without a sign: Gauss with pivots; a column that depends on others
 * gets 0. Others are 0. */
static void solve(const struct problem *p, const bool *free, double *z)
{
    double a[HPS_NNLS_MAX][HPS_NNLS_MAX + 1];
    int at[HPS_NNLS_MAX], k = 0;

    memset(z, 0, (size_t)p->n * sizeof *z);
    for (int j = 0; j < p->n; j++)
        if (free[j]) at[k++] = j;
    for (int i = 0; i < k; i++) {
        for (int j = 0; j < k; j++)
            a[i][j] = p->G[at[i]][at[j]];
        a[i][k] = p->h[at[i]];
    }
    for (int c = 0; c < k; c++) {               /* symmetric, >= 0: the diagonal is a pivot */
        if (a[c][c] < 1e-12) {
            for (int j = 0; j <= k; j++)
                a[c][j] = 0;
            continue;
        }
        for (int i = 0; i < k; i++) {
            double share = a[i][c] / a[c][c];
            if (i == c || share == 0) continue;
            for (int j = c; j <= k; j++)
                a[i][j] -= share * a[c][j];
        }
    }
    for (int c = 0; c < k; c++)
        if (a[c][c] >= 1e-12) z[at[c]] = a[c][k] / a[c][c];
}

/* The column of most use that is not free yet; -1: none is of any. */
static int best_column(const struct problem *p, const bool *free, const double *x)
{
    double most = 1e-12;
    int best = -1;

    for (int j = 0; j < p->n; j++) {
        double w = p->h[j];
        for (int i = 0; i < p->n; i++)
            w -= p->G[j][i] * x[i];
        if (free[j] || w <= most) continue;
        most = w;
        best = j;
    }
    return best;
}

/* From x towards z, as far as no coefficient is negative; those that come to 0 are free no more.
 * True: z was reached. */
static bool walk(const struct problem *p, bool *free, double *x, const double *z)
{
    double far = 1;

    for (int j = 0; j < p->n; j++)
        if (free[j] && z[j] <= 0) far = fmin(far, x[j] > 0 ? x[j] / (x[j] - z[j]) : 0);
    for (int j = 0; j < p->n; j++) {
        if (!free[j]) continue;
        x[j] += far * (z[j] - x[j]);
        if (far < 1 && z[j] <= 0 && x[j] <= 1e-14) {
            x[j] = 0;
            free[j] = false;
        }
    }
    return far == 1;
}

static double residual(int m, int n, const double *A, const double *b, const double *x)
{
    double sum = 0;

    for (int i = 0; i < m; i++) {
        double r = b[i];
        for (int j = 0; j < n; j++)
            r -= A[i * n + j] * x[j];
        sum += r * r;
    }
    return sqrt(sum);
}

double hps_nnls(int m, int n, const double *A, const double *b, double *x)
{
    struct problem p = { .n = n };
    double length[HPS_NNLS_MAX] = { 0 }, z[HPS_NNLS_MAX], size = 0;
    bool free[HPS_NNLS_MAX] = { false };

    assert(m >= 1 && n >= 1 && n <= HPS_NNLS_MAX);
    for (int i = 0; i < m; i++)
        size += b[i] * b[i];
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            length[j] += A[i * n + j] * A[i * n + j];
    for (int j = 0; j < n; j++) {
        double scale = sqrt(length[j] * size);
        for (int i = 0; i < m && scale > 0; i++)
            p.h[j] += A[i * n + j] * b[i] / scale;
        for (int k = 0; k < n; k++)
            for (int i = 0; i < m && length[j] * length[k] > 0; i++)
                p.G[j][k] += A[i * n + j] * A[i * n + k] / sqrt(length[j] * length[k]);
    }
    memset(x, 0, (size_t)n * sizeof *x);
    /* each round frees one more column; 3 n rounds are more than are ever needed */
    for (int round = 0, j; round < 3 * n && (j = best_column(&p, free, x)) >= 0; round++) {
        free[j] = true;
        do
            solve(&p, free, z);
        while (!walk(&p, free, x, z));
    }
    for (int j = 0; j < n; j++)
        x[j] *= length[j] > 0 ? sqrt(size / length[j]) : 0;
    return residual(m, n, A, b, x);
}

/* ---- the speed model ---- */

static void terms(double units, double *row)
{
    row[0] = 1 / units;
    row[1] = 1;
    row[2] = (units - 1) / units;
    row[3] = units;
}

struct hps_speed_fit hps_speed_fit(int n, const double *units, const double *seconds)
{
    enum { POINTS = 64 };
    double A[POINTS * HPS_SPEED_TERMS], b[POINTS];
    struct hps_speed_fit fit;

    if (n > POINTS) n = POINTS;
    for (int i = 0; i < n; i++) {
        terms(units[i], A + i * HPS_SPEED_TERMS);
        for (int j = 0; j < HPS_SPEED_TERMS; j++)
            A[i * HPS_SPEED_TERMS + j] /= seconds[i];
        b[i] = 1;
    }
    hps_nnls(n, HPS_SPEED_TERMS, A, b, fit.x);
    return fit;
}

double hps_speed_of(const struct hps_speed_fit *fit, double units)
{
    double row[HPS_SPEED_TERMS], sum = 0;

    terms(units, row);
    for (int j = 0; j < HPS_SPEED_TERMS; j++)
        sum += row[j] * fit->x[j];
    return sum;
}
