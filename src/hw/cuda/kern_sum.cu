/* kern_sum.cu - column sums and sums of all elements, in an order that depends on sizes alone. */
#include "hw/cuda/kern_impl.h"

struct element {
    struct hps_tensor x;

    __device__ float operator()(size_t r, int c) const { return row_of(x, r)[c]; }
};

extern "C" int hps_kern_column_sums(void *stream, int B, struct hps_tensor x, float *scratch,
                                    float *to)
{
    element g = { x };
    return run_columns<float>(stream, (size_t)B, x.width, g, scratch, to, true);
}

struct tilted {                 /* dy * h, h = (x - mean) * rate */
    struct hps_tensor x, dy;
    const float *saved;

    __device__ float operator()(size_t r, int c) const
    {
        return row_of(dy, r)[c] * ((row_of(x, r)[c] - saved[2 * r]) * saved[2 * r + 1]);
    }
};

extern "C" int hps_kern_layer_norm_sums(void *stream, struct hps_layer_norm norm,
                                        struct hps_tensor dy, float *scratch, float *dgain,
                                        float *dshift)
{
    size_t B = (size_t)norm.B;
    tilted g = { norm.x, dy, norm.saved };
    element d = { dy };
    int error = run_columns<float>(stream, B, dy.width, g, scratch, dgain, true);
    return error ? error : run_columns<float>(stream, B, dy.width, d, scratch, dshift, true);
}

struct square {
    const float *x;

    __device__ double operator()(size_t i) const { return (double)x[i] * (double)x[i]; }
};

extern "C" int hps_kern_squares(void *stream, size_t n, const float *x, double *scratch,
                                double *sum)
{
    square g = { x };
    return run_sum(stream, n, g, scratch, sum, false);
}

struct number {
    const double *x;

    __device__ double operator()(size_t i) const { return x[i]; }
};

extern "C" int hps_kern_total(void *stream, size_t n, const double *x, double *scratch, double *sum)
{
    number g = { x };
    return run_sum(stream, n, g, scratch, sum, true);
}
