/* cpu_mix.c - elementwise operations: activations, the cross layer's product, scaling; cosines. */
#include "hw/cpu/cpu_math_impl.h"
#include "hw/op_cosine.h"
#include "hw/op_cross.h"

#define TINY 1e-12f             /* added to a square, so that rows of zeros have a gradient */

struct mix {
    void (*row)(const struct mix *j, size_t r);
    enum hps_act act;
    size_t B, width;
    struct hps_tensor a, b, x, y, dy, da, db;
    float *saved, by;
};

static void part(const void *job, int t, int n)
{
    const struct mix *j = job;
    size_t last = hps_cpu_cut(j->B, 1, t + 1, n);

    for (size_t r = hps_cpu_cut(j->B, 1, t, n); r < last; r++)
        j->row(j, r);
}

/* ---- activations ---- */

HPS_INLINE float act_of(enum hps_act act, float x)
{
    float bell;

    switch (act) {
    case HPS_ACT_RELU: return x < 0.0f ? 0.0f : x;
    case HPS_ACT_SIGMOID: return hps_cpu_sigmoid(x);
    case HPS_ACT_TANH: return hps_cpu_tanh(x);
    case HPS_ACT_GELU: return x * hps_cpu_normal(x, &bell);
    default: return x;
    }
}

HPS_INLINE float slope_of(enum hps_act act, float x, float y)
{
    float bell, p;

    switch (act) {
    case HPS_ACT_RELU: return y > 0.0f ? 1.0f : 0.0f;
    case HPS_ACT_SIGMOID: return y * (1.0f - y);
    case HPS_ACT_TANH: return 1.0f - y * y;
    case HPS_ACT_GELU: p = hps_cpu_normal(x, &bell); return p + x * bell * 0.39894228f;
    default: return 1.0f;
    }
}

HPS_INLINE void act_with(const struct mix *j, size_t r, enum hps_act act)
{
    const float *restrict x = j->x.data + r * j->x.ld;
    float *restrict y = j->y.data + r * j->y.ld;

    for (size_t c = 0; c < j->width; c++)
        y[c] = act_of(act, x[c]);
}

HPS_INLINE void slope_with(const struct mix *j, size_t r, enum hps_act act)
{
    const float *x = j->x.data + r * j->x.ld, *y = j->y.data + r * j->y.ld;
    const float *dy = j->dy.data + r * j->dy.ld;
    float *restrict dx = j->da.data + r * j->da.ld;

    if (j->da.add)
        for (size_t c = 0; c < j->width; c++)
            dx[c] += dy[c] * slope_of(act, x[c], y[c]);
    else
        for (size_t c = 0; c < j->width; c++)
            dx[c] = dy[c] * slope_of(act, x[c], y[c]);
}

/* call(...) with the activation as a constant. */
#define WITH_ACT(call, j, r)                                                                       \
    switch ((j)->act) {                                                                            \
    case HPS_ACT_RELU: call(j, r, HPS_ACT_RELU); break;                                            \
    case HPS_ACT_SIGMOID: call(j, r, HPS_ACT_SIGMOID); break;                                      \
    case HPS_ACT_TANH: call(j, r, HPS_ACT_TANH); break;                                            \
    case HPS_ACT_GELU: call(j, r, HPS_ACT_GELU); break;                                            \
    default: call(j, r, HPS_ACT_NONE);                                                             \
    }

HPS_MULTIVERSION static void act_row(const struct mix *j, size_t r)
{
    WITH_ACT(act_with, j, r);
}

HPS_MULTIVERSION static void slope_row(const struct mix *j, size_t r)
{
    WITH_ACT(slope_with, j, r);
}

void hps_cpu_act_forward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                         struct hps_tensor y)
{
    struct mix j = { .row = act_row, .act = act, .B = (size_t)B, .width = (size_t)x.width, .x = x,
                     .y = y };

    hps_cpu_parallel_for(dev, 1.0 * B * x.width, part, &j);
}

void hps_cpu_act_backward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                          struct hps_tensor y, struct hps_tensor dy, struct hps_tensor dx)
{
    struct mix j = { .row = slope_row, .act = act, .B = (size_t)B, .width = (size_t)x.width,
                     .x = x, .y = y, .dy = dy, .da = dx };

    hps_cpu_parallel_for(dev, 1.0 * B * x.width, part, &j);
}

/* ---- gate: y = a * b + x ---- */

HPS_MULTIVERSION static void gate_row(const struct mix *j, size_t r)
{
    const float *a = j->a.data + r * j->a.ld, *b = j->b.data + r * j->b.ld;
    const float *x = j->x.data + r * j->x.ld;
    float *restrict y = j->y.data + r * j->y.ld;

    for (size_t c = 0; c < j->width; c++)
        y[c] = a[c] * b[c] + x[c];
}

static void gate_forward(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                         struct hps_tensor x, struct hps_tensor y)
{
    struct mix j = { .row = gate_row, .B = (size_t)B, .width = (size_t)x.width, .a = a, .b = b,
                     .x = x, .y = y };

    hps_cpu_parallel_for(dev, 0.5 * B * x.width, part, &j);
}

HPS_MULTIVERSION static void gate_row_back(const struct mix *j, size_t r)
{
    const float *a = j->a.data + r * j->a.ld, *dy = j->dy.data + r * j->dy.ld;
    float *restrict b = j->b.data + r * j->b.ld;
    float *restrict da = j->da.data ? j->da.data + r * j->da.ld : NULL;

    for (size_t c = 0; da && c < j->width; c++)
        da[c] = j->da.add ? da[c] + dy[c] * b[c] : dy[c] * b[c];
    for (size_t c = 0; c < j->width; c++)
        b[c] = dy[c] * a[c];
}

static void gate_backward(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                          struct hps_tensor dy, struct hps_tensor da)
{
    struct mix j = { .row = gate_row_back, .B = (size_t)B, .width = (size_t)dy.width, .a = a,
                     .b = b, .dy = dy, .da = da };

    hps_cpu_parallel_for(dev, 0.7 * B * dy.width, part, &j);
}

const struct hps_op_cross hps_cpu_cross = { gate_forward, gate_backward };

/* ---- scaling ---- */

HPS_MULTIVERSION static void scale_row(const struct mix *j, size_t r)
{
    const float *x = j->x.data + r * j->x.ld;
    float *y = j->y.data + r * j->y.ld;

    for (size_t c = 0; c < j->width; c++)
        y[c] = j->by * x[c];
}

void hps_cpu_scale(struct hps_dev *dev, int B, float by, struct hps_tensor x, struct hps_tensor y)
{
    struct mix j = { .row = scale_row, .B = (size_t)B, .width = (size_t)x.width, .x = x, .y = y,
                     .by = by };

    hps_cpu_parallel_for(dev, 0.3 * B * (double)x.width, part, &j);
}

/* ---- cosine ---- */

HPS_MULTIVERSION static void cosine_row(const struct mix *j, size_t r)
{
    const float *a = j->a.data + r * j->a.ld, *b = j->b.data + r * j->b.ld;
    float lane[3][16] = { { 0 } };
    float ab = 0, aa = TINY, bb = TINY;
    size_t c = 0;

    for (; c + 16 <= j->width; c += 16)
        for (size_t k = 0; k < 16; k++) {
            lane[0][k] += a[c + k] * b[c + k];
            lane[1][k] += a[c + k] * a[c + k];
            lane[2][k] += b[c + k] * b[c + k];
        }
    for (; c < j->width; c++) {
        ab += a[c] * b[c];
        aa += a[c] * a[c];
        bb += b[c] * b[c];
    }
    for (size_t k = 0; k < 16; k++) {
        ab += lane[0][k];
        aa += lane[1][k];
        bb += lane[2][k];
    }
    j->saved[2 * r] = 1 / sqrtf(aa);
    j->saved[2 * r + 1] = 1 / sqrtf(bb);
    j->y.data[r * j->y.ld] = ab * j->saved[2 * r] * j->saved[2 * r + 1];
}

static struct mix cosine_of(const struct hps_cosine *c)
{
    return (struct mix){ .B = (size_t)c->B, .width = (size_t)c->a.width, .a = c->a, .b = c->b,
                         .y = c->y, .saved = c->saved };
}

static void cosine_forward(struct hps_dev *dev, const struct hps_cosine *c)
{
    struct mix j = cosine_of(c);

    j.row = cosine_row;
    hps_cpu_parallel_for(dev, 0.5 * c->B * c->a.width, part, &j);
}

/* A vector and the inverse of its length. */
struct vector {
    const float *x;
    float by;
};

/* With u = a / |a|, v = b / |b|: d cos / da = (v - cos u) / |a|. */
HPS_INLINE void cosine_grad(size_t n, struct vector a, struct vector b, float cosine, float d,
                            float *restrict da, bool add)
{
    const float *restrict x = a.x, *restrict y = b.x;

    for (size_t c = 0; c < n; c++) {
        float g = d * a.by * (b.by * y[c] - cosine * a.by * x[c]);
        da[c] = add ? da[c] + g : g;
    }
}

HPS_MULTIVERSION static void cosine_row_back(const struct mix *j, size_t r)
{
    struct vector a = { j->a.data + r * j->a.ld, j->saved[2 * r] };
    struct vector b = { j->b.data + r * j->b.ld, j->saved[2 * r + 1] };
    float y = j->y.data[r * j->y.ld], d = j->dy.data[r * j->dy.ld];

    if (j->da.data) cosine_grad(j->width, a, b, y, d, j->da.data + r * j->da.ld, j->da.add);
    if (j->db.data) cosine_grad(j->width, b, a, y, d, j->db.data + r * j->db.ld, j->db.add);
}

static void cosine_backward(struct hps_dev *dev, const struct hps_cosine *c, struct hps_tensor dy,
                            struct hps_tensor da, struct hps_tensor db)
{
    struct mix j = cosine_of(c);

    j.row = cosine_row_back;
    j.dy = dy;
    j.da = da;
    j.db = db;
    hps_cpu_parallel_for(dev, 0.7 * c->B * c->a.width, part, &j);
}

const struct hps_op_cosine hps_cpu_cosine = { cosine_forward, cosine_backward };
