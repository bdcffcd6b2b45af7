/* layer_cross_entropy.c - softmax cross-entropy: one logit a class; the label is a class number. */
#include "net/loss.h"

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    const struct hps_layer *x = &net->layer[l->input[0]];

    if (x->width < 2)
        return hps_deck_wrong(l->item, "inputs", "loss '%s' needs two classes or more, '%s' is 1 "
                              "wide: one logit is for `logistic`", l->name, x->name);
    l->wants_label = true;
    l->nsaved = (size_t)x->width;
    l->score = x->width == 2 ? HPS_SCORE_CHANCE : HPS_SCORE_CLASS;
    return hps_layer_set_width(l, 1);
}

static enum hps_status check_batch(const struct hps_layer *l, const struct hps_batch *batch)
{
    return hps_loss_labels(l, batch, 0, (double)l->nsaved - 1, true);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    (void)net;
    return 10.0 * (double)l->nsaved;
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    (void)l;
    hps_loss_forward(p, p->dev->ops->layers->loss->cross_entropy);
}

extern const struct hps_layer_type hps_layer_cross_entropy;
const struct hps_layer_type hps_layer_cross_entropy = {
    .name = "cross_entropy",
    .help = "loss of a logit a class against a label that is the number of a class, from 0",
    .fields = hps_loss_fields,
    .opt_size = sizeof(struct hps_loss_opt),
    .min_inputs = 1,
    .max_inputs = 1,
    .loss = true,
    .shape = shape,
    .check_batch = check_batch,
    .flops = flops,
    .forward = forward,
    .backward = hps_loss_backward,
};
