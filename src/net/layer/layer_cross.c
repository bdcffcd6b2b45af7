/* layer_cross.c - a cross layer of DCN-v2 (Wang et al. 2021): y = x0 * (W x + b) + x. W is (d, d),
 * or the product of (d, rank) and (rank, d). Weights: those, then b (d). */
#include <string.h>

#include "hw/op_cross.h"
#include "net/net.h"

struct cross_opt {
    struct hps_layer_opt head;
    int rank;
};

static const struct hps_field fields[] = {
    HPS_FIELD(cross_opt, rank, HPS_INT, "0", 0, 65536, "",
              "W is the product of (width, rank) and (rank, width); 0: whole"),
    { 0 }
};

static int rank_of(const struct hps_layer *l)
{
    return ((const struct cross_opt *)l->opt)->rank;
}

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    const struct hps_layer *x0 = &net->layer[l->input[0]];
    const struct hps_layer *x = &net->layer[l->input[l->ninput - 1]];
    size_t d = (size_t)x->width, rank = (size_t)rank_of(l);

    if (x0->width != x->width)
        return hps_deck_wrong(l->item, "inputs", "layer '%s' crosses '%s' (%d wide) and '%s' (%d)",
                              l->name, x0->name, x0->width, x->name, x->width);
    if (rank >= d)
        return hps_deck_wrong(l->item, "rank", "a rank of %zu is not below the width, %zu", rank,
                              d);
    l->nparam = (rank ? 2 * rank : d) * d + d;
    l->nsaved = d + rank;
    l->nscratch_row = rank;                   /* the gradient of the low-rank product */
    return hps_layer_set_width(l, x->width);
}

static void init(const struct hps_layer *l, uint64_t key, float *param)
{
    size_t d = (size_t)l->width, rank = (size_t)rank_of(l);

    if (rank) {
        hps_layer_init_uniform(param, d * rank, (double)(d + rank), key, 0);
        hps_layer_init_uniform(param + d * rank, d * rank, (double)(d + rank), key, d * rank);
    } else {
        hps_layer_init_uniform(param, d * d, 2.0 * (double)d, key, 0);
    }
    memset(param + l->nparam - d, 0, d * sizeof *param);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    double d = l->width, rank = rank_of(l);

    (void)net;
    return 6 * d * (rank > 0 ? 2 * rank : d) + 6 * d;
}

/* Saved: W x + b, then the low-rank product before it. */
static struct hps_tensor gate_of(const struct hps_layer *l, const struct hps_pass *p)
{
    return hps_tensor_of(p->memory.saved, l->width);
}

static struct hps_tensor low_of(const struct hps_layer *l, const struct hps_pass *p)
{
    return hps_tensor_of(p->memory.saved + (size_t)p->B * (size_t)l->width, rank_of(l));
}

/* The bytes of the packed weights: of the product of full rank, or of the first of low rank. */
static size_t packed_first(const struct hps_layer *l, const struct hps_dev *dev)
{
    return hps_layer_packed_bytes(dev, l->width, rank_of(l) > 0 ? rank_of(l) : l->width);
}

static size_t packed_bytes(const struct hps_layer *l, const struct hps_dev *dev)
{
    int rank = rank_of(l);

    return packed_first(l, dev) + (rank > 0 ? hps_layer_packed_bytes(dev, rank, l->width) : 0);
}

static void pack(const struct hps_layer *l, struct hps_dev *dev, const float *param, char *packed)
{
    int rank = rank_of(l);

    hps_layer_pack(dev, l->width, rank > 0 ? rank : l->width, param, packed);
    if (rank > 0)
        hps_layer_pack(dev, rank, l->width, param + (size_t)l->width * (size_t)rank,
                       packed + packed_first(l, dev));
}

/* u = W x + b, or its two products. */
static struct hps_fc whole(const struct hps_layer *l, const struct hps_pass *p)
{
    return (struct hps_fc){ .precision = hps_dev_product(p->dev, l->width, l->width), .B = p->B,
                            .x = p->x[l->ninput - 1], .w = p->weights.param,
                            .b = p->weights.param + l->nparam - l->width, .y = gate_of(l, p),
                            .packed = p->weights.packed };
}

static struct hps_fc first(const struct hps_layer *l, const struct hps_pass *p)
{
    return (struct hps_fc){ .precision = hps_dev_product(p->dev, l->width, rank_of(l)), .B = p->B,
                            .x = p->x[l->ninput - 1], .w = p->weights.param, .y = low_of(l, p),
                            .packed = p->weights.packed };
}

static struct hps_fc second(const struct hps_layer *l, const struct hps_pass *p)
{
    struct hps_fc fc = whole(l, p);

    fc.precision = hps_dev_product(p->dev, rank_of(l), l->width);
    fc.x = low_of(l, p);
    fc.w += (size_t)l->width * fc.x.ld;
    if (fc.packed) fc.packed = p->weights.packed + packed_first(l, p->dev);
    return fc;
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    const struct hps_dense_ops *dense = p->dev->ops->dense;
    struct hps_fc one = whole(l, p), low = first(l, p), high = second(l, p);

    if (rank_of(l) > 0) {
        dense->fc_forward(p->dev, &low);
        dense->fc_forward(p->dev, &high);
    } else {
        dense->fc_forward(p->dev, &one);
    }
    p->dev->ops->layers->cross->forward(p->dev, p->B, p->x[0], one.y, one.x, p->y);
}

/* Overwrites u with its gradient and adds to dx (data NULL: not wanted). */
static void back_product(const struct hps_layer *l, struct hps_pass *p, struct hps_tensor dx)
{
    const struct hps_dense_ops *dense = p->dev->ops->dense;
    struct hps_fc one = whole(l, p), low = first(l, p), high = second(l, p);
    float *db = p->weights.grad + l->nparam - l->width;
    struct hps_tensor dv = high.x;

    dx.add = true;
    if (rank_of(l) == 0) {
        dense->fc_backward(p->dev, &one, one.y, dx, p->weights.grad, db);
        return;
    }
    dv.data = p->memory.all;
    dense->fc_backward(p->dev, &high, high.y, dv, p->weights.grad + (high.w - p->weights.param),
                       db);
    dense->fc_backward(p->dev, &low, dv, dx, p->weights.grad, NULL);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    int k = l->ninput - 1;
    struct hps_tensor dx = p->dx[k];

    p->dev->ops->layers->cross->backward(p->dev, p->B, p->x[0], gate_of(l, p), p->dy, p->dx[0]);
    dx.add |= k == 0;
    if (dx.data) p->dev->ops->dense->copy(p->dev, p->B, p->dy, dx);
    back_product(l, p, dx);
}

extern const struct hps_layer_type hps_layer_cross;
const struct hps_layer_type hps_layer_cross = {
    .name = "cross",
    .help = "x0 * (W x + b) + x of inputs [x0, x], or of one that is both (DCN-v2); (B, width)",
    .fields = fields,
    .opt_size = sizeof(struct cross_opt),
    .min_inputs = 1,
    .max_inputs = 2,
    .shape = shape,
    .init = init,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
