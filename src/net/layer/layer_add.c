/* layer_add.c - the sum of inputs of one width. */
#include "net/net.h"

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    const struct hps_layer *x = &net->layer[l->input[0]];

    for (int i = 1; i < l->ninput; i++) {
        const struct hps_layer *other = &net->layer[l->input[i]];
        if (other->width != x->width)
            return hps_deck_wrong(l->item, "inputs",
                                  "layer '%s' adds '%s' (%d wide) and '%s' (%d wide)", l->name,
                                  x->name, x->width, other->name, other->width);
    }
    return hps_layer_set_width(l, x->width);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    (void)net;
    return 2.0 * (l->ninput - 1) * l->width;
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    struct hps_tensor y = p->y;

    for (int i = 0; i < l->ninput; i++, y.add = true)
        p->dev->ops->dense->copy(p->dev, p->B, p->x[i], y);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    for (int i = 0; i < l->ninput; i++)
        if (p->dx[i].data) p->dev->ops->dense->copy(p->dev, p->B, p->dy, p->dx[i]);
}

extern const struct hps_layer_type hps_layer_add;
const struct hps_layer_type hps_layer_add = {
    .name = "add",
    .help = "the sum of inputs of one width; (B, width)",
    .opt_size = sizeof(struct hps_layer_opt),
    .min_inputs = 1,
    .max_inputs = -1,
    .shape = shape,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
