/* net.c - from the deck's list of layers to a network whose shapes are known and consistent. */
#include "net/loss.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

/* The arrays of slots, with space for those of negatives. */
struct hps_net_impl {
    const char **slot_name;
    long long *slot_buckets;
    bool *slot_multi;
    double *slot_ids;
};

/* A layer may add one slot. */
static void copy_dataset_shape(struct hps_net *net, const struct hps_data *data, int nlayer)
{
    struct hps_net_impl *impl = net->impl;
    size_t n = (size_t)data->nslot, all = n + (size_t)nlayer;

    impl->slot_name = hps_mem_new(all, sizeof *impl->slot_name);
    impl->slot_buckets = hps_mem_new(all, sizeof *impl->slot_buckets);
    impl->slot_multi = hps_mem_new(all, sizeof *impl->slot_multi);
    impl->slot_ids = hps_mem_new(all, sizeof *impl->slot_ids);
    for (size_t i = 0; i < n; i++) {
        const struct hps_slot *s = &data->slot[i];
        impl->slot_name[i] = s->name;
        impl->slot_buckets[i] = s->buckets;
        impl->slot_multi[i] = s->multi;
        impl->slot_ids[i] = s->multi ? (double)s->ids.nrow / (double)data->N : 1;
    }
    net->D = data->D;
    net->nslot = data->nslot;
    net->slot_name = impl->slot_name;
    net->slot_buckets = impl->slot_buckets;
    net->slot_multi = impl->slot_multi;
    net->slot_ids = impl->slot_ids;
}

int hps_net_add_drawn_slot(struct hps_net *net, const struct hps_negatives *negatives)
{
    struct hps_net_impl *impl = net->impl;
    int s = net->nslot + net->ndrawn++;

    impl->slot_name[s] = impl->slot_name[negatives->slot];
    impl->slot_buckets[s] = negatives->classes;
    impl->slot_multi[s] = true;
    impl->slot_ids[s] = negatives->n + 1;
    return s;
}

static int layer_named(const struct hps_net *net, int n, const char *name)
{
    for (int l = 0; l < n; l++)
        if (strcmp(net->layer[l].name, name) == 0) return l;
    return -1;
}

static enum hps_status bind_name(struct hps_net *net, struct hps_layer *l)
{
    const struct hps_layer_opt *o = l->opt;

    l->name = o->name;
    if (!hps_layer_name_is_valid(l->name))
        return hps_deck_wrong(l->item, "name",
                              "'%s' is no name: 1 to 63 letters, digits, _ and -", l->name);
    if (layer_named(net, l->index, l->name) >= 0)
        return hps_deck_wrong(l->item, "name", "two layers are called '%s'", l->name);
    return HPS_OK;
}

static enum hps_status no_input(const struct hps_net *net, const struct hps_layer *l,
                                const char *name)
{
    const char **names = hps_mem_new((size_t)l->index, sizeof *names);

    for (int i = 0; i < l->index; i++)
        names[i] = net->layer[i].name;
    const char *near = hps_deck_nearest(name, names, l->index);
    hps_mem_free(names);
    if (near)
        return hps_deck_wrong(l->item, "inputs",
                              "no layer '%s' comes before '%s', did you mean '%s'?", name, l->name,
                              near);
    return hps_deck_wrong(l->item, "inputs", "no layer '%s' comes before '%s'", name, l->name);
}

static enum hps_status count_inputs(const struct hps_layer *l, int given)
{
    const struct hps_layer_type *k = l->type;

    if (given > 0 && k->max_inputs == 0)
        return hps_deck_wrong(l->item, "inputs", "a layer of type %s takes none", k->name);
    if (given > 0 && k->max_inputs > 0 && given > k->max_inputs)
        return hps_deck_wrong(l->item, "inputs", "a layer of type %s takes at most %d, not %d",
                              k->name, k->max_inputs, given);
    if (k->min_inputs > 0 && given == 0 && l->index == 0)
        return hps_deck_wrong(l->item, NULL, "layer '%s' needs an input and comes first", l->name);
    return HPS_OK;
}

static enum hps_status bind_inputs(struct hps_net *net, struct hps_layer *l)
{
    const struct hps_layer_opt *o = l->opt;
    enum hps_status s = count_inputs(l, o->inputs.n);

    if (s) return s;
    bool before = o->inputs.n == 0 && l->type->min_inputs > 0;
    l->ninput = before ? 1 : o->inputs.n;
    l->input = hps_mem_new((size_t)l->ninput, sizeof *l->input);
    if (before) l->input[0] = l->index - 1;
    for (int i = 0; i < o->inputs.n; i++) {
        l->input[i] = layer_named(net, l->index, o->inputs.item[i]);
        if (l->input[i] < 0) return no_input(net, l, o->inputs.item[i]);
    }
    for (int i = 0; i < l->ninput; i++) {
        struct hps_layer *x = &net->layer[l->input[i]];
        if (x->type->loss)
            return hps_deck_wrong(l->item, "inputs", "loss '%s' has no output to use", x->name);
        x->last_use = l->index;
    }
    return HPS_OK;
}

/* Only layers with weights or rows take the keys of an optimizer. row_adagrad is for rows: dense
 * weights of a layer with a table learn as the section says. */
static enum hps_status bind_rule(struct hps_layer *l)
{
    const struct hps_layer_opt *o = l->opt;
    bool row = strcmp(o->optimizer, "row_adagrad") == 0, learns = l->nparam > 0 || l->table >= 0;

    l->override = (struct hps_opt_override){ row ? "same" : o->optimizer, o->learning_rate,
                                   l->table >= 0 && l->nparam == 0 };
    for (const char **key = (const char *[]){ "optimizer", "learning_rate", NULL }; *key; key++)
        if (!learns && hps_item_has(l->item, *key))
            return hps_deck_wrong(l->item, *key, "layer '%s' has no weights to learn", l->name);
    if (row && l->table < 0)
        return hps_deck_wrong(l->item, "optimizer",
                              "row_adagrad keeps a state a row of a table, layer '%s' has none",
                              l->name);
    return HPS_OK;
}

/* All layers of a table must agree on whether rows or partial pooled sums are sent. */
static enum hps_status bind_exchange(struct hps_net *net, const struct hps_layer *l)
{
    struct hps_table_shape *t = &net->table[l->table];
    bool sums = l->type->wants_sums && l->type->wants_sums(l);

    for (const struct hps_layer *k = net->layer; k < l; k++)
        if (k->table == l->table && t->sums != sums)
            return hps_deck_wrong(l->item, l->type->wants_sums ? "exchange" : NULL,
                                  "layer '%s' has its table's %s, '%s' reads the same table by %s",
                                  k->name, t->sums ? "bags sent as sums" : "rows sent", l->name,
                                  sums ? "such sums" : "its rows");
    t->sums = sums;
    return HPS_OK;
}

static enum hps_status bind_layer(struct hps_net *net, const struct hps_deck *deck,
                                  struct hps_layer *l)
{
    enum hps_status s;
    const char *type = hps_item_text(l->item, "type");

    if (!type)
        return hps_deck_wrong(l->item, NULL, "a layer needs a `type`: %s", hps_layer_type_words());
    l->type = hps_layer_find(type);
    if (!l->type) return hps_layer_unknown_type(l->item, type);
    l->opt = hps_mem_new(1, l->type->opt_size);
    s = hps_deck_bind(deck, l->item, hps_layer_fields, l->type->fields, NULL, l->opt);
    if (!s) s = bind_name(net, l);
    if (!s) s = bind_inputs(net, l);
    if (!s) s = l->type->shape(l, net);
    if (!s) s = bind_rule(l);
    if (!s && l->table >= 0) s = bind_exchange(net, l);
    if (s) return s;
    assert(l->type->table == (l->table >= 0));
    if (l->type->loss) l->weight = ((const struct hps_loss_opt *)l->opt)->weight;
    l->grad = l->nparam > 0 || l->table >= 0;
    for (int i = 0; i < l->ninput; i++)
        l->grad |= net->layer[l->input[i]].grad;
    return HPS_OK;
}

/* The last layer is a loss, every loss depends on weights, and every other layer is read by one. */
static enum hps_status check_ends(const struct hps_net *net)
{
    const struct hps_layer *last = &net->layer[net->L - 1];

    for (int i = 0; i < net->L; i++) {
        const struct hps_layer *l = &net->layer[i];
        if (!l->type->loss && l == last)
            return hps_deck_wrong(l->item, NULL,
                                  "the last layer must be a loss, '%s' is of type %s", l->name,
                                  l->type->name);
        if (!l->type->loss && l->last_use == i)
            return hps_deck_wrong(l->item, NULL, "nothing uses layer '%s'", l->name);
        if (l->type->loss && !l->grad)
            return hps_deck_wrong(l->item, NULL, "loss '%s' has no weights to train", l->name);
    }
    return HPS_OK;
}

enum hps_status hps_net_check_rows(const struct hps_net *net, long long min, long long max)
{
    enum hps_status s = HPS_OK;

    for (int l = 0; !s && l < net->L; l++)
        if (net->layer[l].type->check_rows)
            s = net->layer[l].type->check_rows(&net->layer[l], min, max);
    return s;
}

enum hps_status hps_net_new(struct hps_net **out, const struct hps_deck *deck,
                            const struct hps_data *data)
{
    const struct hps_item *const *item;
    struct hps_net *net;
    enum hps_status s;
    int n;

    *out = NULL;
    s = hps_deck_entries(deck, "model", &n, &item);
    if (!s && n == 0) s = hps_deck_wrong(hps_deck_root(deck), "model", "the deck lists no layers");
    if (s) return s;
    net = hps_mem_new(1, sizeof *net);
    net->impl = hps_mem_new(1, sizeof(struct hps_net_impl));
    copy_dataset_shape(net, data, n);
    net->L = n;
    net->layer = hps_mem_new((size_t)n, sizeof *net->layer);
    net->table = hps_mem_new((size_t)n, sizeof *net->table);    /* at max one a layer */
    for (int l = 0; !s && l < n; l++) {
        net->layer[l] = (struct hps_layer){ .index = l, .last_use = l, .table = -1,
                                            .item = item[l] };
        s = bind_layer(net, deck, &net->layer[l]);
    }
    if (!s) s = check_ends(net);
    if (s) {
        hps_net_free(net);
        return s;
    }
    *out = net;
    return HPS_OK;
}

static void free_layer(struct hps_layer *l)
{
    hps_mem_free(l->opt);
    hps_mem_free(l->input);
    hps_mem_free(l->slot);
    hps_mem_free(l->base);
    hps_mem_free(l->modulo);
}

void hps_net_free(struct hps_net *net)
{
    if (!net) return;
    struct hps_net_impl *impl = net->impl;
    for (int l = 0; l < net->L; l++)
        free_layer(&net->layer[l]);
    hps_mem_free(net->layer);
    hps_mem_free(net->table);
    hps_mem_free(impl->slot_name);
    hps_mem_free(impl->slot_buckets);
    hps_mem_free(impl->slot_multi);
    hps_mem_free(impl->slot_ids);
    hps_mem_free(impl);
    hps_mem_free(net);
}
