/* layer_attention.c - attention over the rows of a slot with any number of ids, as the Deep
 * Interest Network pools a user's history (Zhou et al. 2018): a small net sees a row, the
 * candidate, their difference and product, and says how much of the row counts. Weights: for each
 * level w (in, out), then b (out). */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/say.h"
#include "hw/op_attention.h"
#include "net/layer_rows.h"

struct attention_opt {
    struct hps_layer_opt head;
    const char *slot;
    long long buckets;
    int dim;
    const char *table, *hash;
    double init_std;
    const char *rows, *states;
    struct hps_list hidden;
    const char *activation, *weights, *empty;
    struct hps_attention net;                              /* not a key: made of the keys */
    int width[HPS_ATTENTION_HIDDEN];
};

static const struct hps_field fields[] = {
    HPS_FIELD(attention_opt, slot, HPS_TEXT, NULL, 0, 0, "", "name or 1-based position of a slot"),
    HPS_ROWS_FIELDS(attention_opt),
    HPS_FIELD(attention_opt, hidden, HPS_LIST, "[80, 40]", 0, 0, "",
              "widths of the hidden levels of the net that weighs rows, at most 8"),
    HPS_CHOICE(attention_opt, activation, "sigmoid", "none|relu|sigmoid|tanh", "behind each"),
    HPS_CHOICE(attention_opt, weights, "plain", "plain|softmax",
               "plain: what the net says; softmax: over the bag, of that / sqrt(dim)"),
    HPS_CHOICE(attention_opt, empty, "zero", "zero|refuse",
               "an example without an id gives zeros, or is an error"),
    { 0 }
};

static enum hps_status read_hidden(struct hps_layer *l)
{
    struct attention_opt *o = l->opt;

    if (o->hidden.n > HPS_ATTENTION_HIDDEN)
        return hps_deck_wrong(l->item, "hidden", "%d hidden levels, the most is %d", o->hidden.n,
                              HPS_ATTENTION_HIDDEN);
    for (int i = 0; i < o->hidden.n; i++) {
        char *end;
        long width = strtol(o->hidden.item[i], &end, 10);
        if (end == o->hidden.item[i] || *end || width < 1 || width > 65536)
            return hps_deck_wrong(l->item, "hidden", "'%s' is no width from 1 to 65536",
                                  o->hidden.item[i]);
        o->width[i] = (int)width;
    }
    o->net = (struct hps_attention){ o->dim, o->hidden.n, o->width, hps_layer_act(o->activation),
                                  strcmp(o->weights, "softmax") == 0 };
    return HPS_OK;
}

static int level_in(const struct hps_attention *net, int level)
{
    return level == 0 ? 4 * net->dim : net->hidden[level - 1];
}

static int level_out(const struct hps_attention *net, int level)
{
    return level == net->nhidden ? 1 : net->hidden[level];
}

static size_t weights(const struct hps_attention *net)
{
    size_t n = 0;

    for (int k = 0; k <= net->nhidden; k++)
        n += (size_t)(level_in(net, k) + 1) * (size_t)level_out(net, k);
    return n;
}

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    struct attention_opt *o = l->opt;
    const struct hps_layer *c = &net->layer[l->input[0]];
    struct hps_rows_keys keys = { "slot", { 1, &o->slot }, o->buckets, o->dim, o->table, o->hash,
                                  o->init_std, o->rows, o->states };
    enum hps_status s = hps_layer_rows(l, net, &keys);

    if (!s && l->nslot != 1)
        s = hps_deck_wrong(l->item, "slot", "layer '%s' is over one slot, '%s' are %d", l->name,
                           o->slot, l->nslot);
    if (!s && c->width != o->dim)
        s = hps_deck_wrong(l->item, "dim", "the candidate '%s' is %d wide, rows of '%s' have %d",
                           c->name, c->width, l->name, o->dim);
    if (!s) s = read_hidden(l);
    if (s) return s;
    l->nparam = weights(&o->net);
    return hps_layer_set_width(l, o->dim);
}

static void init(const struct hps_layer *l, uint64_t key, float *param)
{
    const struct attention_opt *o = l->opt;

    for (int k = 0; k <= o->net.nhidden; k++) {
        size_t in = (size_t)level_in(&o->net, k), out = (size_t)level_out(&o->net, k);
        hps_layer_init_uniform(param, in * out, (double)(in + out),
                               hps_rng_sub(key, (uint64_t)k), 0);
        param += in * out;
        memset(param, 0, out * sizeof *param);
        param += out;
    }
}

/* The backward computes the forward's values again; half of the first level is shared by all ids.
 */
static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    const struct attention_opt *o = l->opt;

    double quarter = (double)o->dim * level_out(&o->net, 0);
    double each = (double)l->nparam - 2 * quarter;
    return 8 * quarter + net->slot_ids[l->slot[0]] * (8 * each + 20.0 * o->dim);
}

static enum hps_status check_batch(const struct hps_layer *l, const struct hps_batch *batch)
{
    const struct attention_opt *o = l->opt;
    const int *offset = batch->offset[l->slot[0]];

    if (strcmp(o->empty, "zero") == 0 || !offset) return HPS_OK;
    for (int b = 0; b < batch->B; b++)
        if (offset[b] == offset[b + 1]) {
            long long row;
            const char *path = hps_data_locate(batch->data, batch->example[b], &row);
            HPS_SAY_ALL(HPS_ERROR, "%s: example %lld has no id in slot '%s': layer %s refuses it "
                        "(empty: refuse)", path, row, o->slot, l->name);
            return HPS_DECK;
        }
    return HPS_OK;
}

static struct hps_attended attended_of(const struct hps_layer *l, const struct hps_pass *p)
{
    const struct attention_opt *o = l->opt;

    return (struct hps_attended){ &o->net, p->lookup, p->weights.param, p->x[0] };
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    struct hps_attended a = attended_of(l, p);

    p->dev->ops->layers->attention->forward(p->dev, &a, p->y);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    struct hps_attended a = attended_of(l, p);
    struct hps_row_grad *grad = p->lookup->grad;

    if (!hps_row_grad_adds(grad))
        p->dev->ops->zero(p->dev, grad->row, grad->nrow * (size_t)l->dim * sizeof(float));
    p->dev->ops->layers->attention->backward(p->dev, &a, p->dy, p->weights.grad, p->dx[0]);
}

extern const struct hps_layer_type hps_layer_attention;
const struct hps_layer_type hps_layer_attention = {
    .name = "attention",
    .help = "rows of a slot weighed against a candidate of dim numbers (DIN); (B, dim)",
    .fields = fields,
    .opt_size = sizeof(struct attention_opt),
    .min_inputs = 1,
    .max_inputs = 1,
    .table = true,
    .shape = shape,
    .init = init,
    .check_batch = check_batch,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
