/* kern_cross.cu - the elementwise part of a cross layer: all of hw/op_cross.h. */
#include "hw/cuda/kern_impl.h"
#include "hw/cuda/launch_impl.h"
#include "hw/op_cross.h"

struct gate {
    struct hps_tensor a, b, x, y;

    __device__ void operator()(size_t r, int c) const
    {
        row_of(y, r)[c] = row_of(a, r)[c] * row_of(b, r)[c] + row_of(x, r)[c];
    }
};

static void forward(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                    struct hps_tensor x, struct hps_tensor y)
{
    gate f = { a, b, x, y };
    HPS_CUDA(run_each(hps_cuda_stream(dev), (size_t)B, x.width, f));
}

struct gate_back {
    struct hps_tensor a, b, dy, da;

    __device__ void operator()(size_t r, int c) const
    {
        float d = row_of(dy, r)[c];
        if (da.data) put_to(row_of(da, r) + c, d * row_of(b, r)[c], da.add);
        row_of(b, r)[c] = d * row_of(a, r)[c];
    }
};

static void backward(struct hps_dev *dev, int B, struct hps_tensor a, struct hps_tensor b,
                     struct hps_tensor dy, struct hps_tensor da)
{
    gate_back f = { a, b, dy, da };
    HPS_CUDA(run_each(hps_cuda_stream(dev), (size_t)B, dy.width, f));
}

const struct hps_op_cross hps_cuda_cross = { forward, backward };
