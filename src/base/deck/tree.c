/* tree.c - a YAML text as a tree of items that know their places. */
#include "base/tree.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"

struct hps_piece {
    struct hps_piece *next;
    _Alignas(max_align_t) char room[];
};

/* What the events of one text build. */
struct reader {
    struct hps_tree *tree;
    const char *source;
    bool lined;
    int depth;
    struct hps_item *top, *at;  /* the first item; the open list or mapping */
    const char *key;            /* said, and waiting for its value          */
    yaml_mark_t key_mark;
    bool whole;                 /* the one document has ended               */
};

void *hps_tree_take(struct hps_tree *tree, size_t n, size_t size)
{
    assert(size == 0 || n <= (SIZE_MAX / 2) / size);
    struct hps_piece *p = hps_mem_new(1, sizeof *p + n * size);
    p->next = tree->piece;
    tree->piece = p;
    return p->room;
}

void hps_tree_done(struct hps_tree *tree)
{
    while (tree->piece) {
        struct hps_piece *p = tree->piece;
        tree->piece = p->next;
        hps_mem_free(p);
    }
    *tree = (struct hps_tree){ 0 };
}

static const char *copy(struct hps_tree *tree, const char *text, size_t n)
{
    return memcpy(hps_tree_take(tree, n + 1, 1), text, n);
}

enum hps_status hps_tree_wrong(const char *source, int line, int column, const char *format, ...)
{
    char text[2048];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *all = line ? hps_mem_print("%s:%d:%d: %s", source, line, column, text)
                     : hps_mem_print("%s: %s", source, text);
    for (char *c = all; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    HPS_SAY(HPS_ERROR, "%s", all);
    hps_mem_free(all);
    return HPS_DECK;
}

static enum hps_status wrong_at(const struct reader *r, yaml_mark_t at, const char *what)
{
    return hps_tree_wrong(r->source, r->lined ? (int)at.line + 1 : 0, (int)at.column + 1, "%s",
                          what);
}

struct hps_item *hps_tree_find(const struct hps_item *map, const char *key)
{
    for (struct hps_item *i = map->first; i; i = i->next)
        if (i->key && strcmp(i->key, key) == 0) return i;
    return NULL;
}

bool hps_tree_null(const struct hps_item *item)
{
    static const char *const nothing[] = { "", "~", "null", "Null", "NULL" };

    if (item->kind != HPS_ITEM_SCALAR || item->quoted) return false;
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        if (strcmp(item->text, nothing[i]) == 0) return true;
    return false;
}

void hps_tree_path(const struct hps_item *item, char *path, size_t size)
{
    const struct hps_item *name, *up = item->parent;
    size_t n;
    int place = 0;

    path[0] = '\0';
    if (!up) return;
    hps_tree_path(up, path, size);
    n = strlen(path);
    if (item->key) {
        snprintf(path + n, size - n, "%s%s", n ? "." : "", item->key);
        return;
    }
    name = hps_tree_find(item, "name");
    if (name && name->kind == HPS_ITEM_SCALAR) {
        snprintf(path + n, size - n, "%s%s", n ? "." : "", name->text);
        return;
    }
    for (const struct hps_item *i = up->first; i != item; i = i->next)
        place++;
    snprintf(path + n, size - n, "[%d]", place);
}

struct hps_item *hps_tree_add(struct hps_tree *tree, struct hps_item *to, const char *key,
                              const char *source)
{
    struct hps_item *item = hps_tree_take(tree, 1, sizeof *item);

    tree->nitem++;
    item->source = source;
    item->text = "";
    item->parent = to;
    if (!to) return item;
    item->key = key ? copy(tree, key, strlen(key)) : NULL;
    if (to->last)
        to->last->next = item;
    else
        to->first = item;
    to->last = item;
    to->n++;
    return item;
}

static int by_key(const void *a, const void *b)
{
    const struct hps_item *x = *(struct hps_item *const *)a, *y = *(struct hps_item *const *)b;
    int order = strcmp(x->key, y->key);

    if (order == 0)
        order = x->key_line != y->key_line ? x->key_line - y->key_line
                                           : x->key_column - y->key_column;
    return order;
}

/* Sorted, because a hostile text can have all its items in one mapping. */
static enum hps_status keys_once(const struct hps_item *map)
{
    struct hps_item **all = hps_mem_new((size_t)map->n, sizeof *all);
    const struct hps_item *twice = NULL;
    int n = 0;

    for (struct hps_item *i = map->first; i; i = i->next)
        all[n++] = i;
    qsort(all, (size_t)n, sizeof *all, by_key);
    for (int i = 1; i < n && !twice; i++)
        if (strcmp(all[i - 1]->key, all[i]->key) == 0) twice = all[i];
    hps_mem_free(all);
    if (!twice) return HPS_OK;
    return hps_tree_wrong(twice->source, twice->key_line, twice->key_column,
                          "the key '%.100s' is given twice", twice->key);
}

static void gather_words(struct hps_tree *tree, struct hps_item *list)
{
    int n = 0;

    for (const struct hps_item *i = list->first; i; i = i->next)
        if (i->kind != HPS_ITEM_SCALAR || hps_tree_null(i)) return;
    list->word = hps_tree_take(tree, (size_t)list->n, sizeof *list->word);
    for (const struct hps_item *i = list->first; i; i = i->next)
        list->word[n++] = i->text;
}

static struct hps_item *add_item(struct reader *r, enum hps_item_kind kind, yaml_mark_t at)
{
    struct hps_item *item = hps_tree_add(r->tree, r->at, r->key, r->source);

    item->kind = kind;
    if (r->lined) {
        item->line = (int)at.line + 1;
        item->column = (int)at.column + 1;
        item->key_line = (int)r->key_mark.line + 1;
        item->key_column = (int)r->key_mark.column + 1;
    }
    r->key = NULL;
    if (!r->top) r->top = item;
    return item;
}

static bool wants_key(const struct reader *r)
{
    return r->at && r->at->kind == HPS_ITEM_MAP && !r->key;
}

static enum hps_status take_scalar(struct reader *r, const yaml_event_t *e)
{
    const char *text = (const char *)e->data.scalar.value;
    size_t n = e->data.scalar.length;

    if (e->data.scalar.anchor || e->data.scalar.tag)
        return wrong_at(r, e->start_mark, "anchors and tags are not for decks");
    if (memchr(text, '\0', n)) return wrong_at(r, e->start_mark, "a text may not hold a zero byte");
    if (wants_key(r)) {
        if (n > HPS_TREE_KEY) return wrong_at(r, e->start_mark, "the key is too long");
        r->key = copy(r->tree, text, n);
        r->key_mark = e->start_mark;
        return HPS_OK;
    }
    struct hps_item *item = add_item(r, HPS_ITEM_SCALAR, e->start_mark);
    item->text = copy(r->tree, text, n);
    item->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return HPS_OK;
}

static enum hps_status open_item(struct reader *r, const yaml_event_t *e)
{
    bool map = e->type == YAML_MAPPING_START_EVENT;

    if (map ? e->data.mapping_start.anchor || e->data.mapping_start.tag
            : e->data.sequence_start.anchor || e->data.sequence_start.tag)
        return wrong_at(r, e->start_mark, "anchors and tags are not for decks");
    if (wants_key(r)) return wrong_at(r, e->start_mark, "a key must be one word");
    if (++r->depth > HPS_TREE_DEPTH) return wrong_at(r, e->start_mark, "too many levels");
    r->at = add_item(r, map ? HPS_ITEM_MAP : HPS_ITEM_LIST, e->start_mark);
    return HPS_OK;
}

static enum hps_status close_item(struct reader *r)
{
    struct hps_item *item = r->at;

    r->at = item->parent;
    r->depth--;
    if (item->kind == HPS_ITEM_MAP) return keys_once(item);
    gather_words(r->tree, item);
    return HPS_OK;
}

static enum hps_status take_event(struct reader *r, const yaml_event_t *e)
{
    if (r->tree->nitem >= HPS_TREE_ITEMS)
        return wrong_at(r, e->start_mark, "too many items for a deck");
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(r, e);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return open_item(r, e);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_item(r);
    case YAML_ALIAS_EVENT:
        return wrong_at(r, e->start_mark, "aliases are not for decks (a text with * needs quotes)");
    case YAML_DOCUMENT_START_EVENT:
        return r->whole ? wrong_at(r, e->start_mark, "a deck is one document") : HPS_OK;
    case YAML_DOCUMENT_END_EVENT:
        r->whole = true;
        return HPS_OK;
    default:
        return HPS_OK;
    }
}

/* The library knows no mark for bytes that are no text, only their offset. */
static enum hps_status no_yaml(const struct reader *r, const yaml_parser_t *p, const char *text,
                               size_t length)
{
    yaml_mark_t at = p->problem_mark;

    if (p->error == YAML_MEMORY_ERROR || !p->problem) HPS_DIE("no memory to read %s", r->source);
    if (p->error == YAML_READER_ERROR) {
        at = (yaml_mark_t){ 0 };
        for (size_t i = 0; i < p->problem_offset && i < length; i++) {
            at.column = text[i] == '\n' ? 0 : at.column + 1;
            at.line += text[i] == '\n';
        }
    }
    return wrong_at(r, at, p->problem);
}

enum hps_status hps_tree_parse(struct hps_tree *tree, const char *source, bool lined, int depth,
                               const char *text, size_t length, struct hps_item **root)
{
    struct reader r = { .tree = tree, .lined = lined, .depth = depth };
    enum hps_status s = HPS_OK;
    yaml_parser_t p;
    bool end = false;

    *root = NULL;
    r.source = copy(tree, source, strlen(source));
    if (!yaml_parser_initialize(&p)) HPS_DIE("no memory for the YAML parser");
    yaml_parser_set_input_string(&p, (const unsigned char *)(text ? text : ""), length);
    while (!s && !end) {
        yaml_event_t e;
        if (!yaml_parser_parse(&p, &e)) {
            s = no_yaml(&r, &p, text, length);
            break;
        }
        end = e.type == YAML_STREAM_END_EVENT;
        s = take_event(&r, &e);
        yaml_event_delete(&e);
    }
    yaml_parser_delete(&p);
    if (!s) *root = r.top;
    return s;
}
