/* import_csv.c - delimited text with a schema: the general way in. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "model/csv.h"
#include "model/dict.h"
#include "model/intake.h"
#include "model/join.h"
#include "model/parse.h"
#include "model/schema.h"

enum { INDEX_BYTES = 8 << 20 };

/* Where a cell comes from: the record, or the row that is joined to it. -1: not from there. */
struct source {
    int main, joined;
};

/* A column of the schema while it is imported. */
struct column {
    const struct hps_schema_column *is;
    struct source from;
    int at;                         /* its number among the dense features or the slots */
    struct hps_dict dict;           /* of an index                                      */
};

struct csv {
    const struct hps_import_opt *opt;
    struct hps_schema *schema;
    struct hps_record record;
    char *text;                     /* of the record under way            */
    char **name;                    /* (nname) columns of the input       */
    int nname;
    struct hps_join join;
    bool joined;
    long long join_row;             /* of the record under way, 0: none   */
    struct source label, key, on;   /* label, split by, join on           */
    const char *split_by;           /* the column of the key; NULL: none  */
    struct column *column;          /* (schema->ncolumn)                  */
    int D, nslot;
    const char **dense_name;        /* (D)                                */
    struct hps_scale *scale[2];     /* (D)                                */
    struct hps_writer_slot *slot[2];    /* (nslot)                        */
    float *dense;                   /* (D) of the record under way        */
    char why[256];
};

static const char *bad(struct csv *c, const char *column, const char *s, size_t n,
                       const char *what)
{
    snprintf(c->why, sizeof c->why, "column %.80s: '%.*s' %s", column, (int)(n < 60 ? n : 60), s,
             what);
    return c->why;
}

/* The text of a cell; *n = 0 for a value that is missing. */
static const char *cell(struct csv *c, struct source from, size_t *n)
{
    const char *s = from.main >= 0 ? hps_record_text(&c->record, c->text, from.main, n)
                                   : hps_join_cell(&c->join, c->join_row, from.joined);
    const struct hps_list *missing = &c->schema->missing;

    if (from.main < 0)
        *n = s ? strlen(s) : 0;
    for (int i = 0; i < missing->n; i++)
        if (strlen(missing->item[i]) == *n && memcmp(missing->item[i], s, *n) == 0)
            *n = 0;
    return s;
}

static const char *parse_dense(struct csv *c, const struct column *col)
{
    size_t n;
    const char *s = cell(c, col->from, &n);
    double x;

    c->dense[col->at] = NAN;
    if (n == 0)
        return NULL;
    if (!hps_parse_real(s, n, &x) || fabs(x) > (double)FLT_MAX)
        return bad(c, col->is->column, s, n, "is not a number");
    c->dense[col->at] = (float)x;
    return NULL;
}

static const char *parse_label(struct csv *c, float *label)
{
    const struct hps_schema *schema = c->schema;
    size_t n;
    const char *s = cell(c, c->label, &n);
    double x;

    if (n == 0)
        return "there is no label";
    *label = 0;
    for (int i = 0; i < schema->equals.n; i++)
        if (strlen(schema->equals.item[i]) == n && memcmp(schema->equals.item[i], s, n) == 0)
            *label = 1;
    if (schema->has_equals)
        return NULL;
    if (!hps_parse_real(s, n, &x) || fabs(x) > (double)FLT_MAX)
        return bad(c, schema->label, s, n, "is not a number, and the label");
    *label = schema->has_at_least ? (float)(x >= schema->at_least) : (float)x;
    return NULL;
}

static const char *parse_key(struct csv *c, double *key)
{
    size_t n;
    const char *s;

    *key = 0;
    if (!c->split_by)
        return NULL;
    s = cell(c, c->key, &n);
    if (n == 0 || !hps_parse_real(s, n, key))
        return bad(c, c->split_by, s ? s : "", n, "is not a number to split by");
    return NULL;
}

static void find_join(struct csv *c)
{
    size_t n;
    const char *s;

    if (!c->joined)
        return;
    s = hps_record_text(&c->record, c->text, c->on.main, &n);
    c->join_row = hps_dict_id(&c->join.key, s, n, false);
}

/* The id of a text; 0: not known. */
static long long id_of(struct column *col, const char *s, size_t n, bool learn)
{
    if (col->is->hash)
        return 1 + hps_parse_bucket(hps_parse_hash(s, n, 0), col->is->hash - 1);
    return hps_dict_id(&col->dict, s, n, learn);
}

/* The next text of a multi cell, trimmed; false: there is none. */
static bool next_part(const char **rest, size_t *left, const char *separator, const char **part,
                      size_t *n)
{
    size_t length = strlen(separator);
    const char *end;

    if (*left == 0)
        return false;
    end = memmem(*rest, *left, separator, length);
    *part = *rest;
    *n = end ? (size_t)(end - *rest) : *left;
    *rest += *n + (end ? length : 0);
    *left -= *n + (end ? length : 0);
    hps_parse_trim(part, n);
    return true;
}

static void put_multi(struct csv *c, struct column *col, struct hps_place place)
{
    struct hps_writer_slot *slot = &c->slot[place.test][col->at];
    size_t left, n;
    const char *rest = cell(c, col->from, &left), *part;
    long long ids = 0;

    while (next_part(&rest, &left, col->is->separator, &part, &n)) {
        if (n == 0)
            continue;
        long long id = id_of(col, part, n, place.learn);
        if (place.writer)
            hps_writer_id(place.writer, col->at, id);
        slot->unknown += place.writer && id == 0;
        ids++;
    }
    slot->missing += place.writer && ids == 0;
}

static void put_category(struct csv *c, struct column *col, struct hps_place place)
{
    struct hps_writer_slot *slot = &c->slot[place.test][col->at];
    size_t n;
    const char *s = cell(c, col->from, &n);
    long long id = n ? id_of(col, s, n, place.learn) : 0;

    if (!place.writer)
        return;
    place.writer->ids[col->at][place.writer->row] = id;
    slot->missing += n == 0;
    slot->unknown += n > 0 && id == 0;
}

static enum hps_status put_row(struct csv *c, struct hps_place place, float label)
{
    struct hps_writer *w = place.writer;

    if (!w && !place.learn)
        return HPS_OK;
    for (int i = 0; i < c->schema->ncolumn; i++) {
        struct column *col = &c->column[i];
        if (col->is->kind == HPS_COLUMN_CATEGORY)
            put_category(c, col, place);
        else if (col->is->kind == HPS_COLUMN_MULTI)
            put_multi(c, col, place);
    }
    if (!w)
        return HPS_OK;
    w->label[w->row] = label;
    if (c->D)
        memcpy(w->dense + w->row * c->D, c->dense, (size_t)c->D * sizeof *c->dense);
    return hps_writer_row(w);
}

static const char *parse_record(struct csv *c, bool whole, float *label, double *key)
{
    const char *why;

    if (!whole)
        return "a quote is not closed";
    if (c->record.n != c->nname) {
        snprintf(c->why, sizeof c->why, "%d columns instead of %d", c->record.n, c->nname);
        return c->why;
    }
    find_join(c);
    why = parse_label(c, label);
    if (!why)
        why = parse_key(c, key);
    for (int i = 0; i < c->schema->ncolumn && !why; i++)
        if (c->column[i].is->kind == HPS_COLUMN_DENSE)
            why = parse_dense(c, &c->column[i]);
    return why;
}

static enum hps_status record(void *self, struct hps_text *t, struct hps_intake *in, bool *more,
                              const char **why)
{
    struct csv *c = self;
    bool whole;
    float label;
    double key;
    enum hps_status s = hps_record_next(&c->record, t, &c->text, &whole);

    *more = c->text != NULL;
    if (s || !c->text)
        return s;
    *why = parse_record(c, whole, &label, &key);
    if (*why)
        return HPS_OK;
    return put_row(c, hps_intake_place(in, key), label);
}

static enum hps_status find_source(struct csv *c, const struct hps_text *t, const char *column,
                                   bool anywhere, struct source *from)
{
    from->main = hps_join_find(column, c->nname, c->name);
    from->joined = from->main < 0 && anywhere && c->joined
                       ? hps_join_find(column, c->join.n, c->join.name) : -1;
    if (from->main >= 0 || from->joined >= 0)
        return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s: there is no column '%s'", t->path, column);
    return HPS_DECK;
}

static void forget_names(struct csv *c)
{
    for (int i = 0; i < c->nname; i++)
        hps_mem_free(c->name[i]);
    hps_mem_free(c->name);
    c->name = NULL;
    c->nname = 0;
}

/* The names of the columns: the schema's, or those of the header line. */
static enum hps_status read_names(struct csv *c, struct hps_text *t)
{
    const struct hps_list *names = &c->schema->names;
    bool whole = true;
    enum hps_status s = HPS_OK;

    forget_names(c);
    if (c->schema->header)
        s = hps_record_next(&c->record, t, &c->text, &whole);
    if (s)
        return s;
    if (c->schema->header && (!c->text || !whole)) {
        HPS_SAY(HPS_ERROR, "%s: there is no header line", t->path);
        return HPS_DECK;
    }
    c->nname = names->n ? names->n : c->record.n;
    c->name = hps_mem_new((size_t)c->nname, sizeof *c->name);
    for (int i = 0; i < c->nname; i++) {
        size_t n = names->n ? strlen(names->item[i]) : 0;
        const char *text = names->n ? names->item[i]
                                    : hps_record_text(&c->record, c->text, i, &n);
        c->name[i] = hps_mem_print("%.*s", (int)n, text);
    }
    return HPS_OK;
}

static enum hps_status begin(void *self, struct hps_text *t)
{
    struct csv *c = self;
    const struct hps_schema *schema = c->schema;
    enum hps_status s = read_names(c, t);

    if (!s && c->joined)
        s = find_source(c, t, schema->join_on, false, &c->on);
    if (!s)
        s = find_source(c, t, schema->label, true, &c->label);
    if (!s && c->split_by)
        s = find_source(c, t, c->split_by, true, &c->key);
    for (int i = 0; i < schema->ncolumn && !s; i++)
        s = find_source(c, t, schema->column[i].column, true, &c->column[i].from);
    return s;
}

static void end(void *self, struct hps_intake *in)
{
    struct csv *c = self;

    for (int i = 0; i < c->schema->ncolumn; i++)
        for (int k = 0; k < 2 && c->column[i].is->index; k++) {
            in->form[k].slot[c->column[i].at].index = c->column[i].dict.text;
            in->form[k].slot[c->column[i].at].index_bytes = c->column[i].dict.bytes;
        }
}

static bool is_there(char **path, const char *folder, int folder_length, const char *file)
{
    static const char *const ends[] = { "", ".gz" };
    size_t n = strlen(file);

    for (int i = 0; i < 3; i++) {                       /* as it is, packed, unpacked */
        bool packed = n > 3 && strcmp(file + n - 3, ".gz") == 0;
        if (i == 2 && !packed)
            continue;
        *path = hps_mem_print("%.*s%.*s%s", folder_length, folder, (int)(i == 2 ? n - 3 : n), file,
                              ends[i == 1]);
        if (access(*path, R_OK) == 0)
            return true;
        hps_mem_free(*path);
    }
    return false;
}

/* The joined file lies where the schema says or beside the first input, packed or not. */
static enum hps_status load_join(struct csv *c, const char *input)
{
    const struct hps_schema *schema = c->schema;
    const char *slash = strrchr(input, '/'), *file = schema->join_file;
    char *path;
    enum hps_status s;

    if (!*file)
        return HPS_OK;
    if (!is_there(&path, "", 0, file) &&
        (*file == '/' || !slash || !is_there(&path, input, (int)(slash - input) + 1, file))) {
        HPS_SAY(HPS_ERROR, "%s: the file to join is not there, nor beside %s", file, input);
        return HPS_INPUT;
    }
    s = hps_join_load(&c->join, path, schema->delimiter, schema->join_key);
    c->joined = !s;
    hps_mem_free(path);
    return s;
}

static enum hps_status load_dict(struct csv *c, struct column *col)
{
    const char *from = c->opt->append ? c->opt->output : c->opt->scaling;
    char *texts;
    size_t bytes;
    enum hps_status s;

    hps_dict_init(&col->dict, col->is->index, INDEX_BYTES);
    if (!*from)
        return HPS_OK;
    s = hps_writer_index(from, col->is->name, &texts, &bytes);
    if (!s)
        hps_dict_load(&col->dict, texts, bytes);
    hps_mem_free(texts);
    return s;
}

static void make_columns(struct csv *c)
{
    const struct hps_schema *schema = c->schema;

    c->column = hps_mem_new((size_t)schema->ncolumn, sizeof *c->column);
    c->dense_name = hps_mem_new((size_t)schema->ncolumn, sizeof *c->dense_name);
    c->dense = hps_mem_new((size_t)schema->ncolumn, sizeof *c->dense);
    for (int k = 0; k < 2; k++) {
        c->scale[k] = hps_mem_new((size_t)schema->ncolumn, sizeof *c->scale[k]);
        c->slot[k] = hps_mem_new((size_t)schema->ncolumn, sizeof *c->slot[k]);
    }
    for (int i = 0; i < schema->ncolumn; i++) {
        struct column *col = &c->column[i];
        col->is = &schema->column[i];
        col->at = col->is->kind == HPS_COLUMN_DENSE ? c->D++ : c->nslot++;
        if (col->is->kind == HPS_COLUMN_DENSE) {
            c->dense_name[col->at] = col->is->name;
            c->scale[0][col->at] = c->scale[1][col->at] = col->is->scale;
            continue;
        }
        c->slot[0][col->at] = (struct hps_writer_slot){
            .name = col->is->name,
            .buckets = col->is->hash ? col->is->hash : col->is->index + 1,
            .multi = col->is->kind == HPS_COLUMN_MULTI,
        };
        c->slot[1][col->at] = c->slot[0][col->at];
    }
}

static enum hps_status make_forms(struct csv *c, struct hps_intake *in)
{
    enum hps_status s = HPS_OK;

    for (int k = 0; k < 2 && !s; k++) {
        in->form[k] = (struct hps_writer_form){ .D = c->D, .nslot = c->nslot,
                                                .dense_name = c->dense_name,
                                                .scale = c->scale[k], .slot = c->slot[k],
                                                .source = c->opt->source,
                                                .settled = *c->opt->scaling };
        if (*c->opt->scaling)
            s = hps_writer_constants(c->opt->scaling, c->D, c->dense_name, c->scale[k]);
    }
    for (int i = 0; i < c->schema->ncolumn && !s; i++) {
        if (c->column[i].is->index)
            s = load_dict(c, &c->column[i]);
        in->relearn |= in->split > HPS_SPLIT_FILE && c->column[i].is->index;
    }
    return s;
}

static enum hps_status prepare(struct csv *c, struct hps_intake *in, const char *first_input)
{
    const struct hps_schema *schema = c->schema;

    const char *by = *c->opt->split ? c->opt->split : schema->split_by;
    enum hps_status s = hps_intake_split(in, by, schema->split_share);

    hps_record_init(&c->record, schema->delimiter);
    c->split_by = in->split == HPS_SPLIT_KEY ? by : NULL;
    if (!s && in->split && !*by) {
        HPS_SAY(HPS_ERROR, "%s: a test output is wanted, but there is no section 'split'",
                c->opt->schema);
        return HPS_DECK;
    }
    if (s)
        return s;
    make_columns(c);
    s = make_forms(c, in);
    return s ? s : load_join(c, first_input);
}

static void free_csv(struct csv *c)
{
    for (int i = 0; c->column && i < c->schema->ncolumn; i++)
        hps_dict_done(&c->column[i].dict);
    for (int k = 0; k < 2; k++) {
        hps_mem_free(c->scale[k]);
        hps_mem_free(c->slot[k]);
    }
    hps_mem_free(c->column);
    hps_mem_free(c->dense_name);
    hps_mem_free(c->dense);
    hps_join_done(&c->join);
    forget_names(c);
    hps_record_done(&c->record);
    hps_schema_free(c->schema);
    hps_mem_free(c);
}

static enum hps_status run(const struct hps_import_opt *opt, int ninput, char *const *input,
                           struct hps_import_result *result)
{
    struct csv *c = hps_mem_new(1, sizeof *c);
    struct hps_intake in = { .opt = opt };
    const struct hps_format format = { .self = c, .begin = begin, .record = record, .end = end };
    enum hps_status s = HPS_OK;

    c->opt = opt;
    if (!*opt->schema) {
        HPS_SAY(HPS_ERROR, "csv needs --schema FILE");
        s = HPS_USAGE;
    }
    if (!s)
        s = hps_schema_load(&c->schema, opt->schema, opt->nset, opt->set);
    if (!s)
        s = prepare(c, &in, input[0]);
    if (!s)
        s = hps_intake_run(&in, &format, ninput, input, result);
    free_csv(c);
    return s;
}

const struct hps_import hps_import_csv = {
    "csv", "delimited text with a schema (--schema FILE)", run
};
