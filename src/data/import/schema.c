/* schema.c - what the columns of a delimited text file mean, checked. */
#include "data/schema.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

struct text_opt {
    const char *delimiter;
    bool header;
    struct hps_list names, missing;
};

static const struct hps_field text_fields[] = {
    HPS_FIELD(text_opt, delimiter, HPS_TEXT, "','", 0, 0, "", "one sign, or tab"),
    HPS_FIELD(text_opt, header, HPS_BOOL, "true", 0, 1, "", "the first line has the names"),
    HPS_FIELD(text_opt, names, HPS_LIST, "", 0, 0, "", "names instead of the header's"),
    HPS_FIELD(text_opt, missing, HPS_LIST, "", 0, 0, "", "texts that mean: no value"),
    { 0 }
};

struct label_opt {
    const char *column;
    double at_least;
    struct hps_list equals;
};

static const struct hps_field label_fields[] = {
    HPS_FIELD(label_opt, column, HPS_TEXT, NULL, 0, 0, "", "column"),
    HPS_FIELD(label_opt, at_least, HPS_REAL, "0", -1e300, 1e300, "", "1 from here on"),
    HPS_FIELD(label_opt, equals, HPS_LIST, "", 0, 0, "", "1 for these texts"),
    { 0 }
};

struct column_opt {
    const char *column, *name, *dense, *time, *since;
};

static const struct hps_field column_fields[] = {
    HPS_FIELD(column_opt, column, HPS_TEXT, NULL, 0, 0, "", "column"),
    HPS_FIELD(column_opt, name, HPS_TEXT, "", 0, 0, "", "in the dataset; empty: the column's"),
    HPS_CHOICE(column_opt, dense, "none", "none|log1p|minmax|zscore|log1p+minmax|log1p+zscore",
               "scaling"),
    HPS_FIELD(column_opt, time, HPS_TEXT, "", 0, 0, "", "dates: iso, or a format like %Y-%m-%d"),
    HPS_FIELD(column_opt, since, HPS_TEXT, "", 0, 0, "", "dense of dates: seconds since then"),
    { 0 }
};

struct category_opt {
    long long hash, index;
    const char *separator;
};

static const struct hps_field category_fields[] = {
    HPS_FIELD(category_opt, hash, HPS_LONG, "0", 0, 1e12, "buckets", "hash the text"),
    HPS_FIELD(category_opt, index, HPS_LONG, "0", 0, 1e6, "texts", "number the texts, at most"),
    { 0 }
};

static const struct hps_field multi_fields[] = {
    HPS_FIELD(category_opt, separator, HPS_TEXT, "'|'", 0, 0, "", "between the texts"),
    { 0 }
};

struct join_opt {
    const char *file, *on, *key;
};

static const struct hps_field join_fields[] = {
    HPS_FIELD(join_opt, file, HPS_TEXT, NULL, 0, 0, "", "delimited text with a header"),
    HPS_FIELD(join_opt, on, HPS_TEXT, NULL, 0, 0, "", "column of the inputs"),
    HPS_FIELD(join_opt, key, HPS_TEXT, "", 0, 0, "", "column of the file; empty: as `on`"),
    { 0 }
};

struct split_opt {
    const char *by, *time;
    double share;
};

static const struct hps_field split_fields[] = {
    HPS_FIELD(split_opt, by, HPS_TEXT, "file", 0, 0, "", "file, random, or a column"),
    HPS_FIELD(split_opt, time, HPS_TEXT, "", 0, 0, "", "format of the column's dates"),
    HPS_FIELD(split_opt, share, HPS_REAL, "0.2", 0, 1, "", "of the rows, for the test file"),
    { 0 }
};

/* Names that are given twice would be one column or the other. */
static enum hps_status check_names_once(const struct hps_item *item, const struct hps_list *names)
{
    for (int i = 0; i < names->n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(names->item[i], names->item[k]) == 0)
                return hps_deck_wrong(item, "names", "'%.60s' is there twice, at %d and %d",
                                      names->item[i], k + 1, i + 1);
    return HPS_OK;
}

static enum hps_status load_text(struct hps_schema *s)
{
    const struct hps_item *item;
    struct text_opt o;
    enum hps_status status = hps_deck_map(s->deck, "text", &item);

    if (!status) status = hps_deck_bind(s->deck, item, text_fields, NULL, NULL, &o);
    if (status) return status;
    s->delimiter = strcmp(o.delimiter, "tab") == 0 ? '\t' : *o.delimiter;
    if (!s->delimiter || strchr("\"\n\r", s->delimiter) ||
        (strlen(o.delimiter) != 1 && s->delimiter != '\t'))
        return hps_deck_wrong(item, "delimiter", "one sign or tab is wanted");
    if (!o.header && o.names.n == 0)
        return hps_deck_wrong(item, "header", "without a header, `names` must be given");
    s->header = o.header;
    s->names = o.names;
    s->missing = o.missing;
    return check_names_once(item, &s->names);
}

static enum hps_status load_label(struct hps_schema *s)
{
    const struct hps_item *item;
    struct label_opt o;
    enum hps_status status = hps_deck_map(s->deck, "label", &item);

    if (!status && !item)
        return hps_deck_wrong(hps_deck_root(s->deck), NULL, "the schema has no section 'label'");
    if (!status) status = hps_deck_bind(s->deck, item, label_fields, NULL, NULL, &o);
    if (status) return status;
    s->label = o.column;
    s->has_at_least = item && hps_item_has(item, "at_least");
    s->has_equals = item && hps_item_has(item, "equals");
    s->at_least = o.at_least;
    s->equals = o.equals;
    if (s->has_at_least && s->has_equals)
        return hps_deck_wrong(item, "equals", "give `at_least` or `equals`, not both");
    return HPS_OK;
}

/* category: {...} or multi: {...} */
static enum hps_status load_ids(struct hps_schema *s, struct hps_schema_column *c,
                                const struct hps_item *item)
{
    struct category_opt o = { 0 };
    bool multi = c->kind == HPS_COLUMN_MULTI;
    enum hps_status status = hps_deck_bind(s->deck, item, category_fields,
                                           multi ? multi_fields : NULL, NULL, &o);

    if (status) return status;
    if (!hps_item_has(item, "hash") == !hps_item_has(item, "index"))
        return hps_deck_wrong(item, NULL, "give `hash` or `index`");
    if (o.hash == 1 || (o.hash == 0 && o.index == 0))
        return hps_deck_wrong(item, o.hash ? "hash" : NULL, "too few: id 0 is for no value");
    if (multi && !*o.separator) return hps_deck_wrong(item, "separator", "it is empty");
    c->hash = o.hash;
    c->index = o.index;
    c->separator = o.separator;
    return HPS_OK;
}

static enum hps_status check_name(const struct hps_schema *s, const struct hps_schema_column *c,
                                  const struct hps_item *item)
{
    const char *key = hps_item_has(item, "name") ? "name" : "column";

    if (!*c->name || strpbrk(c->name, ",/") || strlen(c->name) > 200 ||
        strcmp(c->name, ".") == 0 || strcmp(c->name, "..") == 0)
        return hps_deck_wrong(item, key,
                              "'%s' is no name for the dataset (empty, too long, or with , or /): "
                              "give another `name`", c->name);
    for (const struct hps_schema_column *d = s->column; d < c; d++)
        if (strcmp(c->name, d->name) == 0 &&
            (c->kind == HPS_COLUMN_DENSE) == (d->kind == HPS_COLUMN_DENSE))
            return hps_deck_wrong(item, key, "a second '%s': give another `name`", c->name);
    return HPS_OK;
}

/* A format of dates, and the same as elsewhere for this column. */
static enum hps_status check_time(const struct hps_schema *s, const struct hps_item *item,
                                  const char *column, const char *time)
{
    char why[256];
    const char *other = hps_schema_time(s, column);

    if (!hps_date_check(time, why, sizeof why))
        return hps_deck_wrong(item, "time", "'%.60s' is no format of dates: %s", time, why);
    if (other && strcmp(other, time) != 0)
        return hps_deck_wrong(item, "time", "the column '%.60s' has the format '%.60s' already",
                              column, other);
    return HPS_OK;
}

/* dense: WORD of a date: the seconds since another. */
static enum hps_status load_since(struct hps_schema_column *c, const struct hps_item *item,
                                  const char *since)
{
    struct hps_date date;

    if (c->scale.log1p)
        return hps_deck_wrong(item, "dense", "the seconds since a date may be negative, which a "
                                             "logarithm takes as 0: give none, minmax or zscore");
    if (!*since)
        return hps_deck_wrong(item, "since", "`dense` of a date is the seconds since another: give "
                                             "`since: DATE`, near the data");
    if (!hps_date_parse("iso", since, strlen(since), &date))
        return hps_deck_wrong(item, "since", "'%.60s' is no date as 2014-10-21 or "
                                             "2014-10-21T13:45:00Z", since);
    c->since_s = hps_date_s(&date);
    return HPS_OK;
}

/* category: WORD, which is for dates */
static enum hps_status load_part(struct hps_schema_column *c, const struct hps_item *item,
                                 const char *word)
{
    if (!*c->time)
        return hps_deck_wrong(item, "category", "'%.60s' is a part of a date: give `time: FORMAT`; "
                                                "of a text give {index: N} or {hash: N}", word);
    c->part = hps_date_part_named(word);
    if (c->part == HPS_DATE_WHOLE)
        return hps_deck_wrong(item, "category", "'%.60s' is no part of a date (%s)", word,
                              HPS_DATE_WORDS);
    return HPS_OK;
}

/* What a column becomes; its kind, and its format of dates, are known. */
static enum hps_status load_kind(struct hps_schema *s, struct hps_schema_column *c,
                                 const struct hps_item *item, const struct column_opt *o)
{
    const char *word = hps_item_text(item, "category");
    const struct hps_item *ids = NULL;
    enum hps_status status = HPS_OK;

    if (*o->since && (!*c->time || c->kind != HPS_COLUMN_DENSE))
        return hps_deck_wrong(item, "since", "it goes with `time` and `dense`");
    if (c->kind == HPS_COLUMN_DENSE) {
        hps_scale_parse(o->dense, &c->scale);
        return *c->time ? load_since(c, item, o->since) : HPS_OK;
    }
    if (c->kind == HPS_COLUMN_CATEGORY && word) return load_part(c, item, word);
    if (*c->time)
        return hps_deck_wrong(item, "time", "dates become `dense`, with `since`, or `category: "
                                            HPS_DATE_WORDS "`");
    status = hps_item_map(item, c->kind == HPS_COLUMN_MULTI ? "multi" : "category", &ids);
    if (!status && !ids) status = hps_deck_wrong(item, NULL, "give `hash` or `index`");
    return status ? status : load_ids(s, c, ids);
}

static enum hps_status load_column(struct hps_schema *s, struct hps_schema_column *c,
                                   const struct hps_item *item)
{
    static const char *const inner[] = { "category", "multi", NULL };
    bool dense = hps_item_has(item, "dense"), category = hps_item_has(item, "category"),
         multi = hps_item_has(item, "multi");
    struct column_opt o;
    enum hps_status status = hps_deck_bind(s->deck, item, column_fields, NULL, inner, &o);

    if (status) return status;
    if (dense + category + multi != 1)
        return hps_deck_wrong(item, NULL, "give one of `dense`, `category`, `multi`");
    c->column = o.column;
    c->name = *o.name ? o.name : o.column;
    c->time = "";
    c->kind = dense ? HPS_COLUMN_DENSE : category ? HPS_COLUMN_CATEGORY : HPS_COLUMN_MULTI;
    if (hps_item_has(item, "time")) status = check_time(s, item, o.column, o.time);
    c->time = o.time;
    if (!status) status = load_kind(s, c, item, &o);
    return status ? status : check_name(s, c, item);
}

static enum hps_status load_columns(struct hps_schema *s)
{
    const struct hps_item *const *item;
    enum hps_status status = hps_deck_entries(s->deck, "columns", &s->ncolumn, &item);

    if (status) return status;
    if (s->ncolumn == 0)
        return hps_deck_wrong(hps_deck_root(s->deck), "columns", "the schema has no columns");
    s->column = hps_mem_new((size_t)s->ncolumn, sizeof *s->column);
    for (int i = 0; i < s->ncolumn; i++)
        s->column[i].column = s->column[i].time = "";
    for (int i = 0; i < s->ncolumn && !status; i++)
        status = load_column(s, &s->column[i], item[i]);
    return status;
}

static enum hps_status load_join(struct hps_schema *s)
{
    const struct hps_item *item;
    struct join_opt o;
    enum hps_status status = hps_deck_map(s->deck, "join", &item);

    s->join_file = s->join_on = s->join_key = "";
    if (status || !item) return status;
    status = hps_deck_bind(s->deck, item, join_fields, NULL, NULL, &o);
    if (status) return status;
    s->join_file = o.file;
    s->join_on = o.on;
    s->join_key = *o.key ? o.key : o.on;
    return HPS_OK;
}

static enum hps_status load_split(struct hps_schema *s)
{
    const struct hps_item *item;
    struct split_opt o;
    enum hps_status status = hps_deck_map(s->deck, "split", &item);

    if (!status) status = hps_deck_bind(s->deck, item, split_fields, NULL, NULL, &o);
    if (status) return status;
    if (o.share <= 0 || o.share >= 1)
        return hps_deck_wrong(item, "share", "it must lie between 0 and 1");
    if (hps_item_has(item, "time") && (strcmp(o.by, "file") == 0 || strcmp(o.by, "random") == 0))
        return hps_deck_wrong(item, "time", "it goes with `by: COLUMN`");
    if (hps_item_has(item, "time")) status = check_time(s, item, o.by, o.time);
    if (status) return status;
    s->split_time = o.time;
    if (item)                                           /* else --split must say which rows */
        s->split_by = o.by;
    s->split_share = o.share;
    return HPS_OK;
}

const char *hps_schema_time(const struct hps_schema *schema, const char *column)
{
    if (*schema->split_time && strcasecmp(schema->split_by, column) == 0) return schema->split_time;
    for (int i = 0; i < schema->ncolumn; i++)
        if (*schema->column[i].time && strcasecmp(schema->column[i].column, column) == 0)
            return schema->column[i].time;
    return NULL;
}

static enum hps_status load(struct hps_schema **schema, struct hps_deck *deck)
{
    static const char *const sections[] = { "text", "label", "columns", "join", "split", NULL };
    struct hps_schema *s = hps_mem_new(1, sizeof *s);
    enum hps_status status = hps_deck_sections(deck, sections);

    s->deck = deck;
    s->split_by = s->split_time = "";
    if (!status) status = load_text(s);
    if (!status) status = load_label(s);
    if (!status) status = load_columns(s);
    if (!status) status = load_join(s);
    if (!status) status = load_split(s);
    if (status) hps_schema_free(s);
    *schema = status ? NULL : s;
    return status;
}

enum hps_status hps_schema_load(struct hps_schema **schema, const char *path, int nset,
                                char *const *set)
{
    struct hps_deck *deck;
    enum hps_status s = hps_deck_load(&deck, path, nset, set, MPI_COMM_NULL);

    *schema = NULL;
    return s ? s : load(schema, deck);
}

enum hps_status hps_schema_parse(struct hps_schema **schema, const char *file, const char *text,
                                 size_t length, int nset, char *const *set)
{
    struct hps_deck *deck;
    enum hps_status s = hps_deck_parse(&deck, file, text, length, nset, set);

    *schema = NULL;
    return s ? s : load(schema, deck);
}

void hps_schema_free(struct hps_schema *schema)
{
    if (!schema) return;
    hps_mem_free(schema->column);
    hps_deck_free(schema->deck);
    hps_mem_free(schema);
}
