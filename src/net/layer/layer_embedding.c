/* layer_embedding.c - rows of tables by id, pooled inside a slot, then joined over the slots.
 *
 * The parameter server gives the layer the rows that its micro-batch needs (p->lookup) and takes
 * the gradients of these rows. */
#include <string.h>

#include "net/layer_rows.h"

struct embedding_opt {
    struct hps_layer_opt head;
    struct hps_list slots;
    long long buckets;
    int dim;
    const char *pooling, *combine, *table, *hash, *exchange;
    double init_std;
    const char *rows, *states;
};

static const struct hps_field fields[] = {
    HPS_FIELD(embedding_opt, slots, HPS_LIST, "all", 0, 0, "",
              "all, or a list of slot names and 1-based positions such as 3 or 1-12"),
    HPS_ROWS_FIELDS(embedding_opt),
    HPS_CHOICE(embedding_opt, pooling, "sum", "sum|mean", "of the rows inside a slot"),
    HPS_CHOICE(embedding_opt, combine, "concat", "concat|sum", "over the slots"),
    HPS_CHOICE(embedding_opt, exchange, "rows", "rows|bags",
               "what owners of rows on CPUs send: rows, or of each bag a partial pooled sum"),
    { 0 }
};

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    const struct embedding_opt *o = l->opt;
    struct hps_rows_keys keys = { "slots", o->slots, o->buckets, o->dim, o->table, o->hash,
                                  o->init_std, o->rows, o->states };
    enum hps_status s = hps_layer_rows(l, net, &keys);

    if (!s && strcmp(o->exchange, "bags") == 0 && strcmp(o->pooling, "mean") == 0)
        s = hps_deck_wrong(l->item, "exchange", "bags are sent as sums, layer '%s' has pooling: "
                           "mean", l->name);
    if (s) return s;
    return hps_layer_set_width(l, strcmp(o->combine, "sum") == 0 ? o->dim
                                                                 : (long long)l->nslot * o->dim);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    return 2 * hps_net_ids_per_example(net, l) * l->dim;
}

static enum hps_pool_kind pool_of(const struct embedding_opt *o)
{
    return strcmp(o->pooling, "mean") == 0 ? HPS_POOL_MEAN : HPS_POOL_SUM;
}

static enum hps_combine combine_of(const struct embedding_opt *o)
{
    return strcmp(o->combine, "sum") == 0 ? HPS_COMBINE_SUM : HPS_COMBINE_CONCAT;
}

static void forward(const struct hps_layer *l, struct hps_pass *p)
{
    const struct embedding_opt *o = l->opt;

    p->dev->ops->rows->bag_forward(p->dev, p->lookup, l->dim, pool_of(o), combine_of(o), p->y);
}

/* Where bags are side by side in dy and the lookup has the transpose of the bags, each row's
 * gradient is a plain sum of rows of dy, which the update rule can compute itself. */
static bool can_defer(const struct hps_layer *l, const struct hps_pass *p)
{
    const struct embedding_opt *o = l->opt;
    bool side_by_side = combine_of(o) == HPS_COMBINE_CONCAT || l->nslot == 1;

    return p->lookup->grad->may_defer && p->lookup->by_row.row && pool_of(o) == HPS_POOL_SUM &&
           side_by_side && p->dy.ld == (size_t)l->nslot * (size_t)l->dim;
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    const struct embedding_opt *o = l->opt;
    const struct hps_row_bags *by_row = &p->lookup->by_row;
    struct hps_row_grad *grad = p->lookup->grad;
    bool add = hps_row_grad_adds(grad);

    if (can_defer(l, p))
        grad->deferred = (struct hps_row_sums){ p->dy.data, by_row->start, by_row->bag };
    else
        p->dev->ops->rows->bag_backward(p->dev, p->lookup, l->dim, pool_of(o), combine_of(o), p->dy,
                                        add);
}

static bool wants_sums(const struct hps_layer *l)
{
    const struct embedding_opt *o = l->opt;

    return strcmp(o->exchange, "bags") == 0;
}

extern const struct hps_layer_type hps_layer_embedding;
const struct hps_layer_type hps_layer_embedding = {
    .name = "embedding",
    .help = "rows of tables by id; (B, slots * dim), or (B, dim) with combine: sum",
    .fields = fields,
    .opt_size = sizeof(struct embedding_opt),
    .table = true,
    .host_needs_no_index = true,
    .wants_sums = wants_sums,
    .shape = shape,
    .writes_rounded = hps_layer_writes_rounded,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
