/* report_layers.c - the roofline of each layer.
 *
 * The bound is the time for the layer's operations at the measured GEMM rate, or for its
 * compulsory memory traffic at the measured memory rate, whichever is longer; `roofline` is the
 * bound over `oct`. Above 1, the bytes came from a cache. */
#include <math.h>

#include "base/json.h"
#include "train/report/report_impl.h"

struct roof {
    double flops, bytes;        /* of Bo examples, forward and backward */
    double roof_s;
    bool by_memory;
};

/* Compulsory traffic of Bo examples in floats: inputs read twice and their gradients written,
 * the output written and its gradient read, weights read twice and their gradients written. The
 * inputs of an embedding are rows of its table. */
static double least_bytes(const struct hps_layer *l, const struct hps_net *net, double Bo)
{
    double in = 0;

    for (int i = 0; i < l->ninput; i++)
        in += net->layer[l->input[i]].width;
    if (l->table >= 0) in += hps_net_ids_per_example(net, l) * l->dim;
    return 4 * (Bo * (3 * in + 2 * l->width) + 3 * (double)l->nparam);
}

/* The pool's type with the name of the profile's type t; NULL: the profile is of other hardware. */
static const struct hps_type *hardware(const struct hps_report_input *f, int t)
{
    int i = hps_pool_find(f->setup.pool, f->setup.profile->type[t].name);

    return i >= 0 ? &f->setup.pool->type[i] : NULL;
}

static struct roof roof_of(const struct hps_report_input *f, int l, const struct hps_type *type)
{
    struct roof r = { NAN, NAN, NAN, false };

    if (!f->setup.net) return r;
    const struct hps_layer *layer = &f->setup.net->layer[l];
    double Bo = f->setup.profile->batch, slow = type ? fmax(type->slow, 1) : NAN;
    r.flops = Bo * layer->type->flops(layer, f->setup.net);
    r.bytes = least_bytes(layer, f->setup.net, Bo);
    if (!type || !(type->node.sgemm_flops_s > 0 && type->node.memory_bytes_s > 0)) return r;
    double compute_s = slow * r.flops / type->node.sgemm_flops_s;
    double memory_s = slow * r.bytes / type->node.memory_bytes_s;
    r.by_memory = memory_s > compute_s;
    r.roof_s = fmax(compute_s, memory_s);
    return r;
}

static json_t *layer_of(const struct hps_report_input *f, int l, int stage)
{
    const struct hps_profile *p = f->setup.profile;
    int t = f->setup.plan->stage[stage].type;
    double oct = p->oct[l * p->T + t];
    struct roof r = roof_of(f, l, hardware(f, t));
    json_t *one = json_object();

    hps_report_put_word(one, "name", p->layer[l].name);
    hps_report_put_word(one, "type", p->layer[l].type);
    hps_report_put_whole(one, "stage", stage);
    hps_report_put_real(one, "oct", oct);
    hps_report_put_real(one, "flops", r.flops);
    hps_report_put_real(one, "bytes", r.bytes);
    hps_report_put_real(one, "flops_s", r.flops / oct);
    hps_report_put_real(one, "bytes_s", r.bytes / oct);
    hps_report_put_real(one, "roofline", r.roof_s / oct);
    if (isnan(r.roof_s))
        hps_report_put(one, "bound", json_null());
    else
        hps_report_put_word(one, "bound", !r.by_memory ? "compute" : r.roof_s > oct ? "cache"
                                                                                  : "memory");
    return one;
}

json_t *hps_report_layers(const struct hps_report_input *f)
{
    json_t *list = json_array();

    for (int s = 0; s < f->setup.plan->S; s++)
        for (int l = f->setup.plan->stage[s].first; l <= f->setup.plan->stage[s].last; l++)
            hps_report_append(list, layer_of(f, l, s));
    return list;
}
