/* cpu_norm.c - batch norm over columns; layer norm and softmax over rows. */
#include <string.h>

#include "hw/cpu/cpu_math_impl.h"
#include "hw/op_batch_norm.h"
#include "hw/op_layer_norm.h"
#include "hw/op_softmax.h"

struct norm {
    void (*row)(const struct norm *j, size_t b);
    size_t B, width;
    struct hps_tensor x, z, y, dy, dx;
    const float *p, *q, *r, *m;         /* (width) */
    float eps, *saved, *partial;
    double *sums;
};

static size_t first_row(const struct norm *j, int t, int n)
{
    return hps_cpu_cut(j->B, 1, t, n);
}

static void part(const void *job, int t, int n)
{
    const struct norm *j = job;

    for (size_t b = first_row(j, t, n); b < first_row(j, t + 1, n); b++)
        j->row(j, b);
}

/* ---- columns ---- */

HPS_MULTIVERSION static void add_moments(size_t rows, size_t n, const float *restrict x, size_t ldx,
                                         const float *restrict z, size_t ldz, double *restrict sum)
{
    memset(sum, 0, 2 * n * sizeof *sum);
    for (size_t r = 0; r < rows; r++, x += ldx, z += ldz)
        for (size_t c = 0; c < n; c++) {
            sum[c] += (double)x[c];
            sum[n + c] += (double)x[c] * (double)z[c];
        }
}

static void moments_task(const void *job, int t, int n)
{
    const struct norm *j = job;
    size_t first = first_row(j, t, n);

    add_moments(first_row(j, t + 1, n) - first, j->width, j->x.data + first * j->x.ld, j->x.ld,
                j->z.data + first * j->z.ld, j->z.ld, j->sums + (size_t)t * 2 * j->width);
}

static void moments(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor z,
                    double *sums)
{
    size_t n = 2 * (size_t)x.width;
    double *part = hps_cpu_scratch(dev, (size_t)dev->nthread * n * sizeof *part);
    struct norm j = { .B = (size_t)B, .width = (size_t)x.width, .x = x, .z = z, .sums = part };

    hps_cpu_parallel_for(dev, 0.5 * B * (double)x.width, moments_task, &j);
    for (size_t i = 0; i < n; i++)
        sums[i] = 0;
    for (size_t t = 0; t < (size_t)dev->nthread; t++)
        for (size_t i = 0; i < n; i++)
            sums[i] += part[t * n + i];
}

struct columns {
    void (*part)(const struct columns *j, size_t first, size_t last);
    struct hps_batch_norm norm;
    const double *sums;         /* (2, width) */
    double *slopes;             /* (2, width) the same, to be written    */
    float *running, *p, *q, *r; /* (2, width), (width) each              */
    float *dgain, *dshift;
};

static void columns_task(const void *job, int t, int n)
{
    const struct columns *j = job;
    size_t width = (size_t)j->norm.width;

    j->part(j, hps_cpu_cut(width, 8, t, n), hps_cpu_cut(width, 8, t + 1, n));
}

static void parallel_columns(struct hps_dev *dev, const struct columns *j)
{
    hps_cpu_parallel_for(dev, 5.0 * j->norm.width, columns_task, j);
}

/* The variance of n numbers with this sum of squares and this mean. */
HPS_INLINE double variance(double square, double mean, double n)
{
    double v = square / n - mean * mean;

    return v > 0 ? v : 0;
}

HPS_MULTIVERSION static void measure(const struct columns *j, size_t first, size_t last)
{
    const double *restrict sum = j->sums, *restrict square = sum + j->norm.width;
    float *restrict mean = j->norm.stats, *restrict var = mean + j->norm.width;
    double n = j->norm.rows;

    for (size_t c = first; c < last; c++) {
        double m = sum[c] / n;
        mean[c] = (float)m;
        var[c] = (float)variance(square[c], m, n);
    }
}

/* Blend the micro-batch into the running state; the variance is that of a sample. */
HPS_MULTIVERSION static void update_running(const struct columns *j, size_t first, size_t last)
{
    const double *restrict sum = j->sums, *restrict square = sum + j->norm.width;
    float *restrict mean = j->running, *restrict var = mean + j->norm.width;
    double n = j->norm.rows, share = j->norm.share;

    for (size_t c = first; c < last; c++) {
        double m = sum[c] / n, v = variance(square[c], m, n) * n / (n - 1);
        mean[c] = (float)((1 - share) * (double)mean[c] + share * m);
        var[c] = (float)((1 - share) * (double)var[c] + share * v);
    }
}

HPS_MULTIVERSION static void gain_by(const struct columns *j, size_t first, size_t last)
{
    const float *restrict gain = j->norm.gain, *restrict var = j->norm.stats + j->norm.width;
    float *restrict p = j->p;
    double epsilon = j->norm.epsilon;

    for (size_t c = first; c < last; c++)
        p[c] = (float)((double)gain[c] / sqrt((double)var[c] + epsilon));
}

static void forward_task(const struct columns *j, size_t first, size_t last)
{
    if (j->sums) measure(j, first, last);
    if (j->sums && j->norm.rows > 1) update_running(j, first, last);
    gain_by(j, first, last);
}

static void batch_forward(struct hps_dev *dev, const struct hps_batch_norm *norm,
                          const double *sums, float *running, float *p)
{
    struct columns j = { forward_task, .norm = *norm, .sums = sums, .running = running, .p = p };

    parallel_columns(dev, &j);
}

HPS_MULTIVERSION static void gradients_part(const struct columns *j, size_t first, size_t last)
{
    const float *restrict mean = j->norm.stats, *restrict var = mean + j->norm.width;
    double *restrict sum = j->slopes, *restrict tilt = sum + j->norm.width;
    float *restrict dgain = j->dgain, *restrict dshift = j->dshift;
    double epsilon = j->norm.epsilon;

    for (size_t c = first; c < last; c++) {
        double rate = 1 / sqrt((double)var[c] + epsilon);
        tilt[c] = rate * (tilt[c] - (double)mean[c] * sum[c]);
        dgain[c] += (float)tilt[c];
        dshift[c] += (float)sum[c];
    }
}

static void batch_gradients(struct hps_dev *dev, const struct hps_batch_norm *norm, double *sums,
                            float *dgain, float *dshift)
{
    struct columns j = { gradients_part, .norm = *norm, .slopes = sums, .dgain = dgain,
                         .dshift = dshift };

    parallel_columns(dev, &j);
}

/* dx = gain * rate * (dy - dshift / n - h * dgain / n) */
HPS_MULTIVERSION static void backward_part(const struct columns *j, size_t first, size_t last)
{
    const double *restrict sum = j->sums, *restrict tilt = sum + j->norm.width;
    const float *restrict gain = j->norm.gain, *restrict var = j->norm.stats + j->norm.width;
    float *restrict p = j->p, *restrict q = j->q, *restrict r = j->r;
    double epsilon = j->norm.epsilon, n = j->norm.rows;

    for (size_t c = first; c < last; c++) {
        double rate = 1 / sqrt((double)var[c] + epsilon), by = (double)gain[c] * rate;
        q[c] = (float)by;
        p[c] = (float)(-by * rate * tilt[c] / n);
        r[c] = (float)(-by * sum[c] / n);
    }
}

static void batch_backward(struct hps_dev *dev, const struct hps_batch_norm *norm,
                           const double *sums, float *p, float *r, float *q)
{
    struct columns j = { backward_part, .norm = *norm, .sums = sums, .p = p, .r = r, .q = q };

    parallel_columns(dev, &j);
}

HPS_MULTIVERSION static void blend_row(const struct norm *j, size_t b)
{
    const float *x = j->x.data + b * j->x.ld, *z = j->z.data ? j->z.data + b * j->z.ld : NULL;
    float *restrict y = j->y.data + b * j->y.ld;

    for (size_t c = 0; c < j->width; c++) {
        float v = j->p[c] * (x[c] - j->m[c]) + j->r[c];
        y[c] = j->y.add ? y[c] + v : v;
    }
    for (size_t c = 0; z && c < j->width; c++)
        y[c] += j->q[c] * z[c];
}

static void blend(struct hps_dev *dev, int B, const struct hps_blend *of, struct hps_tensor y)
{
    struct norm j = { .row = blend_row, .B = (size_t)B, .width = (size_t)of->x.width, .x = of->x,
                      .z = of->z, .y = y, .p = of->p, .q = of->q, .r = of->r, .m = of->m };

    hps_cpu_parallel_for(dev, 0.5 * B * (double)of->x.width, part, &j);
}

const struct hps_op_batch_norm hps_cpu_batch_norm = {
    moments, batch_forward, batch_gradients, batch_backward, blend
};

/* ---- rows ---- */

HPS_MULTIVERSION static float sum_of(size_t n, const float *x)
{
    float lane[16] = { 0 }, sum = 0;
    size_t i = 0;

    for (; i + 16 <= n; i += 16)
        for (size_t k = 0; k < 16; k++)
            lane[k] += x[i + k];
    for (; i < n; i++)
        sum += x[i];
    for (size_t k = 0; k < 16; k++)
        sum += lane[k];
    return sum;
}

/* The sum of (x - a) * (z - b). */
HPS_MULTIVERSION static float product_of(size_t n, const float *x, float a, const float *z, float b)
{
    float lane[16] = { 0 }, sum = 0;
    size_t i = 0;

    for (; i + 16 <= n; i += 16)
        for (size_t k = 0; k < 16; k++)
            lane[k] += (x[i + k] - a) * (z[i + k] - b);
    for (; i < n; i++)
        sum += (x[i] - a) * (z[i] - b);
    for (size_t k = 0; k < 16; k++)
        sum += lane[k];
    return sum;
}

HPS_MULTIVERSION static void row_norm(const struct norm *j, size_t b)
{
    const float *x = j->x.data + b * j->x.ld;
    float *y = j->y.data + b * j->y.ld, n = (float)j->width;
    float mean = sum_of(j->width, x) / n;
    float rate = 1 / sqrtf(product_of(j->width, x, mean, x, mean) / n + j->eps);

    j->saved[2 * b] = mean;
    j->saved[2 * b + 1] = rate;
    for (size_t c = 0; c < j->width; c++)
        y[c] = j->p[c] * ((x[c] - mean) * rate) + j->r[c];
}

static void layer_forward(struct hps_dev *dev, const struct hps_layer_norm *of,
                          struct hps_tensor y)
{
    struct norm j = { .row = row_norm, .B = (size_t)of->B, .width = (size_t)of->x.width,
                      .x = of->x, .y = y, .p = of->gain, .r = of->shift, .eps = of->eps,
                      .saved = of->saved };

    hps_cpu_parallel_for(dev, 0.6 * of->B * (double)of->x.width, part, &j);
}

/* With h = (x - mean) * rate and g = gain * dy:  dx = rate * (g - mean(g) - h * mean(g h)). */
HPS_MULTIVERSION static void row_norm_back(const struct norm *j, size_t b, float *restrict g,
                                           float *restrict sums)
{
    const float *x = j->x.data + b * j->x.ld, *dy = j->dy.data + b * j->dy.ld;
    float mean = j->saved[2 * b], rate = j->saved[2 * b + 1], n = (float)j->width;

    for (size_t c = 0; c < j->width; c++) {
        g[c] = j->p[c] * dy[c];
        sums[c] += dy[c] * ((x[c] - mean) * rate);
        sums[j->width + c] += dy[c];
    }
    if (!j->dx.data) return;
    float *dx = j->dx.data + b * j->dx.ld;
    float level = sum_of(j->width, g) / n;
    float tilt = rate * product_of(j->width, g, 0, x, mean) / n;
    for (size_t c = 0; c < j->width; c++) {
        float v = rate * (g[c] - level - (x[c] - mean) * rate * tilt);
        dx[c] = j->dx.add ? dx[c] + v : v;
    }
}

static void row_norm_task_back(const void *job, int t, int n)
{
    const struct norm *j = job;
    float *g = j->partial + (size_t)t * 3 * j->width;

    memset(g, 0, 3 * j->width * sizeof *g);
    for (size_t b = first_row(j, t, n); b < first_row(j, t + 1, n); b++)
        row_norm_back(j, b, g, g + j->width);
}

static void layer_backward(struct hps_dev *dev, const struct hps_layer_norm *of,
                           struct hps_tensor dy, struct hps_tensor dx, float *dgain, float *dshift)
{
    size_t w = (size_t)of->x.width;
    struct norm j = { .B = (size_t)of->B, .width = w, .x = of->x, .dy = dy, .dx = dx,
                      .p = of->gain, .saved = of->saved };

    j.partial = hps_cpu_scratch(dev, (size_t)dev->nthread * 3 * w * sizeof(float));
    hps_cpu_parallel_for(dev, 1.0 * of->B * (double)w, row_norm_task_back, &j);
    for (size_t t = 0; t < (size_t)dev->nthread; t++)
        for (size_t c = 0; c < w; c++) {
            dgain[c] += j.partial[(3 * t + 1) * w + c];
            dshift[c] += j.partial[(3 * t + 2) * w + c];
        }
}

const struct hps_op_layer_norm hps_cpu_layer_norm = { layer_forward, layer_backward };

HPS_MULTIVERSION static void softmax_row(const struct norm *j, size_t b)
{
    const float *x = j->x.data + b * j->x.ld;
    float *y = j->y.data + b * j->y.ld, most = x[0];

    for (size_t c = 1; c < j->width; c++)
        most = x[c] > most ? x[c] : most;
    for (size_t c = 0; c < j->width; c++)
        y[c] = hps_cpu_exp(x[c] - most);
    float share = 1 / sum_of(j->width, y);
    for (size_t c = 0; c < j->width; c++)
        y[c] *= share;
}

static void softmax_forward(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor y)
{
    struct norm j = { .row = softmax_row, .B = (size_t)B, .width = (size_t)x.width, .x = x,
                      .y = y };

    hps_cpu_parallel_for(dev, 1.5 * B * (double)x.width, part, &j);
}

HPS_MULTIVERSION static void softmax_row_back(const struct norm *j, size_t b)
{
    const float *y = j->y.data + b * j->y.ld, *dy = j->dy.data + b * j->dy.ld;
    float *dx = j->dx.data + b * j->dx.ld;
    float level = product_of(j->width, y, 0, dy, 0);

    for (size_t c = 0; c < j->width; c++) {
        float v = y[c] * (dy[c] - level);
        dx[c] = j->dx.add ? dx[c] + v : v;
    }
}

static void softmax_backward(struct hps_dev *dev, int B, struct hps_tensor y,
                             struct hps_tensor dy, struct hps_tensor dx)
{
    struct norm j = { .row = softmax_row_back, .B = (size_t)B, .width = (size_t)y.width, .y = y,
                      .dy = dy, .dx = dx };

    hps_cpu_parallel_for(dev, 0.5 * B * (double)y.width, part, &j);
}

const struct hps_op_softmax hps_cpu_softmax = { softmax_forward, softmax_backward };
