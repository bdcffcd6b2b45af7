/* layer_rows.c - from the keys of a layer that reads rows to its slots, their parts of the table,
 * and the table. */
#include "net/layer_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* "3" or "1-12" to 0-based first and last; false when it is neither. */
static bool range_of(const char *text, long *first, long *last)
{
    char *end;

    if (*text < '0' || *text > '9') return false;
    *first = *last = strtol(text, &end, 10) - 1;
    if (*end == '-' && end[1] >= '0' && end[1] <= '9') *last = strtol(end + 1, &end, 10) - 1;
    return *end == '\0';
}

static int slot_named(const struct hps_net *net, const char *name)
{
    for (int s = 0; s < net->nslot; s++)
        if (strcmp(net->slot_name[s], name) == 0) return s;
    return -1;
}

static enum hps_status no_slot(const struct hps_layer *l, const struct hps_net *net,
                               const struct hps_rows_keys *k, const char *name)
{
    const char *near = hps_deck_nearest(name, (const char *const *)net->slot_name, net->nslot);

    if (near)
        return hps_deck_wrong(l->item, k->key, "the dataset has no slot '%s', did you mean '%s'?",
                              name, near);
    return hps_deck_wrong(l->item, k->key, "the dataset has no slot '%s'", name);
}

static enum hps_status add_slots(struct hps_layer *l, const struct hps_net *net,
                                  const struct hps_rows_keys *k, long first, long last)
{
    for (long s = first; s <= last; s++) {
        for (int i = 0; i < l->nslot; i++)
            if (l->slot[i] == s)
                return hps_deck_wrong(l->item, k->key, "slot '%s' is given twice",
                                      net->slot_name[s]);
        l->slot[l->nslot++] = (int)s;
    }
    return HPS_OK;
}

static enum hps_status add_entry(struct hps_layer *l, const struct hps_net *net,
                                 const struct hps_rows_keys *k, const char *text)
{
    long first, last;
    int s = slot_named(net, text);

    if (s >= 0) return add_slots(l, net, k, s, s);
    if (!range_of(text, &first, &last)) return no_slot(l, net, k, text);
    if (first < 0 || last < first || last >= net->nslot)
        return hps_deck_wrong(l->item, k->key, "'%s' is no range of the dataset's slots 1-%d",
                              text, net->nslot);
    return add_slots(l, net, k, first, last);
}

static enum hps_status find_slots(struct hps_layer *l, const struct hps_net *net,
                                  const struct hps_rows_keys *k)
{
    enum hps_status s = HPS_OK;

    if (net->nslot == 0)
        return hps_deck_wrong(l->item, NULL, "layer '%s' embeds slots, the dataset has none",
                              l->name);
    l->slot = hps_mem_new((size_t)net->nslot, sizeof *l->slot);
    if (k->slots.n == 1 && strcmp(k->slots.item[0], "all") == 0)
        return add_slots(l, net, k, 0, net->nslot - 1);
    for (int i = 0; !s && i < k->slots.n; i++)
        s = add_entry(l, net, k, k->slots.item[i]);
    if (!s && l->nslot == 0)
        s = hps_deck_wrong(l->item, k->key, "layer '%s' has no slots", l->name);
    return s;
}

/* Set the first row and the modulo of each slot; *rows [out]: the rows of all slots. */
static enum hps_status assign_rows(struct hps_layer *l, const struct hps_net *net,
                                const struct hps_rows_keys *k, long long *rows)
{
    bool shared = *k->table != '\0';

    l->base = hps_mem_new((size_t)l->nslot, sizeof *l->base);
    l->modulo = hps_mem_new((size_t)l->nslot, sizeof *l->modulo);
    *rows = 0;
    for (int i = 0; i < l->nslot; i++) {
        long long ids = net->slot_buckets[l->slot[i]];
        long long n = k->buckets ? k->buckets : ids;
        if (n < ids && strcmp(k->hash, "none") == 0)
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

/* Give the layer a new table, or the shared one of its name, which may have to grow. */
static enum hps_status join_table(struct hps_layer *l, struct hps_net *net,
                                  const struct hps_rows_keys *k, long long rows)
{
    const struct hps_layer_opt *head = l->opt;
    bool shared = *k->table != '\0';
    const char *name = shared ? k->table : l->name;
    struct hps_table_shape *t = net->table;

    if (shared && !hps_layer_name_is_valid(name))
        return hps_deck_wrong(l->item, "table",
                              "'%s' is no name: 1 to 63 letters, digits, _ and -", name);
    while (t < net->table + net->ntable && strcmp(t->name, name) != 0)
        t++;
    l->table = (int)(t - net->table);
    if (l->table == net->ntable) {
        net->ntable++;
        *t = (struct hps_table_shape){ .name = name, .rows = rows, .dim = k->dim,
                                       .init_std = k->init_std, .shared = shared,
                                       .row_encoding = k->rows, .state_encoding = k->states,
                                       .override = { head->optimizer, head->learning_rate, true } };
        return HPS_OK;
    }
    if (!shared || !t->shared)
        return hps_deck_wrong(l->item, "table",
                              "'%s' is both a shared table and a layer with tables of its own",
                              name);
    if (t->dim != k->dim)
        return hps_deck_wrong(l->item, "dim", "table '%s' has rows of %d numbers already", name,
                              t->dim);
    if (hps_item_has(l->item, "init_std") && t->init_std != k->init_std)
        return hps_deck_wrong(l->item, "init_std", "table '%s' has init_std %g already", name,
                              t->init_std);
    if (hps_item_has(l->item, "optimizer") && strcmp(t->override.optimizer, head->optimizer) != 0)
        return hps_deck_wrong(l->item, "optimizer", "table '%s' has optimizer %s already", name,
                              t->override.optimizer);
    if (hps_item_has(l->item, "learning_rate") && t->override.learning_rate != head->learning_rate)
        return hps_deck_wrong(l->item, "learning_rate", "table '%s' has learning_rate %g already",
                              name, t->override.learning_rate);
    if (hps_item_has(l->item, "rows") && strcmp(t->row_encoding, k->rows) != 0)
        return hps_deck_wrong(l->item, "rows", "table '%s' has %s rows already", name,
                              t->row_encoding);
    if (hps_item_has(l->item, "states") && strcmp(t->state_encoding, k->states) != 0)
        return hps_deck_wrong(l->item, "states", "table '%s' has %s states already", name,
                              t->state_encoding);
    if (t->rows < rows) t->rows = rows;
    return HPS_OK;
}

enum hps_status hps_layer_rows(struct hps_layer *l, struct hps_net *net,
                               const struct hps_rows_keys *k)
{
    long long rows;
    enum hps_status s = find_slots(l, net, k);

    if (!s) s = assign_rows(l, net, k, &rows);
    if (!s) s = join_table(l, net, k, rows);
    l->dim = k->dim;
    return s;
}
