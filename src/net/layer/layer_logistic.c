/* layer_logistic.c - the logistic loss of one logit an example against a label of 0 to 1. */
#include "net/loss.h"

static enum hps_status check_batch(const struct hps_layer *l, const struct hps_batch *batch)
{
    return hps_loss_labels(l, batch, 0, 1, false);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    (void)l;
    (void)net;
    return 12;
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    (void)l;
    hps_loss_forward(p, p->dev->ops->layers->loss->logistic);
}

extern const struct hps_layer_type hps_layer_logistic;
const struct hps_layer_type hps_layer_logistic = {
    .name = "logistic",
    .help = "loss of one logit an example against a label of 0 to 1",
    .fields = hps_loss_fields,
    .opt_size = sizeof(struct hps_loss_opt),
    .min_inputs = 1,
    .max_inputs = 1,
    .loss = true,
    .shape = hps_loss_shape_scalar,
    .check_batch = check_batch,
    .flops = flops,
    .forward = forward,
    .backward = hps_loss_backward,
};
