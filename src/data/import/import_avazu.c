/* import_avazu.c - the click logs of Avazu: comma separated, with a header line; all columns are
 * categories. The column hour (YYMMDDHH) becomes two slots, day of the week and hour of the day. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "data/date.h"
#include "data/forms.h"
#include "data/parse.h"

/* Slots that the column hour makes, then one each for columns 3 and on. */
enum { NCOLUMN = 24, CLICK = 1, HOUR = 2, FIRST = 3, DAY_SLOT = 0, HOUR_SLOT = 1, NMADE = 2,
       NSLOT = NMADE + NCOLUMN - FIRST };

static const char *const column_names[NCOLUMN] = {
    "id", "click", "hour", "C1", "banner_pos", "site_id", "site_domain", "site_category",
    "app_id", "app_domain", "app_category", "device_id", "device_ip", "device_model",
    "device_type", "device_conn_type", "C14", "C15", "C16", "C17", "C18", "C19", "C20", "C21"
};

static const char hour_format[] = "%y%m%d%H";

struct avazu {
    const struct hps_import_opt *opt;
    bool fresh;                     /* the next line is the first of its file              */
    int column[NCOLUMN];            /* where in column_names each column of the file is    */
    uint64_t seed[NSLOT];
    struct hps_forms forms;
    float label;                    /* the row under way */
    double hour;
    char hour_text[8];              /* that it was read from: rows come hour by hour */
    long long id[NSLOT];
    char why[160];
};

static const char *bad(struct avazu *a, int column, const char *s, size_t n, const char *what)
{
    snprintf(a->why, sizeof a->why, "%s: '%.*s' %s", column_names[column], (int)(n < 40 ? n : 40),
             s, what);
    return a->why;
}

static const char *parse_hour(struct avazu *a, const char *s, size_t n)
{
    struct hps_date date;

    if (n == sizeof a->hour_text && memcmp(s, a->hour_text, n) == 0) return NULL;
    if (n != sizeof a->hour_text || !hps_date_parse(hour_format, s, n, &date))
        return bad(a, HOUR, s, n, "is no hour of a day (YYMMDDHH)");
    memcpy(a->hour_text, s, n);
    a->hour = hps_date_s(&date);
    a->id[DAY_SLOT] = hps_date_part(&date, HPS_DATE_WEEKDAY);
    a->id[HOUR_SLOT] = hps_date_part(&date, HPS_DATE_HOUR);
    return NULL;
}

static const char *parse_cell(struct avazu *a, int column, const char *s, size_t n)
{
    if (column == HOUR) return parse_hour(a, s, n);
    if (column == CLICK && (n != 1 || (*s != '0' && *s != '1')))
        return bad(a, CLICK, s, n, "is neither 0 nor 1");
    if (column == CLICK) a->label = (float)(*s - '0');
    if (column < FIRST) return NULL;
    int j = column - FIRST + NMADE;
    a->id[j] = n ? 1 + hps_parse_bucket(hps_parse_hash(s, n, a->seed[j]), a->opt->buckets - 1) : 0;
    return NULL;
}

static const char *next_cell(const char **at, const char *end, size_t *n)
{
    const char *s = *at, *stop = memchr(s, ',', (size_t)(end - s));

    if (!stop) stop = end;
    *n = (size_t)(stop - s);
    *at = stop + 1;                 /* behind the end when this was the last one */
    return s;
}

static const char *parse(void *self, const struct hps_intake *in, char *line, size_t n, double *key)
{
    struct avazu *a = self;
    const char *at = line, *end = line + n, *why = NULL;
    int cells = 1;

    (void)in;
    for (size_t i = 0; i < n; i++)
        cells += line[i] == ',';
    if (cells != NCOLUMN) {
        snprintf(a->why, sizeof a->why, "%d columns instead of %d", cells, NCOLUMN);
        return a->why;
    }
    for (int i = 0; i < NCOLUMN && !why; i++) {
        size_t length;
        const char *s = next_cell(&at, end, &length);
        why = parse_cell(a, a->column[i], s, length);
    }
    *key = a->hour;
    return why;
}

static int find_column(const char *s, size_t n)
{
    for (int i = 0; i < NCOLUMN; i++)
        if (strlen(column_names[i]) == n && memcmp(column_names[i], s, n) == 0) return i;
    return -1;
}

/* The header line says in which order the columns are; every one must be there, once. */
static enum hps_status read_header(struct avazu *a, const struct hps_text *t, const char *line,
                                   size_t n)
{
    const char *at = line, *end = line + n;
    bool seen[NCOLUMN] = { false };
    int cells = 0;

    for (; at <= end && cells < NCOLUMN; cells++) {
        size_t length;
        const char *s = next_cell(&at, end, &length);
        int column = find_column(s, length);
        if (column < 0 || seen[column]) {
            HPS_SAY(HPS_ERROR, "%s: the header has the column '%.*s', which is unknown or there "
                    "twice", t->path, (int)(length < 60 ? length : 60), s);
            return HPS_DECK;
        }
        a->column[cells] = column;
        seen[column] = true;
    }
    if (at <= line + n) {
        HPS_SAY(HPS_ERROR, "%s: more than %d columns", t->path, NCOLUMN);
        return HPS_DECK;
    }
    for (int i = 0; i < NCOLUMN; i++)
        if (!seen[i]) {
            HPS_SAY(HPS_ERROR, "%s: there is no column '%s'", t->path, column_names[i]);
            return HPS_DECK;
        }
    return HPS_OK;
}

static enum hps_status begin(void *self, struct hps_text *t)
{
    struct avazu *a = self;

    (void)t;
    a->fresh = true;
    for (int i = 0; i < NCOLUMN; i++)
        a->column[i] = i;
    return HPS_OK;
}

/* Is the first line of a file a header? In auto, one that names columns where data have numbers. */
static bool is_header(const struct avazu *a, const char *line, size_t n)
{
    const char *at = line;
    size_t length;

    if (strcmp(a->opt->header, "auto") != 0) return strcmp(a->opt->header, "yes") == 0;
    for (int i = 0; i < 2 && at <= line + n; i++) {
        const char *s = next_cell(&at, line + n, &length);
        if (find_column(s, length) >= 0) return true;
    }
    return false;
}

static void put(void *self, struct hps_destination dest)
{
    struct avazu *a = self;
    struct hps_writer *w = dest.writer;
    struct hps_writer_slot *slot = a->forms.slot[dest.test];

    w->label[w->row] = a->label;
    for (int j = 0; j < NSLOT; j++) {
        w->ids[j][w->row] = a->id[j];
        slot[j].missing += a->id[j] == 0;
    }
}

static enum hps_status skip_header(void *self, const struct hps_text *t, const char *line,
                                   size_t n, bool *skip)
{
    struct avazu *a = self;

    *skip = a->fresh && is_header(a, line, n);
    a->fresh = false;
    return *skip ? read_header(a, t, line, n) : HPS_OK;
}

static void name_slots(struct avazu *a)
{
    hps_forms_new(&a->forms, 0, NSLOT);
    hps_forms_label(&a->forms, "click", "binary");
    hps_forms_slot(&a->forms, DAY_SLOT, "day", 8, false, "weekday of hour");
    hps_forms_slot(&a->forms, HOUR_SLOT, "hour", 25, false, "hour of hour");
    for (int j = NMADE; j < NSLOT; j++) {
        const char *name = column_names[j - NMADE + FIRST];
        hps_forms_slot(&a->forms, j, name, a->opt->buckets, false, hps_forms_hash);
        a->seed[j] = hps_rng_key(0, name);
    }
}

static enum hps_status check_split(const struct hps_intake *in)
{
    if (in->split != HPS_SPLIT_KEY || strcmp(in->opt->split, "hour") == 0) return HPS_OK;
    HPS_SAY(HPS_ERROR, "--split %s: file, random or hour", in->opt->split);
    return HPS_USAGE;
}

static enum hps_status run(const struct hps_import_opt *opt, int ninput, char *const *input,
                           struct hps_import_result *result)
{
    struct avazu *a = hps_mem_new(1, sizeof *a);
    struct hps_intake in = { .opt = opt };
    const struct hps_format format = { .self = a, .begin = begin, .skip = skip_header,
                                       .parse = parse, .put = put };
    enum hps_status s;

    a->opt = opt;
    name_slots(a);
    in.key_time = hour_format;
    s = hps_intake_split(&in, "file", HPS_INTAKE_SHARE);
    if (!s) s = check_split(&in);
    if (!s) s = hps_forms_put(&a->forms, &in, "none");
    if (!s) s = hps_intake_run(&in, &format, ninput, input, result);
    hps_forms_free(&a->forms);
    hps_mem_free(a);
    return s;
}

const struct hps_import hps_import_avazu = {
    "avazu", "id, click, hour, 21 categories a line; comma, with a header",
    "buckets|header", run
};
