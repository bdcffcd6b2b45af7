/* cuda_map.c - operations that are one kernel, or one and a sum. */
#include "hw/cuda/cuda_impl.h"

void hps_cuda_copy(struct hps_dev *dev, int B, int width, const float *x, size_t ldx, float *y,
                   size_t ldy, bool add)
{
    struct hps_tensor from = { (float *)(size_t)x, ldx, width }, to = { y, ldy, width };

    HPS_CUDA(hps_kern_copy(hps_cuda_stream(dev), B, from, to, add));
}

void hps_cuda_scale(struct hps_dev *dev, int B, float by, struct hps_tensor x,
                    struct hps_tensor y)
{
    HPS_CUDA(hps_kern_scale(hps_cuda_stream(dev), B, by, x, y));
}

void hps_cuda_dropout(struct hps_dev *dev, int B, int width, float p, uint64_t key,
                      const long long *example, const float *x, size_t ldx, float *y, size_t ldy,
                      bool add)
{
    struct hps_tensor from = { (float *)(size_t)x, ldx, width }, to = { y, ldy, width };

    HPS_CUDA(hps_kern_dropout(hps_cuda_stream(dev), B, p, key, example, from, to, add));
}

void hps_cuda_act_forward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                          struct hps_tensor y)
{
    HPS_CUDA(hps_kern_act(hps_cuda_stream(dev), act, B, x, y));
}

void hps_cuda_act_backward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                           struct hps_tensor y, struct hps_tensor dy, struct hps_tensor dx,
                           bool add)
{
    HPS_CUDA(hps_kern_act_back(hps_cuda_stream(dev), act, B, x, y, dy, dx, add));
}

void hps_cuda_gate_forward(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                           struct hps_tensor x, struct hps_tensor y)
{
    HPS_CUDA(hps_kern_gate(hps_cuda_stream(dev), B, a, b, x, y));
}

void hps_cuda_gate_backward(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                            struct hps_tensor dy, struct hps_tensor da, bool add)
{
    HPS_CUDA(hps_kern_gate_back(hps_cuda_stream(dev), B, a, b, dy, da, add));
}

void hps_cuda_cosine_forward(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                             struct hps_tensor y, float *keep)
{
    HPS_CUDA(hps_kern_cosine(hps_cuda_stream(dev), B, a, b, y, keep));
}

void hps_cuda_cosine_backward(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                              struct hps_tensor y, float *keep, struct hps_tensor dy,
                              struct hps_tensor da, bool add_a, struct hps_tensor db, bool add_b)
{
    void *stream = hps_cuda_stream(dev);

    if (da.data)
        HPS_CUDA(hps_kern_cosine_back(stream, B, a, b, y, keep, keep + 1, dy, da, add_a));
    if (db.data)
        HPS_CUDA(hps_kern_cosine_back(stream, B, b, a, y, keep + 1, keep, dy, db, add_b));
}

void hps_cuda_softmax_forward(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor y)
{
    HPS_CUDA(hps_kern_softmax(hps_cuda_stream(dev), B, x, y));
}

void hps_cuda_softmax_backward(struct hps_dev *dev, int B, struct hps_tensor y,
                               struct hps_tensor dy, struct hps_tensor dx, bool add)
{
    HPS_CUDA(hps_kern_softmax_back(hps_cuda_stream(dev), B, y, dy, dx, add));
}

void hps_cuda_row_norm_forward(struct hps_dev *dev, int B, struct hps_tensor x, const float *gain,
                               const float *shift, float eps, struct hps_tensor y, float *keep)
{
    HPS_CUDA(hps_kern_row_norm(hps_cuda_stream(dev), B, x, gain, shift, eps, y, keep));
}

void hps_cuda_row_norm_backward(struct hps_dev *dev, int B, struct hps_tensor x, const float *gain,
                                float *keep, struct hps_tensor dy, struct hps_tensor dx, bool add,
                                float *dgain, float *dshift)
{
    void *stream = hps_cuda_stream(dev);
    size_t chunks = hps_kern_chunks((size_t)B);
    float *room = hps_cuda_scratch(dev, chunks * (size_t)x.width * sizeof *room);

    HPS_CUDA(hps_kern_row_norm_sums(stream, B, x, keep, dy, room, dgain, dshift));
    if (dx.data) HPS_CUDA(hps_kern_row_norm_back(stream, B, x, gain, keep, dy, dx, add));
}

void hps_cuda_reduce(struct hps_dev *dev, int k, size_t n, const float *part, float *to)
{
    HPS_CUDA(hps_kern_reduce(hps_cuda_stream(dev), k, n, part, to));
}

void hps_cuda_reduce_doubles(struct hps_dev *dev, int k, size_t n, const double *part, double *to)
{
    HPS_CUDA(hps_kern_reduce_doubles(hps_cuda_stream(dev), k, n, part, to));
}

void hps_cuda_moments(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor z,
                      double *sums)
{
    size_t n = (size_t)x.width, chunks = hps_kern_chunks((size_t)B);
    double *room = hps_cuda_scratch(dev, 2 * chunks * n * sizeof *room);

    HPS_CUDA(hps_kern_moments(hps_cuda_stream(dev), B, x, z, room, sums));
}

void hps_cuda_norm_forward(struct hps_dev *dev, const struct hps_norm *norm, const double *sums,
                           float *running, float *p)
{
    HPS_CUDA(hps_kern_norm(hps_cuda_stream(dev), *norm, sums, running, p));
}

void hps_cuda_norm_gradients(struct hps_dev *dev, const struct hps_norm *norm, double *sums,
                             float *dgain, float *dshift)
{
    HPS_CUDA(hps_kern_norm_gradients(hps_cuda_stream(dev), *norm, sums, dgain, dshift));
}

void hps_cuda_norm_backward(struct hps_dev *dev, const struct hps_norm *norm, const double *sums,
                            float *p, float *r, float *q)
{
    HPS_CUDA(hps_kern_norm_back(hps_cuda_stream(dev), *norm, sums, p, r, q));
}

void hps_cuda_blend(struct hps_dev *dev, int B, const float *p, struct hps_tensor x,
                    const float *m, const float *r, const float *q, struct hps_tensor z,
                    struct hps_tensor y, bool add)
{
    HPS_CUDA(hps_kern_blend(hps_cuda_stream(dev), B, p, x, m, r, q, z, y, add));
}

/* ---- the vectors of an example, side by side in the scratch ---- */

static int vectors(int dim, int nx, const struct hps_tensor *x)
{
    int n = 0;

    for (int k = 0; k < nx; k++)
        n += x[k].width / dim;
    return n;
}

static float *lay(struct hps_dev *dev, int B, int nx, const struct hps_tensor *x, size_t width,
                  size_t behind)
{
    float *v = hps_cuda_scratch(dev, (size_t)B * (width + behind) * sizeof *v), *to = v;

    for (int k = 0; k < nx; to += x[k].width, k++)
        hps_cuda_copy(dev, B, x[k].width, x[k].data, x[k].ld, to, width, false);
    return v;
}

void hps_cuda_dots_forward(struct hps_dev *dev, int B, int dim, bool self, int nx,
                           const struct hps_tensor *x, struct hps_tensor y)
{
    int n = vectors(dim, nx, x);
    float *v = lay(dev, B, nx, x, (size_t)n * (size_t)dim, 0);

    HPS_CUDA(hps_kern_dots(hps_cuda_stream(dev), B, n, dim, self, v, y));
}

void hps_cuda_dots_backward(struct hps_dev *dev, int B, int dim, bool self, int nx,
                            const struct hps_tensor *x, struct hps_tensor dy,
                            const struct hps_tensor *dx, const bool *add)
{
    int n = vectors(dim, nx, x);
    size_t width = (size_t)n * (size_t)dim;
    float *v = lay(dev, B, nx, x, width, width), *dv = v + (size_t)B * width;

    HPS_CUDA(hps_kern_dots_back(hps_cuda_stream(dev), B, n, dim, self, v, dy, dv));
    for (int k = 0; k < nx; dv += x[k].width, k++)
        if (dx[k].data)
            hps_cuda_copy(dev, B, x[k].width, dv, width, dx[k].data, dx[k].ld, add[k]);
}

void hps_cuda_fm_forward(struct hps_dev *dev, int B, int dim, int nx, const struct hps_tensor *x,
                         struct hps_tensor y, float *sums)
{
    int n = vectors(dim, nx, x);
    float *v = lay(dev, B, nx, x, (size_t)n * (size_t)dim, 0);

    HPS_CUDA(hps_kern_fm(hps_cuda_stream(dev), B, n, dim, v, y, sums));
}

void hps_cuda_fm_backward(struct hps_dev *dev, int B, int dim, int nx, const struct hps_tensor *x,
                          float *sums, struct hps_tensor dy, const struct hps_tensor *dx,
                          const bool *add)
{
    for (int k = 0; k < nx; k++)
        if (dx[k].data)
            HPS_CUDA(hps_kern_fm_back(hps_cuda_stream(dev), B, dim, x[k], sums, dy, dx[k],
                                      add[k]));
}
