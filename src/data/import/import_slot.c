/* import_slot.c - slot text: "click:0 dense_feature:0.5 ... 1:id 2:id ...", any number of ids a
 * slot. Which slots there are is seen in a first pass, or taken from the dataset that is appended
 * to or whose constants are used; then one pass is enough. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "data/dict.h"
#include "data/forms.h"
#include "data/token.h"

enum { NAMES = 1024, NAME_BYTES = 255 };

/* What a line may name: the label, numbers or a slot. */
struct name {
    bool dense, multi;
    int width;                      /* dense: numbers a row, 0: not seen yet            */
    int at;                         /* its first dense column, its slot; -1: none       */
    long long rows;                 /* of the survey that have it                       */
    int count;                      /* in the line under way                            */
};

struct word {
    int name;
    long long id;
    float x;
};

struct slots {
    const struct hps_import_opt *opt;
    struct hps_dict dict;           /* names to 1.. in name[]; the first one is the label */
    struct name name[NAMES + 1];
    int ndense;                     /* names of numbers: name[2 .. ndense + 1]           */
    bool known;                     /* the slots are those of a dataset                  */
    struct hps_forms forms;
    struct word *word;              /* the line under way */
    size_t nword, word_cap;
    float label;
    char why[200];
};

static const char *bad(struct slots *c, const struct hps_token *w, const char *what)
{
    size_t n = w->nname + 1 + w->nvalue;

    snprintf(c->why, sizeof c->why, "'%.*s' %s", (int)(n < 60 ? n : 60), w->name, what);
    return c->why;
}

/* A name that can be a dataset's in HDF5 and stand in a list with commas. */
static bool is_fit(const char *s, size_t n)
{
    return n > 0 && n <= NAME_BYTES && !memchr(s, '/', n) && !memchr(s, ',', n) &&
           !(n == 1 && *s == '.');
}

static int find_name(struct slots *c, const struct hps_token *w, bool learn)
{
    if (!is_fit(w->name, w->nname)) return 0;
    return (int)hps_dict_id(&c->dict, w->name, w->nname, learn);
}

static const char *parse_word(struct slots *c, const struct hps_token *w, bool learn)
{
    struct word *to;
    int name = w->name ? find_name(c, w, learn) : 0;

    if (!w->name) return "a word without a colon";
    if (name == 0) return bad(c, w, c->known ? "is in no slot of the dataset" : "is in no slot");
    hps_mem_grow(&c->word, &c->word_cap, c->nword + 1, sizeof *c->word);
    to = &c->word[c->nword++];
    to->name = name;
    c->name[name].count++;
    if (name == 1)
        return hps_token_label(c->opt, w->value, w->nvalue, &c->label) ? NULL
                                                                       : bad(c, w, "is no number");
    if (c->name[name].dense)
        return hps_token_real(w->value, w->nvalue, &to->x) ? NULL : bad(c, w, "is no number");
    if (hps_token_id(c->opt, w->value, w->nvalue, 0, &to->id)) return NULL;
    return bad(c, w, "is no id below --buckets (see --ids hash)");
}

/* How often the line has each name. */
static const char *check_counts(struct slots *c)
{
    const char *text = c->dict.text;

    if (c->name[1].count != 1) return c->name[1].count ? "two labels" : "there is no label";
    for (int i = 2; i <= c->dict.n; i++) {
        const struct name *n = &c->name[i];
        int most = n->dense ? n->width : c->known && !n->multi ? 1 : 0;
        bool open = most == 0 && !(n->dense && c->known);
        if (n->count == 0 || open || (n->dense ? n->count == most : n->count <= most)) continue;
        snprintf(c->why, sizeof c->why, "%d values of %.60s instead of %d", n->count,
                 text + c->dict.start[i - 1], most);
        return c->why;
    }
    return NULL;
}

static void survey_row(struct slots *c)
{
    for (int i = 2; i <= c->dict.n; i++) {
        struct name *n = &c->name[i];
        n->rows += n->count > 0;
        n->multi |= n->count > 1;
        if (n->dense && n->count > 0) n->width = n->count;
    }
}

static const char *parse(void *self, const struct hps_intake *in, char *line, size_t n, double *key)
{
    struct slots *c = self;
    bool survey = in->pass == HPS_PASS_SURVEY;
    const char *at = line, *why = NULL;
    struct hps_token w;

    (void)key;
    c->nword = 0;
    for (int i = 1; i <= c->dict.n; i++)
        c->name[i].count = 0;
    while (!why && hps_token_next(&at, line + n, &w))
        why = parse_word(c, &w, survey && !c->known);
    if (!why) why = check_counts(c);
    if (!why && survey) survey_row(c);
    return why;
}

static void put(void *self, struct hps_destination dest)
{
    struct slots *c = self;
    struct hps_writer *w = dest.writer;
    const struct hps_forms *f = &c->forms;
    float *dense = w->dense + w->row * f->D;

    w->label[w->row] = c->label;
    for (int d = 0; d < f->D; d++)
        dense[d] = NAN;
    for (int i = 2; i <= c->dict.n; i++) {
        const struct name *n = &c->name[i];
        if (n->dense || n->at < 0) continue;
        f->slot[dest.test][n->at].missing += n->count == 0;
        if (!f->slot[0][n->at].multi) w->ids[n->at][w->row] = 0;
    }
    for (size_t i = 0; i < c->nword; i++) {
        struct name *n = &c->name[c->word[i].name];
        if (n->dense)
            dense[n->at + n->width - n->count--] = c->word[i].x;
        else if (n->at >= 0 && f->slot[0][n->at].multi)
            hps_writer_id(w, n->at, c->word[i].id);
        else if (n->at >= 0)
            w->ids[n->at][w->row] = c->word[i].id;
    }
}

static const char *name_text(const struct slots *c, int i)
{
    return c->dict.text + c->dict.start[i - 1];
}

/* The slots that were seen, in the order of their names, 2 before 10, or as in the dataset. */
static int sort_slots(const struct slots *c, int *order)
{
    int n = 0;

    for (int i = 2 + c->ndense; i <= c->dict.n; i++) {
        const char *text = name_text(c, i);
        int k = n;
        if (c->name[i].rows == 0) continue;
        for (; !c->known && k > 0 && strverscmp(name_text(c, order[k - 1]), text) > 0; k--)
            order[k] = order[k - 1];
        order[k] = i;
        n++;
    }
    return n;
}

static void name_dense(struct slots *c, const struct name *n, const char *text)
{
    for (int k = 0; k < n->width; k++) {
        char *name = n->width == 1 ? hps_mem_text(text) : hps_mem_print("%s_%d", text, k + 1);
        hps_forms_dense(&c->forms, n->at + k, name);
        hps_mem_free(name);
    }
}

/* The forms from what the survey saw. */
static void make_forms(struct slots *c)
{
    int order[NAMES + 1], nslot = sort_slots(c, order), D = 0;

    for (int i = 2; i < 2 + c->ndense; i++) {
        c->name[i].at = D;
        D += c->name[i].width;
    }
    hps_forms_new(&c->forms, D, nslot);
    hps_forms_label(&c->forms, c->opt->label_name, c->opt->labels);
    for (int i = 2; i < 2 + c->ndense; i++)
        name_dense(c, &c->name[i], name_text(c, i));
    for (int j = 0; j < nslot; j++) {
        struct name *n = &c->name[order[j]];
        n->at = j;
        hps_forms_slot(&c->forms, j, name_text(c, order[j]), c->opt->buckets, n->multi,
                       hps_forms_ids(c->opt->ids));
    }
}

/* Is a dense name of a dataset one of ours: NAME, or NAME_1 and on? */
static bool is_column_of(const char *column, const char *name)
{
    size_t n = strlen(name);

    return strncmp(column, name, n) == 0 &&
           (!column[n] || (column[n] == '_' && column[n + 1 + strspn(column + n + 1,
                                                                      "0123456789")] == 0));
}

/* The forms of a dataset that is there. */
static enum hps_status take_forms(struct slots *c, const char *path)
{
    struct hps_data *d;
    enum hps_status s = hps_data_open(&d, path, MPI_COMM_NULL);

    if (s) return s;
    c->known = true;
    for (int i = 2; i < 2 + c->ndense; i++)
        for (int k = 0; k < d->D; k++)
            c->name[i].width += is_column_of(d->dense_name[k], name_text(c, i));
    for (int j = 0; j < d->nslot; j++) {
        const char *name = d->slot[j].name;
        int i = (int)hps_dict_id(&c->dict, name, strlen(name), true);
        c->name[i].multi = d->slot[j].multi;
        c->name[i].rows = 1;
    }
    hps_data_close(d);
    make_forms(c);
    return HPS_OK;
}

static enum hps_status ready(void *self, struct hps_intake *in)
{
    struct slots *c = self;

    if (c->known) return HPS_OK;
    make_forms(c);
    if (c->forms.nslot + c->forms.D > 0) return hps_forms_put(&c->forms, in, "none");
    HPS_SAY(HPS_ERROR, "the input has neither slots nor numbers");
    return HPS_DECK;
}

/* The label, and the names of numbers. */
static enum hps_status learn_names(struct slots *c)
{
    const char *label = c->opt->label_name, *at = c->opt->dense_names;
    bool fit = is_fit(label, strlen(label)) &&
               hps_dict_id(&c->dict, label, strlen(label), true) == 1;

    while (*at && fit) {
        size_t n = strcspn(at, ",");
        fit = is_fit(at, n) && hps_dict_id(&c->dict, at, n, true) == 2 + c->ndense;
        c->name[2 + c->ndense++].dense = true;
        at += n + (at[n] == ',');
    }
    for (int i = 0; i <= NAMES; i++)
        c->name[i].at = -1;
    if (fit) return HPS_OK;
    HPS_SAY(HPS_ERROR, "--label-name, --dense-names: names that differ, without '/', are wanted");
    return HPS_USAGE;
}

static enum hps_status prepare(struct slots *c, struct hps_intake *in)
{
    const struct hps_import_opt *opt = c->opt;
    const char *from = opt->append ? opt->output : opt->scaling;
    enum hps_status s = learn_names(c);

    if (!s) s = hps_intake_split_rows(in);
    if (!s && *from) s = take_forms(c, from);
    if (!s && *from) s = hps_forms_put(&c->forms, in, "none");
    in->survey = !c->known;
    return s;
}

static enum hps_status run(const struct hps_import_opt *opt, int ninput, char *const *input,
                           struct hps_import_result *result)
{
    struct slots *c = hps_mem_new(1, sizeof *c);
    struct hps_intake in = { .opt = opt };
    const struct hps_format format = { .self = c, .parse = parse, .put = put, .ready = ready };
    enum hps_status s;

    c->opt = opt;
    hps_dict_init(&c->dict, NAMES, (size_t)NAMES * (NAME_BYTES + 1));
    s = prepare(c, &in);
    if (!s) s = hps_intake_run(&in, &format, ninput, input, result);
    hps_forms_free(&c->forms);
    hps_dict_done(&c->dict);
    hps_mem_free(c->word);
    hps_mem_free(c);
    return s;
}

const struct hps_import hps_import_slot = {
    "slot", "NAME:VALUE words: a label, numbers, any number of ids a slot",
    "buckets|ids|labels|label_name|dense_names|dense", run
};
