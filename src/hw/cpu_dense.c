/* cpu_dense.c - fully connected layers: one BLAS call for each thread's part, the rest fused. */
#include <cblas.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "hw/cpu.h"

#define BLOCK_FLOATS 262144     /* a block of rows: large for its GEMM, near for what follows */
#define NS_A_FLOP 0.02
#define GRAIN 8                 /* rows a thread's part is cut at */

struct fc {
    enum hps_act act;
    size_t B, in, out;
    struct hps_tensor x, y, dy, dx;
    const float *w, *b, *pre;
    float *keep;                /* forward: pre */
    bool add;
    float *dw, *db, *partial;   /* partial (nthread, out): column sums of each part */
};

/* c (m, n) = a (m, k) b (k, n) + beta c; `ta`, `tb`: a, b are stored transposed. */
static void gemm(bool ta, bool tb, size_t m, size_t n, size_t k, const float *a, size_t lda,
                 const float *b, size_t ldb, float beta, float *c, size_t ldc)
{
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
                (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
}

static size_t block_rows(size_t width)
{
    size_t rows = BLOCK_FLOATS / (width ? width : 1) / GRAIN * GRAIN;
    return rows > 8 * GRAIN ? rows : 8 * GRAIN;
}

static double flops(const struct fc *f)
{
    return 2.0 * (double)f->B * (double)f->in * (double)f->out;
}

static void forward_rows(const struct fc *f, size_t first, size_t rows)
{
    const float *x = f->x.data + first * f->x.ld;
    float *y = f->y.data + first * f->y.ld;

    if (f->out == 1)            /* a GEMM of width 1 is several times slower */
        cblas_sgemv(CblasRowMajor, CblasNoTrans, (int)rows, (int)f->in, 1, x, (int)f->x.ld, f->w,
                    1, 0, y, (int)f->y.ld);
    else
        gemm(false, false, rows, f->out, f->in, x, f->x.ld, f->w, f->out, 0, y, f->y.ld);
    hps_cpu_act(f->act, rows, f->out, y, f->y.ld, f->b, f->keep ? f->keep + first * f->out : NULL);
}

static void forward_part(const void *job, int t, int n)
{
    const struct fc *f = job;
    size_t last = hps_cpu_cut(f->B, GRAIN, t + 1, n), step = block_rows(f->out);

    for (size_t r = hps_cpu_cut(f->B, GRAIN, t, n); r < last; r += step)
        forward_rows(f, r, last - r < step ? last - r : step);
}

void hps_cpu_fc_forward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                        const float *w, const float *b, struct hps_tensor y, float *pre)
{
    struct fc f = { .act = act, .B = (size_t)B, .in = (size_t)x.width, .out = (size_t)y.width,
                    .x = x, .y = y, .w = w, .b = b, .keep = act == HPS_ACT_GELU ? pre : NULL };

    hps_cpu_spread(dev, flops(&f) * NS_A_FLOP, forward_part, &f);
}

HPS_CLONES static void outer(size_t rows, size_t n, const float *d, size_t ldd,
                             const float *restrict w, float *restrict dx, size_t ld, bool add)
{
    for (size_t r = 0; r < rows; r++, dx += ld) {
        float v = d[r * ldd];
        if (add)
            for (size_t c = 0; c < n; c++)
                dx[c] += v * w[c];
        else
            for (size_t c = 0; c < n; c++)
                dx[c] = v * w[c];
    }
}

static void back_rows(const struct fc *f, size_t first, size_t rows, float *db)
{
    float *dy = f->dy.data + first * f->dy.ld;
    const float *y = f->act == HPS_ACT_NONE ? NULL : f->y.data + first * f->y.ld;
    const float *pre = f->pre ? f->pre + first * f->out : NULL;

    hps_cpu_act_back(f->act, rows, f->out, y, f->y.ld, pre, dy, f->dy.ld, db);
    if (!f->dx.data)
        return;
    float *dx = f->dx.data + first * f->dx.ld;
    if (f->out == 1)
        outer(rows, f->in, dy, f->dy.ld, f->w, dx, f->dx.ld, f->add);
    else
        gemm(false, true, rows, f->in, f->out, dy, f->dy.ld, f->w, f->out, f->add ? 1 : 0, dx,
             f->dx.ld);
}

static void back_part(const void *job, int t, int n)
{
    const struct fc *f = job;
    size_t last = hps_cpu_cut(f->B, GRAIN, t + 1, n), step = block_rows(f->out);
    float *db = f->partial + (size_t)t * f->out;

    memset(db, 0, f->out * sizeof *db);
    for (size_t r = hps_cpu_cut(f->B, GRAIN, t, n); r < last; r += step)
        back_rows(f, r, last - r < step ? last - r : step, db);
}

/* Cut dw into a grid of n parts with the shortest edges: so many across its rows. */
static int grid_rows(size_t in, size_t out, int n)
{
    int best = 1;
    double least = (double)in + (double)out / n;

    for (int p = 2; p <= n; p++) {
        double edge = (double)in / p + (double)out / (n / p);
        if (n % p == 0 && edge < least) {
            least = edge;
            best = p;
        }
    }
    return best;
}

/* My rectangle of dw += x^T dy, over all rows of the batch: nobody else adds to it. */
static void weight_part(const void *job, int t, int n)
{
    const struct fc *f = job;
    int tall = grid_rows(f->in, f->out, n), wide = n / tall;
    size_t i = hps_cpu_cut(f->in, 16, t / wide, tall);
    size_t ni = hps_cpu_cut(f->in, 16, t / wide + 1, tall) - i;
    size_t o = hps_cpu_cut(f->out, 16, t % wide, wide);
    size_t no = hps_cpu_cut(f->out, 16, t % wide + 1, wide) - o;
    float *dw = f->dw + i * f->out + o;

    if (ni > 0 && no > 0 && f->out == 1)
        cblas_sgemv(CblasRowMajor, CblasTrans, (int)f->B, (int)ni, 1, f->x.data + i,
                    (int)f->x.ld, f->dy.data, (int)f->dy.ld, 1, dw, 1);
    else if (ni > 0 && no > 0)
        gemm(true, false, ni, no, f->B, f->x.data + i, f->x.ld, f->dy.data + o, f->dy.ld, 1, dw,
             f->out);
    if (t > 0 || !f->db)
        return;
    for (int p = 0; p < n; p++)
        for (size_t c = 0; c < f->out; c++)
            f->db[c] += f->partial[(size_t)p * f->out + c];
}

void hps_cpu_fc_backward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                         const float *w, struct hps_tensor y, const float *pre,
                         struct hps_tensor dy, struct hps_tensor dx, bool add, float *dw,
                         float *db)
{
    struct fc f = { .act = act, .B = (size_t)B, .in = (size_t)x.width, .out = (size_t)dy.width,
                    .x = x, .y = y, .dy = dy, .dx = dx, .w = w, .pre = pre, .add = add, .dw = dw,
                    .db = db };

    if (B == 0)
        return;
    f.partial = hps_cpu_scratch(dev, (size_t)dev->nthread * f.out * sizeof(float));
    hps_cpu_spread(dev, flops(&f) * NS_A_FLOP, back_part, &f);
    hps_cpu_spread(dev, flops(&f) * NS_A_FLOP, weight_part, &f);
}

static void product_part(const void *job, int t, int n)
{
    const struct fc *f = job;
    size_t r = hps_cpu_cut(f->B, GRAIN, t, n), rows = hps_cpu_cut(f->B, GRAIN, t + 1, n) - r;

    if (rows > 0)
        gemm(false, false, rows, f->out, f->in, f->x.data + r * f->in, f->in, f->w, f->out, 1,
             f->y.data + r * f->out, f->out);
}

double hps_cpu_gemm_s(struct hps_dev *dev, int m, int n, int k, int repeat)
{
    size_t M = (size_t)m, N = (size_t)n, K = (size_t)k, nr = repeat > 0 ? (size_t)repeat : 1;
    float *all = hps_mem_new(M * K + K * N + M * N, sizeof *all);
    double *took = hps_mem_new(nr, sizeof *took);
    struct fc f = { .B = M, .in = K, .out = N, .x.data = all, .w = all + M * K,
                    .y.data = all + M * K + K * N };

    for (size_t i = 0; i < M * K + K * N; i++)
        all[i] = (float)(i % 7) - 3;            /* no zeros and no denormals to run fast over */
    hps_cpu_spread(dev, flops(&f) * NS_A_FLOP, product_part, &f);
    for (size_t i = 0; i < nr; i++) {
        double start = hps_now_s();
        hps_cpu_spread(dev, flops(&f) * NS_A_FLOP, product_part, &f);
        took[i] = hps_now_s() - start;
    }
    double median = hps_sort_median(took, nr);
    hps_mem_free(took);
    hps_mem_free(all);
    return median;
}
