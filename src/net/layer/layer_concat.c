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

/* An input that lies in y already (net/slice_impl.h) is there; so is its gradient in dy. */
static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    float *y = p->y.data;

    for (int i = 0; i < l->ninput; y += p->x[i++].width)
        if (p->x[i].data != y)
            p->dev->ops->copy(p->dev, p->B, p->x[i].width, p->x[i].data, p->x[i].ld, y, p->y.ld,
                              false);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    const float *dy = p->dy.data;

    for (int i = 0; i < l->ninput; dy += p->x[i++].width)
        if (p->dx[i].data && p->dx[i].data != dy)
            p->dev->ops->copy(p->dev, p->B, p->x[i].width, dy, p->dy.ld, p->dx[i].data, p->dx[i].ld,
                              p->add[i]);
}

extern const struct hps_layer_kind hps_layer_concat;
const struct hps_layer_kind hps_layer_concat = {
    .name = "concat",
    .help = "the inputs side by side; (B, sum of widths)",
    .opt_size = sizeof(struct hps_layer_opt),
    .beside = true,
    .least_inputs = 1,
    .most_inputs = -1,
    .shape = shape,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
