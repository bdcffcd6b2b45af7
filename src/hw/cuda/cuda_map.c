/* cuda_map.c - operations of one kernel, or of one kernel and a sum. */
#include "hw/cuda/cuda_impl.h"
#include "hw/op_dropout.h"
#include "hw/op_fm.h"
#include "hw/op_softmax.h"

void hps_cuda_copy(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor y)
{
    HPS_CUDA(hps_kern_copy(hps_cuda_stream(dev), B, x, y));
}

void hps_cuda_scale(struct hps_dev *dev, int B, float by, struct hps_tensor x,
                    struct hps_tensor y)
{
    HPS_CUDA(hps_kern_scale(hps_cuda_stream(dev), B, by, x, y));
}

void hps_cuda_act_forward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                          struct hps_tensor y)
{
    HPS_CUDA(hps_kern_act(hps_cuda_stream(dev), act, B, x, y));
}

void hps_cuda_act_backward(struct hps_dev *dev, enum hps_act act, int B, struct hps_tensor x,
                           struct hps_tensor y, struct hps_tensor dy, struct hps_tensor dx)
{
    HPS_CUDA(hps_kern_act_back(hps_cuda_stream(dev), act, B, x, y, dy, dx));
}

void hps_cuda_reduce(struct hps_dev *dev, int k, size_t n, const float *part, float *to)
{
    HPS_CUDA(hps_kern_reduce(hps_cuda_stream(dev), k, n, part, to));
}

void hps_cuda_reduce_doubles(struct hps_dev *dev, int k, size_t n, const double *part, double *to)
{
    HPS_CUDA(hps_kern_reduce_doubles(hps_cuda_stream(dev), k, n, part, to));
}

static void dropout(struct hps_dev *dev, int B, float p, uint64_t key, const long long *example,
                    struct hps_tensor x, struct hps_tensor y)
{
    HPS_CUDA(hps_kern_dropout(hps_cuda_stream(dev), B, p, key, example, x, y));
}

const struct hps_op_dropout hps_cuda_dropout = { dropout };

static void cosine_forward(struct hps_dev *dev, const struct hps_cosine *c)
{
    HPS_CUDA(hps_kern_cosine(hps_cuda_stream(dev), *c));
}

static void cosine_backward(struct hps_dev *dev, const struct hps_cosine *c, struct hps_tensor dy,
                            struct hps_tensor da, struct hps_tensor db)
{
    HPS_CUDA(hps_kern_cosine_back(hps_cuda_stream(dev), *c, dy, da, db));
}

const struct hps_op_cosine hps_cuda_cosine = { cosine_forward, cosine_backward };

static void softmax_forward(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor y)
{
    HPS_CUDA(hps_kern_softmax(hps_cuda_stream(dev), B, x, y));
}

static void softmax_backward(struct hps_dev *dev, int B, struct hps_tensor y,
                             struct hps_tensor dy, struct hps_tensor dx)
{
    HPS_CUDA(hps_kern_softmax_back(hps_cuda_stream(dev), B, y, dy, dx));
}

const struct hps_op_softmax hps_cuda_softmax = { softmax_forward, softmax_backward };

static void layer_norm_forward(struct hps_dev *dev, const struct hps_layer_norm *norm,
                               struct hps_tensor y)
{
    HPS_CUDA(hps_kern_layer_norm(hps_cuda_stream(dev), *norm, y));
}

static void layer_norm_backward(struct hps_dev *dev, const struct hps_layer_norm *norm,
                                struct hps_tensor dy, struct hps_tensor dx, float *dgain,
                                float *dshift)
{
    void *stream = hps_cuda_stream(dev);
    size_t chunks = hps_kern_column_blocks((size_t)norm->B);
    float *scratch = hps_cuda_scratch(dev, chunks * (size_t)norm->x.width * sizeof *scratch);

    HPS_CUDA(hps_kern_layer_norm_sums(stream, *norm, dy, scratch, dgain, dshift));
    if (dx.data) HPS_CUDA(hps_kern_layer_norm_back(stream, *norm, dy, dx));
}

const struct hps_op_layer_norm hps_cuda_layer_norm = { layer_norm_forward, layer_norm_backward };

/* ---- batch norm ---- */

static void moments(struct hps_dev *dev, int B, struct hps_tensor x, struct hps_tensor z,
                    double *sums)
{
    size_t n = (size_t)x.width, chunks = hps_kern_column_blocks((size_t)B);
    double *scratch = hps_cuda_scratch(dev, 2 * chunks * n * sizeof *scratch);

    HPS_CUDA(hps_kern_moments(hps_cuda_stream(dev), B, x, z, scratch, sums));
}

static void norm_forward(struct hps_dev *dev, const struct hps_batch_norm *norm,
                         const double *sums, float *running, float *p)
{
    HPS_CUDA(hps_kern_norm(hps_cuda_stream(dev), *norm, sums, running, p));
}

static void norm_gradients(struct hps_dev *dev, const struct hps_batch_norm *norm, double *sums,
                           float *dgain, float *dshift)
{
    HPS_CUDA(hps_kern_norm_gradients(hps_cuda_stream(dev), *norm, sums, dgain, dshift));
}

static void norm_backward(struct hps_dev *dev, const struct hps_batch_norm *norm,
                          const double *sums, float *p, float *r, float *q)
{
    HPS_CUDA(hps_kern_norm_back(hps_cuda_stream(dev), *norm, sums, p, r, q));
}

static void blend(struct hps_dev *dev, int B, const struct hps_blend *of, struct hps_tensor y)
{
    HPS_CUDA(hps_kern_blend(hps_cuda_stream(dev), B, *of, y));
}

const struct hps_op_batch_norm hps_cuda_batch_norm = {
    moments, norm_forward, norm_gradients, norm_backward, blend
};

/* ---- the vectors of an example, contiguous in the scratch ---- */

/* `behind`: more numbers of each example, in a block behind all vectors. */
static struct hps_kern_vectors lay(struct hps_dev *dev, const struct hps_vectors *of, bool behind)
{
    struct hps_kern_vectors v = { of->B, 0, of->dim, NULL };
    size_t width = 0;

    for (int k = 0; k < of->nx; k++)
        width += (size_t)of->x[k].width;
    v.n = (int)width / of->dim;
    float *to = hps_cuda_scratch(dev, (size_t)v.B * width * (behind ? 2 : 1) * sizeof *to);
    v.v = to;
    for (int k = 0; k < of->nx; to += of->x[k].width, k++)
        hps_cuda_copy(dev, v.B, of->x[k], hps_tensor_view(to, width, of->x[k].width));
    return v;
}

static void dots_forward(struct hps_dev *dev, const struct hps_vectors *of, bool self,
                         struct hps_tensor y)
{
    HPS_CUDA(hps_kern_dots(hps_cuda_stream(dev), lay(dev, of, false), self, y));
}

static void dots_backward(struct hps_dev *dev, const struct hps_vectors *of, bool self,
                          struct hps_tensor dy, const struct hps_tensor *dx)
{
    struct hps_kern_vectors v = lay(dev, of, true);
    size_t width = (size_t)v.n * (size_t)v.dim;
    float *dv = (float *)(size_t)v.v + (size_t)v.B * width;

    HPS_CUDA(hps_kern_dots_back(hps_cuda_stream(dev), v, self, dy, dv));
    for (int k = 0; k < of->nx; dv += of->x[k].width, k++)
        if (dx[k].data) hps_cuda_copy(dev, v.B, hps_tensor_view(dv, width, dx[k].width), dx[k]);
}

const struct hps_op_dot_interaction hps_cuda_dot_interaction = { dots_forward, dots_backward };

static void fm_forward(struct hps_dev *dev, const struct hps_vectors *of, struct hps_tensor y,
                       float *sums)
{
    HPS_CUDA(hps_kern_fm(hps_cuda_stream(dev), lay(dev, of, false), y, sums));
}

static void fm_backward(struct hps_dev *dev, const struct hps_vectors *of, float *sums,
                        struct hps_tensor dy, const struct hps_tensor *dx)
{
    for (int k = 0; k < of->nx; k++)
        if (dx[k].data)
            HPS_CUDA(hps_kern_fm_back(hps_cuda_stream(dev), of->B, of->dim, of->x[k], sums, dy,
                                      dx[k]));
}

const struct hps_op_fm hps_cuda_fm = { fm_forward, fm_backward };
