/* join.h - a small delimited file in memory, indexed by a key: further columns for an import. */
#ifndef HPS_DATA_JOIN_H
#define HPS_DATA_JOIN_H

#include "data/csv.h"
#include "data/dict.h"

enum { HPS_JOIN_BYTES = 24 << 20 };     /* of keys, and of texts, at most */

struct hps_join {
    int n;                      /* columns                                          */
    char **name;                /* (n) the header                                   */
    struct hps_dict key;        /* key -> row, from 1                               */
    char *text;                 /* all cells, row by row, zero-terminated           */
    size_t bytes, cap;
    size_t *start;              /* (rows, n) where each cell begins                 */
    size_t start_cap;
};

/* Read a file with a header line; `column`: its key. A repeated key, a line with another number of
 * columns, a file that is too large, no such column: HPS_DECK. */
enum hps_status hps_join_load(struct hps_join *j, const char *path, char delimiter,
                              const char *column);
void hps_join_done(struct hps_join *j);
/* A cell of the row with this key; NULL: there is no such row. */
const char *hps_join_cell(struct hps_join *j, long long row, int column);

/* The number of a column in a list of names: an exact match, else one that ignores case; -1: none.
 * *again: the next match, or -1. Pure. */
int hps_join_find(const char *column, int n, char *const *name, int *again);

/* Say that `path` has a column twice, at two numbers from 0. Always HPS_DECK. */
enum hps_status hps_join_twice(const char *path, const char *column, int first, int again);
/* Say that `path`, read with this delimiter, has no such column, and which is nearest or, where it
 * has one only, what seems to separate them. Always HPS_DECK. */
enum hps_status hps_join_lacks(const char *path, char delimiter, const char *column, int n,
                               char *const *name);

#endif
