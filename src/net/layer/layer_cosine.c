/* layer_cosine.c - cosine similarity of the outputs of two towers. */
#include "hw/op_cosine.h"
#include "net/net.h"

struct cosine_opt {
    struct hps_layer_opt head;
    double scale;
};

static const struct hps_field fields[] = {
    HPS_FIELD(cosine_opt, scale, HPS_REAL, "1", 1e-6, 1e6, "", "what the cosine is multiplied by"),
    { 0 }
};

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    if (l->ninput != 2)
        return hps_deck_wrong(l->item, "inputs", "layer '%s' needs two inputs", l->name);
    const struct hps_layer *a = &net->layer[l->input[0]], *b = &net->layer[l->input[1]];
    if (a->width != b->width)
        return hps_deck_wrong(l->item, "inputs",
                              "layer '%s' compares '%s' (%d wide) and '%s' (%d wide)", l->name,
                              a->name, a->width, b->name, b->width);
    l->nsaved = 3;                        /* both norms, and the cosine before it is scaled */
    l->nscratch_row = 1;                      /* its gradient */
    return hps_layer_set_width(l, 1);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    return 16.0 * net->layer[l->input[0]].width;
}

static float scale_of(const struct hps_layer *l)
{
    return (float)((const struct cosine_opt *)l->opt)->scale;
}

static struct hps_cosine cosine_of(const struct hps_pass *p)
{
    struct hps_tensor y = hps_tensor_of(p->memory.saved + 2 * (size_t)p->B, 1);

    return (struct hps_cosine){ p->B, p->x[0], p->x[1], y, p->memory.saved };
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    struct hps_cosine c = cosine_of(p);

    p->dev->ops->layers->cosine->forward(p->dev, &c);
    p->dev->ops->dense->scale(p->dev, p->B, scale_of(l), c.y, p->y);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    struct hps_cosine c = cosine_of(p);
    struct hps_tensor d = hps_tensor_of(p->memory.all, 1);

    p->dev->ops->dense->scale(p->dev, p->B, scale_of(l), p->dy, d);
    p->dev->ops->layers->cosine->backward(p->dev, &c, d, p->dx[0], p->dx[1]);
}

extern const struct hps_layer_type hps_layer_cosine;
const struct hps_layer_type hps_layer_cosine = {
    .name = "cosine",
    .help = "the cosine of two inputs of one width; (B, 1)",
    .fields = fields,
    .opt_size = sizeof(struct cosine_opt),
    .min_inputs = 2,
    .max_inputs = 2,
    .shape = shape,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
