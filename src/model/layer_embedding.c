/* layer_embedding.c - rows of tables by id, pooled inside a slot, then joined over the slots.
 *
 * The layer never looks a row up: it is handed the rows that its micro-batch needs and gives back
 * their gradients. Without the key `table` each slot has rows of its own, one part after another in
 * one logical table named after the layer; with it, all slots of all its layers start at row 0. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/net.h"

struct embedding_opt {
    struct hps_layer_opt head;
    struct hps_list slots;
    long long buckets;
    int dim;
    const char *pooling, *combine, *table, *hash;
    double init_std;
};

static const struct hps_field fields[] = {
    HPS_FIELD(embedding_opt, slots, HPS_LIST, "all", 0, 0, "",
              "all, or a list of slot names and 1-based positions such as 3 or 1-12"),
    HPS_FIELD(embedding_opt, dim, HPS_INT, NULL, 1, 65536, "", "numbers a row"),
    HPS_FIELD(embedding_opt, buckets, HPS_LONG, "0", 0, 1e15, "rows",
              "rows of a slot; 0: as many as the dataset's slot has ids"),
    HPS_CHOICE(embedding_opt, pooling, "sum", "sum|mean", "of the rows inside a slot"),
    HPS_CHOICE(embedding_opt, combine, "concat", "concat|sum", "over the slots"),
    HPS_FIELD(embedding_opt, table, HPS_TEXT, "", 0, 0, "",
              "one table of this name for all slots of all layers that name it; \"\": one a slot"),
    HPS_CHOICE(embedding_opt, hash, "none", "none|mod",
               "id modulo buckets, needed where buckets are fewer than the slot's ids"),
    HPS_FIELD(embedding_opt, init_std, HPS_REAL, "0.01", 0, 100, "",
              "standard deviation of the rows at the start"),
    { 0 }
};

/* "3" or "1-12" to 0-based first and last; false when it is neither. */
static bool range_of(const char *text, long *first, long *last)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    *first = *last = strtol(text, &end, 10) - 1;
    if (*end == '-' && end[1] >= '0' && end[1] <= '9')
        *last = strtol(end + 1, &end, 10) - 1;
    return *end == '\0';
}

static int slot_named(const struct hps_net *net, const char *name)
{
    for (int s = 0; s < net->nslot; s++)
        if (strcmp(net->slot_name[s], name) == 0)
            return s;
    return -1;
}

static enum hps_status no_slot(const struct hps_layer *l, const struct hps_net *net,
                               const char *name)
{
    const char *near = hps_deck_nearest(name, (const char *const *)net->slot_name, net->nslot);

    if (near)
        return hps_deck_wrong(l->item, "slots", "the dataset has no slot '%s', did you mean '%s'?",
                              name, near);
    return hps_deck_wrong(l->item, "slots", "the dataset has no slot '%s'", name);
}

static enum hps_status take_slots(struct hps_layer *l, const struct hps_net *net, long first,
                                  long last)
{
    for (long s = first; s <= last; s++) {
        for (int i = 0; i < l->nslot; i++)
            if (l->slot[i] == s)
                return hps_deck_wrong(l->item, "slots", "slot '%s' is given twice",
                                      net->slot_name[s]);
        l->slot[l->nslot++] = (int)s;
    }
    return HPS_OK;
}

static enum hps_status one_entry(struct hps_layer *l, const struct hps_net *net, const char *text)
{
    long first, last;
    int s = slot_named(net, text);

    if (s >= 0)
        return take_slots(l, net, s, s);
    if (!range_of(text, &first, &last))
        return no_slot(l, net, text);
    if (first < 0 || last < first || last >= net->nslot)
        return hps_deck_wrong(l->item, "slots", "'%s' is no range of the dataset's slots 1-%d",
                              text, net->nslot);
    return take_slots(l, net, first, last);
}

static enum hps_status find_slots(struct hps_layer *l, const struct hps_net *net)
{
    const struct embedding_opt *o = l->opt;
    enum hps_status s = HPS_OK;

    if (net->nslot == 0)
        return hps_deck_wrong(l->item, NULL, "layer '%s' embeds slots, the dataset has none",
                              l->name);
    l->slot = hps_mem_new((size_t)net->nslot, sizeof *l->slot);
    if (o->slots.n == 1 && strcmp(o->slots.item[0], "all") == 0)
        return take_slots(l, net, 0, net->nslot - 1);
    for (int i = 0; !s && i < o->slots.n; i++)
        s = one_entry(l, net, o->slots.item[i]);
    if (!s && l->nslot == 0)
        s = hps_deck_wrong(l->item, "slots", "layer '%s' has no slots", l->name);
    return s;
}

/* Where each slot's rows begin and how its ids are folded; *rows: how many rows that takes. */
static enum hps_status lay_rows(struct hps_layer *l, const struct hps_net *net, long long *rows)
{
    const struct embedding_opt *o = l->opt;
    bool shared = *o->table != '\0';

    l->base = hps_mem_new((size_t)l->nslot, sizeof *l->base);
    l->modulo = hps_mem_new((size_t)l->nslot, sizeof *l->modulo);
    *rows = 0;
    for (int i = 0; i < l->nslot; i++) {
        long long ids = net->slot_buckets[l->slot[i]];
        long long n = o->buckets ? o->buckets : ids;
        if (n < ids && strcmp(o->hash, "none") == 0)
            return hps_deck_wrong(l->item, "buckets",
                                  "%lld buckets for the %lld ids of slot '%s': add `hash: mod`", n,
                                  ids, net->slot_name[l->slot[i]]);
        l->modulo[i] = n < ids ? n : 0;
        l->base[i] = shared ? 0 : *rows;
        if (!shared)
            *rows += n;
        else if (*rows < n)
            *rows = n;
    }
    return HPS_OK;
}

/* The table of this layer: a new one, or the shared one of that name, which may have to grow. */
static enum hps_status join_table(struct hps_layer *l, struct hps_net *net, long long rows)
{
    const struct embedding_opt *o = l->opt;
    bool shared = *o->table != '\0';
    const char *name = shared ? o->table : l->name;
    struct hps_table_shape *t = net->table;

    if (shared && !hps_layer_good_name(name))
        return hps_deck_wrong(l->item, "table",
                              "'%s' is no name: 1 to 63 letters, digits, _ and -", name);
    while (t < net->table + net->ntable && strcmp(t->name, name) != 0)
        t++;
    l->table = (int)(t - net->table);
    if (l->table == net->ntable) {
        net->ntable++;
        *t = (struct hps_table_shape){ name, rows, o->dim, o->init_std, shared,
                                       { o->head.optimizer, o->head.learning_rate, true } };
        return HPS_OK;
    }
    if (!shared || !t->shared)
        return hps_deck_wrong(l->item, "table",
                              "'%s' is both a shared table and a layer with tables of its own",
                              name);
    if (t->dim != o->dim)
        return hps_deck_wrong(l->item, "dim", "table '%s' has rows of %d numbers already", name,
                              t->dim);
    if (hps_item_has(l->item, "init_std") && t->init_std != o->init_std)
        return hps_deck_wrong(l->item, "init_std", "table '%s' has init_std %g already", name,
                              t->init_std);
    if (hps_item_has(l->item, "optimizer") && strcmp(t->own.optimizer, o->head.optimizer) != 0)
        return hps_deck_wrong(l->item, "optimizer", "table '%s' has optimizer %s already", name,
                              t->own.optimizer);
    if (hps_item_has(l->item, "learning_rate") && t->own.learning_rate != o->head.learning_rate)
        return hps_deck_wrong(l->item, "learning_rate", "table '%s' has learning_rate %g already",
                              name, t->own.learning_rate);
    if (t->rows < rows)
        t->rows = rows;
    return HPS_OK;
}

static enum hps_status shape(struct hps_layer *l, struct hps_net *net)
{
    const struct embedding_opt *o = l->opt;
    long long rows;
    enum hps_status s = find_slots(l, net);

    if (!s) s = lay_rows(l, net, &rows);
    if (!s) s = join_table(l, net, rows);
    if (s)
        return s;
    l->dim = o->dim;
    return hps_layer_set_width(l, strcmp(o->combine, "sum") == 0 ? o->dim
                                                                 : (long long)l->nslot * o->dim);
}

static double flops(const struct hps_layer *l, const struct hps_net *net)
{
    double ids = 0;

    for (int i = 0; i < l->nslot; i++)
        ids += net->slot_ids[l->slot[i]];
    return 2 * ids * l->dim;
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

    p->dev->ops->bag_forward(p->dev, p->bag, l->dim, pool_of(o), combine_of(o), p->rows, p->y);
}

static void backward(const struct hps_layer *l, struct hps_pass *p)
{
    const struct embedding_opt *o = l->opt;

    p->dev->ops->bag_backward(p->dev, p->bag, l->dim, pool_of(o), combine_of(o), p->dy,
                              p->rows_grad, p->nrow);
}

extern const struct hps_layer_kind hps_layer_embedding;
const struct hps_layer_kind hps_layer_embedding = {
    .name = "embedding",
    .help = "rows of tables by id; (B, slots * dim), or (B, dim) with combine: sum",
    .fields = fields,
    .opt_size = sizeof(struct embedding_opt),
    .shape = shape,
    .flops = flops,
    .forward = forward,
    .backward = backward,
};
