/* layer_ops.h - the device operations that one layer type alone needs. Each has a name in the list
 * below, a table of functions declared in hw/op_NAME.h, and an instance `hps_BACKEND_NAME` in each
 * backend (hps_cpu_fm, hps_cuda_fm): a backend that lacks one does not link. The rules of hw/dev.h
 * hold for each operation. */
#ifndef HPS_HW_LAYER_OPS_H
#define HPS_HW_LAYER_OPS_H

#define HPS_LAYER_OPS(one)                                                                         \
    one(attention)                                                                                 \
    one(batch_norm)                                                                                \
    one(cosine)                                                                                    \
    one(cross)                                                                                     \
    one(dot_interaction)                                                                           \
    one(dropout)                                                                                   \
    one(fm)                                                                                        \
    one(in_batch)                                                                                  \
    one(layer_norm)                                                                                \
    one(loss)                                                                                      \
    one(nce)                                                                                       \
    one(softmax)

/* One pointer for each: dev->ops->layers->fm->forward(dev, ...). */
struct hps_layer_ops {
#define HPS_LAYER_OPS_ONE(name) const struct hps_op_##name *name;
    HPS_LAYER_OPS(HPS_LAYER_OPS_ONE)
#undef HPS_LAYER_OPS_ONE
};

#endif
