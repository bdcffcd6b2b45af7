/* layer_softmax.c - the softmax of each example's numbers. */
#include "hw/op_softmax.h"
#include "net/net.h"

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    const struct hps_layer *x = &net->layer[l->input[0]];

    if (x->width == 1)
        return hps_deck_wrong(l->item, "inputs", "the softmax of '%s', one number, is always 1",
                              x->name);
    return hps_layer_set_width(l, x->width);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    (void)net;
    return 25.0 * l->width;
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    (void)l;
    p->dev->ops->layers->softmax->forward(p->dev, p->B, p->x[0], p->y);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    (void)l;
    if (p->dx[0].data) p->dev->ops->layers->softmax->backward(p->dev, p->B, p->y, p->dy, p->dx[0]);
}

extern const struct hps_layer_type hps_layer_softmax;
const struct hps_layer_type hps_layer_softmax = {
    .name = "softmax",
    .help = "numbers above 0 whose sum is 1; (B, width)",
    .opt_size = sizeof(struct hps_layer_opt),
    .min_inputs = 1,
    .max_inputs = 1,
    .shape = shape,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
