#include "plan/policy.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/policy_cell.h"

#define CELL 24                 /* size of a cell, for each direction */
#define HEAD 32                 /* of the head                       */

/* Offsets of the weights in `param`: of both directions, then of the head. */
struct place {
    size_t x[2], h[2], b[2], w1, w2, b1, w3, b3, all;
};

static struct place places(const struct hps_policy *p)
{
    size_t F = (size_t)p->F, H = (size_t)p->H, K = (size_t)p->K, D = (size_t)p->D, n = 0;
    size_t width = (size_t)hps_cell_gates(p->cell) * H;
    struct place at;

    for (int dir = 0; dir < 2; dir++) {
        at.x[dir] = n;
        at.h[dir] = n += F * width;
        at.b[dir] = n += H * width;
        n += width;
    }
    at.w1 = n;
    at.w2 = n += 2 * H * K;
    at.b1 = n += 2 * H * K;
    at.w3 = n += K;
    at.b3 = n += K * D;
    at.all = n + D;
    return at;
}

struct hps_policy *hps_policy_shape(enum hps_cell cell, int F, int H, int K, int D)
{
    struct hps_policy *p = hps_mem_new(1, sizeof *p);
    size_t n;

    *p = (struct hps_policy){ .cell = cell, .F = F, .H = H, .K = K, .D = D };
    n = places(p).all;
    p->nparam = (int)n;
    p->param = hps_mem_new(4 * n, sizeof *p->param);
    p->grad = p->param + n;
    p->mean = p->param + 2 * n;
    p->square = p->param + 3 * n;
    return p;
}

static void draw(struct hps_policy *p, size_t from, size_t to, int inputs, uint64_t key)
{
    for (size_t a = from; a < to; a++)
        p->param[a] = (2 * hps_rng_real(key, a) - 1) / sqrt(inputs);
}

struct hps_policy *hps_policy_new(enum hps_cell cell, int features, int outputs, uint64_t key)
{
    struct hps_policy *p = hps_policy_shape(cell, features, CELL, HEAD, outputs);
    struct place at = places(p);

    for (int dir = 0; dir < 2; dir++) {
        draw(p, at.x[dir], at.h[dir], p->F, key);
        draw(p, at.h[dir], at.b[dir], p->H, key);
        for (int n = 0; n < p->H && cell == HPS_CELL_LSTM; n++)
            p->param[at.b[dir] + (size_t)(p->H + n)] = 1; /* remember, to begin with */
    }
    draw(p, at.w1, at.b1, 4 * p->H, key);
    draw(p, at.w3, at.b3, 100 * p->K, key);
    return p;
}

void hps_policy_free(struct hps_policy *p)
{
    if (!p) return;
    hps_mem_free(p->param);
    hps_mem_free(p);
}

struct hps_policy_pass {
    struct hps_policy *p;
    int L, T;
    const double *x;            /* (L, T, F) of the last run                     */
    double *gate[2], *state[2]; /* (L, T, gates * H), (L, T, H)                  */
    double *h, *m, *y;          /* (L, T, 2H), (L, 2H), (L, T, K) after the tanh */
    double *dh, *dm, *dy;       /* their gradients                               */
    double *pool, *dpool;       /* (L, K) the contribution of m to the head      */
    double *dgate, *dstate;     /* (L, T, gates * H), (T, H)                     */
};

struct hps_policy_pass *hps_policy_pass_new(struct hps_policy *p, int L, int T)
{
    struct hps_policy_pass *a = hps_mem_new(1, sizeof *a);
    size_t n = (size_t)L * (size_t)T, H = (size_t)p->H, K = (size_t)p->K;
    size_t width = (size_t)hps_cell_gates(p->cell) * H;

    *a = (struct hps_policy_pass){ .p = p, .L = L, .T = T };
    for (int dir = 0; dir < 2; dir++) {
        a->gate[dir] = hps_mem_new(n * width, sizeof(double));
        a->state[dir] = hps_mem_new(n * H, sizeof(double));
    }
    a->h = hps_mem_new(4 * n * H, sizeof(double));
    a->dh = a->h + 2 * n * H;
    a->m = hps_mem_new(4 * (size_t)L * H, sizeof(double));
    a->dm = a->m + 2 * (size_t)L * H;
    a->y = hps_mem_new(2 * n * K, sizeof(double));
    a->dy = a->y + n * K;
    a->pool = hps_mem_new(2 * (size_t)L * K, sizeof(double));
    a->dpool = a->pool + (size_t)L * K;
    a->dgate = hps_mem_new(n * width, sizeof(double));
    a->dstate = hps_mem_new((size_t)T * H, sizeof(double));
    return a;
}

void hps_policy_pass_free(struct hps_policy_pass *a)
{
    if (!a) return;
    for (int dir = 0; dir < 2; dir++) {
        hps_mem_free(a->gate[dir]);
        hps_mem_free(a->state[dir]);
    }
    hps_mem_free(a->h);
    hps_mem_free(a->m);
    hps_mem_free(a->y);
    hps_mem_free(a->pool);
    hps_mem_free(a->dgate);
    hps_mem_free(a->dstate);
    hps_mem_free(a);
}

/* A row-major matrix as it is stored, and whether its transpose takes part in a product. */
struct matrix {
    const double *at;
    int rows, columns;
    bool transpose;
};

static struct matrix plain(const double *at, int rows, int columns)
{
    return (struct matrix){ at, rows, columns, false };
}

static struct matrix transposed(const double *at, int rows, int columns)
{
    return (struct matrix){ at, rows, columns, true };
}

/* C += A B, of the matrices or their transposes; with `anew` C = A B. */
static void product(struct matrix A, struct matrix B, bool anew, double *C)
{
    int m = A.transpose ? A.columns : A.rows, k = A.transpose ? A.rows : A.columns;
    int n = B.transpose ? B.rows : B.columns;

    cblas_dgemm(CblasRowMajor, A.transpose ? CblasTrans : CblasNoTrans,
                B.transpose ? CblasTrans : CblasNoTrans, m, n, k, 1, A.at, A.columns, B.at,
                B.columns, anew ? 0 : 1, C, n);
}

static struct hps_cell_run run_of(const struct hps_policy_pass *a, int dir)
{
    const struct hps_policy *p = a->p;

    return (struct hps_cell_run){ .cell = p->cell,
                                  .L = a->L,
                                  .T = a->T,
                                  .H = p->H,
                                  .stride = 2 * p->H,
                                  .back = dir == 1,
                                  .w = p->param + places(p).h[dir],
                                  .gate = a->gate[dir],
                                  .state = a->state[dir],
                                  .h = a->h + dir * p->H };
}

/* to (rows, n) = each row the vector `from` (n). */
static void repeat(double *to, const double *from, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++)
        memcpy(to + r * n, from, n * sizeof *to);
}

/* sum (n) += the rows of from (rows, n). */
static void add_rows(double *sum, const double *from, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t a = 0; a < n; a++)
            sum[a] += from[r * n + a];
}

/* m (L, n) = the mean over types of h (L, T, n). */
static void mean_over_types(double *m, const double *h, int L, int T, int n)
{
    memset(m, 0, (size_t)L * (size_t)n * sizeof *m);
    for (int l = 0; l < L; l++)
        add_rows(m + (size_t)l * (size_t)n, h + (size_t)l * (size_t)T * (size_t)n, (size_t)T,
                 (size_t)n);
    for (size_t a = 0; a < (size_t)L * (size_t)n; a++)
        m[a] /= T;
}

void hps_policy_forward(struct hps_policy_pass *a, const double *x, double *out)
{
    const struct hps_policy *p = a->p;
    struct place at = places(p);
    int rows = a->L * a->T, width = hps_cell_gates(p->cell) * p->H;

    a->x = x;
    for (int dir = 0; dir < 2; dir++) {
        struct hps_cell_run r = run_of(a, dir);
        repeat(r.gate, p->param + at.b[dir], (size_t)rows, (size_t)width);
        product(plain(x, rows, p->F), plain(p->param + at.x[dir], p->F, width), false, r.gate);
        hps_cell_forward(&r);
    }
    mean_over_types(a->m, a->h, a->L, a->T, 2 * p->H);
    repeat(a->pool, p->param + at.b1, (size_t)a->L, (size_t)p->K);
    product(plain(a->m, a->L, 2 * p->H), plain(p->param + at.w2, 2 * p->H, p->K), false, a->pool);
    for (int l = 0; l < a->L; l++)
        repeat(a->y + (size_t)l * (size_t)a->T * (size_t)p->K,
               a->pool + (size_t)l * (size_t)p->K, (size_t)a->T, (size_t)p->K);
    product(plain(a->h, rows, 2 * p->H), plain(p->param + at.w1, 2 * p->H, p->K), false, a->y);
    for (size_t n = 0; n < (size_t)rows * (size_t)p->K; n++)
        a->y[n] = tanh(a->y[n]);
    repeat(out, p->param + at.b3, (size_t)rows, (size_t)p->D);
    product(plain(a->y, rows, p->K), plain(p->param + at.w3, p->K, p->D), false, out);
}

static void head_backward(struct hps_policy_pass *a, const double *dout)
{
    const struct hps_policy *p = a->p;
    struct place at = places(p);
    int rows = a->L * a->T, H2 = 2 * p->H;
    size_t K = (size_t)p->K, T = (size_t)a->T;

    add_rows(p->grad + at.b3, dout, (size_t)rows, (size_t)p->D);
    product(transposed(a->y, rows, p->K), plain(dout, rows, p->D), false, p->grad + at.w3);
    product(plain(dout, rows, p->D), transposed(p->param + at.w3, p->K, p->D), true, a->dy);
    for (size_t n = 0; n < (size_t)rows * K; n++)
        a->dy[n] *= 1 - a->y[n] * a->y[n];
    product(transposed(a->h, rows, H2), plain(a->dy, rows, p->K), false, p->grad + at.w1);
    product(plain(a->dy, rows, p->K), transposed(p->param + at.w1, H2, p->K), true, a->dh);
    memset(a->dpool, 0, (size_t)a->L * K * sizeof *a->dpool);
    for (size_t l = 0; l < (size_t)a->L; l++)
        add_rows(a->dpool + l * K, a->dy + l * T * K, T, K);
    add_rows(p->grad + at.b1, a->dpool, (size_t)a->L, K);
    product(transposed(a->m, a->L, H2), plain(a->dpool, a->L, p->K), false, p->grad + at.w2);
    product(plain(a->dpool, a->L, p->K), transposed(p->param + at.w2, H2, p->K), true, a->dm);
    for (int l = 0; l < a->L; l++)
        for (int t = 0; t < a->T; t++)
            cblas_daxpy(H2, 1.0 / a->T, a->dm + (size_t)l * (size_t)H2, 1,
                        a->dh + ((size_t)l * T + (size_t)t) * (size_t)H2, 1);
}

void hps_policy_backward(struct hps_policy_pass *a, const double *dout)
{
    const struct hps_policy *p = a->p;
    struct place at = places(p);
    int rows = a->L * a->T, width = hps_cell_gates(p->cell) * p->H;

    head_backward(a, dout);
    for (int dir = 0; dir < 2; dir++) {
        struct hps_cell_run r = run_of(a, dir);
        hps_cell_backward(&r, a->dh + dir * p->H, a->dgate, p->grad + at.h[dir], a->dstate);
        add_rows(p->grad + at.b[dir], a->dgate, (size_t)rows, (size_t)width);
        product(transposed(a->x, rows, p->F), plain(a->dgate, rows, width), false,
                p->grad + at.x[dir]);
    }
}

void hps_policy_step(struct hps_policy *p, double rate)
{
    double norm = cblas_dnrm2(p->nparam, p->grad, 1), cut = norm > 1 ? 1 / norm : 1;
    double b1 = 1 - pow(0.9, (double)++p->steps), b2 = 1 - pow(0.999, (double)p->steps);

    for (int a = 0; a < p->nparam; a++) {
        double g = cut * p->grad[a];
        p->mean[a] = 0.9 * p->mean[a] + 0.1 * g;
        p->square[a] = 0.999 * p->square[a] + 0.001 * g * g;
        p->param[a] += rate * p->mean[a] / b1 / (sqrt(p->square[a] / b2) + 1e-8);
        p->grad[a] = 0;
    }
}
