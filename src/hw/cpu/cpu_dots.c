/* cpu_dots.c - pairwise dot products of the vectors of an example, and factorization machines.
 *
 * The vectors of one example fit the L1 cache: they are laid out once, in lines of 16 numbers, and
 * each line of results is summed in a register. */
#include <string.h>

#include "hw/cpu/cpu_rounded_impl.h"
#include "hw/op_fm.h"

#define LINE 16

typedef float line __attribute__((vector_size(LINE * sizeof(float))));

struct dots {
    size_t dim, n, lines, width;        /* length of vectors; their number; lines of n; results */
    int nx;
    const struct hps_tensor *x, *dx;    /* (nx) */
    bool self;
    size_t B;
    struct hps_tensor y;                /* or dy */
    const struct hps_bf16_lib *bf16;    /* of y in bf16 */
    float *scratch;                     /* (threads) of so many floats each: */
    size_t each;
};

static size_t lines_of(size_t n)
{
    return (n + LINE - 1) / LINE;
}

static size_t vectors(const struct hps_vectors *v)
{
    size_t n = 0;

    for (int k = 0; k < v->nx; k++)
        n += (size_t)v->x[k].width / (size_t)v->dim;
    return n;
}

/* to (dim, lines * LINE): element d of all vectors, contiguous. */
HPS_INLINE void lay_across(const struct dots *j, size_t b, float *to)
{
    size_t ld = j->lines * LINE, v = 0;

    for (int k = 0; k < j->nx; k++) {
        const float *x = j->x[k].data + b * j->x[k].ld;
        for (size_t w = 0; w < (size_t)j->x[k].width; w += j->dim, v++)
            for (size_t d = 0; d < j->dim; d++)
                to[d * ld + v] = x[w + d];
    }
}

/* A line of sums: over n lines of v, each times its element of s. */
HPS_INLINE void sum_lines(float *to, size_t n, const float *v, size_t ldv, const float *s,
                          size_t lds)
{
    line sum = { 0 }, at;

    for (size_t k = 0; k < n; k++) {
        memcpy(&at, v + k * ldv, sizeof at);
        sum += at * s[k * lds];
    }
    memcpy(to, &sum, sizeof sum);
}

/* Four of them over the same lines of v, with elements of s that are `next` apart: independent sums
 * hide the latency of an addition. */
HPS_INLINE void sum_lines_4(float *const to[4], size_t n, const float *v, size_t ldv,
                            const float *s, size_t lds, size_t next)
{
    line a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 }, at;

    for (size_t k = 0; k < n; k++) {
        memcpy(&at, v + k * ldv, sizeof at);
        a += at * s[k * lds];
        b += at * s[k * lds + next];
        c += at * s[k * lds + 2 * next];
        d += at * s[k * lds + 3 * next];
    }
    memcpy(to[0], &a, sizeof a);
    memcpy(to[1], &b, sizeof b);
    memcpy(to[2], &c, sizeof c);
    memcpy(to[3], &d, sizeof d);
}

/* Products of vectors i .. i+3 with those before each: four rows of the triangle. Whole lines are
 * written, the last lines of all rows first: the excess is overwritten by the beginning of the next
 * row. Returns where the next row begins. */
HPS_INLINE float *four_rows(const struct dots *j, const float *z, size_t ld, size_t i, float *to)
{
    size_t m = i + (j->self ? 1 : 0);
    float *row[4] = { to, to + m, to + 2 * m + 1, to + 3 * m + 3 };

    for (size_t l = (m + 2) / LINE * LINE + LINE; l > 0; l -= LINE) {
        float *at[4] = { row[0] + l - LINE, row[1] + l - LINE, row[2] + l - LINE,
                         row[3] + l - LINE };
        sum_lines_4(at, j->dim, z + l - LINE, ld, z + i, ld, 1);
    }
    return row[3] + m + 3;
}

/* Whole lines are written in order: the excess is overwritten by the next row. */
HPS_MULTIVERSION static void dot_rows(const struct dots *j, size_t b0, size_t b1, float *scratch)
{
    size_t ld = j->lines * LINE, last = j->self ? 1 : 0;
    float *z = scratch, *out = scratch + j->dim * ld;

    memset(z, 0, j->dim * ld * sizeof *z);
    for (size_t b = b0; b < b1; b++) {
        float *to = out;
        lay_across(j, b, z);
        size_t i = 1 - last;
        for (; i + 4 <= j->n; i += 4)
            to = four_rows(j, z, ld, i, to);
        for (; i < j->n; i++) {
            size_t m = i + last;
            for (size_t l = 0; l < m; l += LINE)
                sum_lines(to + l, j->dim, z + l, ld, z + i, ld);
            to += m;
        }
        if (j->y.rounded)
            j->bf16->round(1, j->width, out, j->width, j->y.rounded + b * j->y.ld, j->y.ld);
        else
            memcpy(j->y.data + b * j->y.ld, out, j->width * sizeof *out);
    }
}

static void dot_task(const void *job, int t, int n)
{
    const struct dots *j = job;

    dot_rows(j, hps_cpu_cut(j->B, 1, t, n), hps_cpu_cut(j->B, 1, t + 1, n),
             j->scratch + (size_t)t * j->each);
}

/* to (n, lines of dim): vector after vector, padded with zeros. */
HPS_INLINE void lay_along(const struct dots *j, size_t b, float *to)
{
    size_t ld = lines_of(j->dim) * LINE;

    for (int k = 0; k < j->nx; k++) {
        const float *x = j->x[k].data + b * j->x[k].ld;
        for (size_t w = 0; w < (size_t)j->x[k].width; w += j->dim, to += ld)
            memcpy(to, x + w, j->dim * sizeof *to);
    }
}

/* to (n, n): the gradients of the pairs as a symmetric matrix. */
HPS_INLINE void mirror(const struct dots *j, const float *dy, float *to)
{
    for (size_t i = 0; i < j->n; i++) {
        for (size_t k = 0; k < i; k++)
            to[i * j->n + k] = to[k * j->n + i] = *dy++;
        to[i * j->n + i] = j->self ? 2 * *dy++ : 0;
    }
}

HPS_INLINE void put_row(size_t n, const float *restrict from, float *restrict to, bool add)
{
    if (add)
        for (size_t d = 0; d < n; d++)
            to[d] += from[d];
    else
        memcpy(to, from, n * sizeof *to);
}

HPS_INLINE void give(const struct dots *j, size_t b, const float *from)
{
    size_t ld = lines_of(j->dim) * LINE;

    for (int k = 0; k < j->nx; k++) {
        float *dx = j->dx[k].data ? j->dx[k].data + b * j->dx[k].ld : NULL;
        for (size_t w = 0; w < (size_t)j->x[k].width; w += j->dim, from += ld)
            if (dx) put_row(j->dim, from, dx + w, j->dx[k].add);
    }
}

HPS_MULTIVERSION static void dot_rows_back(const struct dots *j, size_t b0, size_t b1,
                                           float *scratch)
{
    size_t ld = lines_of(j->dim) * LINE;
    float *z = scratch, *dz = z + j->n * ld, *pair = dz + j->n * ld;

    memset(z, 0, j->n * ld * sizeof *z);
    for (size_t b = b0; b < b1; b++) {
        lay_along(j, b, z);
        mirror(j, j->y.data + b * j->y.ld, pair);
        size_t i = 0;
        for (; i + 4 <= j->n; i += 4)
            for (size_t l = 0; l < ld; l += LINE) {
                float *to = dz + i * ld + l, *at[4] = { to, to + ld, to + 2 * ld, to + 3 * ld };
                sum_lines_4(at, j->n, z + l, ld, pair + i * j->n, 1, j->n);
            }
        for (; i < j->n; i++)
            for (size_t l = 0; l < ld; l += LINE)
                sum_lines(dz + i * ld + l, j->n, z + l, ld, pair + i * j->n, 1);
        give(j, b, dz);
    }
}

static void dot_task_back(const void *job, int t, int n)
{
    const struct dots *j = job;

    dot_rows_back(j, hps_cpu_cut(j->B, 1, t, n), hps_cpu_cut(j->B, 1, t + 1, n),
                  j->scratch + (size_t)t * j->each);
}

static struct dots dots_of(const struct hps_vectors *v, bool self)
{
    struct dots j = { .B = (size_t)v->B, .dim = (size_t)v->dim, .self = self, .nx = v->nx,
                      .x = v->x };

    j.n = vectors(v);
    j.lines = lines_of(j.n);
    j.width = self ? j.n * (j.n + 1) / 2 : j.n * (j.n - 1) / 2;
    return j;
}

static void dots_forward(struct hps_dev *dev, const struct hps_vectors *v, bool self,
                         struct hps_tensor y)
{
    struct dots j = dots_of(v, self);

    j.y = y;
    if (y.rounded) j.bf16 = hps_cpu_bf16_lib(dev, dev->precision);
    j.each = j.dim * j.lines * LINE + j.width + 4 * LINE;
    j.scratch = hps_cpu_scratch(dev, (size_t)dev->nthread * j.each * sizeof(float));
    hps_cpu_parallel_for(dev, 0.1 * v->B * (double)j.width * v->dim, dot_task, &j);
}

static void dots_backward(struct hps_dev *dev, const struct hps_vectors *v, bool self,
                          struct hps_tensor dy, const struct hps_tensor *dx)
{
    struct dots j = dots_of(v, self);

    j.y = dy;
    j.dx = dx;
    j.each = j.n * (2 * lines_of(j.dim) * LINE + j.n);
    j.scratch = hps_cpu_scratch(dev, (size_t)dev->nthread * j.each * sizeof(float));
    hps_cpu_parallel_for(dev, 0.2 * v->B * (double)j.width * v->dim, dot_task_back, &j);
}

const struct hps_op_dot_interaction hps_cpu_dot_interaction = { dots_forward, dots_backward };

/* ---- factorization machine: ((sum v)^2 - sum v^2) / 2 ---- */

struct all_pairs {
    size_t B, dim;
    int nx;
    const struct hps_tensor *x, *dx;
    struct hps_tensor y;                /* or dy */
    float *sum;                         /* (B, dim) */
    float *square;                      /* (threads, dim) */
};

HPS_MULTIVERSION static void pair_row(const struct all_pairs *j, size_t b, float *restrict square)
{
    float *restrict sum = j->sum + b * j->dim, *y = j->y.data + b * j->y.ld, all = 0;

    memset(sum, 0, j->dim * sizeof *sum);
    memset(square, 0, j->dim * sizeof *square);
    for (int k = 0; k < j->nx; k++) {
        const float *x = j->x[k].data + b * j->x[k].ld;
        for (const float *v = x; v < x + j->x[k].width; v += j->dim)
            for (size_t d = 0; d < j->dim; d++) {
                sum[d] += v[d];
                square[d] += v[d] * v[d];
            }
    }
    for (size_t d = 0; d < j->dim; d++) {
        square[d] = 0.5f * (sum[d] * sum[d] - square[d]);
        all += square[d];
    }
    if (j->y.width == 1)
        y[0] = all;
    else
        memcpy(y, square, j->dim * sizeof *y);
}

static void pair_task(const void *job, int t, int n)
{
    const struct all_pairs *j = job;

    for (size_t b = hps_cpu_cut(j->B, 1, t, n); b < hps_cpu_cut(j->B, 1, t + 1, n); b++)
        pair_row(j, b, j->square + (size_t)t * j->dim);
}

static void fm_forward(struct hps_dev *dev, const struct hps_vectors *v, struct hps_tensor y,
                       float *sums)
{
    struct all_pairs j = { .B = (size_t)v->B, .dim = (size_t)v->dim, .nx = v->nx, .x = v->x,
                           .y = y, .sum = sums };

    j.square = hps_cpu_scratch(dev, (size_t)dev->nthread * j.dim * sizeof(float));
    hps_cpu_parallel_for(dev, 0.3 * v->B * (double)vectors(v) * v->dim, pair_task, &j);
}

/* dv = dy * (sum - v). */
HPS_MULTIVERSION static void pair_row_back(const struct all_pairs *j, size_t b)
{
    const float *sum = j->sum + b * j->dim, *dy = j->y.data + b * j->y.ld;
    size_t step = j->y.width > 1;

    for (int k = 0; k < j->nx; k++) {
        const float *x = j->x[k].data + b * j->x[k].ld;
        float *dx = j->dx[k].data ? j->dx[k].data + b * j->dx[k].ld : NULL;
        for (int w = 0; dx && w < j->x[k].width; w += (int)j->dim)
            for (size_t d = 0; d < j->dim; d++) {
                float g = dy[d * step] * (sum[d] - x[(size_t)w + d]);
                dx[(size_t)w + d] = j->dx[k].add ? dx[(size_t)w + d] + g : g;
            }
    }
}

static void pair_task_back(const void *job, int t, int n)
{
    const struct all_pairs *j = job;

    for (size_t b = hps_cpu_cut(j->B, 1, t, n); b < hps_cpu_cut(j->B, 1, t + 1, n); b++)
        pair_row_back(j, b);
}

static void fm_backward(struct hps_dev *dev, const struct hps_vectors *v, float *sums,
                        struct hps_tensor dy, const struct hps_tensor *dx)
{
    struct all_pairs j = { .B = (size_t)v->B, .dim = (size_t)v->dim, .nx = v->nx, .x = v->x,
                           .dx = dx, .y = dy, .sum = sums };

    hps_cpu_parallel_for(dev, 0.5 * v->B * (double)vectors(v) * v->dim, pair_task_back, &j);
}

const struct hps_op_fm hps_cpu_fm = { fm_forward, fm_backward };
