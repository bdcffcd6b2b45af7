/* kern_norm.cu - batch norm: sums over columns, factors of each column, the elements. */
#include "hw/cuda/kern_impl.h"

struct moment {                 /* of x, and behind those of x * z */
    struct hps_tensor x, z;

    __device__ double operator()(size_t r, int c) const
    {
        bool second = c >= x.width;
        int at = second ? c - x.width : c;
        double v = (double)row_of(x, r)[at];
        return second ? v * (double)row_of(z, r)[at] : v;
    }
};

extern "C" int hps_kern_moments(void *stream, int B, struct hps_tensor x, struct hps_tensor z,
                                double *scratch, double *sums)
{
    moment g = { x, z };
    return run_columns<double>(stream, (size_t)B, 2 * x.width, g, scratch, sums, false);
}

/* ---- factors of each column, in double as on a host ---- */

struct column {
    struct hps_batch_norm n;

    __device__ float mean(int c) const { return n.stats[c]; }
    __device__ double root(int c) const
    {
        return sqrt((double)n.stats[n.width + c] + n.epsilon);
    }
};

struct norm_forward : column {
    const double *sums;
    float *running, *p;

    __device__ void measure(int c) const
    {
        int v = n.width + c;
        double rows = n.rows, mean = sums[c] / rows, var = sums[v] / rows - mean * mean;
        var = var > 0 ? var : 0;
        n.stats[c] = (float)mean;
        n.stats[v] = (float)var;
        if (n.rows < 2) return;
        var = var * rows / (rows - 1);
        running[c] = (float)((1 - n.share) * (double)running[c] + n.share * mean);
        running[v] = (float)((1 - n.share) * (double)running[v] + n.share * var);
    }
    __device__ void operator()(size_t, int c) const
    {
        if (sums) measure(c);
        p[c] = (float)((double)n.gain[c] / root(c));
    }
};

extern "C" int hps_kern_norm(void *stream, struct hps_batch_norm n, const double *sums,
                             float *running, float *p)
{
    norm_forward f = { { n }, sums, running, p };
    return run_each(stream, 1, n.width, f);
}

struct norm_gradients : column {
    double *sums;
    float *dgain, *dshift;

    __device__ void operator()(size_t, int c) const
    {
        int v = n.width + c;
        sums[v] = 1 / root(c) * (sums[v] - (double)mean(c) * sums[c]);
        dgain[c] += (float)sums[v];
        dshift[c] += (float)sums[c];
    }
};

extern "C" int hps_kern_norm_gradients(void *stream, struct hps_batch_norm n, double *sums,
                                       float *dgain, float *dshift)
{
    norm_gradients f = { { n }, sums, dgain, dshift };
    return run_each(stream, 1, n.width, f);
}

/* dx = gain * rate * (dy - dshift / n - h * dgain / n) */
struct norm_back : column {
    const double *sums;
    float *p, *r, *q;

    __device__ void operator()(size_t, int c) const
    {
        double rate = 1 / root(c), by = (double)n.gain[c] * rate, rows = n.rows;
        q[c] = (float)by;
        p[c] = (float)(-by * rate * sums[n.width + c] / rows);
        r[c] = (float)(-by * sums[c] / rows);
    }
};

extern "C" int hps_kern_norm_back(void *stream, struct hps_batch_norm n, const double *sums,
                                  float *p, float *r, float *q)
{
    norm_back f = { { n }, sums, p, r, q };
    return run_each(stream, 1, n.width, f);
}

/* ---- the elements ---- */

struct mixed : hps_blend {
    struct hps_tensor y;

    __device__ void operator()(size_t row, int c) const
    {
        float v = p[c] * (row_of(x, row)[c] - m[c]) + r[c];
        if (z.data) v += q[c] * row_of(z, row)[c];
        put_to(row_of(y, row) + c, v, y.add);
    }
};

extern "C" int hps_kern_blend(void *stream, int B, struct hps_blend blend, struct hps_tensor y)
{
    mixed f = { blend, y };
    return run_each(stream, (size_t)B, blend.x.width, f);
}
