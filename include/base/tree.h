/* tree.h - a YAML text as a tree of items that know their file, line and column; for base/deck.
 *
 * Less than YAML on purpose: one document, no anchors, aliases and tags, keys are scalars and are
 * given once, at most HPS_TREE_DEPTH levels and HPS_TREE_ITEMS items. */
#ifndef HPS_BASE_TREE_H
#define HPS_BASE_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum { HPS_TREE_DEPTH = 32, HPS_TREE_ITEMS = 100000, HPS_TREE_KEY = 128 };

enum hps_item_kind { HPS_ITEM_SCALAR, HPS_ITEM_LIST, HPS_ITEM_MAP };

struct hps_item {
    enum hps_item_kind kind;
    const char *source;         /* the file, or "--set KEY=VALUE": then line is 0          */
    int line, column;           /* of the value; from 1, columns count characters          */
    int key_line, key_column;   /* of the key                                              */
    const char *key;            /* NULL at the root and in a list                          */
    const char *text;           /* SCALAR: what it says, no zero byte inside               */
    bool quoted;                /* SCALAR: stood in quotes or in a block                   */
    const char **word;          /* LIST: its n texts when all are scalars with a value     */
    int n;                      /* items under this one: from `first` through `next`       */
    struct hps_item *first, *last, *next, *parent;
};

/* A tree under work: `root` NULL before something was parsed. Everything is owned by the tree. */
struct hps_tree {
    struct hps_item *root;
    struct hps_piece *piece;    /* all memory taken */
    int nitem;
};

/* What base/deck.h only names. */
struct hps_deck {
    char *file;
    struct hps_tree *tree;
};

/* Parse a text, whose items get the places "source:line:column", or "source" only when not `lined`,
 * and lie `depth` levels deep from the start. *root is NULL for a text that says nothing.
 * HPS_DECK with one message. Pure but for messages. */
enum hps_status hps_tree_parse(struct hps_tree *tree, const char *source, bool lined, int depth,
                               const char *text, size_t length, struct hps_item **root);
void hps_tree_done(struct hps_tree *tree);

/* Zeroed memory for n elements of `size` bytes, which lives as long as the tree. */
void *hps_tree_take(struct hps_tree *tree, size_t n, size_t size);

/* A new item without place at the end of a list or mapping (under `key`, copied). */
struct hps_item *hps_tree_add(struct hps_tree *tree, struct hps_item *to, const char *key,
                              const char *source);

struct hps_item *hps_tree_find(const struct hps_item *map, const char *key); /* NULL: none */

/* Is it a scalar without value (nothing, ~ or null, not quoted)? */
bool hps_tree_null(const struct hps_item *item);

/* Where an item hangs: "train.steps", "model.h1.width", "model[3]". Cut when longer than size. */
void hps_tree_path(const struct hps_item *item, char *path, size_t size);

/* Say "source:line:column: ..." (without the numbers when line is 0), control characters as '?'.
 * Always HPS_DECK. */
enum hps_status hps_tree_wrong(const char *source, int line, int column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
