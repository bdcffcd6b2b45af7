/* trace_table.c - a table of text with a header. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "data/csv.h"
#include "jobs/trace/trace_impl.h"

/* One more row; the first is the header, which says how many cells a row has. */
static enum hps_status add(struct hps_trace_table *t, struct hps_record *r, char *text,
                           long long line)
{
    bool header = t->ncolumn == 0;
    int at = header ? 0 : t->nrow + 1;

    if (header) t->ncolumn = r->n;
    if (r->n != t->ncolumn) {
        HPS_SAY(HPS_ERROR, "%s:%lld: %d columns, the first line has %d", t->path, line, r->n,
                t->ncolumn);
        return HPS_DECK;
    }
    size_t first = (size_t)at * (size_t)t->ncolumn;
    hps_mem_grow(&t->cell, &t->cap, first + (size_t)t->ncolumn, sizeof(char *));
    hps_mem_grow(&t->line, &t->line_cap, (size_t)at + 1, sizeof *t->line);
    t->line[at] = line;
    for (int i = 0; i < r->n; i++) {
        size_t n;
        const char *cell = hps_record_text(r, text, i, &n);
        t->cell[first + (size_t)i] = hps_mem_print("%.*s", (int)n, cell);
    }
    t->nrow += !header;
    return HPS_OK;
}

static enum hps_status read_rows(struct hps_trace_table *t, const char *path, char delimiter)
{
    struct hps_record r;
    struct hps_text text;
    char *line = NULL;
    bool whole;
    enum hps_status st = hps_text_open(&text, path);

    if (st) return st;
    hps_record_init(&r, delimiter);
    while (!(st = hps_record_next(&r, &text, &line, &whole)) && line) {
        st = add(t, &r, line, text.line);
        if (st) break;
    }
    hps_record_done(&r);
    hps_text_close(&text);
    return st;
}

enum hps_status hps_trace_table_load(struct hps_trace_table *t, const char *path)
{
    *t = (struct hps_trace_table){ .path = path };
    enum hps_status st = read_rows(t, path, ',');
    if (!st && t->nrow == 0) {
        HPS_SAY(HPS_ERROR, "%s: has no lines behind its first", path);
        st = HPS_DECK;
    }
    if (st) hps_trace_table_done(t);
    return st;
}

enum hps_status hps_trace_table_load_bare(struct hps_trace_table *t, const char *path,
                                          const char *const *names, char delimiter)
{
    *t = (struct hps_trace_table){ .path = path };
    while (names[t->ncolumn])
        t->ncolumn++;
    hps_mem_grow(&t->cell, &t->cap, (size_t)t->ncolumn, sizeof(char *));
    hps_mem_grow(&t->line, &t->line_cap, 1, sizeof *t->line);
    for (int i = 0; i < t->ncolumn; i++)
        t->cell[i] = hps_mem_text(names[i]);
    enum hps_status st = read_rows(t, path, delimiter);
    if (!st && t->nrow == 0) {
        HPS_SAY(HPS_ERROR, "%s: is empty", path);
        st = HPS_DECK;
    }
    if (st) hps_trace_table_done(t);
    return st;
}

void hps_trace_table_done(struct hps_trace_table *t)
{
    for (int i = 0; t->cell && i < (t->nrow + 1) * t->ncolumn; i++)
        hps_mem_free(t->cell[i]);
    hps_mem_free(t->cell);
    hps_mem_free(t->line);
    t->cell = NULL;
    t->line = NULL;
}

int hps_trace_column(const struct hps_trace_table *t, const char *name)
{
    for (int i = 0; i < t->ncolumn; i++)
        if (strcmp(t->cell[i], name) == 0) return i;
    return -1;
}

const char *hps_trace_cell(const struct hps_trace_table *t, int row, int column)
{
    return t->cell[(size_t)(row + 1) * (size_t)t->ncolumn + (size_t)column];
}

static enum hps_status parse(const struct hps_trace_table *t, int row, const char *column,
                             double min, double max, bool whole, double *x)
{
    const char *text = hps_trace_cell(t, row, hps_trace_column(t, column));
    char *end;

    *x = strtod(text, &end);
    if (end != text && *end == 0 && *x >= min && *x <= max && (!whole || *x == floor(*x)))
        return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s:%lld: %s is '%s', wanted is a %snumber from %g to %g", t->path,
            t->line[row + 1], column, text, whole ? "whole " : "", min, max);
    return HPS_DECK;
}

enum hps_status hps_trace_real(const struct hps_trace_table *t, int row, const char *column,
                               double min, double max, double *x)
{
    return parse(t, row, column, min, max, false, x);
}

enum hps_status hps_trace_whole(const struct hps_trace_table *t, int row, const char *column,
                                double min, double max, double *x)
{
    return parse(t, row, column, min, max, true, x);
}
