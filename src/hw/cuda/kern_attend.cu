/* kern_attend.cu - attention over the bags of one slot, without the scoring network. */
#include "hw/cuda/kern_impl.h"

/* The row of id i. */
static __device__ __forceinline__ const float *row_at(const struct hps_kern_bags &bag, int dim,
                                                      size_t i)
{
    return hps_lookup_row(&bag.rows, bag.index[i], (size_t)dim);
}

/* The features of the ids from `first` on. */
struct ids : hps_kern_attend {
    size_t first;

    __device__ float row(size_t k, int d) const
    {
        return row_at(bag, dim, first + k)[d];
    }
    __device__ float candidate(size_t k, int d) const
    {
        return row_of(c, (size_t)of[first + k])[d];
    }
};

struct features {
    ids i;
    float *f;

    __device__ void operator()(size_t k, int d) const
    {
        size_t n = (size_t)i.dim;
        float u = i.candidate(k, d), r = i.row(k, d), *to = f + k * 4 * n + (size_t)d;
        to[0] = u;
        to[n] = r;
        to[2 * n] = u - r;
        to[3 * n] = u * r;
    }
};

extern "C" int hps_kern_features(void *stream, struct hps_kern_attend a, size_t first, size_t n,
                                 float *f)
{
    features k = { { a, first }, f };
    return run_each(stream, n, a.dim, k);
}

struct weigh {
    struct hps_kern_bags bag;
    float rate;
    bool softmax;
    const float *score;
    float *weight;

    __device__ void operator()(size_t b, int lane) const
    {
        size_t first = bag_start(bag, b), last = bag_start(bag, b + 1);
        float most = first < last ? score[first] : 0.0f, sum = 0;
        for (size_t i = first + (size_t)lane; i < last; i += WARP)
            most = score[i] > most ? score[i] : most;
        most = warp_max(most);
        for (size_t i = first + (size_t)lane; i < last; i += WARP) {
            weight[i] = softmax ? expf(rate * (score[i] - most)) : score[i];
            sum += weight[i];
        }
        sum = warp_sum(sum);
        for (size_t i = first + (size_t)lane; softmax && i < last; i += WARP)
            weight[i] /= sum;
    }
};

extern "C" int hps_kern_attend_weights(void *stream, struct hps_kern_bags bag, int dim,
                                       bool softmax, const float *score, float *weight)
{
    weigh f = { bag, 1 / sqrtf((float)dim), softmax, score, weight };
    return run_rows(stream, (size_t)bag.B, f);
}

struct attend_pool {
    struct hps_kern_bags bag;
    int dim;
    const float *weight;
    struct hps_tensor y;

    __device__ void operator()(size_t b, int d) const
    {
        float sum = 0;
        for (size_t i = bag_start(bag, b); i < bag_start(bag, b + 1); i++)
            sum += weight[i] * row_at(bag, dim, i)[d];
        row_of(y, b)[d] = sum;
    }
};

extern "C" int hps_kern_attend_pool(void *stream, struct hps_kern_bags bag, int dim,
                                    const float *weight, struct hps_tensor y)
{
    attend_pool f = { bag, dim, weight, y };
    return run_each(stream, (size_t)bag.B, dim, f);
}

/* Backward of the pooling: from dy to the scores and the pooled rows. */
struct pool_back : hps_kern_attend {
    bool softmax;
    float rate;
    const float *weight;
    struct hps_tensor dy;
    float *dscore, *drow;

    __device__ float pull(size_t b, size_t i, int lane) const
    {
        const float *d = row_of(dy, b), *r = row_at(bag, dim, i);
        float sum = 0;
        for (int k = lane; k < dim; k += WARP) {
            sum += d[k] * r[k];
            drow[i * (size_t)dim + (size_t)k] = weight[i] * d[k];
        }
        return warp_sum(sum);
    }
    __device__ void operator()(size_t b, int lane) const
    {
        size_t first = bag_start(bag, b), last = bag_start(bag, b + 1);
        float level = 0;
        for (size_t i = first; i < last; i++) {
            float d = pull(b, i, lane);
            if (lane == 0) dscore[i] = d;
            level += weight[i] * d;
        }
        for (size_t i = first; lane == 0 && softmax && i < last; i++)
            dscore[i] = weight[i] * (dscore[i] - level) * rate;
    }
};

extern "C" int hps_kern_attend_pool_back(void *stream, struct hps_kern_attend a, bool softmax,
                                         const float *weight, struct hps_tensor dy, float *dscore,
                                         float *drow)
{
    pool_back f = { a, softmax, 1 / sqrtf((float)a.dim), weight, dy, dscore, drow };
    return run_rows(stream, (size_t)a.bag.B, f);
}

struct features_back {
    ids i;
    const float *df;
    float *drow, *dcand;

    __device__ void operator()(size_t k, int d) const
    {
        size_t n = (size_t)i.dim, at = (i.first + k) * n + (size_t)d;
        const float *from = df + k * 4 * n + (size_t)d;
        drow[at] += from[n] - from[2 * n] + from[3 * n] * i.candidate(k, d);
        dcand[at] = from[0] + from[2 * n] + from[3 * n] * i.row(k, d);
    }
};

extern "C" int hps_kern_features_back(void *stream, struct hps_kern_attend a, size_t first,
                                      size_t n, const float *df, float *drow, float *dcand)
{
    features_back f = { { a, first }, df, drow, dcand };
    return run_each(stream, n, a.dim, f);
}

struct candidates {
    struct hps_kern_bags bag;
    int dim;
    const float *dcand;
    struct hps_tensor dc;

    __device__ void operator()(size_t b, int d) const
    {
        float sum = 0;
        for (size_t i = bag_start(bag, b); i < bag_start(bag, b + 1); i++)
            sum += dcand[i * (size_t)dim + (size_t)d];
        put_to(row_of(dc, b) + d, sum, dc.add);
    }
};

extern "C" int hps_kern_candidates(void *stream, struct hps_kern_bags bag, int dim,
                                   const float *dcand, struct hps_tensor dc)
{
    candidates f = { bag, dim, dcand, dc };
    return run_each(stream, (size_t)bag.B, dim, f);
}
