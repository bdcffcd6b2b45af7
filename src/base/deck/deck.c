/* deck.c - a deck and what was set on the command line, as one tree; sections and entries of it. */
#include "base/deck.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/outputs.h"
#include "base/say.h"
#include "base/tree.h"
#include "base/world.h"

enum { MAX_BYTES = 8 << 20, MAX_WORD = 64 };

/* The nearest. */

static int fold(char c)
{
    return c == '-' ? '_' : tolower((unsigned char)c);
}

static int min_of(int a, int b)
{
    return a < b ? a : b;
}

/* Letters lost, added, changed, or swapped with their neighbour; case does not count. */
static int distance(const char *a, const char *b)
{
    int row[3][MAX_WORD + 1];
    int na = (int)strlen(a), nb = (int)strlen(b);

    for (int j = 0; j <= nb; j++)
        row[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            int same = fold(a[i - 1]) == fold(b[j - 1]);
            now[j] = min_of(last[j - 1] + !same, min_of(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
                fold(a[i - 2]) == fold(b[j - 1]))
                now[j] = min_of(now[j], before[j - 2] + 1);
        }
    }
    return row[na % 3][nb];
}

const char *hps_deck_nearest(const char *word, const char *const *words, int n)
{
    const char *nearest = NULL;
    int fewest = MAX_WORD;

    if (strlen(word) > MAX_WORD) return NULL;
    for (int i = 0; i < n; i++) {
        size_t longer = strlen(words[i]) > strlen(word) ? strlen(words[i]) : strlen(word);
        if (longer > MAX_WORD) continue;
        int d = distance(word, words[i]);
        if (d < fewest && d <= 1 + (int)longer / 4) {
            fewest = d;
            nearest = words[i];
        }
    }
    return nearest;
}

/* --set KEY=VALUE */

struct change {
    struct hps_tree *tree;
    const char *source;         /* "--set KEY=VALUE", owned by the tree */
};

static enum hps_status no_entry(const struct change *c, const struct hps_item *list,
                                const char *name)
{
    const char **names = hps_mem_new((size_t)list->n, sizeof *names);
    char path[256];
    int n = 0;

    for (const struct hps_item *i = list->first; i; i = i->next) {
        const struct hps_item *is = hps_tree_find(i, "name");
        if (is && is->kind == HPS_ITEM_SCALAR) names[n++] = is->text;
    }
    const char *near = hps_deck_nearest(name, names, n);
    hps_mem_free(names);
    hps_tree_path(list, path, sizeof path);
    return hps_tree_wrong(c->source, 0, 0, "%s has no entry '%s'%s%s%s", path, name,
                          near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static struct hps_item *entry_named(const struct hps_item *list, const char *name)
{
    for (struct hps_item *i = list->first; i; i = i->next) {
        const struct hps_item *is = hps_tree_find(i, "name");
        if (is && is->kind == HPS_ITEM_SCALAR && strcmp(is->text, name) == 0) return i;
    }
    return NULL;
}

/* The item under a key of a mapping, which is made if it is not there yet. The command line may
 * hold any bytes, a deck may not. */
static enum hps_status find_or_add(const struct change *c, struct hps_item *map, const char *key,
                                   struct hps_item **item)
{
    *item = hps_tree_find(map, key);
    if (*item) return HPS_OK;
    for (const char *k = key; *k; k++)
        if (*k < ' ' || *k > '~')
            return hps_tree_wrong(c->source, 0, 0, "a key is made of plain letters");
    *item = hps_tree_add(c->tree, map, key, c->source);
    return HPS_OK;
}

/* One part of KEY down from *at; a mapping that is not there yet is made. */
static enum hps_status walk(const struct change *c, struct hps_item **at, const char *part)
{
    struct hps_item *from = *at;
    char path[256];

    if (from->kind == HPS_ITEM_LIST) {
        *at = entry_named(from, part);
        if (!*at) return no_entry(c, from, part);
    } else {
        enum hps_status s = find_or_add(c, from, part, at);
        if (s) return s;
    }
    if (hps_tree_null(*at)) (*at)->kind = HPS_ITEM_MAP;
    if ((*at)->kind == HPS_ITEM_SCALAR) {
        hps_tree_path(*at, path, sizeof path);
        return hps_tree_wrong(c->source, 0, 0, "%s is a value, nothing is under it", path);
    }
    return HPS_OK;
}

/* Hang `value` where KEY points; what was there gives way. */
static enum hps_status hang(const struct change *c, struct hps_item *at, const char *last,
                            const struct hps_item *value)
{
    char path[256];

    if (at->kind == HPS_ITEM_LIST) {
        hps_tree_path(at, path, sizeof path);
        return hps_tree_wrong(c->source, 0, 0, "%s is a list: KEY ends in %s.NAME.KEY", path, path);
    }
    struct hps_item *old, links;
    enum hps_status s = find_or_add(c, at, last, &old);
    if (s) return s;
    links = *old;
    *old = *value;
    old->parent = links.parent;
    old->next = links.next;
    old->key = links.key;
    for (struct hps_item *i = old->first; i; i = i->next)
        i->parent = old;
    return HPS_OK;
}

static enum hps_status parse_value(const struct change *c, int depth, const char *text,
                                   struct hps_item **value)
{
    enum hps_status s = hps_tree_parse(c->tree, c->source, false, depth, text, strlen(text), value);

    if (!s && !*value) {        /* "KEY=": the empty text, as on any command line */
        *value = hps_tree_add(c->tree, NULL, NULL, c->source);
        (*value)->quoted = *text == '\0';
    }
    return s;
}

static enum hps_status change_key(const struct change *c, struct hps_item *root, char *key,
                                  const char *text)
{
    struct hps_item *at = root, *value;
    enum hps_status s = HPS_OK;
    char *part = key;
    int depth = 1;

    for (;;) {
        size_t n = strcspn(part, ".");
        bool last = part[n] == '\0';
        part[n] = '\0';
        if (n == 0 || n > HPS_TREE_KEY || depth >= HPS_TREE_DEPTH)
            return hps_tree_wrong(c->source, 0, 0, "the key has an empty or endless part");
        if (last) break;
        s = walk(c, &at, part);
        if (s) return s;
        part += n + 1;
        depth++;
    }
    s = parse_value(c, depth, text, &value);
    return s ? s : hang(c, at, part, value);
}

static enum hps_status apply_set(struct hps_deck *deck, const char *set)
{
    const char *equals = strchr(set, '=');
    size_t n = strlen(set) + sizeof "--set ";
    char *source = hps_tree_take(deck->tree, n, 1);
    struct change c = { deck->tree, source };

    snprintf(source, n, "--set %s", set);
    if (!equals) {
        HPS_SAY(HPS_ERROR, "%s: KEY=VALUE is wanted", source);
        return HPS_USAGE;
    }
    char *key = hps_mem_text(set);
    key[equals - set] = '\0';
    enum hps_status s = change_key(&c, deck->tree->root, key, equals + 1);
    hps_mem_free(key);
    return s;
}

/* Parse, load, free. */

/* The root is a mapping; a section without anything under it is an empty mapping. */
static enum hps_status settle(struct hps_deck *deck)
{
    struct hps_tree *tree = deck->tree;
    struct hps_item *root = tree->root;

    if (!root) {
        root = hps_tree_add(tree, NULL, NULL, deck->file);
        root->line = root->column = 1;
        tree->root = root;
    }
    if (hps_tree_null(root)) root->kind = HPS_ITEM_MAP;
    if (root->kind != HPS_ITEM_MAP)
        return hps_tree_wrong(deck->file, root->line, root->column,
                              "a deck is a mapping of sections");
    for (struct hps_item *i = root->first; i; i = i->next)
        if (hps_tree_null(i)) i->kind = HPS_ITEM_MAP;
    return HPS_OK;
}

enum hps_status hps_deck_parse(struct hps_deck **deck, const char *file, const char *text,
                               size_t length, int nset, char *const *set)
{
    struct hps_deck *d = hps_mem_new(1, sizeof *d);
    enum hps_status s;

    d->file = hps_mem_text(file);
    d->tree = hps_mem_new(1, sizeof *d->tree);
    s = hps_tree_parse(d->tree, file, true, 0, text, length, &d->tree->root);
    if (!s) s = settle(d);
    for (int i = 0; i < nset && !s; i++)
        s = apply_set(d, set[i]);
    if (!s) s = settle(d);
    *deck = s ? NULL : d;
    if (s) hps_deck_free(d);
    return s;
}

void hps_deck_free(struct hps_deck *deck)
{
    if (!deck) return;
    hps_tree_done(deck->tree);
    hps_mem_free(deck->tree);
    hps_mem_free(deck->file);
    hps_mem_free(deck);
}

static enum hps_status read_file(const char *path, char **text, size_t *length)
{
    enum hps_status s = hps_outputs_will_read(path);

    if (s) return s;
    if (!hps_file_read(text, length, MAX_BYTES, path)) {
        HPS_SAY(HPS_ERROR, "%s: the deck cannot be read: %s", path, hps_file_why(errno));
        return HPS_INPUT;
    }
    if (*length > MAX_BYTES) return hps_tree_wrong(path, 1, 1, "too large for a deck");
    return HPS_OK;
}

enum hps_status hps_deck_load(struct hps_deck **deck, const char *path, int nset, char *const *set,
                              MPI_Comm world)
{
    char *text = NULL;
    size_t length = 0;
    int n;
    enum hps_status s = HPS_OK;

    *deck = NULL;
    if (hps_rank() == 0) s = read_file(path, &text, &length);
    s = hps_agree(world, s);
    if (!s && world != MPI_COMM_NULL) {
        n = (int)length;
        HPS_MPI(MPI_Bcast(&n, 1, MPI_INT, 0, world));
        if (!text) text = hps_mem_new((size_t)n, 1);
        HPS_MPI(MPI_Bcast(text, n, MPI_CHAR, 0, world));
        length = (size_t)n;
    }
    if (!s) s = hps_agree(world, hps_deck_parse(deck, path, text, length, nset, set));
    hps_mem_free(text);
    return s;
}

/* Sections and entries. */

enum hps_status hps_deck_wrong(const struct hps_item *item, const char *key, const char *format,
                               ...)
{
    const struct hps_item *at = item && key ? hps_tree_find(item, key) : NULL;
    char text[1024], path[256] = "";
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!at) at = item;
    if (at) hps_tree_path(at, path, sizeof path);
    if (key && at == item) {
        size_t n = strlen(path);
        snprintf(path + n, sizeof path - n, "%s%s", n ? "." : "", key);
    }
    return hps_tree_wrong(at ? at->source : "deck", at ? at->line : 0, at ? at->column : 0,
                          "%s%s%s", path, *path ? ": " : "", text);
}

const struct hps_item *hps_deck_root(const struct hps_deck *deck)
{
    return deck->tree->root;
}

enum hps_status hps_deck_sections(const struct hps_deck *deck, const char *const *names)
{
    int n = 0;

    while (names[n])
        n++;
    for (const struct hps_item *i = deck->tree->root->first; i; i = i->next) {
        int at = 0;
        while (at < n && strcmp(names[at], i->key) != 0)
            at++;
        if (at < n) continue;
        const char *near = hps_deck_nearest(i->key, names, n);
        return hps_tree_wrong(i->source, i->key_line, i->key_column, "unknown section '%s'%s%s%s",
                              i->key, near ? ", did you mean '" : "", near ? near : "",
                              near ? "'?" : "");
    }
    return HPS_OK;
}

enum hps_status hps_item_map(const struct hps_item *item, const char *key,
                             const struct hps_item **inner)
{
    *inner = item ? hps_tree_find(item, key) : NULL;
    if (*inner && hps_tree_null(*inner)) *inner = NULL;
    if (*inner && (*inner)->kind != HPS_ITEM_MAP) {
        *inner = NULL;
        return hps_deck_wrong(item, key, "a mapping {key: value, ...} is wanted");
    }
    return HPS_OK;
}

enum hps_status hps_deck_map(const struct hps_deck *deck, const char *section,
                             const struct hps_item **item)
{
    return hps_item_map(deck->tree->root, section, item);
}

enum hps_status hps_deck_entries(const struct hps_deck *deck, const char *section, int *n,
                                 const struct hps_item *const **items)
{
    const struct hps_item *root = deck->tree->root, *list = hps_tree_find(root, section);
    const struct hps_item **all;
    int nall = 0;

    *n = 0;
    *items = NULL;
    if (!list || list->n == 0)
        return list && list->kind == HPS_ITEM_SCALAR
                   ? hps_deck_wrong(root, section, "a list of mappings is wanted")
                   : HPS_OK;
    if (list->kind != HPS_ITEM_LIST)
        return hps_deck_wrong(root, section, "a list of mappings is wanted");
    all = hps_tree_take(deck->tree, (size_t)list->n, sizeof *all);
    for (const struct hps_item *i = list->first; i; i = i->next) {
        if (i->kind != HPS_ITEM_MAP)
            return hps_deck_wrong(i, NULL, "a mapping {name: ..., ...} is wanted");
        all[nall++] = i;
    }
    *n = nall;
    *items = all;
    return HPS_OK;
}

const char *hps_item_text(const struct hps_item *item, const char *key)
{
    const struct hps_item *i = item ? hps_tree_find(item, key) : NULL;

    return i && i->kind == HPS_ITEM_SCALAR && !hps_tree_null(i) ? i->text : NULL;
}

bool hps_item_has(const struct hps_item *item, const char *key)
{
    return item && hps_tree_find(item, key);
}

int hps_item_count(const struct hps_item *item)
{
    return item ? item->n : 0;
}

const struct hps_item *hps_item_at(const struct hps_item *item, int i, const char **key)
{
    const struct hps_item *at = item->first;

    while (i-- > 0)
        at = at->next;
    if (key) *key = at->key;
    return at;
}

const struct hps_item *hps_item_under(const struct hps_item *item, const char *key)
{
    return item ? hps_tree_find(item, key) : NULL;
}

enum hps_item_shape hps_item_shape(const struct hps_item *item)
{
    return item->kind == HPS_ITEM_LIST ? HPS_ITEM_IS_LIST
           : item->kind == HPS_ITEM_MAP ? HPS_ITEM_IS_MAP
                                        : HPS_ITEM_IS_VALUE;
}
