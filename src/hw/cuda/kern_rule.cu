/* kern_rule.cu - tables and update rules: a warp for a row, a thread for a dense weight. */
#include "hw/cuda/kern_impl.h"

/* ---- gather, sums of rows ---- */

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

extern "C" int hps_kern_gather(void *stream, const float *table, struct hps_row_list rows,
                               float *out)
{
    gather f = { table, rows.stride, rows.dim, rows.at, out };
    return run_each(stream, rows.n, rows.dim, f);
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

/* ---- rows ---- */

struct apply {
    hps_rule_step k;
    float *table;
    size_t stride;
    int dim;
    const int *at;
    struct hps_row_sums grad;

    __device__ void plain(float *w, size_t i, int lane) const
    {
        for (int d = lane; d < dim; d += WARP)
            w[d] = hps_rule_moved(&k, k.kind, w[d], sum_of(grad, i, dim, d), w + dim + d,
                                  w + 2 * dim + d);
    }
    __device__ void row_adagrad(float *w, size_t i, int lane) const
    {
        float sum = 0;
        for (int d = lane; d < dim; d += WARP) {
            float g = hps_rule_slope(&k, w[d], sum_of(grad, i, dim, d));
            sum += g * g;
        }
        float state = w[dim] + warp_sum(sum) / (float)dim;
        float rate = k.lr / (sqrtf(state) + k.eps);
        for (int d = lane; d < dim; d += WARP)
            w[d] -= rate * hps_rule_slope(&k, w[d], sum_of(grad, i, dim, d));
        __syncwarp();                   /* all lanes have read the state */
        if (lane == 0) w[dim] = state;
    }
    __device__ void lamb(float *w, size_t i, int lane) const
    {
        double ww = 0, uu = 0;
        for (int d = lane; d < dim; d += WARP) {
            float u =
                hps_rule_lamb_mean(&k, w[d], sum_of(grad, i, dim, d), w + dim + d, w + 2 * dim + d);
            ww += (double)w[d] * (double)w[d];
            uu += (double)u * (double)u;
        }
        ww = warp_sum(ww);
        uu = warp_sum(uu);
        float rate = hps_rule_lamb_rate(&k, ww, uu);
        for (int d = lane; d < dim; d += WARP)
            w[d] -= rate * hps_rule_lamb_move(&k, w[d], w[dim + d], w[2 * dim + d]);
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

extern "C" int hps_kern_rows_apply(void *stream, struct hps_rule r, float *table,
                                   struct hps_row_list rows, struct hps_row_sums grad)
{
    apply f = { hps_rule_prepare(&r), table, rows.stride, rows.dim, rows.at, grad };
    return run_rows(stream, rows.n, f);
}

/* ---- planes ---- */

struct update {
    hps_rule_step k;
    size_t plane;
    float *param, *grad, *state;

    __device__ void operator()(size_t i, int) const
    {
        param[i] = hps_rule_moved(&k, k.kind, param[i], grad[i], state + i, state + plane + i);
        grad[i] = 0;
    }
};

struct weights2 {
    const float *param;

    __device__ double operator()(size_t i) const { return (double)param[i] * (double)param[i]; }
};

struct moves2 {                 /* also updates the means */
    hps_rule_step k;
    size_t plane;
    float *param, *grad, *state;

    __device__ double operator()(size_t i) const
    {
        double u = (double)hps_rule_lamb_mean(&k, param[i], grad[i], state + i,
                                              state + plane + i);
        grad[i] = 0;
        return u * u;
    }
};

struct lamb_step {
    hps_rule_step k;
    size_t plane;
    float *param, *state;
    const double *norm2;        /* of the weights, of the updates */

    __device__ void operator()(size_t i, int) const
    {
        float rate = hps_rule_lamb_rate(&k, norm2[0], norm2[1]);
        param[i] -= rate * hps_rule_lamb_move(&k, param[i], state[i], state[plane + i]);
    }
};

extern "C" int hps_kern_update(void *stream, struct hps_rule r, size_t n, float *param,
                               float *grad, float *state, size_t plane, double *scratch)
{
    hps_rule_step k = hps_rule_prepare(&r);
    update f = { k, plane, param, grad, state };
    if (r.kind != HPS_RULE_LAMB) return run_each(stream, n, 1, f);
    weights2 w = { param };
    moves2 m = { k, plane, param, grad, state };
    lamb_step s = { k, plane, param, state, scratch };
    int error = run_sum(stream, n, w, scratch + 2, scratch, false);
    if (!error) error = run_sum(stream, n, m, scratch + 2, scratch + 1, false);
    return error ? error : run_each(stream, n, 1, s);
}
