/* kern_rule.cu - tables and update rules: a warp a row, a thread a weight. */
#include "hw/cuda/kern_impl.h"

/* ---- rows gathered, sums of rows ---- */

struct gather {
    const float *table;
    size_t stride;
    int dim;
    const int *at;
    float *out;

    __device__ void operator()(size_t i, int d) const
    {
        out[i * (size_t)dim + (size_t)d] = table[(size_t)at[i] * stride + (size_t)d];
    }
};

extern "C" int hps_kern_gather(void *stream, const float *table, size_t stride, int dim, size_t n,
                               const int *at, float *out)
{
    gather f = { table, stride, dim, at, out };
    return run_each(stream, n, dim, f);
}

struct move {
    size_t stride;
    const int *from_at, *to_at;
    const float *from;
    float *to;

    __device__ void operator()(size_t i, int d) const
    {
        to[(size_t)to_at[i] * stride + (size_t)d] = from[(size_t)from_at[i] * stride + (size_t)d];
    }
};

extern "C" int hps_kern_rows_move(void *stream, size_t stride, size_t n, const int *from_at,
                                  const float *from, const int *to_at, float *to)
{
    move f = { stride, from_at, to_at, from, to };
    return run_each(stream, n, (int)stride, f);
}

static __device__ __forceinline__ float sum_of(struct hps_row_sums s, size_t i, int dim, int d)
{
    if (!s.start) return s.row[i * (size_t)dim + (size_t)d];
    float sum = s.row[(size_t)s.from[s.start[i]] * (size_t)dim + (size_t)d];
    for (int k = s.start[i] + 1; k < s.start[i + 1]; k++)
        sum += s.row[(size_t)s.from[k] * (size_t)dim + (size_t)d];
    return sum;
}

struct sums {
    int dim;
    struct hps_row_sums from;
    float *to;

    __device__ void operator()(size_t i, int d) const
    {
        to[i * (size_t)dim + (size_t)d] = sum_of(from, i, dim, d);
    }
};

extern "C" int hps_kern_rows_sum(void *stream, int dim, size_t n, struct hps_row_sums from,
                                 float *to)
{
    sums f = { dim, from, to };
    return run_each(stream, n, dim, f);
}

/* ---- the rules ---- */

struct rule {                   /* struct hps_rule with what one step has in common worked out */
    enum hps_rule_kind kind;
    float lr, eps, l1, l2, scale, beta, per_lr;
    float keep1, take1, keep2, take2, rise1, rise2;
};

static rule prepare(const struct hps_rule &r)
{
    rule k = {};
    double b1 = r.beta1, b2 = r.beta2, step = (double)r.step;

    k.kind = r.kind, k.lr = r.lr, k.eps = r.eps, k.l1 = r.l1, k.l2 = r.l2;
    k.scale = r.scale, k.beta = r.beta;
    k.keep1 = (float)b1, k.keep2 = (float)b2;
    k.take1 = (float)(1 - b1), k.take2 = (float)(1 - b2);
    if (r.kind == HPS_RULE_ADAM || r.kind == HPS_RULE_LAMB) {
        k.rise1 = (float)(1 / (1 - pow(b1, step)));
        k.rise2 = (float)(1 / (1 - pow(b2, step)));
    }
    if (r.kind == HPS_RULE_ADAM) k.lr = (float)((double)r.lr / (1 - pow(b1, step)));
    if (r.kind == HPS_RULE_FTRL) k.per_lr = (float)(1 / (double)r.lr);
    return k;
}

static __device__ __forceinline__ float ftrl(const rule &k, float w, float g, float *s, float *z)
{
    float d = k.scale * g, sum = *s + d * d, root = sqrtf(sum);
    float pull = *z + d - (root - sqrtf(*s)) * k.per_lr * w;
    float over = fabsf(pull) - k.l1, stiff = (k.beta + root) * k.per_lr + k.l2;

    *s = sum;
    *z = pull;
    return over > 0 ? -copysignf(over, pull) / stiff : 0.0f;
}

/* A weight after its step, for the rules of one weight; s, z: its states. */
static __device__ __forceinline__ float moved(const rule &k, float w, float g, float *s, float *z)
{
    float d = k.scale * g + k.l2 * w;

    switch (k.kind) {
    case HPS_RULE_MOMENTUM:
        *s = k.keep1 * *s + d;
        return w - k.lr * *s;
    case HPS_RULE_NESTEROV:
        *s = k.keep1 * *s + d;
        return w - k.lr * (d + k.keep1 * *s);
    case HPS_RULE_ADAGRAD:
        *s += d * d;
        return w - k.lr * d / (sqrtf(*s) + k.eps);
    case HPS_RULE_RMSPROP:
        *s = k.keep2 * *s + k.take2 * d * d;
        return w - k.lr * d / (sqrtf(*s) + k.eps);
    case HPS_RULE_ADAM:
        *s = k.keep1 * *s + k.take1 * d;
        *z = k.keep2 * *z + k.take2 * d * d;
        return w - k.lr * *s / (sqrtf(*z * k.rise2) + k.eps);
    case HPS_RULE_FTRL: return ftrl(k, w, g, s, z);
    default: return w - k.lr * d;
    }
}

/* What lamb moves a weight by, but for rate and ratio; its means go on. */
static __device__ __forceinline__ float lamb_mean(const rule &k, float w, float g, float *m,
                                                  float *v)
{
    float d = k.scale * g;

    *m = k.keep1 * *m + k.take1 * d;
    *v = k.keep2 * *v + k.take2 * d * d;
    return k.rise1 * *m / (sqrtf(*v * k.rise2) + k.eps) + k.l2 * w;
}

static __device__ __forceinline__ float lamb_move(const rule &k, float w, float m, float v)
{
    return k.rise1 * m / (sqrtf(v * k.rise2) + k.eps) + k.l2 * w;
}

static __device__ __forceinline__ float lamb_rate(const rule &k, double ww, double uu)
{
    return ww > 0 && uu > 0 ? (float)((double)k.lr * sqrt(ww / uu)) : k.lr;
}

/* ---- rows ---- */

struct apply {
    rule k;
    float *table;
    size_t stride;
    int dim;
    const int *at;
    struct hps_row_sums grad;

    __device__ void plain(float *w, size_t i, int lane) const
    {
        for (int d = lane; d < dim; d += WARP)
            w[d] = moved(k, w[d], sum_of(grad, i, dim, d), w + dim + d, w + 2 * dim + d);
    }
    __device__ void row_adagrad(float *w, size_t i, int lane) const
    {
        float sum = 0;
        for (int d = lane; d < dim; d += WARP) {
            float g = k.scale * sum_of(grad, i, dim, d) + k.l2 * w[d];
            sum += g * g;
        }
        float state = w[dim] + warp_sum(sum) / (float)dim;
        float rate = k.lr / (sqrtf(state) + k.eps);
        for (int d = lane; d < dim; d += WARP)
            w[d] -= rate * (k.scale * sum_of(grad, i, dim, d) + k.l2 * w[d]);
        __syncwarp();                   /* all have read the state */
        if (lane == 0) w[dim] = state;
    }
    __device__ void lamb(float *w, size_t i, int lane) const
    {
        double ww = 0, uu = 0;
        for (int d = lane; d < dim; d += WARP) {
            float u = lamb_mean(k, w[d], sum_of(grad, i, dim, d), w + dim + d, w + 2 * dim + d);
            ww += (double)w[d] * (double)w[d];
            uu += (double)u * (double)u;
        }
        ww = warp_sum(ww);
        uu = warp_sum(uu);
        float rate = lamb_rate(k, ww, uu);
        for (int d = lane; d < dim; d += WARP)
            w[d] -= rate * lamb_move(k, w[d], w[dim + d], w[2 * dim + d]);
    }
    __device__ void operator()(size_t i, int lane) const
    {
        float *w = table + (size_t)at[i] * stride;
        if (k.kind == HPS_RULE_ROW_ADAGRAD)
            row_adagrad(w, i, lane);
        else if (k.kind == HPS_RULE_LAMB)
            lamb(w, i, lane);
        else
            plain(w, i, lane);
    }
};

extern "C" int hps_kern_rows_apply(void *stream, struct hps_rule r, float *table, size_t stride,
                                   int dim, size_t n, const int *at, struct hps_row_sums grad)
{
    apply f = { prepare(r), table, stride, dim, at, grad };
    return run_rows(stream, n, f);
}

/* ---- planes ---- */

struct update {
    rule k;
    size_t n;
    float *param, *grad, *state;

    __device__ void operator()(size_t i, int) const
    {
        param[i] = moved(k, param[i], grad[i], state + i, state + n + i);
        grad[i] = 0;
    }
};

struct weights2 {
    const float *param;

    __device__ double operator()(size_t i) const { return (double)param[i] * (double)param[i]; }
};

struct moves2 {                 /* the means go on with it */
    rule k;
    size_t n;
    float *param, *grad, *state;

    __device__ double operator()(size_t i) const
    {
        double u = (double)lamb_mean(k, param[i], grad[i], state + i, state + n + i);
        grad[i] = 0;
        return u * u;
    }
};

struct lamb_step {
    rule k;
    size_t n;
    float *param, *state;
    const double *norm2;        /* of the weights, of the moves */

    __device__ void operator()(size_t i, int) const
    {
        float rate = lamb_rate(k, norm2[0], norm2[1]);
        param[i] -= rate * lamb_move(k, param[i], state[i], state[n + i]);
    }
};

extern "C" int hps_kern_update(void *stream, struct hps_rule r, size_t n, float *param,
                               float *grad, float *state, double *room)
{
    rule k = prepare(r);
    update f = { k, n, param, grad, state };
    if (r.kind != HPS_RULE_LAMB) return run_each(stream, n, 1, f);
    weights2 w = { param };
    moves2 m = { k, n, param, grad, state };
    lamb_step s = { k, n, param, state, room };
    int error = run_sum(stream, n, w, room + 2, room, false);
    if (!error) error = run_sum(stream, n, m, room + 2, room + 1, false);
    return error ? error : run_each(stream, n, 1, s);
}
