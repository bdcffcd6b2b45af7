/* deck_bind.c - the items of a deck, checked, into plain structs through tables of fields. */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/deck.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/tree.h"

/* One value on its way into a struct. Why it cannot go there is written into `why`. */
struct value {
    const struct hps_field *field;
    const struct hps_item *item;
    void *to;
    char why[512];
};

static bool refuse(struct value *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(struct value *v, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(v->why, sizeof v->why, format, args);
    va_end(args);
    return false;
}

static bool within(struct value *v, double x)
{
    if (x < v->field->min) return refuse(v, "%.60s is below %.10g", v->item->text, v->field->min);
    if (x > v->field->max) return refuse(v, "%.60s is above %.10g", v->item->text, v->field->max);
    return true;
}

static size_t digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* Bytes of the decimal number at the start of s: [+-] digits [. digits] [e [+-] digits]. */
static size_t number(const char *s, bool real)
{
    size_t n = *s == '+' || *s == '-', whole = digits(s + n), part = 0;

    n += whole;
    if (real && s[n] == '.') {
        part = digits(s + n + 1);
        n += part + 1;
    }
    if (whole + part == 0) return 0;
    if (real && (s[n] == 'e' || s[n] == 'E')) {
        size_t sign = s[n + 1] == '+' || s[n + 1] == '-';
        size_t power = digits(s + n + 1 + sign);
        if (power > 0) n += 1 + sign + power;
    }
    return n;
}

static bool is_number(const struct value *v, bool real)
{
    size_t n = number(v->item->text, real);

    return n > 0 && v->item->text[n] == '\0' && !v->item->quoted;
}

static bool put_whole(struct value *v)
{
    bool small = v->field->kind == HPS_INT;

    if (!is_number(v, false)) return refuse(v, "'%.60s' is no whole number", v->item->text);
    errno = 0;
    long long x = strtoll(v->item->text, NULL, 10);
    if (errno == ERANGE || (small && (x < INT_MIN || x > INT_MAX)))
        return refuse(v, "%.60s is too large a number", v->item->text);
    if (!within(v, (double)x)) return false;
    int i = (int)x;
    memcpy(v->to, small ? (void *)&i : (void *)&x, small ? sizeof i : sizeof x);
    return true;
}

/* Is `text` one of "a|b|c:", where "c:" takes anything behind it? */
static bool is_word(const char *words, const char *text)
{
    for (const char *w = words; w; w = strchr(w, '|')) {
        w += *w == '|';
        size_t n = strcspn(w, "|");
        bool open = n > 0 && w[n - 1] == ':';
        if (strncmp(w, text, n) == 0 && (open ? text[n] != '\0' : text[n] == '\0')) return true;
    }
    return false;
}

static bool put_real(struct value *v)
{
    double x = INFINITY;

    if (!v->field->words || !is_word(v->field->words, v->item->text)) {
        if (!is_number(v, true))
            return refuse(v, "'%.60s' is no number%s%s", v->item->text,
                          v->field->words ? " and not " : "",
                          v->field->words ? v->field->words : "");
        errno = 0;
        x = strtod(v->item->text, NULL);
        if (errno == ERANGE)
            return refuse(v, "%.60s is too large or too small a number", v->item->text);
        if (!within(v, x)) return false;
    }
    memcpy(v->to, &x, sizeof x);
    return true;
}

static bool put_bool(struct value *v)
{
    static const char *const word[] = { "false", "true", "no", "yes", "off", "on" };

    for (int i = 0; i < 6; i++) {
        if (v->item->quoted || strcasecmp(v->item->text, word[i]) != 0) continue;
        bool x = i % 2;
        memcpy(v->to, &x, sizeof x);
        return true;
    }
    return refuse(v, "'%.60s' is neither true nor false", v->item->text);
}

static bool refuse_word(struct value *v)
{
    const char *word[64], *near;
    char *words = hps_mem_text(v->field->words), *rest = words;
    int n = 0;

    while (rest && n < 64)
        word[n++] = strsep(&rest, "|");
    near = hps_deck_nearest(v->item->text, word, n);
    refuse(v, "'%.60s' is none of %.300s%s%s%s", v->item->text, v->field->words,
           near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    hps_mem_free(words);
    return false;
}

static bool put_text(struct value *v)
{
    const char *text = v->item->text;

    if (v->field->kind == HPS_WORD && !is_word(v->field->words, text)) return refuse_word(v);
    memcpy(v->to, &text, sizeof text);
    return true;
}

static bool put_list(struct value *v)
{
    struct hps_list list = { v->item->n, v->item->n ? v->item->word : NULL };

    if (list.n > 0 && !list.item) return refuse(v, "a list of plain values is wanted");
    if (v->item->kind == HPS_ITEM_SCALAR)       /* one value is a list of one */
        list = (struct hps_list){ 1, (const char **)&((struct hps_item *)v->item)->text };
    memcpy(v->to, &list, sizeof list);
    return true;
}

static bool put(struct value *v)
{
    const struct hps_item *item = v->item;

    if (item->kind == HPS_ITEM_MAP || (item->kind == HPS_ITEM_LIST && v->field->kind != HPS_LIST))
        return refuse(v, "a %s is wanted, not a %s",
                      v->field->kind == HPS_LIST ? "list" : "single value",
                      item->kind == HPS_ITEM_MAP ? "mapping" : "list");
    if (hps_tree_null(item)) return refuse(v, "there is no value");
    switch (v->field->kind) {
    case HPS_INT:
    case HPS_LONG:
        return put_whole(v);
    case HPS_REAL:
        return put_real(v);
    case HPS_BOOL:
        return put_bool(v);
    case HPS_TEXT:
    case HPS_WORD:
        return put_text(v);
    case HPS_LIST:
        return put_list(v);
    }
    assert(!"a kind of field");
    return false;
}

/* Our own defaults: what they say wrong is a bug. Only lists and quotes need the YAML parser. */
static void put_preset(const struct hps_deck *deck, const struct hps_field *f, void *to)
{
    struct hps_item plain = { .text = f->preset, .quoted = *f->preset == '\0' };
    struct hps_item *item = &plain;
    enum hps_status s = HPS_OK;

    if (f->kind == HPS_LIST && *f->preset == '\0')
        plain.kind = HPS_ITEM_LIST;
    else if (f->kind == HPS_LIST || *f->preset == '"' || *f->preset == '\'')
        s = hps_tree_parse(deck->tree, "preset", false, 0, f->preset, strlen(f->preset), &item);
    assert(!s && item);
    struct value v = { .field = f, .item = item, .to = to };
    bool good = put(&v);
    if (s || !good) HPS_DIE("the preset of '%s' is wrong: %s", f->name, v.why);
}

static bool is_listed(const char *const *names, const char *key)
{
    for (; names && *names; names++)
        if (strcmp(*names, key) == 0) return true;
    return false;
}

static const struct hps_field *field_of(const struct hps_field *table, const char *key)
{
    for (; table && table->name; table++)
        if (strcmp(table->name, key) == 0) return table;
    return NULL;
}

static enum hps_status unknown_key(const struct hps_item *key, const struct hps_field *const *table,
                                   const char *const *skip)
{
    const char **names = NULL, *near;
    size_t cap = 0, n = 0;
    char path[256];

    for (int t = 0; t < 2; t++)
        for (const struct hps_field *f = table[t]; f && f->name; f++) {
            hps_mem_grow(&names, &cap, n + 1, sizeof *names);
            names[n++] = f->name;
        }
    for (; skip && *skip; skip++) {
        hps_mem_grow(&names, &cap, n + 1, sizeof *names);
        names[n++] = *skip;
    }
    near = hps_deck_nearest(key->key, names, (int)n);
    hps_mem_free(names);
    hps_tree_path(key->parent, path, sizeof path);
    return hps_tree_wrong(key->source, key->key_line, key->key_column,
                          "%s%sunknown key '%s'%s%s%s", path, *path ? ": " : "", key->key,
                          near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static enum hps_status bind_field(const struct hps_deck *deck, const struct hps_item *item,
                                  const struct hps_field *f, void *into)
{
    const struct hps_item *given = item ? hps_tree_find(item, f->name) : NULL;
    struct value v = { .field = f, .item = given, .to = (char *)into + f->offset };

    if (given) return put(&v) ? HPS_OK : hps_deck_wrong(item, f->name, "%s", v.why);
    if (f->preset) {
        put_preset(deck, f, v.to);
        return HPS_OK;
    }
    return item ? hps_deck_wrong(item, f->name, "must be given")
                : hps_tree_wrong(deck->file, 1, 1, "%s: must be given", f->name);
}

enum hps_status hps_deck_bind(const struct hps_deck *deck, const struct hps_item *item,
                              const struct hps_field *table, const struct hps_field *more,
                              const char *const *skip, void *into)
{
    const struct hps_field *const tables[] = { table, more };
    enum hps_status s = HPS_OK;

    for (const struct hps_item *i = item ? item->first : NULL; i && !s; i = i->next)
        if (!field_of(table, i->key) && !field_of(more, i->key) && !is_listed(skip, i->key))
            s = unknown_key(i, tables, skip);
    for (int t = 0; t < 2; t++)
        for (const struct hps_field *f = tables[t]; f && f->name && !s; f++)
            s = bind_field(deck, item, f, into);
    return s;
}
