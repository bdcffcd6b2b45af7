/* list_sweep.c - a sweep is a job of each combination of its values. */
#include <string.h>

#include "base/mem.h"
#include "jobs/list/list_impl.h"

enum { KEYS = 16 };             /* of a sweep, at most */

struct sweep {
    int n;
    const char *key[KEYS];
    const struct hps_item *value[KEYS];     /* a list, or one value */
    int at[KEYS];                           /* the combination now: one of each */
};

static int count(const struct hps_item *value)
{
    return hps_item_shape(value) == HPS_ITEM_IS_LIST ? hps_item_count(value) : 1;
}

static const struct hps_item *current(const struct sweep *s, int k)
{
    return hps_item_shape(s->value[k]) == HPS_ITEM_IS_LIST
               ? hps_item_at(s->value[k], s->at[k], NULL) : s->value[k];
}

static enum hps_status bind(struct sweep *s, const struct hps_list_entry *e)
{
    const struct hps_item *over;
    enum hps_status st = hps_item_map(e->item, "over", &over);

    s->n = st ? 0 : hps_item_count(over);
    if (!st && (s->n == 0 || s->n > KEYS))
        st = hps_deck_wrong(e->item, "over", "wanted are 1 to %d keys of the deck with the values "
                            "of each", KEYS);
    for (int k = 0; k < s->n && !st; k++) {
        s->value[k] = hps_item_at(over, k, &s->key[k]);
        if (!strchr(s->key[k], '.'))
            st = hps_deck_wrong(over, s->key[k], "a key has a section, like train.epochs");
        else if (count(s->value[k]) == 0 || hps_item_shape(s->value[k]) == HPS_ITEM_IS_MAP)
            st = hps_deck_wrong(over, s->key[k], "a list of values is wanted");
    }
    return st;
}

/* The value as a part of a name. */
static char *word_of(char *yaml)
{
    char *to = yaml;

    for (const char *c = yaml; *c; c++)
        if (!strchr("\"[]{} ", *c)) *to++ = strchr("/:,\\", *c) ? '_' : *c;
    *to = 0;
    return yaml;
}

static enum hps_status add(struct hps_list_maker *m, const struct hps_list_entry *e,
                           const struct sweep *s)
{
    char *name = hps_mem_text(e->name), *set[KEYS];

    for (int k = 0; k < s->n; k++) {
        char *yaml = hps_item_yaml(current(s, k)), *shorter = name;
        set[k] = hps_mem_print("%s=%s", s->key[k], yaml);
        name = hps_mem_print("%s-%s", shorter, word_of(yaml));
        hps_mem_free(shorter);
        hps_mem_free(yaml);
    }
    enum hps_status st = hps_list_add(m, e, name, e->name, s->n, set);
    for (int k = 0; k < s->n; k++)
        hps_mem_free(set[k]);
    return st;
}

/* To the next combination, the last key's value first; false: that was the last. */
static bool next(struct sweep *s)
{
    for (int k = s->n - 1; k >= 0; k--) {
        if (++s->at[k] < count(s->value[k])) return true;
        s->at[k] = 0;
    }
    return false;
}

enum hps_status hps_list_sweep(struct hps_list_maker *m, const struct hps_list_entry *e)
{
    struct sweep s = { 0 };
    enum hps_status st = bind(&s, e);

    if (st) return st;
    do
        st = add(m, e, &s);
    while (!st && next(&s));
    return st;
}
