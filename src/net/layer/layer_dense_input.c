/* layer_dense_input.c - the dense features of the dataset, (B, D). */
#include "net/net.h"

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    if (net->D == 0)
        return hps_deck_wrong(l->item, NULL, "layer '%s' reads dense features, the dataset has "
                              "none", l->name);
    l->wants_dense = true;
    return hps_layer_set_width(l, net->D);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    (void)l;
    (void)net;
    return 0;
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    p->dev->ops->dense->copy(p->dev, p->B, hps_tensor_of(p->raw.dense, l->width), p->y);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    (void)l;                                            /* data has no gradient */
    (void)p;
}

extern const struct hps_layer_type hps_layer_dense_input;
const struct hps_layer_type hps_layer_dense_input = {
    .name = "dense_input",
    .help = "the dense features of the dataset; (B, D)",
    .opt_size = sizeof(struct hps_layer_opt),
    .shape = shape,
    .writes_rounded = hps_layer_writes_rounded,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
