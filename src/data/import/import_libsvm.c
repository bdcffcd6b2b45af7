/* import_libsvm.c - "LABEL INDEX:VALUE ...": a dataset holds ids without values, so an index of
 * value 1 becomes an id of the one slot "features", one of value 0 is left out, and another value
 * is refused unless --dense-columns makes numbers of the first indices. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "data/forms.h"
#include "data/parse.h"
#include "data/token.h"

struct libsvm {
    const struct hps_import_opt *opt;
    int D;
    struct hps_forms forms;
    uint64_t seed;
    float label, *dense;            /* the row under way; (D) */
    long long *id, nid;
    size_t id_cap;
    char why[200];
};

static const char *bad(struct libsvm *l, const struct hps_token *w, const char *what)
{
    const char *s = w->name ? w->name : w->value;
    size_t n = w->name ? w->nname + 1 + w->nvalue : w->nvalue;

    snprintf(l->why, sizeof l->why, "'%.*s' %s", (int)(n < 60 ? n : 60), s, what);
    return l->why;
}

static const char *put_id(struct libsvm *l, const struct hps_token *w, float value)
{
    long long id;

    if (value < 0 || (value > 0 && value < 1) || value > 1)
        return bad(l, w, "has another value than 1: ids have none (see --dense-columns)");
    if (!hps_token_id(l->opt, w->name, w->nname, l->seed, &id))
        return bad(l, w, "has no index below --buckets (see --ids hash)");
    if (value > 0) {
        hps_mem_grow(&l->id, &l->id_cap, (size_t)l->nid + 1, sizeof *l->id);
        l->id[l->nid++] = id;
    }
    return NULL;
}

static const char *parse_word(struct libsvm *l, const struct hps_token *w)
{
    long long index;
    float value;

    if (w->name && w->nname == 3 && memcmp(w->name, "qid", 3) == 0)
        return NULL;                                    /* a query's number, for ranking */
    if (!w->name || !hps_token_real(w->value, w->nvalue, &value))
        return bad(l, w, "is not INDEX:VALUE");
    if (!hps_token_whole(w->name, w->nname, &index) || index < 1 || index > l->D)
        return put_id(l, w, value);
    l->dense[index - 1] = value;
    return NULL;
}

static const char *parse(void *self, const struct hps_intake *in, char *line, size_t n, double *key)
{
    struct libsvm *l = self;
    const char *at = line, *comment = memchr(line, '#', n), *end = comment ? comment : line + n;
    const char *why = NULL;
    struct hps_token w;

    (void)in;
    (void)key;
    l->nid = 0;
    memset(l->dense, 0, (size_t)l->D * sizeof *l->dense);
    if (!hps_token_next(&at, end, &w) || w.name) return "there is no label";
    if (!hps_token_label(l->opt, w.value, w.nvalue, &l->label))
        return bad(l, &w, "is not a number, and the label");
    while (!why && hps_token_next(&at, end, &w))
        why = parse_word(l, &w);
    return why;
}

static void put(void *self, struct hps_destination dest)
{
    struct libsvm *l = self;
    struct hps_writer *w = dest.writer;

    w->label[w->row] = l->label;
    if (l->D) memcpy(w->dense + w->row * l->D, l->dense, (size_t)l->D * sizeof *l->dense);
    for (long long i = 0; i < l->nid; i++)
        hps_writer_id(w, 0, l->id[i]);
    l->forms.slot[dest.test]->missing += l->nid == 0;
}

/* Blanks, or a comment alone, as the files of SVMlight begin. */
static enum hps_status skip_comment(void *self, const struct hps_text *t, const char *line,
                                    size_t n, bool *skip)
{
    size_t at = 0;

    (void)self;
    (void)t;
    while (at < n && hps_parse_blank(line[at]))
        at++;
    *skip = at == n || line[at] == '#';
    return HPS_OK;
}

static void name_columns(struct libsvm *l)
{
    char name[24];

    hps_forms_new(&l->forms, l->D, 1);
    for (int d = 0; d < l->D; d++) {
        snprintf(name, sizeof name, "x%d", d + 1);
        hps_forms_dense(&l->forms, d, name);
    }
    hps_forms_slot(&l->forms, 0, "features", l->opt->buckets, true,
                   hps_forms_ids(l->opt->ids));
    hps_forms_label(&l->forms, "label", l->opt->labels);
}

static enum hps_status run(const struct hps_import_opt *opt, int ninput, char *const *input,
                           struct hps_import_result *result)
{
    struct libsvm *l = hps_mem_new(1, sizeof *l);
    struct hps_intake in = { .opt = opt };
    const struct hps_format format = { .self = l, .skip = skip_comment, .parse = parse,
                                       .put = put };
    enum hps_status s;

    l->opt = opt;
    l->D = (int)opt->dense_columns;
    l->dense = hps_mem_new((size_t)l->D, sizeof *l->dense);
    l->seed = hps_rng_key(0, "features");
    name_columns(l);
    s = hps_intake_split_rows(&in);
    if (!s) s = hps_forms_put(&l->forms, &in, "none");
    if (!s) s = hps_intake_run(&in, &format, ninput, input, result);
    hps_forms_free(&l->forms);
    hps_mem_free(l->dense);
    hps_mem_free(l->id);
    hps_mem_free(l);
    return s;
}

const struct hps_import hps_import_libsvm = {
    "libsvm", "label, then INDEX:1 for each id (or numbers: --dense-columns)",
    "buckets|ids|labels|dense_columns|dense", run
};
