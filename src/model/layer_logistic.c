/* layer_logistic.c - the logistic loss of one logit an example against a label of 0 or 1. */
#include "model/net.h"

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    const struct hps_layer *x = &net->layer[l->input[0]];

    if (x->width != 1)
        return hps_deck_wrong(l->item, "inputs",
                              "loss '%s' needs an input of width 1, '%s' is %d wide", l->name,
                              x->name, x->width);
    l->wants_label = true;
    l->kept = 1;                                        /* the gradient, made with the loss */
    return hps_layer_set_width(l, 1);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    (void)l;
    (void)net;
    return 12;
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    struct hps_tensor dx = { p->training ? p->keep : NULL, 1, 1 };

    (void)l;
    p->dev->ops->logistic(p->dev, p->B, p->x[0], p->label, p->weight, p->score, p->loss, dx, false);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    (void)l;
    if (p->dx[0].data)
        p->dev->ops->copy(p->dev, p->B, 1, p->keep, 1, p->dx[0].data, p->dx[0].ld, p->add[0]);
}

extern const struct hps_layer_kind hps_layer_logistic;
const struct hps_layer_kind hps_layer_logistic = {
    .name = "logistic",
    .help = "loss of one logit an example against a label of 0 or 1",
    .opt_size = sizeof(struct hps_layer_opt),
    .least_inputs = 1,
    .most_inputs = 1,
    .loss = true,
    .label_least = 0,
    .label_most = 1,
    .shape = shape,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
