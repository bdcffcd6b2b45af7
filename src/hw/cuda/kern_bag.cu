/* kern_bag.cu - pooled bags: the forward, and gradients of rows summed in the order of the ids. */
#include "hw/cuda/kern_impl.h"

struct pool {
    struct hps_kern_bags bag;
    int dim;
    bool mean, concat;
    struct hps_tensor y;

    __device__ float of_row(int p, int d) const
    {
        return hps_lookup_row(&bag.rows, p, (size_t)dim)[d];
    }
    __device__ float sum_of(size_t at, int d) const
    {
        size_t first = bag_start(bag, at), last = bag_start(bag, at + 1);
        float sum = 0, share = mean && last > first ? 1.0f / (float)(last - first) : 1.0f;
        for (size_t i = first; i < last; i++)
            sum += share * of_row(bag.index[i], d);
        return sum;
    }
    __device__ void operator()(size_t b, int c) const
    {
        size_t B = (size_t)bag.B;
        float sum = 0;
        for (int s = 0; s < bag.nslot && !concat; s++)
            sum += sum_of((size_t)s * B + b, c);
        row_of(y, b)[c] = concat ? sum_of((size_t)(c / dim) * B + b, c % dim) : sum;
    }
};

extern "C" int hps_kern_bag(void *stream, struct hps_kern_bags bag, struct hps_kern_pool p,
                            struct hps_tensor y)
{
    pool f = { bag, p.dim, p.mean, p.concat, y };
    return run_each(stream, (size_t)bag.B, y.width, f);
}

struct numbers {
    struct hps_kern_bags bag;
    int *of, *nth;

    __device__ void operator()(size_t at, int) const
    {
        for (size_t i = bag_start(bag, at); i < bag_start(bag, at + 1); i++) {
            of[i] = (int)at;
            nth[i] = (int)i;
        }
    }
};

extern "C" int hps_kern_bag_numbers(void *stream, struct hps_kern_bags bag, int *of, int *nth)
{
    numbers f = { bag, of, nth };
    return run_each(stream, (size_t)bag.nslot * (size_t)bag.B, 1, f);
}

/* What an id adds to its row. */
struct spill {
    struct hps_kern_bags bag;
    int dim;
    bool mean, concat;
    const int *nth, *of;
    struct hps_tensor dy;

    __device__ float operator()(size_t k, int d) const
    {
        size_t at = (size_t)of[nth[k]], b = at % (size_t)bag.B, s = at / (size_t)bag.B;
        float v = row_of(dy, b)[(concat ? s * (size_t)dim : 0) + (size_t)d];
        return mean ? v / (float)(bag_start(bag, at + 1) - bag_start(bag, at)) : v;
    }
};

extern "C" int hps_kern_bag_back(void *stream, struct hps_kern_bags bag, struct hps_kern_pool p,
                                 struct hps_kern_sorted ids, struct hps_tensor dy,
                                 float *rows_grad)
{
    spill g = { bag, p.dim, p.mean, p.concat, ids.nth, ids.of, dy };
    return run_keys(stream, bag.nid, p.dim, ids.key, g, ids.partial, rows_grad);
}
