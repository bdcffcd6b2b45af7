/* layer_activation.c - an activation function by itself, behind layers other than fc. */
#include <string.h>

#include "net/net.h"

struct activation_opt {
    struct hps_layer_opt head;
    const char *activation;
};

static const struct hps_field fields[] = {
    HPS_CHOICE(activation_opt, activation, "relu", "relu|sigmoid|tanh|gelu", "of each number"),
    { 0 }
};

static enum hps_act act_of(const struct hps_layer *l)
{
    const struct activation_opt *o = l->opt;

    return hps_layer_act(o->activation);
}

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    return hps_layer_set_width(l, net->layer[l->input[0]].width);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    (void)net;
    return (act_of(l) == HPS_ACT_RELU ? 2.0 : 20.0) * l->width;
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    p->dev->ops->dense->act_forward(p->dev, act_of(l), p->B, p->x[0], p->y);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    if (p->dx[0].data)
        p->dev->ops->dense->act_backward(p->dev, act_of(l), p->B, p->x[0], p->y, p->dy, p->dx[0]);
}

extern const struct hps_layer_type hps_layer_activation;
const struct hps_layer_type hps_layer_activation = {
    .name = "activation",
    .help = "an activation alone; (B, width)",
    .fields = fields,
    .opt_size = sizeof(struct activation_opt),
    .min_inputs = 1,
    .max_inputs = 1,
    .shape = shape,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
