/* layer_concat.c - the inputs side by side. */
#include "net/net.h"

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    long long width = 0;

    for (int i = 0; i < l->ninput; i++)
        width += net->layer[l->input[i]].width;
    return hps_layer_set_width(l, width);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    (void)l;
    (void)net;
    return 0;
}

/* An input that is a view of y (net/slice_impl.h) needs no copy, nor does its gradient. */
static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    size_t at = 0;

    for (int i = 0; i < l->ninput; at += (size_t)p->x[i++].width) {
        struct hps_tensor y = hps_tensor_columns(p->y, at, p->x[i].width);
        if (!hps_tensor_begin_alike(p->x[i], y)) p->dev->ops->dense->copy(p->dev, p->B, p->x[i], y);
    }
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    size_t at = 0;

    for (int i = 0; i < l->ninput; at += (size_t)p->x[i++].width) {
        struct hps_tensor dy = hps_tensor_columns(p->dy, at, p->x[i].width);
        if (p->dx[i].data && p->dx[i].data != dy.data)
            p->dev->ops->dense->copy(p->dev, p->B, dy, p->dx[i]);
    }
}

extern const struct hps_layer_type hps_layer_concat;
const struct hps_layer_type hps_layer_concat = {
    .name = "concat",
    .help = "the inputs side by side; (B, sum of widths)",
    .opt_size = sizeof(struct hps_layer_opt),
    .concatenates = true,
    .writes_rounded = hps_layer_writes_rounded,
    .min_inputs = 1,
    .max_inputs = -1,
    .shape = shape,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
