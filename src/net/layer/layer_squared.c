/* layer_squared.c - the squared distance of one number an example from its label. */
#include "net/loss.h"

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    l->score = HPS_SCORE_VALUE;
    return hps_loss_shape_scalar(l, net);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    (void)l;
    (void)net;
    return 5;
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    (void)l;
    hps_loss_forward(p, p->dev->ops->layers->loss->squared);
}

extern const struct hps_layer_type hps_layer_squared;
const struct hps_layer_type hps_layer_squared = {
    .name = "squared",
    .help = "loss of one number an example: the square of its distance from the label",
    .fields = hps_loss_fields,
    .opt_size = sizeof(struct hps_loss_opt),
    .min_inputs = 1,
    .max_inputs = 1,
    .loss = true,
    .shape = shape,
    .flops = flops,
    .forward = forward,
    .backward = hps_loss_backward,
};
