/* import_csv.c - delimited text with a schema: the general way in. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/page.h"
#include "base/say.h"
#include "data/import/import_csv_impl.h"

enum { INDEX_BYTES = 8 << 20 };

static enum hps_status find_joined(struct hps_csv *c, const struct hps_text *t, const char *column,
                                   struct hps_csv_source *from)
{
    int again;

    from->joined = hps_join_find(column, c->join.n, c->join.name, &again);
    if (again >= 0) return hps_join_twice(c->schema->join_file, column, from->joined, again);
    if (from->main < 0 || from->joined < 0 || from->main == c->on.main) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s and %s both have the column '%s': which of them? (in the schema, text: "
            "{names: [...]} gives the first other names)", t->path, c->schema->join_file, column);
    return HPS_DECK;
}

/* The key of the join is the same in both files; any other column is in one of them, once. */
static enum hps_status find_source(struct hps_csv *c, const struct hps_text *t, const char *column,
                                   bool anywhere, struct hps_csv_source *from)
{
    int again;
    enum hps_status s = HPS_OK;

    from->main = hps_join_find(column, c->nname, c->name, &again);
    from->joined = -1;
    if (again >= 0) return hps_join_twice(t->path, column, from->main, again);
    if (anywhere && c->joined) s = find_joined(c, t, column, from);
    if (s || from->main >= 0 || from->joined >= 0) return s;
    return hps_join_lacks(t->path, c->schema->delimiter, column, c->nname, c->name);
}

static void forget_names(struct hps_csv *c)
{
    for (int i = 0; i < c->nname; i++)
        hps_mem_free(c->name[i]);
    hps_mem_free(c->name);
    c->name = NULL;
    c->nname = 0;
}

/* The names of the columns: the schema's, or those of the header line. */
static enum hps_status read_names(struct hps_csv *c, struct hps_text *t)
{
    const struct hps_list *names = &c->schema->names;
    bool whole = true;
    enum hps_status s = HPS_OK;

    forget_names(c);
    if (c->schema->header) s = hps_record_next(&c->record, t, &c->text, &whole);
    if (s) return s;
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
    struct hps_csv *c = self;
    const struct hps_schema *schema = c->schema;
    enum hps_status s = read_names(c, t);

    if (!s && c->joined) s = find_source(c, t, schema->join_on, false, &c->on);
    if (!s) s = find_source(c, t, schema->label, true, &c->label);
    if (!s && c->split_by) s = find_source(c, t, c->split_by, true, &c->key);
    for (int i = 0; i < schema->ncolumn && !s; i++)
        s = find_source(c, t, schema->column[i].column, true, &c->column[i].from);
    return s;
}

static void end(void *self, struct hps_intake *in)
{
    struct hps_csv *c = self;

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
        if (i == 2 && !packed) continue;
        *path = hps_mem_print("%.*s%.*s%s", folder_length, folder, (int)(i == 2 ? n - 3 : n), file,
                              ends[i == 1]);
        if (access(*path, R_OK) == 0) return true;
        hps_mem_free(*path);
    }
    return false;
}

/* The joined file lies where the schema says or beside the first input, packed or not. */
static enum hps_status load_join(struct hps_csv *c, const char *input)
{
    const struct hps_schema *schema = c->schema;
    const char *slash = strrchr(input, '/'), *file = schema->join_file;
    char *path;
    enum hps_status s;

    if (!*file) return HPS_OK;
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

static long long count_texts(const char *texts, size_t bytes)
{
    long long n = 0;

    for (size_t i = 0; i < bytes; i++)
        n += texts[i] == 0;
    return n;
}

static enum hps_status load_dict(struct hps_csv *c, struct hps_csv_column *col)
{
    const char *from = c->opt->append ? c->opt->output : c->opt->scaling;
    char *texts;
    size_t bytes;
    enum hps_status s;

    hps_dict_init(&col->dict, col->is->index, INDEX_BYTES);
    if (!*from) return HPS_OK;
    s = hps_writer_index(from, col->is->name, &texts, &bytes);
    if (!s && count_texts(texts, bytes) > col->is->index) {
        HPS_SAY(HPS_ERROR, "%s: slot %s has %lld categories, the schema's index holds %lld", from,
                col->is->name, count_texts(texts, bytes), col->is->index);
        s = HPS_DECK;
    }
    if (!s) hps_dict_load(&col->dict, texts, bytes);
    hps_mem_free(texts);
    return s;
}

static long long buckets_of(const struct hps_schema_column *is)
{
    if (is->part) return hps_date_part_max(is->part) + 1;
    return is->hash ? is->hash : is->index + 1;
}

static const char *rule_of(const struct hps_schema_column *is)
{
    if (is->part) return hps_date_part_word(is->part);
    return is->index ? "index" : "hash of the text";
}

static void make_columns(struct hps_csv *c)
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
        struct hps_csv_column *col = &c->column[i];
        col->is = &schema->column[i];
        col->at = col->is->kind == HPS_COLUMN_DENSE ? c->D++ : c->nslot++;
        if (col->is->kind == HPS_COLUMN_DENSE) {
            c->dense_name[col->at] = col->is->name;
            c->scale[0][col->at] = c->scale[1][col->at] = col->is->scale;
            c->scale[0][col->at].since = c->scale[1][col->at].since = col->is->since_s;
            continue;
        }
        c->slot[0][col->at] = (struct hps_writer_slot){
            .name = col->is->name,
            .buckets = buckets_of(col->is),
            .multi = col->is->kind == HPS_COLUMN_MULTI,
            .rule = rule_of(col->is),
        };
        c->slot[1][col->at] = c->slot[0][col->at];
    }
}

static bool is_class(const struct hps_schema *schema)
{
    return schema->has_equals || schema->has_at_least;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Salary equals '<50K' or '>50K'; stars at_least 4; price as it is */
static char *label_rule(const struct hps_schema *schema)
{
    int n = schema->equals.n;
    const char **text = hps_mem_new((size_t)n, sizeof *text);
    struct hps_page page = { 0 };

    for (int i = 0; i < n; i++)
        text[i] = schema->equals.item[i];
    if (n) qsort(text, (size_t)n, sizeof *text, by_text);
    hps_page_add(&page, "%s", schema->label);
    if (schema->has_at_least)
        hps_page_add(&page, " at_least %.17g", schema->at_least);
    else if (!schema->has_equals)
        hps_page_add(&page, " as it is");
    for (int i = 0; i < n; i++)
        hps_page_add(&page, "%s '%s'", i ? " or" : " equals", text[i]);
    hps_mem_free(text);
    return page.at;
}

static enum hps_status make_forms(struct hps_csv *c, struct hps_intake *in)
{
    enum hps_status s = HPS_OK;

    for (int k = 0; k < 2 && !s; k++) {
        in->form[k] = (struct hps_writer_form){ .D = c->D, .nslot = c->nslot,
                                                .dense_name = c->dense_name,
                                                .scale = c->scale[k], .slot = c->slot[k],
                                                .source = c->opt->source, .rule = c->rule,
                                                .classes = is_class(c->schema),
                                                .settled = *c->opt->scaling };
        if (*c->opt->scaling) s = hps_writer_constants(c->opt->scaling, &in->form[k]);
    }
    for (int i = 0; i < c->schema->ncolumn && !s; i++) {
        if (c->column[i].is->index) s = load_dict(c, &c->column[i]);
        in->relearn |= in->split > HPS_SPLIT_FILE && c->column[i].is->index;
    }
    return s;
}

static enum hps_status prepare(struct hps_csv *c, struct hps_intake *in, const char *first_input)
{
    const struct hps_schema *schema = c->schema;

    const char *by = *c->opt->split ? c->opt->split : schema->split_by;

    c->split_time = in->key_time = hps_schema_time(schema, by);
    enum hps_status s = hps_intake_split(in, by, schema->split_share);

    hps_record_init(&c->record, schema->delimiter);
    c->split_by = in->split == HPS_SPLIT_KEY ? by : NULL;
    if (!s && in->split && !*by) {
        HPS_SAY(HPS_ERROR, "%s: a test output is wanted, but there is no section 'split'",
                c->opt->schema);
        return HPS_DECK;
    }
    if (s) return s;
    make_columns(c);
    c->rule = label_rule(schema);
    s = make_forms(c, in);
    return s ? s : load_join(c, first_input);
}

static void free_csv(struct hps_csv *c)
{
    for (int i = 0; c->column && i < c->schema->ncolumn; i++)
        hps_dict_done(&c->column[i].dict);
    for (int k = 0; k < 2; k++) {
        hps_mem_free(c->scale[k]);
        hps_mem_free(c->slot[k]);
    }
    hps_mem_free(c->rule);
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
    struct hps_csv *c = hps_mem_new(1, sizeof *c);
    struct hps_intake in = { .opt = opt };
    const struct hps_format format = { .self = c, .begin = begin, .record = hps_csv_record,
                                       .end = end };
    enum hps_status s = HPS_OK;

    c->opt = opt;
    if (!*opt->schema) {
        HPS_SAY(HPS_ERROR, "csv needs --schema FILE");
        s = HPS_USAGE;
    }
    if (!s) s = hps_schema_load(&c->schema, opt->schema, opt->nset, opt->set);
    if (!s) s = prepare(c, &in, input[0]);
    if (!s) s = hps_intake_run(&in, &format, ninput, input, result);
    free_csv(c);
    return s;
}

const struct hps_import hps_import_csv = {
    "csv", "delimited text with a schema (--schema FILE)",
    "schema", run
};
