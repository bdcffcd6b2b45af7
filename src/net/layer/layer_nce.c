/* layer_nce.c - noise-contrastive estimation over the classes of a slot: class probabilities
 * without a sum over all classes (Gutmann and Hyvarinen 2010; Mnih and Teh 2012).
 *
 * Each class has a row of weights and a bias in a table, sharded like an embedding's. A step pulls
 * the rows of the positive class and of `negatives` sampled classes. The score x.w + b is the log
 * of the ratio between a class's probability and its probability under the noise distribution, so
 * that an untrained network predicts the noise distribution, and its probabilities add up to 1. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "hw/op_nce.h"
#include "net/loss.h"

struct nce_opt {
    struct hps_loss_opt loss;
    const char *slot;
    long long classes;
    int negatives;
    const char *sampler;
    double init_std;
};

static const struct hps_field fields[] = {
    HPS_LOSS_WEIGHT,
    HPS_FIELD(nce_opt, slot, HPS_TEXT, NULL, 0, 0, "",
              "whose id is the class: a slot's name, or its 1-based position"),
    HPS_FIELD(nce_opt, classes, HPS_LONG, "0", 0, 1e15, "rows",
              "of the slot; 0: as many as the dataset's slot has ids"),
    HPS_FIELD(nce_opt, negatives, HPS_INT, "16", 1, 65536, "", "classes drawn for each example"),
    HPS_CHOICE(nce_opt, sampler, "uniform", "uniform|log_uniform",
               "how they are drawn; log_uniform: low numbers more often, by Zipf's law"),
    HPS_FIELD(nce_opt, init_std, HPS_REAL, "0.01", 0, 100, "",
              "standard deviation of the rows at the start"),
    { 0 }
};

static int slot_of(const struct hps_net *net, const char *text)
{
    char *end;

    for (int s = 0; s < net->nslot; s++)
        if (strcmp(net->slot_name[s], text) == 0) return s;
    long at = strtol(text, &end, 10);
    return *text != '\0' && *end == '\0' && at >= 1 && at <= net->nslot ? (int)at - 1 : -1;
}

static enum hps_status find_slot(struct hps_layer *l, const struct hps_net *net)
{
    const struct nce_opt *o = l->opt;
    int s = slot_of(net, o->slot);

    if (s < 0) return hps_deck_wrong(l->item, "slot", "the dataset has no slot '%s'", o->slot);
    if (net->slot_multi[s])
        return hps_deck_wrong(l->item, "slot", "slot '%s' has any number of ids an example, loss "
                              "'%s' needs exactly one", net->slot_name[s], l->name);
    l->negatives.slot = s;
    l->negatives.n = o->negatives;
    l->negatives.classes = o->classes ? o->classes : net->slot_buckets[s];
    l->negatives.log_uniform = strcmp(o->sampler, "log_uniform") == 0;
    if (l->negatives.classes < l->negatives.n)
        return hps_deck_wrong(l->item, "negatives", "loss '%s' draws %d of %lld classes", l->name,
                              l->negatives.n, l->negatives.classes);
    return HPS_OK;
}

static enum hps_status make_table(struct hps_layer *l, struct hps_net *net, int dim)
{
    const struct nce_opt *o = l->opt;
    const struct hps_layer_opt *head = &o->loss.head;

    for (int t = 0; t < net->ntable; t++)
        if (strcmp(net->table[t].name, l->name) == 0)
            return hps_deck_wrong(l->item, NULL, "'%s' is both a shared table and a layer with a "
                                  "table of its own", l->name);
    l->dim = dim;
    l->table = net->ntable++;
    net->table[l->table] = (struct hps_table_shape){
        .name = l->name, .rows = l->negatives.classes, .dim = dim, .init_std = o->init_std,
        .override = { head->optimizer, head->learning_rate, true }
    };
    return HPS_OK;
}

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    int width = net->layer[l->input[0]].width;
    enum hps_status s = find_slot(l, net);

    if (!s) s = make_table(l, net, width + 1);
    if (s) return s;
    l->nslot = 1;
    l->slot = hps_mem_new(1, sizeof *l->slot);
    l->base = hps_mem_new(1, sizeof *l->base);
    l->modulo = hps_mem_new(1, sizeof *l->modulo);
    l->slot[0] = hps_net_add_drawn_slot(net, &l->negatives);
    l->wants_label = true;
    l->score = HPS_SCORE_NONE;
    l->nsaved = ((size_t)l->negatives.n + 1) * (size_t)l->dim + (size_t)width;
    return hps_layer_set_width(l, 1);
}

static enum hps_status check_rows(const struct hps_layer *l, long long min, long long max)
{
    (void)min;
    if (max <= INT_MAX / ((long long)l->negatives.n + 1)) return HPS_OK;
    return hps_deck_wrong(l->item, "negatives", "loss '%s' draws %d classes for each of %lld "
                          "examples of a micro-batch, %d classes are the most: raise "
                          "data.microbatches", l->name, l->negatives.n, max, INT_MAX);
}

static enum hps_status check_batch(const struct hps_layer *l, const struct hps_batch *batch)
{
    for (int b = 0; b < batch->B; b++) {
        long long id = hps_ids_get(batch->ids[l->negatives.slot], (size_t)b);
        if (id < l->negatives.classes) continue;
        long long row;
        const char *path = hps_data_locate(batch->data, batch->example[b], &row);
        HPS_SAY_ALL(HPS_ERROR, "%s: the class of example %lld is %lld: loss '%s' has %lld classes, "
                    "from 0 on", path, row, id, l->name, l->negatives.classes);
        return HPS_DECK;
    }
    return HPS_OK;
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    (void)net;
    return 6.0 * ((double)l->negatives.n + 1) * l->dim;
}

/* The lookup with each class as an example of its own, so that the rows come one behind another. */
static struct hps_lookup flattened(const struct hps_layer *l, const struct hps_pass *p)
{
    struct hps_lookup lookup = *p->lookup;

    lookup.nslot = 1;
    lookup.B = p->B * (l->negatives.n + 1);
    lookup.single = true;
    lookup.by_row.row = NULL;
    return lookup;
}

/* Saved: the rows of the classes, overwritten with their gradients; then the gradient of x. */
static struct hps_tensor rows_of(const struct hps_layer *l, const struct hps_pass *p)
{
    return hps_tensor_of(p->memory.saved, l->dim);
}

static float *dx_of(const struct hps_layer *l, const struct hps_pass *p)
{
    return p->memory.saved + (size_t)p->B * ((size_t)l->negatives.n + 1) * (size_t)l->dim;
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    struct hps_lookup lookup = flattened(l, p);
    struct hps_loss loss = hps_loss_of(p, dx_of(l, p));

    p->dev->ops->rows->bag_forward(p->dev, &lookup, l->dim, HPS_POOL_SUM, HPS_COMBINE_CONCAT,
                                   rows_of(l, p));
    p->dev->ops->layers->nce->run(p->dev, &loss, l->negatives.n + 1, p->memory.saved);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    struct hps_lookup lookup = flattened(l, p);

    p->dev->ops->rows->bag_backward(p->dev, &lookup, l->dim, HPS_POOL_SUM, HPS_COMBINE_CONCAT,
                                    rows_of(l, p), hps_row_grad_adds(lookup.grad));
    if (p->dx[0].data)
        p->dev->ops->dense->copy(p->dev, p->B, hps_tensor_of(dx_of(l, p), l->dim - 1), p->dx[0]);
}

extern const struct hps_layer_type hps_layer_nce;
const struct hps_layer_type hps_layer_nce = {
    .name = "nce",
    .help = "loss of a vector an example against the class that a slot names, and sampled others",
    .fields = fields,
    .opt_size = sizeof(struct nce_opt),
    .min_inputs = 1,
    .max_inputs = 1,
    .loss = true,
    .table = true,
    .shape = shape,
    .check_rows = check_rows,
    .check_batch = check_batch,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
