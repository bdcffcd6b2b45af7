/* layer_dot_interaction.c - dot products of all pairs of an example's vectors (DLRM, Naumov et al.
 * 2019). */
#include <string.h>

#include "hw/op_dot_interaction.h"
#include "net/net.h"

struct dot_opt {
    struct hps_layer_opt head;
    int dim;
    bool self;
    const char *pass;
    int n;                                  /* vectors of dim numbers; not a key */
};

static const struct hps_field fields[] = {
    HPS_FIELD(dot_opt, dim, HPS_INT, "0", 0, 65536, "",
              "numbers a vector: inputs are cut into such; 0: the width of the first input"),
    HPS_FIELD(dot_opt, self, HPS_BOOL, "false", 0, 1, "", "also each vector with itself"),
    HPS_CHOICE(dot_opt, pass, "none", "none|first",
               "first: the first input itself is put before the products"),
    { 0 }
};

static int passed(const struct hps_layer *l, const struct hps_net *net)
{
    const struct dot_opt *o = l->opt;

    return strcmp(o->pass, "first") == 0 ? net->layer[l->input[0]].width : 0;
}

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    struct dot_opt *o = l->opt;
    enum hps_status s = hps_layer_vectors(l, net, o->self ? 1 : 2, &o->dim, &o->n);

    if (s) return s;
    long long n = o->n, pairs = o->self ? n * (n + 1) / 2 : n * (n - 1) / 2;
    return hps_layer_set_width(l, pairs + passed(l, net));
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    const struct dot_opt *o = l->opt;

    return 6.0 * o->dim * (l->width - passed(l, net));
}

/* The columns of the dot products in the output or in its gradient. */
static struct hps_tensor products(const struct hps_layer *l, const struct hps_pass *p,
                                  struct hps_tensor y)
{
    const struct dot_opt *o = l->opt;
    int before = strcmp(o->pass, "first") == 0 ? p->x[0].width : 0;

    return hps_tensor_columns(y, (size_t)before, y.width - before);
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    const struct dot_opt *o = l->opt;
    struct hps_tensor y = products(l, p, p->y);
    struct hps_vectors v = { p->B, o->dim, l->ninput, p->x };

    if (!hps_tensor_begin_alike(y, p->y)) p->dev->ops->dense->copy(p->dev, p->B, p->x[0], p->y);
    p->dev->ops->layers->dot_interaction->forward(p->dev, &v, o->self, y);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    const struct dot_opt *o = l->opt;
    struct hps_tensor dy = products(l, p, p->dy);
    struct hps_vectors v = { p->B, o->dim, l->ninput, p->x };
    struct hps_tensor first = p->dy, dx = p->dx[0];

    p->dev->ops->layers->dot_interaction->backward(p->dev, &v, o->self, dy, p->dx);
    first.width = dx.width;
    dx.add = true;
    if (dy.data != p->dy.data && dx.data) p->dev->ops->dense->copy(p->dev, p->B, first, dx);
}

extern const struct hps_layer_type hps_layer_dot_interaction;
const struct hps_layer_type hps_layer_dot_interaction = {
    .name = "dot_interaction",
    .help = "dot products of all pairs of vectors of dim (DLRM); (B, pairs)",
    .fields = fields,
    .opt_size = sizeof(struct dot_opt),
    .min_inputs = 1,
    .max_inputs = -1,
    .shape = shape,
    .writes_rounded = hps_layer_writes_rounded,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
