/* deck_lines.c - keys and values as lines. */
#include "base/deck_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/tree.h"

/* 0.05 and 5e-2 are one number, and so are 64 and 64.0: the shortest text that reads back as it.
 * What is no number stays; it is freed or given back. */
static char *one_form(char *value)
{
    char *end;
    double x = strtod(value, &end);

    if (!*value || *end || strspn(value, "+-.0123456789eE") != strlen(value)) return value;
    char *text = hps_mem_print("%.15g", x);
    if (strtod(text, NULL) != x) {
        hps_mem_free(text);
        text = hps_mem_print("%.17g", x);
    }
    hps_mem_free(value);
    return text;
}

/* What an item says, in one line; to free. */
static char *flat(const struct hps_item *item)
{
    char *text = hps_mem_text(""), *more;

    if (item->kind == HPS_ITEM_SCALAR) {
        hps_mem_free(text);
        if (hps_tree_null(item)) return hps_mem_text("null");
        text = hps_mem_text(item->text);
        return item->quoted ? text : one_form(text);
    }
    for (const struct hps_item *i = item->first; i; i = i->next) {
        char *one = flat(i);
        more = hps_mem_print("%s%s%s%s%s", text, *text ? ", " : "", i->key ? i->key : "",
                             i->key ? ": " : "", one);
        hps_mem_free(one);
        hps_mem_free(text);
        text = more;
    }
    more = hps_mem_print(item->kind == HPS_ITEM_MAP ? "{%s}" : "[%s]", text);
    hps_mem_free(text);
    return more;
}

/* A line behind the text, which is freed; the value too. Line breaks inside become blanks. */
static char *add(char *text, const char *key, char *value)
{
    for (char *c = value; *c; c++)
        if (*c == '\n') *c = ' ';
    char *more = hps_mem_print("%s%s %s\n", text, key, value);
    hps_mem_free(text);
    hps_mem_free(value);
    return more;
}

static bool is_in(const char *const *list, const char *word)
{
    for (; list && *list; list++)
        if (strcmp(*list, word) == 0) return true;
    return false;
}

/* The preset of a list stands in brackets or is one item: as flat() would say it. */
static char *value_of(const struct hps_item *section, const struct hps_field *f)
{
    const struct hps_item *item = section ? hps_tree_find(section, f->name) : NULL;

    return item ? flat(item) : one_form(hps_mem_text(f->preset ? f->preset : ""));
}

static char *entries(char *text, const struct hps_item *list, const char *section)
{
    for (const struct hps_item *e = list ? list->first : NULL; e; e = e->next) {
        const char *name = hps_item_text(e, "name");
        for (const struct hps_item *i = e->first; i; i = i->next) {
            char *key = hps_mem_print("%s.%s.%s", section, name ? name : "", i->key ? i->key : "");
            text = add(text, key, flat(i));
            hps_mem_free(key);
        }
    }
    return text;
}

char *hps_deck_lines(const struct hps_deck *deck, const char *section,
                     const struct hps_field *table, const char *const *skip)
{
    const struct hps_item *item = hps_tree_find(deck->tree->root, section);
    char *text = hps_mem_text("");

    if (!table) return entries(text, item, section);
    for (const struct hps_field *f = table; f->name; f++) {
        char *key = hps_mem_print("%s.%s", section, f->name);
        if (!is_in(skip, key)) text = add(text, key, value_of(item, f));
        hps_mem_free(key);
    }
    return text;
}

/* ---- compared ---- */

/* Does the text have this line (n characters)? */
static bool has(const char *text, const char *line, size_t n)
{
    for (; *text; text += strcspn(text, "\n") + 1)
        if (strcspn(text, "\n") == n && memcmp(text, line, n) == 0) return true;
    return false;
}

/* The first line of a that b has not; NULL: none. */
static const char *first_lost(const char *a, const char *b)
{
    for (; *a; a += strcspn(a, "\n") + 1)
        if (!has(b, a, strcspn(a, "\n"))) return a;
    return NULL;
}

static char *value_in(const char *text, const char *key)
{
    size_t n = strlen(key);

    for (; *text; text += strcspn(text, "\n") + 1)
        if (strncmp(text, key, n) == 0 && text[n] == ' ')
            return hps_mem_print("%.*s", (int)strcspn(text + n + 1, "\n"), text + n + 1);
    return hps_mem_text("nothing");
}

bool hps_deck_differ(const char *before, const char *now, struct hps_deck_change *c)
{
    const char *line = first_lost(before, now);

    if (!line) line = first_lost(now, before);
    if (!line) return false;
    c->key = hps_mem_print("%.*s", (int)strcspn(line, " \n"), line);
    c->before = value_in(before, c->key);
    c->now = value_in(now, c->key);
    return true;
}

void hps_deck_change_free(struct hps_deck_change *c)
{
    hps_mem_free(c->key);
    hps_mem_free(c->before);
    hps_mem_free(c->now);
}
