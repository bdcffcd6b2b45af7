/* net.c - from the deck's list of layers to a net whose shapes are known and whose contradictions
 * have been told. */
#include "net/loss.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

/* What the net frees. */
struct own {
    const char **slot_name;
    long long *slot_buckets;
    bool *slot_multi;
    double *slot_ids;
};

/* With room for a slot more of each layer. */
static void take_data(struct hps_net *net, const struct hps_data *data, int nlayer)
{
    struct own *own = net->own;
    size_t n = (size_t)data->nslot, all = n + (size_t)nlayer;

    own->slot_name = hps_mem_new(all, sizeof *own->slot_name);
    own->slot_buckets = hps_mem_new(all, sizeof *own->slot_buckets);
    own->slot_multi = hps_mem_new(all, sizeof *own->slot_multi);
    own->slot_ids = hps_mem_new(all, sizeof *own->slot_ids);
    for (size_t i = 0; i < n; i++) {
        const struct hps_slot *s = &data->slot[i];
        own->slot_name[i] = s->name;
        own->slot_buckets[i] = s->buckets;
        own->slot_multi[i] = s->multi;
        own->slot_ids[i] = s->multi ? (double)s->ids.nrow / (double)data->N : 1;
    }
    net->D = data->D;
    net->nslot = data->nslot;
    net->slot_name = own->slot_name;
    net->slot_buckets = own->slot_buckets;
    net->slot_multi = own->slot_multi;
    net->slot_ids = own->slot_ids;
}

int hps_net_draw(struct hps_net *net, const struct hps_negatives *negatives)
{
    struct own *own = net->own;
    int s = net->nslot + net->ndrawn++;

    own->slot_name[s] = own->slot_name[negatives->slot];
    own->slot_buckets[s] = negatives->classes;
    own->slot_multi[s] = true;
    own->slot_ids[s] = negatives->n + 1;
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
    if (!hps_layer_good_name(l->name))
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
    const struct hps_layer_kind *k = l->kind;

    if (given > 0 && k->most_inputs == 0)
        return hps_deck_wrong(l->item, "inputs", "a layer of type %s takes none", k->name);
    if (given > 0 && k->most_inputs > 0 && given > k->most_inputs)
        return hps_deck_wrong(l->item, "inputs", "a layer of type %s takes at most %d, not %d",
                              k->name, k->most_inputs, given);
    if (k->least_inputs > 0 && given == 0 && l->index == 0)
        return hps_deck_wrong(l->item, NULL, "layer '%s' needs an input and comes first", l->name);
    return HPS_OK;
}

static enum hps_status bind_inputs(struct hps_net *net, struct hps_layer *l)
{
    const struct hps_layer_opt *o = l->opt;
    enum hps_status s = count_inputs(l, o->inputs.n);

    if (s) return s;
    bool before = o->inputs.n == 0 && l->kind->least_inputs > 0;
    l->ninput = before ? 1 : o->inputs.n;
    l->input = hps_mem_new((size_t)l->ninput, sizeof *l->input);
    if (before) l->input[0] = l->index - 1;
    for (int i = 0; i < o->inputs.n; i++) {
        l->input[i] = layer_named(net, l->index, o->inputs.item[i]);
        if (l->input[i] < 0) return no_input(net, l, o->inputs.item[i]);
    }
    for (int i = 0; i < l->ninput; i++) {
        struct hps_layer *x = &net->layer[l->input[i]];
        if (x->kind->loss)
            return hps_deck_wrong(l->item, "inputs", "loss '%s' has no output to use", x->name);
        x->last_use = l->index;
    }
    return HPS_OK;
}

/* Keys of learning are of layers that learn; weights beside a table's rows have no state a row. */
static enum hps_status bind_rule(struct hps_layer *l)
{
    const struct hps_layer_opt *o = l->opt;
    bool row = strcmp(o->optimizer, "row_adagrad") == 0, learns = l->nparam > 0 || l->table >= 0;

    l->own = (struct hps_opt_own){ row ? "same" : o->optimizer, o->learning_rate,
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

/* All layers that read a table want the same of it. */
static enum hps_status bind_exchange(struct hps_net *net, const struct hps_layer *l)
{
    struct hps_table_shape *t = &net->table[l->table];
    bool sums = l->kind->sums && l->kind->sums(l);

    for (const struct hps_layer *k = net->layer; k < l; k++)
        if (k->table == l->table && t->sums != sums)
            return hps_deck_wrong(l->item, l->kind->sums ? "exchange" : NULL,
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
        return hps_deck_wrong(l->item, NULL, "a layer needs a `type`: %s", hps_layer_words());
    l->kind = hps_layer_find(type);
    if (!l->kind) return hps_layer_unknown(l->item, type);
    l->opt = hps_mem_new(1, l->kind->opt_size);
    s = hps_deck_bind(deck, l->item, hps_layer_fields, l->kind->fields, NULL, l->opt);
    if (!s) s = bind_name(net, l);
    if (!s) s = bind_inputs(net, l);
    if (!s) s = l->kind->shape(l, net);
    if (!s) s = bind_rule(l);
    if (!s && l->table >= 0) s = bind_exchange(net, l);
    if (s) return s;
    assert(l->kind->table == (l->table >= 0));
    if (l->kind->loss) l->weight = ((const struct hps_loss_opt *)l->opt)->weight;
    l->grad = l->nparam > 0 || l->table >= 0;
    for (int i = 0; i < l->ninput; i++)
        l->grad |= net->layer[l->input[i]].grad;
    return HPS_OK;
}

/* A loss at the end, every loss with something to learn, every other layer used by somebody. */
static enum hps_status check_ends(const struct hps_net *net)
{
    const struct hps_layer *last = &net->layer[net->L - 1];

    for (int i = 0; i < net->L; i++) {
        const struct hps_layer *l = &net->layer[i];
        if (!l->kind->loss && l == last)
            return hps_deck_wrong(l->item, NULL,
                                  "the last layer must be a loss, '%s' is of type %s", l->name,
                                  l->kind->name);
        if (!l->kind->loss && l->last_use == i)
            return hps_deck_wrong(l->item, NULL, "nothing uses layer '%s'", l->name);
        if (l->kind->loss && !l->grad)
            return hps_deck_wrong(l->item, NULL, "loss '%s' has no weights to train", l->name);
    }
    return HPS_OK;
}

enum hps_status hps_net_fits(const struct hps_net *net, long long least, long long most)
{
    enum hps_status s = HPS_OK;

    for (int l = 0; !s && l < net->L; l++)
        if (net->layer[l].kind->fits) s = net->layer[l].kind->fits(&net->layer[l], least, most);
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
    net->own = hps_mem_new(1, sizeof(struct own));
    take_data(net, data, n);
    net->L = n;
    net->layer = hps_mem_new((size_t)n, sizeof *net->layer);
    net->table = hps_mem_new((size_t)n, sizeof *net->table);    /* at most one a layer */
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
    struct own *own = net->own;
    for (int l = 0; l < net->L; l++)
        free_layer(&net->layer[l]);
    hps_mem_free(net->layer);
    hps_mem_free(net->table);
    hps_mem_free(own->slot_name);
    hps_mem_free(own->slot_buckets);
    hps_mem_free(own->slot_multi);
    hps_mem_free(own->slot_ids);
    hps_mem_free(own);
    hps_mem_free(net);
}
