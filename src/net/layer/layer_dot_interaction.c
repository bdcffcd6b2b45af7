/* layer_dot_interaction.c - dot products of all pairs of an example's vectors (DLRM, Naumov et al.
 * 2019). */
#include <string.h>

#include "net/net.h"

struct dot_opt {
    struct hps_layer_opt head;
    int dim;
    bool self;
    const char *pass;
    int n;                                  /* vectors; not a key, nor is what dim then is */
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

    if (s)
        return s;
    long long n = o->n, pairs = o->self ? n * (n + 1) / 2 : n * (n - 1) / 2;
    return hps_layer_set_width(l, pairs + passed(l, net));
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    const struct dot_opt *o = l->opt;

    return 6.0 * o->dim * (l->width - passed(l, net));
}

/* The products' columns of the output or of its gradient. */
static struct hps_tensor products(const struct hps_layer *l, const struct hps_pass *p,
                                  struct hps_tensor y)
{
    const struct dot_opt *o = l->opt;
    int before = strcmp(o->pass, "first") == 0 ? p->x[0].width : 0;

    return (struct hps_tensor){ y.data + before, y.ld, y.width - before };
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    const struct dot_opt *o = l->opt;
    struct hps_tensor y = products(l, p, p->y);

    if (y.data != p->y.data)
        p->dev->ops->copy(p->dev, p->B, p->x[0].width, p->x[0].data, p->x[0].ld, p->y.data,
                          p->y.ld, false);
    p->dev->ops->dots_forward(p->dev, p->B, o->dim, o->self, l->ninput, p->x, y);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    const struct dot_opt *o = l->opt;
    struct hps_tensor dy = products(l, p, p->dy);

    p->dev->ops->dots_backward(p->dev, p->B, o->dim, o->self, l->ninput, p->x, dy, p->dx, p->add);
    if (dy.data != p->dy.data && p->dx[0].data)
        p->dev->ops->copy(p->dev, p->B, p->x[0].width, p->dy.data, p->dy.ld, p->dx[0].data,
                          p->dx[0].ld, true);
}

extern const struct hps_layer_kind hps_layer_dot_interaction;
const struct hps_layer_kind hps_layer_dot_interaction = {
    .name = "dot_interaction",
    .help = "dot products of all pairs of vectors of dim (DLRM); (B, pairs)",
    .fields = fields,
    .opt_size = sizeof(struct dot_opt),
    .least_inputs = 1,
    .most_inputs = -1,
    .shape = shape,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
