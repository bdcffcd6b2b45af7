/* layer_layer_norm.c - each example's numbers to mean 0 and variance 1, then a gain and a shift a
 * number (Ba, Kiros and Hinton 2016). Weights: gains, then shifts. */
#include "hw/op_layer_norm.h"
#include "net/net.h"

struct norm_opt {
    struct hps_layer_opt head;
    double epsilon;
};

static const struct hps_field fields[] = {
    HPS_FIELD(norm_opt, epsilon, HPS_REAL, "1e-5", 1e-12, 1, "", "added to the variance"),
    { 0 }
};

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    const struct hps_layer *x = &net->layer[l->input[0]];

    if (x->width == 1)
        return hps_deck_wrong(l->item, "inputs", "'%s' is one number: its variance is always 0",
                              x->name);
    l->nparam = 2 * (size_t)x->width;
    l->nsaved = 2;
    return hps_layer_set_width(l, x->width);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    (void)net;
    return 20.0 * l->width;
}

static struct hps_layer_norm norm_of(const struct hps_layer *l, const struct hps_pass *p)
{
    const struct norm_opt *o = l->opt;

    return (struct hps_layer_norm){ p->B, p->x[0], p->weights.param, p->weights.param + l->width,
                                    (float)o->epsilon, p->memory.saved };
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    struct hps_layer_norm norm = norm_of(l, p);

    p->dev->ops->layers->layer_norm->forward(p->dev, &norm, p->y);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    struct hps_layer_norm norm = norm_of(l, p);

    p->dev->ops->layers->layer_norm->backward(p->dev, &norm, p->dy, p->dx[0], p->weights.grad,
                                              p->weights.grad + l->width);
}

extern const struct hps_layer_type hps_layer_layer_norm;
const struct hps_layer_type hps_layer_layer_norm = {
    .name = "layer_norm",
    .help = "each example's numbers to mean 0, variance 1, then a gain and a shift; (B, width)",
    .fields = fields,
    .opt_size = sizeof(struct norm_opt),
    .min_inputs = 1,
    .max_inputs = 1,
    .shape = shape,
    .init = hps_layer_init_gains,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
