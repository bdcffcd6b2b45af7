/* join.c - a small delimited file by key, in memory. */
#include "data/join.h"

#include <string.h>
#include <strings.h>

#include "base/deck.h"
#include "base/mem.h"
#include "base/say.h"

/* The first column from `from` on with this name; -1: none. */
static int next_column(int (*compare)(const char *, const char *), const char *column, int from,
                       int n, char *const *name)
{
    for (int i = from; i < n; i++)
        if (compare(name[i], column) == 0) return i;
    return -1;
}

int hps_join_find(const char *column, int n, char *const *name, int *again)
{
    int (*compare)(const char *, const char *) = strcmp;
    int at = next_column(compare, column, 0, n, name);

    if (at < 0) at = next_column(compare = strcasecmp, column, 0, n, name);
    *again = at < 0 ? -1 : next_column(compare, column, at + 1, n, name);
    return at;
}

enum hps_status hps_join_twice(const char *path, const char *column, int first, int again)
{
    HPS_SAY(HPS_ERROR, "%s: the columns %d and %d are both '%s': which of them? (in the schema, "
            "text: {names: [...]} gives all columns other names)",
            path, first + 1, again + 1, column);
    return HPS_DECK;
}

enum hps_status hps_join_lacks(const char *path, char delimiter, const char *column, int n,
                               char *const *name)
{
    const char *near = hps_deck_nearest(column, (const char *const *)name, n);
    const char *guess = n == 1 ? hps_record_guess(*name, strlen(*name), delimiter) : NULL;

    if (guess)
        HPS_SAY(HPS_ERROR, "%s: there is no column '%s': its only column is '%.60s'; separated by "
                "%s? (in the schema, text: {delimiter: \"%s\"})",
                path, column, *name, guess, guess);
    else
        HPS_SAY(HPS_ERROR, "%s: there is no column '%s'%s%s%s", path, column,
                near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    return HPS_DECK;
}

static enum hps_status wrong(const struct hps_text *t, const char *what)
{
    HPS_SAY(HPS_ERROR, "%s:%lld: %s", t->path, t->line, what);
    return HPS_DECK;
}

static char *copy_cell(struct hps_record *r, char *text, int i)
{
    size_t n;
    const char *s = hps_record_text(r, text, i, &n);
    char *copy = hps_mem_new(n + 1, 1);

    return memcpy(copy, s, n);
}

static enum hps_status load_header(struct hps_join *j, struct hps_record *r, struct hps_text *t)
{
    char *text;
    bool whole;
    enum hps_status s = hps_record_next(r, t, &text, &whole);

    if (s) return s;
    if (!text || !whole) return wrong(t, "there is no header line");
    j->n = r->n;
    j->name = hps_mem_new((size_t)j->n, sizeof *j->name);
    for (int i = 0; i < j->n; i++)
        j->name[i] = copy_cell(r, text, i);
    return HPS_OK;
}

static enum hps_status add_row(struct hps_join *j, struct hps_record *r, struct hps_text *t,
                               char *text, int key)
{
    size_t n, row = (size_t)j->key.n;
    const char *s = hps_record_text(r, text, key, &n);

    if (hps_dict_id(&j->key, s, n, true) != (long long)row + 1)
        return wrong(t, (size_t)j->key.n > row || hps_dict_id(&j->key, s, n, false)
                            ? "a second row with this key"
                            : "too many rows to join in memory");
    hps_mem_grow(&j->start, &j->start_cap, (row + 1) * (size_t)j->n, sizeof *j->start);
    for (int i = 0; i < j->n; i++) {
        s = hps_record_text(r, text, i, &n);
        if (j->bytes + n + 1 > HPS_JOIN_BYTES) return wrong(t, "too much text to join in memory");
        hps_mem_grow(&j->text, &j->cap, j->bytes + n + 1, 1);
        memcpy(j->text + j->bytes, s, n);
        j->start[row * (size_t)j->n + (size_t)i] = j->bytes;
        j->bytes += n + 1;                              /* new memory is zero: the text ends */
    }
    return HPS_OK;
}

static enum hps_status load_rows(struct hps_join *j, struct hps_record *r, struct hps_text *t,
                                 int key)
{
    char *text;
    bool whole;
    enum hps_status s;

    while (!(s = hps_record_next(r, t, &text, &whole)) && text) {
        if (!whole) return wrong(t, "a quote is not closed");
        if (r->n != j->n) return wrong(t, "another number of columns than in the header");
        s = add_row(j, r, t, text, key);
        if (s) break;
    }
    return s;
}

enum hps_status hps_join_load(struct hps_join *j, const char *path, char delimiter,
                              const char *column)
{
    struct hps_record r;
    struct hps_text t;
    int key = -1, again = -1;
    enum hps_status s = hps_text_open(&t, path);

    *j = (struct hps_join){ 0 };
    if (s) return s;
    hps_dict_init(&j->key, (long long)1 << 22, HPS_JOIN_BYTES);
    hps_record_init(&r, delimiter);
    s = load_header(j, &r, &t);
    if (!s && (key = hps_join_find(column, j->n, j->name, &again)) < 0)
        s = hps_join_lacks(path, delimiter, column, j->n, j->name);
    if (!s && again >= 0) s = hps_join_twice(path, column, key, again);
    if (!s) s = load_rows(j, &r, &t, key);
    hps_record_done(&r);
    hps_text_close(&t);
    if (s) hps_join_done(j);
    return s;
}

void hps_join_done(struct hps_join *j)
{
    if (!j->key.table) return;
    for (int i = 0; i < j->n; i++)
        hps_mem_free(j->name[i]);
    hps_mem_free(j->name);
    hps_mem_free(j->text);
    hps_mem_free(j->start);
    hps_dict_done(&j->key);
    *j = (struct hps_join){ 0 };
}

const char *hps_join_cell(struct hps_join *j, long long row, int column)
{
    return row ? j->text + j->start[(size_t)(row - 1) * (size_t)j->n + (size_t)column] : NULL;
}
