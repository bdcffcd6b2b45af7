/* kern_map.cu - elementwise kernels: copies, dropout, activations, scaling, reductions. */
#include "base/rng.h"
#include "hw/cuda/kern_impl.h"

struct copy_to {
    struct hps_tensor x, y;

    __device__ void operator()(size_t r, int c) const
    {
        put_to(row_of(y, r) + c, row_of(x, r)[c], y.add);
    }
};

extern "C" int hps_kern_copy(void *stream, int B, struct hps_tensor x, struct hps_tensor y)
{
    copy_to f = { x, y };
    return run_each(stream, (size_t)B, x.width, f);
}

/* Is the random number of (key, i) at least p (hw/op_dropout.h)? Its 24 bits as an integer are
 * compared with p * 2^24. */
struct drop {
    uint64_t key, least;
    float scale;
    const long long *example;
    struct hps_tensor x, y;

    __device__ void operator()(size_t r, int c) const
    {
        uint64_t at = (uint64_t)example[r] * (uint64_t)x.width + (uint64_t)c;
        bool keep = hps_rng_bits(key, at) >> 40 >= least;
        put_to(row_of(y, r) + c, keep ? row_of(x, r)[c] * scale : 0.0f, y.add);
    }
};

extern "C" int hps_kern_dropout(void *stream, int B, float p, uint64_t key,
                                const long long *example, struct hps_tensor x,
                                struct hps_tensor y)
{
    uint64_t least = (uint64_t)(p * 16777216.0f);
    if ((float)least < p * 16777216.0f) least++;
    drop f = { key, least, 1.0f / (1.0f - p), example, x, y };
    return run_each(stream, (size_t)B, x.width, f);
}

/* ---- activations; they propagate NaN ---- */

static __device__ __forceinline__ float normal(float x)
{
    return 0.5f * erfcf(-0.70710678f * x);
}

static __device__ __forceinline__ float value_of(enum hps_act act, float x)
{
    switch (act) {
    case HPS_ACT_RELU: return x < 0.0f ? 0.0f : x;
    case HPS_ACT_SIGMOID: return 1.0f / (1.0f + expf(-x));
    case HPS_ACT_TANH: return tanhf(x);
    case HPS_ACT_GELU: return x * normal(x);
    default: return x;
    }
}

static __device__ __forceinline__ float slope_of(enum hps_act act, float x, float y)
{
    switch (act) {
    case HPS_ACT_RELU: return y > 0.0f ? 1.0f : 0.0f;
    case HPS_ACT_SIGMOID: return y * (1.0f - y);
    case HPS_ACT_TANH: return 1.0f - y * y;
    case HPS_ACT_GELU: return normal(x) + x * expf(-0.5f * x * x) * 0.39894228f;
    default: return 1.0f;
    }
}

struct activate {
    enum hps_act act;
    struct hps_tensor x, y;

    __device__ void operator()(size_t r, int c) const
    {
        row_of(y, r)[c] = value_of(act, row_of(x, r)[c]);
    }
};

extern "C" int hps_kern_act(void *stream, enum hps_act act, int B, struct hps_tensor x,
                            struct hps_tensor y)
{
    activate f = { act, x, y };
    return run_each(stream, (size_t)B, x.width, f);
}

/* gelu reads x, the others y; dx may be dy. */
struct incline {
    enum hps_act act;
    struct hps_tensor x, y, dy, dx;

    __device__ void operator()(size_t r, int c) const
    {
        float at = act == HPS_ACT_GELU ? row_of(x, r)[c] : 0.0f;
        float value = act == HPS_ACT_GELU ? 0.0f : row_of(y, r)[c];
        put_to(row_of(dx, r) + c, row_of(dy, r)[c] * slope_of(act, at, value), dx.add);
    }
};

extern "C" int hps_kern_act_back(void *stream, enum hps_act act, int B, struct hps_tensor x,
                                 struct hps_tensor y, struct hps_tensor dy, struct hps_tensor dx)
{
    incline f = { act, x, y, dy, dx };
    if (act == HPS_ACT_NONE) return hps_kern_copy(stream, B, dy, dx);
    return run_each(stream, (size_t)B, dy.width, f);
}

struct bias {
    enum hps_act act;
    struct hps_tensor y;
    const float *b;
    float *pre;

    __device__ void operator()(size_t r, int c) const
    {
        float x = row_of(y, r)[c] + (b ? b[c] : 0.0f);
        if (pre) pre[r * (size_t)y.width + (size_t)c] = x;
        row_of(y, r)[c] = value_of(act, x);
    }
};

extern "C" int hps_kern_bias_act(void *stream, enum hps_act act, int B, struct hps_tensor y,
                                 const float *b, float *pre)
{
    bias f = { act, y, b, pre };
    return run_each(stream, (size_t)B, y.width, f);
}

/* ---- scaling ---- */

struct scaled {
    float by;
    struct hps_tensor x, y;

    __device__ void operator()(size_t r, int c) const { row_of(y, r)[c] = by * row_of(x, r)[c]; }
};

extern "C" int hps_kern_scale(void *stream, int B, float by, struct hps_tensor x,
                              struct hps_tensor y)
{
    scaled f = { by, x, y };
    return run_each(stream, (size_t)B, x.width, f);
}

/* ---- reductions ---- */

template <class T> struct reduced {
    int k;
    size_t n;
    const T *part;
    T *to;

    __device__ void operator()(size_t i, int) const
    {
        T sum = part[i];
        for (int r = 1; r < k; r++)
            sum += part[(size_t)r * n + i];
        to[i] = sum;
    }
};

extern "C" int hps_kern_reduce(void *stream, int k, size_t n, const float *part, float *to)
{
    reduced<float> f = { k, n, part, to };
    return run_each(stream, n, 1, f);
}

extern "C" int hps_kern_reduce_doubles(void *stream, int k, size_t n, const double *part,
                                       double *to)
{
    reduced<double> f = { k, n, part, to };
    return run_each(stream, n, 1, f);
}
