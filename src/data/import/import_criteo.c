/* import_criteo.c - the display ads logs of Criteo: a label, 13 counts, 26 hashed categories a
 * line, tab or comma between them, nothing where a value is missing. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "data/forms.h"
#include "data/parse.h"

enum { NDENSE = 13, NSLOT = 26, NCELL = 1 + NDENSE + NSLOT };

struct criteo {
    const struct hps_import_opt *opt;
    bool fresh;                     /* the next line is the first of its file */
    char delimiter;
    uint64_t delimiters;            /* eight of them                          */
    uint64_t seed[NSLOT];
    struct hps_forms forms;
    float label, dense[NDENSE];     /* the row under way */
    long long id[NSLOT];
    char why[160];
};

/* A number that is not just digits; *p is left at the delimiter behind it. */
static bool parse_rest(const struct criteo *c, const char *s, const char **p, float *x)
{
    double value;

    while (**p != c->delimiter)
        (*p)++;
    if (!hps_parse_real(s, (size_t)(*p - s), &value) || fabs(value) > (double)FLT_MAX) return false;
    *x = (float)value;
    return true;
}

/* The highest bit of each byte of a word that is the delimiter; right up to the first one. */
static uint64_t find_delimiters(const struct criteo *c, uint64_t word)
{
    uint64_t other = word ^ c->delimiters;

    return (other - 0x0101010101010101u) & ~other & 0x8080808080808080u;
}

/* A number, NaN where there is none. A delimiter stands behind the line too. Up to seven digits are
 * taken at once, with zeros put before them: no branch depends on how many there are. */
static bool parse_number(const struct criteo *c, const char **p, float *x)
{
    const char *s = *p;
    uint64_t word, found;
    unsigned bits;

    memcpy(&word, s, sizeof word);                      /* may reach behind the line: slack */
    found = find_delimiters(c, word);
    if (!found) return parse_rest(c, s, p, x);
    bits = (unsigned)__builtin_ctzll(found) & ~7u;
    word = word << (56 - bits) << 8 | 0x3030303030303030u >> bits;
    if (((word + 0x4646464646464646u) | (word - 0x3030303030303030u)) & 0x8080808080808080u)
        return parse_rest(c, s, p, x);
    word = (word & 0x0f0f0f0f0f0f0f0fu) * (10 << 8 | 1) >> 8;
    word = (word & 0x00ff00ff00ff00ffu) * (100 << 16 | 1) >> 16;
    word = (word & 0x0000ffff0000ffffu) * ((uint64_t)10000 << 32 | 1) >> 32;
    *x = bits ? (float)word : NAN;
    *p = s + bits / 8;
    return true;
}

/* A category to its id; most have eight signs. */
static long long parse_category(const struct criteo *c, const char **p, uint64_t seed)
{
    const char *s = *p;
    uint64_t word, hash;

    if (*s == c->delimiter) return 0;
    memcpy(&word, s, sizeof word);
    if (s[8] == c->delimiter && !find_delimiters(c, word)) {
        *p = s + 8;
        hash = hps_parse_hash8(word, seed);
    } else {
        while (**p != c->delimiter)
            (*p)++;
        hash = hps_parse_hash(s, (size_t)(*p - s), seed);
    }
    return 1 + hps_parse_bucket(hash, c->opt->buckets - 1);
}

static int count_cells(const struct criteo *c, const char *line, size_t n)
{
    int cells = 1;

    for (size_t i = 0; i < n; i++)
        cells += line[i] == c->delimiter;
    return cells;
}

static const char *bad_number(struct criteo *c, int cell, const char *s, const char *end)
{
    int n = end - s < 40 ? (int)(end - s) : 40;

    snprintf(c->why, sizeof c->why, "%s '%.*s' is not a number",
             cell < 0 ? "the label" : c->forms.name[cell], n, s);
    return c->why;
}

/* The cells of a line into label, dense and id. The sign behind the line is made a delimiter, so
 * that nobody has to ask for the line's end. */
static const char *parse(void *self, const struct hps_intake *in, char *line, size_t n, double *key)
{
    struct criteo *c = self;
    const char *p = line, *s, *end = line + n;
    int cells = 0;

    (void)in;
    (void)key;
    line[n] = c->delimiter;
    for (int d = -1; d < NDENSE && p <= end; d++, cells++, p++) {
        s = p;
        if (!parse_number(c, &p, d < 0 ? &c->label : &c->dense[d]))
            return count_cells(c, line, n) == NCELL ? bad_number(c, d, s, p)
                                                    : "not a label, 13 numbers and 26 categories";
    }
    for (int j = 0; j < NSLOT && p <= end; j++, cells++, p++)
        c->id[j] = parse_category(c, &p, c->seed[j]);
    if (cells != NCELL || p != end + 1) {
        snprintf(c->why, sizeof c->why, "%d columns instead of %d", count_cells(c, line, n),
                 NCELL);
        return c->why;
    }
    return isnan(c->label) ? "there is no label" : NULL;
}

static enum hps_status begin(void *self, struct hps_text *t)
{
    struct criteo *c = self;

    (void)t;
    c->fresh = true;
    return HPS_OK;
}

/* The first line of a file shows how it is written. True: it is a header. */
static bool look_at_first(struct criteo *c, const char *line, size_t n)
{
    const char *delimiter = c->opt->delimiter, *header = c->opt->header;
    size_t first = 0;
    double number;

    c->fresh = false;
    c->delimiter = strcmp(delimiter, "comma") == 0 ? ',' : '\t';
    if (strcmp(delimiter, "auto") == 0 && !memchr(line, '\t', n)) c->delimiter = ',';
    c->delimiters = 0x0101010101010101u * (unsigned char)c->delimiter;
    while (first < n && line[first] != c->delimiter)
        first++;
    if (strcmp(header, "auto") == 0)
        return first > 0 && !hps_parse_real(line, first, &number) &&
               count_cells(c, line, n) == NCELL;
    return strcmp(header, "yes") == 0;
}

static enum hps_status skip_header(void *self, const struct hps_text *t, const char *line,
                                   size_t n, bool *skip)
{
    struct criteo *c = self;

    (void)t;
    *skip = c->fresh && look_at_first(c, line, n);
    return HPS_OK;
}

static void put(void *self, struct hps_destination dest)
{
    struct criteo *c = self;
    struct hps_writer *w = dest.writer;
    struct hps_writer_slot *slot = c->forms.slot[dest.test];
    long long row = w->row;

    w->label[row] = c->label;
    memcpy(w->dense + row * NDENSE, c->dense, sizeof c->dense);
    for (int j = 0; j < NSLOT; j++) {
        w->ids[j][row] = c->id[j];
        slot[j].missing += c->id[j] == 0;
    }
}

static void name_columns(struct criteo *c)
{
    char name[16];

    hps_forms_new(&c->forms, NDENSE, NSLOT);
    hps_forms_label(&c->forms, "label", "keep");
    c->forms.classes = true;
    for (int d = 0; d < NDENSE; d++) {
        snprintf(name, sizeof name, "I%d", d + 1);
        hps_forms_dense(&c->forms, d, name);
    }
    for (int j = 0; j < NSLOT; j++) {
        snprintf(name, sizeof name, "C%d", j + 1);
        hps_forms_slot(&c->forms, j, name, c->opt->buckets, false,
                       "hash of Criteo's slot and the text");
        c->seed[j] = hps_rng_sub(hps_rng_key(0, "criteo"), (uint64_t)j);
    }
}

static enum hps_status run(const struct hps_import_opt *opt, int ninput, char *const *input,
                           struct hps_import_result *result)
{
    struct criteo *c = hps_mem_new(1, sizeof *c);
    struct hps_intake in = { .opt = opt };
    const struct hps_format format = { .self = c, .begin = begin, .skip = skip_header,
                                       .parse = parse, .put = put };
    enum hps_status s;

    c->opt = opt;
    name_columns(c);
    s = hps_intake_split_rows(&in);
    if (!s) s = hps_forms_put(&c->forms, &in, "log1p");
    if (!s) s = hps_intake_run(&in, &format, ninput, input, result);
    hps_forms_free(&c->forms);
    hps_mem_free(c);
    return s;
}

const struct hps_import hps_import_criteo = {
    "criteo", "label, 13 counts, 26 categories a line; tab or comma",
    "buckets|dense|header|delimiter", run
};
