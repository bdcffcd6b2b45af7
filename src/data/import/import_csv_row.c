/* import_csv_row.c - a record of delimited text becomes a row. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/import/import_csv_impl.h"
#include "data/parse.h"

static const char *bad(struct hps_csv *c, const char *column, const char *s, size_t n,
                       const char *what)
{
    snprintf(c->why, sizeof c->why, "column %.80s: '%.*s' %s", column, (int)(n < 60 ? n : 60), s,
             what);
    return c->why;
}

/* The text of a cell; *n = 0 for a value that is missing. */
static const char *cell(struct hps_csv *c, struct hps_csv_source from, size_t *n)
{
    const char *s = from.main >= 0 ? hps_record_text(&c->record, c->text, from.main, n)
                                   : hps_join_cell(&c->join, c->join_row, from.joined);
    const struct hps_list *missing = &c->schema->missing;

    if (from.main < 0) *n = s ? strlen(s) : 0;
    for (int i = 0; i < missing->n; i++)
        if (strlen(missing->item[i]) == *n && memcmp(missing->item[i], s, *n) == 0) *n = 0;
    return s;
}

static const char *bad_date(struct hps_csv *c, const char *column, const char *s, size_t n,
                            const char *format)
{
    snprintf(c->why, sizeof c->why, "column %.80s: '%.*s' is no date (%.60s)", column,
             (int)(n < 60 ? n : 60), s, format);
    return c->why;
}

/* A part of a date, or the seconds since another. */
static const char *parse_date(struct hps_csv *c, struct hps_csv_column *col)
{
    bool dense = col->is->kind == HPS_COLUMN_DENSE;
    struct hps_date date;
    size_t n;
    const char *s = cell(c, col->from, &n);

    col->id = 0;
    if (dense) c->dense[col->at] = NAN;
    if (n == 0) return NULL;
    if (!hps_date_parse(col->is->time, s, n, &date))
        return bad_date(c, col->is->column, s, n, col->is->time);
    if (dense)
        c->dense[col->at] = (float)(hps_date_s(&date) - col->is->since_s);
    else
        col->id = hps_date_part(&date, col->is->part);
    return NULL;
}

static const char *parse_dense(struct hps_csv *c, const struct hps_csv_column *col)
{
    size_t n;
    const char *s = cell(c, col->from, &n);
    double x;

    c->dense[col->at] = NAN;
    if (n == 0) return NULL;
    if (!hps_parse_real(s, n, &x) || fabs(x) > (double)FLT_MAX)
        return bad(c, col->is->column, s, n, "is not a number");
    c->dense[col->at] = (float)x;
    return NULL;
}

static const char *parse_label(struct hps_csv *c, float *label)
{
    const struct hps_schema *schema = c->schema;
    size_t n;
    const char *s = cell(c, c->label, &n);
    double x;

    if (n == 0) return "there is no label";
    *label = 0;
    for (int i = 0; i < schema->equals.n; i++)
        if (strlen(schema->equals.item[i]) == n && memcmp(schema->equals.item[i], s, n) == 0)
            *label = 1;
    if (schema->has_equals) return NULL;
    if (!hps_parse_real(s, n, &x) || fabs(x) > (double)FLT_MAX)
        return bad(c, schema->label, s, n, "is not a number, and the label");
    *label = schema->has_at_least ? (float)(x >= schema->at_least) : (float)x;
    return NULL;
}

static const char *parse_date_key(struct hps_csv *c, const char *s, size_t n, double *key)
{
    struct hps_date date;

    if (n == 0) return bad(c, c->split_by, "", 0, "is no date to split by");
    if (!hps_date_parse(c->split_time, s, n, &date))
        return bad_date(c, c->split_by, s, n, c->split_time);
    *key = hps_date_s(&date);
    return NULL;
}

static const char *parse_key(struct hps_csv *c, double *key)
{
    size_t n;
    const char *s;

    *key = 0;
    if (!c->split_by) return NULL;
    s = cell(c, c->key, &n);
    if (c->split_time) return parse_date_key(c, s ? s : "", n, key);
    if (n == 0 || !hps_parse_real(s, n, key))
        return bad(c, c->split_by, s ? s : "", n,
                   "is not a number to split by (of dates, give `time`)");
    return NULL;
}

static void find_join(struct hps_csv *c)
{
    size_t n;
    const char *s;

    if (!c->joined) return;
    s = hps_record_text(&c->record, c->text, c->on.main, &n);
    c->join_row = hps_dict_id(&c->join.key, s, n, false);
}

/* The id of a text; 0: not known. */
static long long id_of(struct hps_csv_column *col, const char *s, size_t n, bool learn)
{
    if (col->is->hash) return 1 + hps_parse_bucket(hps_parse_hash(s, n, 0), col->is->hash - 1);
    return hps_dict_id(&col->dict, s, n, learn);
}

/* The next text of a multi cell, trimmed; false: there is none. */
static bool next_part(const char **rest, size_t *left, const char *separator, const char **part,
                      size_t *n)
{
    size_t length = strlen(separator);
    const char *end;

    if (*left == 0) return false;
    end = memmem(*rest, *left, separator, length);
    *part = *rest;
    *n = end ? (size_t)(end - *rest) : *left;
    *rest += *n + (end ? length : 0);
    *left -= *n + (end ? length : 0);
    hps_parse_trim(part, n);
    return true;
}

static void put_multi(struct hps_csv *c, struct hps_csv_column *col, struct hps_destination dest)
{
    struct hps_writer_slot *slot = &c->slot[dest.test][col->at];
    size_t left, n;
    const char *rest = cell(c, col->from, &left), *part;
    long long ids = 0;

    while (next_part(&rest, &left, col->is->separator, &part, &n)) {
        if (n == 0) continue;
        long long id = id_of(col, part, n, dest.learn);
        if (dest.writer) hps_writer_id(dest.writer, col->at, id);
        slot->unknown += dest.writer && id == 0;
        ids++;
    }
    slot->missing += dest.writer && ids == 0;
}

static void put_category(struct hps_csv *c, struct hps_csv_column *col,
                         struct hps_destination dest)
{
    struct hps_writer_slot *slot = &c->slot[dest.test][col->at];
    size_t n;
    const char *s = cell(c, col->from, &n);
    long long id = col->is->part ? col->id : n ? id_of(col, s, n, dest.learn) : 0;

    if (!dest.writer) return;
    dest.writer->ids[col->at][dest.writer->row] = id;
    slot->missing += n == 0;
    slot->unknown += n > 0 && id == 0;
}

static enum hps_status put_row(struct hps_csv *c, struct hps_destination dest, float label)
{
    struct hps_writer *w = dest.writer;

    if (!w && !dest.learn) return HPS_OK;
    for (int i = 0; i < c->schema->ncolumn; i++) {
        struct hps_csv_column *col = &c->column[i];
        if (col->is->kind == HPS_COLUMN_CATEGORY)
            put_category(c, col, dest);
        else if (col->is->kind == HPS_COLUMN_MULTI)
            put_multi(c, col, dest);
    }
    if (!w) return HPS_OK;
    w->label[w->row] = label;
    if (c->D) memcpy(w->dense + w->row * c->D, c->dense, (size_t)c->D * sizeof *c->dense);
    return hps_writer_row(w);
}

static const char *bad_count(struct hps_csv *c)
{
    size_t n = 0;
    const char *only = c->record.n == 1 ? hps_record_text(&c->record, c->text, 0, &n) : "";
    const char *guess = hps_record_guess(only, n, c->schema->delimiter);

    snprintf(c->why, sizeof c->why, "%d columns instead of %d%s%s%s", c->record.n, c->nname,
             guess ? " (separated by " : "", guess ? guess : "",
             guess ? "? see text.delimiter)" : "");
    return c->why;
}

static const char *parse_record(struct hps_csv *c, bool whole, float *label, double *key)
{
    const char *why;

    if (!whole) return "a quote is not closed";
    if (c->record.n != c->nname) return bad_count(c);
    find_join(c);
    why = parse_label(c, label);
    if (!why) why = parse_key(c, key);
    for (int i = 0; i < c->schema->ncolumn && !why; i++)
        if (*c->column[i].is->time)
            why = parse_date(c, &c->column[i]);
        else if (c->column[i].is->kind == HPS_COLUMN_DENSE)
            why = parse_dense(c, &c->column[i]);
    return why;
}

enum hps_status hps_csv_record(void *self, struct hps_text *t, struct hps_intake *in, bool *more,
                              const char **why)
{
    struct hps_csv *c = self;
    bool whole;
    float label;
    double key;
    enum hps_status s = hps_record_next(&c->record, t, &c->text, &whole);

    *more = c->text != NULL;
    if (s || !c->text) return s;
    *why = parse_record(c, whole, &label, &key);
    if (*why) return HPS_OK;
    return put_row(c, hps_intake_destination(in, key), label);
}

