/* kern_row.cu - a warp for a row: cosine, softmax, layer norm, L2 normalisation. */
#include "hw/cuda/kern_impl.h"

#define TINY 1e-12f             /* added to a square, so that rows of zeros have a gradient */

/* The columns of a lane in a sum over a row. */
#define OVER_ROW(c, lane, width) for (int c = lane; c < (width); c += WARP)

struct cosine : hps_cosine {

    __device__ void operator()(size_t r, int lane) const
    {
        const float *u = row_of(a, r), *v = row_of(b, r);
        float uv = 0, uu = 0, vv = 0;
        OVER_ROW(c, lane, a.width)
        {
            uv += u[c] * v[c];
            uu += u[c] * u[c];
            vv += v[c] * v[c];
        }
        float by_a = 1 / sqrtf(warp_sum(uu) + TINY), by_b = 1 / sqrtf(warp_sum(vv) + TINY);
        uv = warp_sum(uv);
        if (lane != 0) return;
        saved[2 * r] = by_a;
        saved[2 * r + 1] = by_b;
        row_of(y, r)[0] = uv * by_a * by_b;
    }
};

extern "C" int hps_kern_cosine(void *stream, struct hps_cosine c)
{
    cosine f = { c };
    return run_rows(stream, (size_t)c.B, f);
}

/* With u = a / |a|, v = b / |b|: d cos / da = (v - cos u) / |a|. */
struct lean {
    struct hps_tensor a, b, y, dy, da;
    const float *by_a, *by_b;   /* with a stride of 2 */

    __device__ void operator()(size_t r, int c) const
    {
        float ra = by_a[2 * r], rb = by_b[2 * r], cos = row_of(y, r)[0], d = row_of(dy, r)[0];
        put_to(row_of(da, r) + c, d * ra * (rb * row_of(b, r)[c] - cos * ra * row_of(a, r)[c]),
               da.add);
    }
};

extern "C" int hps_kern_cosine_back(void *stream, struct hps_cosine c, struct hps_tensor dy,
                                    struct hps_tensor da, struct hps_tensor db)
{
    lean f = { c.a, c.b, c.y, dy, da, c.saved, c.saved + 1 };
    lean g = { c.b, c.a, c.y, dy, db, c.saved + 1, c.saved };
    int error = da.data ? run_each(stream, (size_t)c.B, c.a.width, f) : 0;
    return error || !db.data ? error : run_each(stream, (size_t)c.B, c.a.width, g);
}

struct softmax {
    struct hps_tensor x, y;

    __device__ void operator()(size_t r, int lane) const
    {
        const float *from = row_of(x, r);
        float *to = row_of(y, r), most = from[0], sum = 0;
        OVER_ROW(c, lane, x.width) most = from[c] > most ? from[c] : most;
        most = warp_max(most);
        OVER_ROW(c, lane, x.width)
        {
            to[c] = expf(from[c] - most);
            sum += to[c];
        }
        float share = 1 / warp_sum(sum);
        OVER_ROW(c, lane, x.width) to[c] *= share;
    }
};

extern "C" int hps_kern_softmax(void *stream, int B, struct hps_tensor x, struct hps_tensor y)
{
    softmax f = { x, y };
    return run_rows(stream, (size_t)B, f);
}

struct softmax_back {
    struct hps_tensor y, dy, dx;

    __device__ void operator()(size_t r, int lane) const
    {
        const float *p = row_of(y, r), *d = row_of(dy, r);
        float sum = 0;
        OVER_ROW(c, lane, y.width) sum += p[c] * d[c];
        sum = warp_sum(sum);
        OVER_ROW(c, lane, y.width) put_to(row_of(dx, r) + c, p[c] * (d[c] - sum), dx.add);
    }
};

extern "C" int hps_kern_softmax_back(void *stream, int B, struct hps_tensor y,
                                     struct hps_tensor dy, struct hps_tensor dx)
{
    softmax_back f = { y, dy, dx };
    return run_rows(stream, (size_t)B, f);
}

struct layer_norm : hps_layer_norm {
    struct hps_tensor y;

    __device__ void operator()(size_t r, int lane) const
    {
        const float *from = row_of(x, r);
        float sum = 0, square = 0, n = (float)x.width;
        OVER_ROW(c, lane, x.width) sum += from[c];
        float mean = warp_sum(sum) / n;
        OVER_ROW(c, lane, x.width) square += (from[c] - mean) * (from[c] - mean);
        float rate = 1 / sqrtf(warp_sum(square) / n + eps);
        OVER_ROW(c, lane, x.width)
        row_of(y, r)[c] = gain[c] * ((from[c] - mean) * rate) + shift[c];
        if (lane != 0) return;
        saved[2 * r] = mean;
        saved[2 * r + 1] = rate;
    }
};

extern "C" int hps_kern_layer_norm(void *stream, struct hps_layer_norm norm, struct hps_tensor y)
{
    layer_norm f = { norm, y };
    return run_rows(stream, (size_t)norm.B, f);
}

/* With h = (x - mean) * rate and g = gain * dy:  dx = rate * (g - mean(g) - h * mean(g h)). */
struct layer_norm_back : hps_layer_norm {
    struct hps_tensor dy, dx;

    __device__ void operator()(size_t r, int lane) const
    {
        const float *from = row_of(x, r), *d = row_of(dy, r);
        float mean = saved[2 * r], rate = saved[2 * r + 1], level = 0, tilt = 0;
        OVER_ROW(c, lane, x.width)
        {
            level += gain[c] * d[c];
            tilt += gain[c] * d[c] * ((from[c] - mean) * rate);
        }
        level = warp_sum(level) / (float)x.width;
        tilt = warp_sum(tilt) / (float)x.width;
        OVER_ROW(c, lane, x.width)
        put_to(row_of(dx, r) + c,
               rate * (gain[c] * d[c] - level - (from[c] - mean) * rate * tilt), dx.add);
    }
};

extern "C" int hps_kern_layer_norm_back(void *stream, struct hps_layer_norm norm,
                                        struct hps_tensor dy, struct hps_tensor dx)
{
    layer_norm_back f = { norm, dy, dx };
    return run_rows(stream, (size_t)norm.B, f);
}

struct l2_normalise {
    struct hps_tensor x;
    float *y, *norm;

    __device__ void operator()(size_t r, int lane) const
    {
        const float *from = row_of(x, r);
        float sum = 0;
        OVER_ROW(c, lane, x.width) sum += from[c] * from[c];
        float length = sqrtf(warp_sum(sum) + TINY);
        OVER_ROW(c, lane, x.width) y[r * (size_t)x.width + (size_t)c] = from[c] / length;
        if (lane == 0) norm[r] = length;
    }
};

extern "C" int hps_kern_l2_normalise(void *stream, int B, struct hps_tensor x, float *y,
                                     float *norm)
{
    l2_normalise f = { x, y, norm };
    return run_rows(stream, (size_t)B, f);
}

struct l2_normalise_back {
    int width;
    const float *y, *norm;
    float *dy;

    __device__ void operator()(size_t r, int lane) const
    {
        const float *v = y + r * (size_t)width;
        float *d = dy + r * (size_t)width, along = 0;
        OVER_ROW(c, lane, width) along += v[c] * d[c];
        along = warp_sum(along);
        OVER_ROW(c, lane, width) d[c] = (d[c] - along * v[c]) / norm[r];
    }
};

extern "C" int hps_kern_l2_normalise_back(void *stream, int B, int width, const float *y,
                                          const float *norm, float *dy)
{
    l2_normalise_back f = { width, y, norm, dy };
    return run_rows(stream, (size_t)B, f);
}
