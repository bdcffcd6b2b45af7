/* kern_dots.cu - pairwise dot products and factorization machines, of v (B, n, dim). */
#include "hw/cuda/kern_impl.h"

/* Where row i of the triangle begins: j < i, or j <= i. */
static __device__ __forceinline__ int corner(int i, bool self)
{
    return self ? i * (i + 1) / 2 : i * (i - 1) / 2;
}

struct dots {
    int n, dim;
    bool self;
    const float *v;
    struct hps_tensor y;

    __device__ void operator()(size_t b, int at) const
    {
        int i = (int)((sqrtf(8.0f * (float)at + 1.0f) + (self ? -1.0f : 1.0f)) / 2);
        while (corner(i, self) > at) i--;
        while (corner(i + 1, self) <= at) i++;
        const float *row = v + b * (size_t)n * (size_t)dim;
        const float *a = row + (size_t)i * (size_t)dim;
        const float *z = row + (size_t)(at - corner(i, self)) * (size_t)dim;
        float sum = 0;
        for (int d = 0; d < dim; d++)
            sum += a[d] * z[d];
        row_of(y, b)[at] = sum;
    }
};

extern "C" int hps_kern_dots(void *stream, struct hps_kern_vectors v, bool self,
                             struct hps_tensor y)
{
    dots f = { v.n, v.dim, self, v.v, y };
    return run_each(stream, (size_t)v.B, y.width, f);
}

struct dots_back {
    int n, dim;
    bool self;
    const float *v;
    struct hps_tensor dy;
    float *dv;

    __device__ void operator()(size_t b, int at) const
    {
        int i = at / dim, d = at % dim;
        const float *row = v + b * (size_t)n * (size_t)dim, *g = row_of(dy, b);
        float sum = 0;
        for (int j = 0; j < n; j++) {
            if (j == i && !self) continue;
            float pull = i > j ? g[corner(i, self) + j] : g[corner(j, self) + i];
            sum += (i == j ? 2 * pull : pull) * row[j * dim + d];
        }
        dv[(b * (size_t)n + (size_t)i) * (size_t)dim + (size_t)d] = sum;
    }
};

extern "C" int hps_kern_dots_back(void *stream, struct hps_kern_vectors v, bool self,
                                  struct hps_tensor dy, float *dv)
{
    dots_back f = { v.n, v.dim, self, v.v, dy, dv };
    return run_each(stream, (size_t)v.B, v.n * v.dim, f);
}

/* ---- factorization machine: ((sum v)^2 - sum v^2) / 2 ---- */

struct fm {
    int n, dim;
    const float *v;
    struct hps_tensor y;
    float *sums;

    __device__ void operator()(size_t b, int lane) const
    {
        const float *row = v + b * (size_t)n * (size_t)dim;
        float all = 0;
        for (int d = lane; d < dim; d += WARP) {
            float sum = 0, square = 0;
            for (int i = 0; i < n; i++) {
                float x = row[i * dim + d];
                sum += x;
                square += x * x;
            }
            sums[b * (size_t)dim + (size_t)d] = sum;
            sum = 0.5f * (sum * sum - square);
            all += sum;
            if (y.width > 1) row_of(y, b)[d] = sum;
        }
        all = warp_sum(all);
        if (y.width == 1 && lane == 0) row_of(y, b)[0] = all;
    }
};

extern "C" int hps_kern_fm(void *stream, struct hps_kern_vectors v, struct hps_tensor y,
                           float *sums)
{
    fm f = { v.n, v.dim, v.v, y, sums };
    return run_rows(stream, (size_t)v.B, f);
}

/* dv = dy * (sum - v). */
struct fm_back {
    int dim;
    struct hps_tensor x, dy, dx;
    const float *sums;

    __device__ void operator()(size_t b, int c) const
    {
        int d = c % dim;
        float g = row_of(dy, b)[dy.width > 1 ? d : 0];
        put_to(row_of(dx, b) + c,
               g * (sums[b * (size_t)dim + (size_t)d] - row_of(x, b)[c]), dx.add);
    }
};

extern "C" int hps_kern_fm_back(void *stream, int B, int dim, struct hps_tensor x,
                                const float *sums, struct hps_tensor dy, struct hps_tensor dx)
{
    fm_back f = { dim, x, dy, dx, sums };
    return run_each(stream, (size_t)B, x.width, f);
}
