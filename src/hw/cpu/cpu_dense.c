/* cpu_dense.c - fully connected layers: GEMMs on blocks of rows, with bias and activation fused.
 * In bf16 the rows of a block are rounded before its products, while they are in the cache. */
#include <cblas.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/sort.h"
#include "hw/cpu/cpu_impl.h"
#include "hw/cpu/cpu_rounded_impl.h"
#include "hw/gemm.h"

#define NS_A_FLOP 0.02
#define TILE 16                 /* edge of what is transposed at once       */
#define WORTH_ROWS 512          /* from which on transposing w pays         */

/* The backward of an activation. Each task leaves the column sums of its rows, which db is the sum
 * of. */
struct act_back {
    enum hps_act act;
    const float *pre;
    struct hps_tensor y;
    float *sums;                /* (ntask, width); NULL: nothing to do */
};

struct fc {
    const struct hps_gemm_lib *lib;
    struct hps_cpu_rounded bf16;
    enum hps_act act;           /* forward                                         */
    size_t B, in, out;
    struct hps_tensor x, y, dy, dx;
    const float *w, *b;
    float *pre;                 /* forward                                         */
    float *w_transposed;        /* backward: (out, in), or NULL                    */
    bool fused;                 /* one thread: dw block by block with dx           */
    float *dw, *db;
    struct act_back mine;       /* backward: on dy                                 */
    struct act_back before;     /* and on dx, for the layer before                 */
    const float *sums;          /* mine.sums, also where another layer computes them */
    int ntask;                  /* of the rows                                     */
};

/* Rows of a block: enough for its GEMM, few enough to stay in the cache for what follows. */
static size_t block_rows(const struct fc *f)
{
    const size_t grain = HPS_CPU_GRAIN;
    size_t cache = f->bf16.lib ? f->bf16.lib->cache_numbers : f->lib->cache_floats;
    size_t rows = cache / (f->in > f->out ? f->in : f->out) / grain * grain;
    return rows > 8 * grain ? rows : 8 * grain;
}

static double flops(const struct fc *f)
{
    return 2.0 * (double)f->B * (double)f->in * (double)f->out;
}

static float *row_of(struct hps_tensor x, size_t r)
{
    return x.data ? x.data + r * x.ld : NULL;
}

static struct hps_cpu_rounded_rows x_rows(const struct fc *f, size_t first, size_t rows)
{
    return hps_cpu_rounded_rows(&f->bf16, 0, f->x, first, rows);
}

/* The product of some rows: in y, or in the scratch where y is in bf16. */
static float *forward_rounded(const struct fc *f, size_t first, size_t rows)
{
    struct hps_tensor y = f->y;
    size_t row = first;

    if (y.rounded) {
        y = hps_tensor_of(hps_cpu_rounded_scratch(&f->bf16, f->bf16.product_at), (int)f->out);
        row = 0;
    }
    hps_cpu_rounded_product(&f->bf16, row, rows, x_rows(f, first, rows), f->in, f->bf16.w, y);
    return y.data + row * y.ld;
}

static void forward_rows(const struct fc *f, size_t first, size_t rows)
{
    const float *x = row_of(f->x, first);
    float *y = row_of(f->y, first);

    if (f->bf16.lib)
        y = forward_rounded(f, first, rows);
    else if (f->out == 1)       /* a GEMM of width 1 is several times slower */
        cblas_sgemv(CblasRowMajor, CblasNoTrans, (int)rows, (int)f->in, 1, x, (int)f->x.ld, f->w,
                    1, 0, y, (int)f->y.ld);
    else
        f->lib->run(&(struct hps_gemm){ .m = rows, .n = f->out, .k = f->in, .a = x,
                                        .lda = f->x.ld, .b = f->w, .ldb = f->out, .c = y,
                                        .ldc = f->y.ld });
    hps_cpu_act(f->act, rows, f->out, y, f->y.rounded ? f->out : f->y.ld, f->b,
                f->pre ? f->pre + first * f->out : NULL);
    if (f->y.rounded)
        f->bf16.lib->round(rows, f->out, y, f->out, f->y.rounded + first * f->y.ld, f->y.ld);
}

static void forward_task(const void *job, int t, int n)
{
    const struct fc *f = job;
    size_t last = hps_cpu_cut(f->B, HPS_CPU_GRAIN, t + 1, n), step = block_rows(f);

    for (size_t r = hps_cpu_cut(f->B, HPS_CPU_GRAIN, t, n); r < last; r += step)
        forward_rows(f, r, last - r < step ? last - r : step);
}

static void begin_bf16(struct hps_dev *dev, struct fc *f, const struct hps_fc *fc,
                       struct hps_tensor to)
{
    bool copied = f->y.rounded || (to.data && to.ld != (size_t)to.width);

    f->bf16.lib = hps_cpu_bf16_lib(dev, fc->precision);
    if (f->bf16.lib)
        hps_cpu_rounded_begin(dev, &f->bf16, fc->packed, block_rows(f), f->in, f->out,
                              copied ? (size_t)to.width : 0);
}

void hps_cpu_fc_forward(struct hps_dev *dev, const struct hps_fc *fc)
{
    struct fc f = { .lib = hps_gemm_lib(), .act = fc->act, .B = (size_t)fc->B,
                    .in = (size_t)fc->x.width, .out = (size_t)fc->y.width, .x = fc->x, .y = fc->y,
                    .w = fc->w, .b = fc->b, .pre = fc->act == HPS_ACT_GELU ? fc->pre : NULL };

    begin_bf16(dev, &f, fc, f.y);
    hps_cpu_queue_writes(dev, f.B, f.y);
    hps_cpu_queue_writes(dev, f.B, hps_tensor_of(f.pre, f.y.width));
    hps_cpu_queue_rows(dev, f.B, flops(&f) * NS_A_FLOP, hps_cpu_ntask(dev, f.B, block_rows(&f)),
                       forward_task, &f, sizeof f);
}

HPS_MULTIVERSION static void outer(size_t rows, size_t n, const float *d, size_t ldd,
                                   const float *restrict w, struct hps_tensor to)
{
    float *restrict dx = to.data;

    for (size_t r = 0; r < rows; r++, dx += to.ld) {
        float v = d[r * ldd];
        if (to.add)
            for (size_t c = 0; c < n; c++)
                dx[c] += v * w[c];
        else
            for (size_t c = 0; c < n; c++)
                dx[c] = v * w[c];
    }
}

/* A rectangle of dw, (ni, no) from (i, o) on. */
struct part {
    size_t i, ni, o, no;
};

static void weight_rounded(const struct fc *f, struct part p, size_t first, size_t rows)
{
    const struct hps_cpu_rounded *r = &f->bf16;
    struct hps_tensor x = hps_tensor_columns(f->x, p.i, (int)p.ni);
    struct hps_tensor dy = hps_tensor_columns(f->dy, p.o, (int)p.no);
    struct hps_cpu_rounded_rows a = hps_cpu_rounded_rows(r, 0, x, first, rows);

    r->lib->run(&(struct hps_bf16_product){
        .ta = true, .m = p.ni, .n = p.no, .k = rows, .a = a.data, .lda = a.ld, .ldb = p.no,
        .b = f->fused ? hps_cpu_rounded_scratch(r, r->dy_at)
                      : hps_cpu_rounded_rows(r, r->dy_at, dy, first, rows).data,
        .beta = 1, .c = f->dw + p.i * f->out + p.o, .ldc = f->out });
}

/* dw += x^T dy of some rows, within `p`. */
static void weight_rows(const struct fc *f, struct part p, size_t first, size_t rows)
{
    const float *x = row_of(hps_tensor_columns(f->x, p.i, (int)p.ni), first);
    const float *dy = row_of(hps_tensor_columns(f->dy, p.o, (int)p.no), first);
    float *dw = f->dw + p.i * f->out + p.o;

    if (f->bf16.lib)
        weight_rounded(f, p, first, rows);
    else if (f->out == 1)
        cblas_sgemv(CblasRowMajor, CblasTrans, (int)rows, (int)p.ni, 1, x, (int)f->x.ld, dy,
                    (int)f->dy.ld, 1, dw, 1);
    else
        f->lib->run(&(struct hps_gemm){ .ta = true, .m = p.ni, .n = p.no, .k = rows, .a = x,
                                        .lda = f->x.ld, .b = dy, .ldb = f->dy.ld, .beta = 1,
                                        .c = dw, .ldc = f->out });
}

/* dy *= act' of some rows, in task t. */
static void act_back_rows(const struct act_back *u, struct hps_tensor dy, int t, size_t first,
                          size_t rows)
{
    size_t width = (size_t)dy.width;

    if (!u->sums) return;
    struct hps_tensor y = u->y;
    dy.data += first * dy.ld;
    if (y.rounded && u->act == HPS_ACT_RELU) {
        y.rounded += first * y.ld;
        hps_cpu_relu_back_rounded(rows, y, dy, u->sums + (size_t)t * width);
        return;
    }
    y.data = u->act == HPS_ACT_NONE ? NULL : row_of(y, first);
    hps_cpu_act_back(u->act, rows, y, u->pre ? u->pre + first * width : NULL, dy,
                     u->sums + (size_t)t * width);
}

static void clear_sums(const struct act_back *u, int t, size_t width)
{
    if (u->sums) memset(u->sums + (size_t)t * width, 0, width * sizeof *u->sums);
}

/* Leaves the rounded rows of dy in the thread's scratch. */
static void back_rows_bf16(const struct fc *f, size_t first, size_t rows)
{
    struct hps_cpu_rounded_rows dy = hps_cpu_rounded_rows(&f->bf16, f->bf16.dy_at, f->dy, first,
                                                          rows);

    if (f->dx.data)
        hps_cpu_rounded_product(&f->bf16, first, rows, dy, f->out, f->bf16.w_transposed, f->dx);
}

static void back_rows(const struct fc *f, int t, size_t first, size_t rows)
{
    const float *dy = f->dy.data + first * f->dy.ld;
    struct hps_tensor dx = f->dx;

    if (dx.data) dx.data += first * dx.ld;
    act_back_rows(&f->mine, f->dy, t, first, rows);
    if (f->bf16.lib)
        back_rows_bf16(f, first, rows);
    else if (dx.data && f->out == 1)
        outer(rows, f->in, dy, f->dy.ld, f->w, dx);
    else if (dx.data)
        f->lib->run(&(struct hps_gemm){ .tb = !f->w_transposed, .m = rows, .n = f->in, .k = f->out,
                                        .a = dy, .lda = f->dy.ld,
                                        .b = f->w_transposed ? f->w_transposed : f->w,
                                        .ldb = f->w_transposed ? f->in : f->out,
                                        .beta = dx.add ? 1 : 0, .c = dx.data, .ldc = dx.ld });
    act_back_rows(&f->before, f->dx, t, first, rows);
    if (f->fused) weight_rows(f, (struct part){ 0, f->in, 0, f->out }, first, rows);
}

/* Transpose the columns o .. last-1 of w, in tiles of 16 rows, which fill cache lines. */
HPS_MULTIVERSION static void transpose(const struct fc *f, size_t o, size_t last)
{
    const float *restrict w = f->w;
    float *restrict to = f->w_transposed;
    size_t in = f->in, out = f->out;

    for (size_t i = 0; i + TILE <= in; i += TILE)
        for (size_t c = o; c < last; c++)
            for (size_t k = 0; k < TILE; k++)
                to[c * in + i + k] = w[(i + k) * out + c];
    for (size_t c = o; c < last; c++)
        for (size_t i = in / TILE * TILE; i < in; i++)
            to[c * in + i] = w[i * out + c];
}

static void transpose_task(const void *job, int t, int n)
{
    const struct fc *f = job;

    transpose(f, hps_cpu_cut(f->out, TILE, t, n), hps_cpu_cut(f->out, TILE, t + 1, n));
}

static void back_task(const void *job, int t, int n)
{
    const struct fc *f = job;
    size_t last = hps_cpu_cut(f->B, HPS_CPU_GRAIN, t + 1, n), step = block_rows(f);

    clear_sums(&f->mine, t, f->out);
    clear_sums(&f->before, t, f->in);
    for (size_t r = hps_cpu_cut(f->B, HPS_CPU_GRAIN, t, n); r < last; r += step)
        back_rows(f, t, r, last - r < step ? last - r : step);
}

/* Cut dw into n rectangles with the shortest edges; returns how many along its rows. */
static int grid_rows(size_t in, size_t out, int n)
{
    int best = 1;
    double min = (double)in + (double)out / n;

    for (int p = 2; p <= n; p++) {
        double edge = (double)in / p + (double)out / (n / p);
        if (n % p == 0 && edge < min) {
            min = edge;
            best = p;
        }
    }
    return best;
}

/* One rectangle of dw, over all rows of the batch: no other task adds to it. */
static void weight_task(const void *job, int t, int n)
{
    const struct fc *f = job;
    int tall = grid_rows(f->in, f->out, n), wide = n / tall;
    size_t i = hps_cpu_cut(f->in, 16, t / wide, tall), o = hps_cpu_cut(f->out, 16, t % wide, wide);
    struct part p = { i, hps_cpu_cut(f->in, 16, t / wide + 1, tall) - i,
                      o, hps_cpu_cut(f->out, 16, t % wide + 1, wide) - o };
    size_t step = block_rows(f);

    for (size_t r = 0; p.ni > 0 && p.no > 0 && r < f->B; r += step)
        weight_rows(f, p, r, f->B - r < step ? f->B - r : step);
}

static void bias_task(const void *job, int t, int n)
{
    const struct fc *f = job;
    (void)t, (void)n;

    for (size_t p = 0; f->db && p < (size_t)f->ntask; p++)
        for (size_t c = 0; c < f->out; c++)
            f->db[c] += f->sums[p * f->out + c];
}

static bool wants_transpose(const struct fc *f)
{
    return !f->bf16.lib && f->lib->plain && f->dx.data && f->out > 1 && f->B >= WORTH_ROWS;
}

/* Memory for the column sums and for w transposed. */
static void take_scratch(struct hps_dev *dev, struct fc *f)
{
    size_t sums = (size_t)f->ntask * f->out, ntransposed = wants_transpose(f) ? f->in * f->out : 0;

    f->sums = f->mine.sums = hps_cpu_queue_scratch(dev, (sums + ntransposed) * sizeof(float));
    f->w_transposed = ntransposed > 0 ? f->mine.sums + sums : NULL;
}

/* If the next layer's backward, which computes this layer's dy, is still in the queue, let it do
 * the backward of this layer's activation while the rows are in the cache; only where both have
 * the same tasks, so that the bits of the sums do not depend on it. */
static void fuse_activation(struct hps_dev *dev, struct fc *f)
{
    struct fc *g = hps_cpu_queue_pending(dev, back_task);

    if (!g || g->dx.data != f->dy.data || g->dx.ld != f->dy.ld || g->in != f->out ||
        g->B != f->B || g->ntask != f->ntask)
        return;
    g->before = f->mine;
    f->mine.sums = NULL;
}

void hps_cpu_fc_backward(struct hps_dev *dev, const struct hps_fc *fc, struct hps_tensor dy,
                         struct hps_tensor dx, float *dw, float *db)
{
    struct fc f = { .lib = hps_gemm_lib(), .B = (size_t)fc->B, .in = (size_t)fc->x.width,
                    .out = (size_t)dy.width, .x = fc->x, .dy = dy, .dx = dx, .w = fc->w,
                    .dw = dw, .db = db, .mine = { fc->act, fc->pre, fc->y, NULL },
                    .fused = dev->nthread == 1 };

    if (f.B == 0) return;
    begin_bf16(dev, &f, fc, dx);
    double work_ns = flops(&f) * NS_A_FLOP;
    hps_cpu_queue_writes(dev, f.B, dy);
    hps_cpu_queue_writes(dev, f.B, dx);
    f.ntask = hps_cpu_ntask(dev, f.B, block_rows(&f));
    take_scratch(dev, &f);
    fuse_activation(dev, &f);
    if (f.w_transposed)
        hps_cpu_queue_first(dev, (double)(f.in * f.out), dev->nthread, transpose_task, &f,
                            sizeof f);
    hps_cpu_queue_rows(dev, f.B, work_ns, f.ntask, back_task, &f, sizeof f);
    hps_cpu_queue_after(dev, 0, 1, bias_task, &f, sizeof f);
    if (f.fused) return;
    hps_cpu_queue_after(dev, work_ns, dev->nthread, weight_task, &f, sizeof f);
    hps_cpu_queue_reads(dev, f.B, f.x);
    hps_cpu_queue_reads(dev, f.B, dy);
}

static void product_rows(const struct fc *f, size_t r, size_t rows)
{
    if (f->bf16.lib)
        hps_cpu_rounded_product(&f->bf16, r, rows, x_rows(f, r, rows), f->in, f->bf16.w, f->y);
    else
        f->lib->run(&(struct hps_gemm){ .m = rows, .n = f->out, .k = f->in,
                                        .a = f->x.data + r * f->in, .lda = f->in, .b = f->w,
                                        .ldb = f->out, .beta = 1, .c = f->y.data + r * f->out,
                                        .ldc = f->out });
}

static void product_task(const void *job, int t, int n)
{
    const struct fc *f = job;
    size_t last = hps_cpu_cut(f->B, HPS_CPU_GRAIN, t + 1, n), step = f->B;

    if (f->bf16.lib) step = block_rows(f);
    for (size_t r = hps_cpu_cut(f->B, HPS_CPU_GRAIN, t, n); r < last; r += step)
        product_rows(f, r, last - r < step ? last - r : step);
}

double hps_cpu_gemm_s(struct hps_dev *dev, int m, int n, int k, int repeat)
{
    size_t M = (size_t)m, N = (size_t)n, K = (size_t)k, nr = repeat > 0 ? (size_t)repeat : 1;
    float *all = hps_mem_new(M * K + K * N + M * N, sizeof *all);
    double *took = hps_mem_new(nr, sizeof *took);
    struct fc f = { .lib = hps_gemm_lib(), .B = M, .in = K, .out = N,
                    .x = hps_tensor_of(all, k), .w = all + M * K,
                    .y = hps_tensor_of(all + M * K + K * N, n) };
    enum hps_precision precision = hps_dev_product(dev, k, n);
    f.y.add = true;
    void *packed = hps_mem_new(hps_cpu_fc_packed_bytes(dev, precision, k, n), 1);

    for (size_t i = 0; i < M * K + K * N; i++)
        all[i] = (float)(i % 7) - 3;            /* no zeros, no denormals */
    begin_bf16(dev, &f, &(struct hps_fc){ .precision = precision, .packed = packed }, f.y);
    if (f.bf16.lib) hps_cpu_fc_pack(dev, precision, k, n, f.w, packed);
    hps_cpu_parallel_for(dev, flops(&f) * NS_A_FLOP, product_task, &f);
    for (size_t i = 0; i < nr; i++) {
        double start = hps_now_s();
        hps_cpu_parallel_for(dev, flops(&f) * NS_A_FLOP, product_task, &f);
        took[i] = hps_now_s() - start;
    }
    double median = hps_sort_median(took, nr);
    hps_mem_free(packed);
    hps_mem_free(took);
    hps_mem_free(all);
    return median;
}
