/* layer_fc.c - fully connected: y = act(x w + b). Weights: w (in, out), then b (out). */
#include <string.h>

#include "net/net.h"

struct fc_opt {
    struct hps_layer_opt head;
    int width;
    const char *activation;
    int in;                                             /* width of the input, not a key */
};

static const struct hps_field fields[] = {
    HPS_FIELD(fc_opt, width, HPS_INT, NULL, 1, 1 << 20, "", "outputs"),
    HPS_CHOICE(fc_opt, activation, "none", "none|relu|sigmoid|tanh|gelu", "what follows x w + b"),
    { 0 }
};

static enum hps_act act_of(const struct hps_layer *l)
{
    const struct fc_opt *o = l->opt;

    return hps_layer_act(o->activation);
}

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    struct fc_opt *o = l->opt;

    o->in = net->layer[l->input[0]].width;
    l->nparam = ((size_t)o->in + 1) * (size_t)o->width;
    l->nsaved = act_of(l) == HPS_ACT_GELU ? (size_t)o->width : 0;
    return hps_layer_set_width(l, o->width);
}

static void init(const struct hps_layer *l, uint64_t key, float *param)
{
    const struct fc_opt *o = l->opt;
    size_t n = (size_t)o->in * (size_t)o->width;
    double fan = act_of(l) == HPS_ACT_RELU ? o->in : o->in + o->width;

    hps_layer_init_uniform(param, n, fan, key, 0);
    memset(param + n, 0, (size_t)o->width * sizeof *param);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    const struct fc_opt *o = l->opt;
    double one = 2.0 * o->in * o->width;

    return net->layer[l->input[0]].grad ? 3 * one : 2 * one;
}

static struct hps_fc fc_of(const struct hps_layer *l, const struct hps_pass *p)
{
    const struct fc_opt *o = l->opt;

    return (struct hps_fc){ .act = act_of(l), .precision = hps_dev_product(p->dev, o->in, o->width),
                            .B = p->B, .x = p->x[0], .w = p->weights.param,
                            .b = p->weights.param + (size_t)o->in * (size_t)o->width, .y = p->y,
                            .pre = l->nsaved ? p->memory.saved : NULL,
                            .packed = p->weights.packed };
}

static bool reads_rounded(const struct hps_layer *l, const struct hps_dev *dev)
{
    const struct fc_opt *o = l->opt;

    return hps_dev_product(dev, o->in, o->width) == HPS_BF16;
}

static bool writes_rounded(const struct hps_layer *l, const struct hps_dev *dev)
{
    return reads_rounded(l, dev) && (act_of(l) == HPS_ACT_NONE || act_of(l) == HPS_ACT_RELU);
}

static size_t packed_bytes(const struct hps_layer *l, const struct hps_dev *dev)
{
    const struct fc_opt *o = l->opt;

    return hps_layer_packed_bytes(dev, o->in, o->width);
}

static void pack(const struct hps_layer *l, struct hps_dev *dev, const float *param, char *packed)
{
    const struct fc_opt *o = l->opt;

    hps_layer_pack(dev, o->in, o->width, param, packed);
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    struct hps_fc fc = fc_of(l, p);

    p->dev->ops->dense->fc_forward(p->dev, &fc);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    struct hps_fc fc = fc_of(l, p);

    p->dev->ops->dense->fc_backward(p->dev, &fc, p->dy, p->dx[0], p->weights.grad,
                                    p->weights.grad + (fc.b - fc.w));
}

extern const struct hps_layer_type hps_layer_fc;
const struct hps_layer_type hps_layer_fc = {
    .name = "fc",
    .help = "fully connected with an activation; (B, width)",
    .fields = fields,
    .opt_size = sizeof(struct fc_opt),
    .min_inputs = 1,
    .max_inputs = 1,
    .shape = shape,
    .init = init,
    .reads_rounded = reads_rounded,
    .writes_rounded = writes_rounded,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
