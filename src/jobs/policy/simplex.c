#include <assert.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "jobs/policy/simplex_impl.h"

#define CLOSE 1e-10             /* what counts as nothing */
#define NUDGE 1e-9

struct hps_simplex hps_simplex_new(int m, int n)
{
    size_t cells = (size_t)(m + 1) * (size_t)(n + 1);

    return (struct hps_simplex){ m, n, hps_mem_new(cells, sizeof(double)) };
}

void hps_simplex_done(struct hps_simplex *s)
{
    hps_mem_free(s->at);
}

static double *row_of(const struct hps_simplex *s, int i)
{
    return s->at + (size_t)i * (size_t)(s->n + 1);
}

/* Each b a little larger, by a different amount. */
static void nudge(struct hps_simplex *s)
{
    for (int i = 0; i < s->m; i++) {
        double *b = &row_of(s, i)[s->n];
        *b += NUDGE * fmax(*b, 1) * (1 + hps_rng_real(hps_rng_key(1, "simplex"), (uint64_t)i));
    }
}

/* The column that gains the most by each unit; -1: none gains. */
static int entering(const struct hps_simplex *s)
{
    const double *c = row_of(s, s->m);
    int best = -1;

    for (int j = 0; j < s->n; j++)
        if (c[j] > CLOSE && (best < 0 || c[j] > c[best])) best = j;
    return best;
}

/* The row that stops it first. */
static int leaving(const struct hps_simplex *s, int j)
{
    double least = INFINITY;
    int best = -1;

    for (int i = 0; i < s->m; i++) {
        const double *row = row_of(s, i);
        if (row[j] <= CLOSE || row[s->n] / row[j] >= least) continue;
        least = row[s->n] / row[j];
        best = i;
    }
    assert(best >= 0);
    return best;
}

/* Column j and row i change places: the table holds those that are not in the basis alone. */
static void pivot(struct hps_simplex *s, int i, int j)
{
    double *from = row_of(s, i), by = 1 / from[j];
    int width = s->n + 1;

    for (int k = 0; k < width; k++)
        from[k] *= by;
    from[j] = by;
    for (int r = 0; r <= s->m; r++) {
        double *row = row_of(s, r), f = row[j];
        if (r == i || f == 0) continue;
        row[j] = 0;
        for (int k = 0; k < width; k++)
            row[k] -= f * from[k];
    }
}

double hps_simplex_solve(struct hps_simplex *s, double *x)
{
    int *column = hps_mem_new((size_t)s->n, sizeof *column);    /* what stands in each, in rows: */
    int *row = hps_mem_new((size_t)s->m, sizeof *row);          /* variables, then slacks        */

    for (int j = 0; j < s->n; j++)
        column[j] = j;
    for (int i = 0; i < s->m; i++)
        row[i] = s->n + i;
    nudge(s);
    for (int j; (j = entering(s)) >= 0;) {
        int i = leaving(s, j), was = row[i];
        pivot(s, i, j);
        row[i] = column[j];
        column[j] = was;
    }
    for (int j = 0; j < s->n; j++)
        x[j] = 0;
    for (int i = 0; i < s->m; i++)
        if (row[i] < s->n) x[row[i]] = row_of(s, i)[s->n];
    double best = -row_of(s, s->m)[s->n];
    hps_mem_free(row);
    hps_mem_free(column);
    return best;
}
