/* layer_fm.c - the second-order term of a factorization machine: all pairs of an example's vectors,
 * multiplied number by number and summed (Rendle 2010; as a vector: He and Chua 2017). */
#include <string.h>

#include "hw/op_fm.h"
#include "net/net.h"

struct fm_opt {
    struct hps_layer_opt head;
    int dim;
    const char *output;
    int n;                                  /* vectors of dim numbers; not a key */
};

static const struct hps_field fields[] = {
    HPS_FIELD(fm_opt, dim, HPS_INT, "0", 0, 65536, "",
              "numbers a vector: inputs are cut into such; 0: the width of the first input"),
    HPS_CHOICE(fm_opt, output, "sum", "sum|vector", "one number, or dim before they are summed"),
    { 0 }
};

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    struct fm_opt *o = l->opt;
    enum hps_status s = hps_layer_vectors(l, net, 2, &o->dim, &o->n);

    if (s) return s;
    l->nsaved = (size_t)o->dim;
    return hps_layer_set_width(l, strcmp(o->output, "sum") == 0 ? 1 : o->dim);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    const struct fm_opt *o = l->opt;

    (void)net;
    return 5.0 * o->n * o->dim;
}

static struct hps_vectors vectors_of(const struct hps_layer *l, const struct hps_pass *p)
{
    const struct fm_opt *o = l->opt;

    return (struct hps_vectors){ p->B, o->dim, l->ninput, p->x };
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    struct hps_vectors v = vectors_of(l, p);

    p->dev->ops->layers->fm->forward(p->dev, &v, p->y, p->memory.saved);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    struct hps_vectors v = vectors_of(l, p);

    p->dev->ops->layers->fm->backward(p->dev, &v, p->memory.saved, p->dy, p->dx);
}

extern const struct hps_layer_type hps_layer_fm;
const struct hps_layer_type hps_layer_fm = {
    .name = "fm",
    .help = "second-order term of a factorization machine; (B, 1) or (B, dim)",
    .fields = fields,
    .opt_size = sizeof(struct fm_opt),
    .min_inputs = 1,
    .max_inputs = -1,
    .shape = shape,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
