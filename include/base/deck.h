/* deck.h - YAML to checked plain structs through tables of fields, and back.
 *
 * A room exports a table of fields; the program lists the tables once. Every message about a deck
 * begins FILE:LINE:COLUMN (for --set: "--set KEY=VALUE"). Text and lists in bound structs are
 * borrowed from the deck and live as long as it does. */
#ifndef HPS_BASE_DECK_H
#define HPS_BASE_DECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum hps_field_kind {
    HPS_INT,   /* int                */
    HPS_LONG,  /* long long          */
    HPS_REAL,  /* double; a word of `words` (for instance "max") is stored as INFINITY */
    HPS_BOOL,  /* bool               */
    HPS_TEXT,  /* const char *, ""   */
    HPS_WORD,  /* const char *, one of `words`, a name ending in ':' takes anything behind it */
    HPS_LIST   /* struct hps_list: a YAML sequence of scalars, or one scalar = a list of one */
};

struct hps_list {
    int n;
    const char **item;
};

/* One key: the single place of its name, type, default, bounds, unit and meaning. */
struct hps_field {
    const char *name;
    enum hps_field_kind kind;
    size_t offset;
    const char *preset;      /* the default as YAML text; NULL: the key must be given */
    double min, max;         /* INT, LONG, REAL, BOOL; both included                  */
    const char *words;       /* WORD, REAL: "a|b|c"                                   */
    const char *unit;        /* "s", "bytes", "" ...                                  */
    const char *help;
};

#define HPS_FIELD(type, member, kind, preset, min, max, unit, help)                               \
    { #member, kind, offsetof(struct type, member), preset, min, max, NULL, unit, help }
#define HPS_CHOICE(type, member, preset, words, help)                                              \
    { #member, HPS_WORD, offsetof(struct type, member), preset, 0, 0, words, "", help }

struct hps_deck;   /* the tree of a parsed deck                                      */
struct hps_item;   /* one mapping in it (a section, a layer): knows its file and place */

/* Parse a deck from memory, then apply `nset` texts "KEY=VALUE": VALUE is YAML (nothing at all is
 * the empty text); KEY walks through mappings by key and through lists by the `name` of an entry;
 * mappings and the last part may be new. A deck is one document without anchors, aliases and tags.
 * HPS_DECK with one message otherwise (a set without '=': HPS_USAGE); *deck is NULL then. Pure but
 * for messages. */
enum hps_status hps_deck_parse(struct hps_deck **deck, const char *file, const char *text,
                               size_t length, int nset, char *const *set);

/* Rank 0 reads the file (missing or unreadable: HPS_INPUT) and broadcasts it; every rank parses the
 * same text; only rank 0 prints messages. Collective over world; MPI_COMM_NULL: alone. */
enum hps_status hps_deck_load(struct hps_deck **deck, const char *path, int nset, char *const *set,
                              MPI_Comm world);
void hps_deck_free(struct hps_deck *deck);  /* NULL is fine */

/* The deck as a whole, for a message about what is missing in it. Borrowed. */
const struct hps_item *hps_deck_root(const struct hps_deck *deck);

/* Are the deck's sections all among these names (NULL-terminated)? Else HPS_DECK, and the message
 * proposes the nearest. */
enum hps_status hps_deck_sections(const struct hps_deck *deck, const char *const *names);

/* A section that is a mapping (NULL: absent, bind then gives defaults), and the entries of one that
 * is a list of mappings (*n = 0: absent). Borrowed from the deck. Another shape: HPS_DECK. */
enum hps_status hps_deck_map(const struct hps_deck *deck, const char *section,
                             const struct hps_item **item);
enum hps_status hps_deck_entries(const struct hps_deck *deck, const char *section, int *n,
                                 const struct hps_item *const **items);

/* A mapping under `key` of an item (NULL: absent, or no item). Another shape: HPS_DECK. */
enum hps_status hps_item_map(const struct hps_item *item, const char *key,
                             const struct hps_item **inner);

/* A scalar of an item as text (to find the `type` before the table), borrowed; NULL when absent,
 * without value or no scalar. */
const char *hps_item_text(const struct hps_item *item, const char *key);

/* Was this key given in the deck (or by --set), or is it the default? */
bool hps_item_has(const struct hps_item *item, const char *key);

/* What is under an item: how many (0: no item, or a scalar), and the i-th of them, with its key in
 * *key (NULL in a list; `key` may be NULL). Borrowed. */
int hps_item_count(const struct hps_item *item);
const struct hps_item *hps_item_at(const struct hps_item *item, int i, const char **key);
/* What stands under `key`, whatever its shape; NULL: nothing. Borrowed. */
const struct hps_item *hps_item_under(const struct hps_item *item, const char *key);
/* Is it a list, a mapping, one value? */
enum hps_item_shape { HPS_ITEM_IS_VALUE, HPS_ITEM_IS_LIST, HPS_ITEM_IS_MAP };
enum hps_item_shape hps_item_shape(const struct hps_item *item);
/* The item as one line of YAML, to free with hps_mem_free. */
char *hps_item_yaml(const struct hps_item *item);

/* Fill `into` from an item (NULL: all defaults) by up to two tables (`more` may be NULL); each ends
 * with { 0 }. `skip` (NULL-terminated, or NULL) names keys that the caller binds (inner
 * mappings). Numbers and truths may not stand in quotes. Unknown key, wrong type, out of bounds,
 * no value, missing key: HPS_DECK with one message, and `into` is filled in part. */
enum hps_status hps_deck_bind(const struct hps_deck *deck, const struct hps_item *item,
                              const struct hps_field *table, const struct hps_field *more,
                              const char *const *skip, void *into);

/* Say an error of meaning at a key (or at the item when `key` is NULL or absent; without a place
 * when there is no item, as in a section left out). Always HPS_DECK. */
enum hps_status hps_deck_wrong(const struct hps_item *item, const char *key, const char *format,
                               ...) __attribute__((format(printf, 3, 4)));

/* The nearest of `n` words by edit distance, NULL when none is near. Pure. */
const char *hps_deck_nearest(const char *word, const char *const *words, int n);

/* The deck as run, file and sets together, as YAML that parses back to the same structs. Text to
 * free with hps_mem_free. */
char *hps_deck_text(const struct hps_deck *deck);

/* The reference of a deck on hps_out, part by part, as a deck itself or as a manual page (roff): a
 * section with lines of YAML that it may hold (NULL: none); in a section the head of a group of
 * keys and what it is (NULL: the head says it); of a table every key with its default, bounds, unit
 * and meaning, `inner` where the table is of a group. In YAML the keys of a group are comments, and
 * so is a key that must be given. */
enum hps_deck_form { HPS_DECK_YAML, HPS_DECK_MAN };
void hps_deck_print_section(enum hps_deck_form form, const char *section, const char *lines);
void hps_deck_print_group(enum hps_deck_form form, const char *head, const char *help);
void hps_deck_print_table(enum hps_deck_form form, bool inner, const struct hps_field *table);

#endif
