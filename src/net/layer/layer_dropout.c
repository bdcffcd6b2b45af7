/* layer_dropout.c - inverted dropout: training scales the numbers that stay, evaluation copies. */
#include "base/rng.h"
#include "hw/op_dropout.h"
#include "net/net.h"

struct dropout_opt {
    struct hps_layer_opt head;
    double rate;
};

static const struct hps_field fields[] = {
    HPS_FIELD(dropout_opt, rate, HPS_REAL, NULL, 0, 0.999999, "",
              "share of values set to 0 in training"),
    { 0 }
};

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    return hps_layer_set_width(l, net->layer[l->input[0]].width);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    (void)net;
    return 2.0 * l->width;
}

/* Random numbers are addressed by (layer name, example), so they are the same on any layout. */
static void drop(const struct hps_layer *l, struct hps_pass *p, struct hps_tensor x,
                 struct hps_tensor y)
{
    const struct dropout_opt *o = l->opt;
    uint64_t key = hps_rng_sub(p->key, hps_rng_key(0, l->name));

    p->dev->ops->layers->dropout->run(p->dev, p->B, (float)o->rate, key, p->raw.example, x, y);
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    if (p->training)
        drop(l, p, p->x[0], p->y);
    else
        p->dev->ops->dense->copy(p->dev, p->B, p->x[0], p->y);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    if (p->dx[0].data) drop(l, p, p->dy, p->dx[0]);
}

extern const struct hps_layer_type hps_layer_dropout;
const struct hps_layer_type hps_layer_dropout = {
    .name = "dropout",
    .help = "sets a random share of its input to 0 in training; (B, width)",
    .fields = fields,
    .opt_size = sizeof(struct dropout_opt),
    .min_inputs = 1,
    .max_inputs = 1,
    .reads_example = true,
    .shape = shape,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
