/* intake.c - what all importers share: passes over the inputs, bad lines, the split, the end. */
#include "data/intake.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/say.h"
#include "data/date.h"
#include "data/parse.h"
#include "data/select.h"

enum { KEYS = 8192, TOLD = 10, PACKING = 5 };

/* The inputs of a run. */
struct inputs {
    int n;
    char *const *path;
};

static void keep_key(struct hps_intake *in, double key)
{
    in->key[in->nkey++] = key;
    if (in->nkey < KEYS) return;
    if (!in->status)
        in->status = hps_select_write(in->keys, in->opt->output, in->key, KEYS * sizeof key);
    in->nkey = 0;
}

static bool is_test(struct hps_intake *in, long long row, double key)
{
    switch (in->split) {
    case HPS_SPLIT_NONE:
        return false;
    case HPS_SPLIT_FILE:
        return row >= in->rows - in->ntest;
    case HPS_SPLIT_RANDOM:
        return hps_rng_real(in->random, (uint64_t)(in->before + row)) < in->share;
    case HPS_SPLIT_KEY:
        break;
    }
    if (key != in->threshold) return key > in->threshold;
    return in->has_at || in->ties-- <= 0;               /* the first ones train */
}

struct hps_destination hps_intake_destination(struct hps_intake *in, double key)
{
    struct hps_destination dest = { 0 };
    long long row = in->row++;

    if (in->pass == HPS_PASS_SURVEY) {
        if (in->keys >= 0) keep_key(in, key);
        return dest;
    }
    dest.test = is_test(in, row, key);
    dest.learn = !dest.test && (in->pass == HPS_PASS_LEARN || !in->relearn) &&
                  !*in->opt->scaling && !in->opt->append;
    if (in->pass == HPS_PASS_WRITE) dest.writer = in->writer[dest.test];
    return dest;
}

static void tell_bad(struct hps_intake *in, const struct hps_text *t, const char *why)
{
    in->bad++;
    if (in->named || in->bad > TOLD) return;
    HPS_SAY(HPS_WARN, "%s:%lld: %s", t->path, t->line, why);
    if (in->bad == TOLD) HPS_SAY(HPS_WARN, "more bad lines are only counted");
}

/* The next line that is a record; NULL at the end. */
static enum hps_status next_line(const struct hps_format *f, struct hps_text *t, char **line,
                                 size_t *n)
{
    enum hps_status s;
    bool skip;

    do {
        s = hps_text_next(t, line, n);
        skip = !s && *line && *n == 0;
        if (!s && *line && !skip && f->skip) s = f->skip(f->self, t, *line, *n, &skip);
    } while (!s && skip);
    return s;
}

static enum hps_status read_line(struct hps_intake *in, const struct hps_format *f,
                                 struct hps_text *t, bool *more, const char **why)
{
    struct hps_destination dest;
    double key = 0;
    char *line;
    size_t n;
    enum hps_status s = next_line(f, t, &line, &n);

    *more = line != NULL;
    if (s || !line) return s;
    *why = f->parse(f->self, in, line, n, &key);
    if (*why) return HPS_OK;
    dest = hps_intake_destination(in, key);
    if (!dest.writer) return HPS_OK;
    f->put(f->self, dest);
    return hps_writer_row(dest.writer);
}

static enum hps_status read_text(struct hps_intake *in, const struct hps_format *f,
                                 struct hps_text *t)
{
    bool more = true;
    enum hps_status s = f->begin ? f->begin(f->self, t) : HPS_OK;

    while (!s && more) {
        const char *why = NULL;
        s = f->record ? f->record(f->self, t, in, &more, &why) : read_line(in, f, t, &more, &why);
        if (!s && why) tell_bad(in, t, why);
        in->lines += more && !s;
        if (!s) s = hps_text_stop ? HPS_AGAIN : in->status;
    }
    return s;
}

static enum hps_status open_input(struct hps_intake *in, struct hps_text *t, const char *path)
{
    if (in->spool >= 0 && strcmp(path, "-") == 0)
        return hps_text_open_fd(t, in->spool, "standard input");
    return hps_text_open(t, path);
}

static enum hps_status read_inputs(struct hps_intake *in, const struct hps_format *f,
                                   const struct inputs *inputs, enum hps_pass pass)
{
    enum hps_status s = HPS_OK;
    long long ties = in->ties;

    in->pass = pass;
    in->row = in->bad = in->lines = 0;
    for (int i = 0; i < inputs->n && !s; i++) {
        struct hps_text t;
        s = open_input(in, &t, inputs->path[i]);
        if (s) break;
        s = read_text(in, f, &t);
        hps_text_close(&t);
    }
    in->named = true;
    if (pass != HPS_PASS_SURVEY) in->ties = ties;
    return s;
}

/* Said of the whole: too many bad lines, or no rows. */
static enum hps_status judge(const struct hps_intake *in)
{
    if (in->bad > 0)
        HPS_SAY(HPS_WARN, "%lld of %lld lines are bad and left out", in->bad, in->lines);
    if ((double)in->bad > in->opt->bad_share * (double)in->lines) {
        HPS_SAY(HPS_ERROR, "%lld bad lines of %lld are more than the share of %g that is allowed",
                in->bad, in->lines, in->opt->bad_share);
        return HPS_DECK;
    }
    if (in->row == 0) {
        HPS_SAY(HPS_ERROR, "the input has no rows");
        return HPS_DECK;
    }
    return HPS_OK;
}

static enum hps_status judge_once(struct hps_intake *in)
{
    enum hps_status s = in->judged ? HPS_OK : judge(in);

    in->judged = true;
    return s;
}

/* Two passes need the input twice: what comes from standard input is kept on disk meanwhile. */
static enum hps_status spool(struct hps_intake *in, const struct inputs *inputs)
{
    enum { PIECE = 1 << 20 };
    char *buffer;
    ssize_t got = 1;
    bool standard = false;
    enum hps_status s = HPS_OK;

    for (int i = 0; i < inputs->n; i++)
        standard |= strcmp(inputs->path[i], "-") == 0;
    if (!standard) return HPS_OK;
    s = hps_text_standard();
    if (s) return s;
    in->spool = hps_select_scratch(in->opt->output);
    if (in->spool < 0) return HPS_OUTPUT;
    buffer = hps_mem_new(PIECE, 1);
    while (!s && got != 0 && !hps_text_stop) {
        got = read(STDIN_FILENO, buffer, PIECE);
        if (got > 0) s = hps_select_write(in->spool, in->opt->output, buffer, (size_t)got);
        if (got < 0 && errno != EINTR) {
            HPS_SAY(HPS_ERROR, "standard input: %s", strerror(errno));
            s = HPS_INPUT;
        }
    }
    hps_mem_free(buffer);
    return hps_text_stop ? HPS_AGAIN : s;
}

static enum hps_status find_threshold(struct hps_intake *in)
{
    enum hps_status s = hps_select_write(in->keys, in->opt->output, in->key,
                                         (size_t)in->nkey * sizeof *in->key);

    return s ? s : hps_select_largest(in->keys, in->rows, in->ntest, &in->threshold, &in->ties);
}

/* Where the split lies. */
static enum hps_status find_split(struct hps_intake *in)
{
    in->ntest = (long long)((double)in->rows * in->share + 1e-9);
    if (in->ntest == 0 || in->ntest == in->rows) {
        HPS_SAY(HPS_ERROR, "a share of %g of %lld rows leaves one of the files empty", in->share,
                in->rows);
        return HPS_DECK;
    }
    return in->split == HPS_SPLIT_KEY ? find_threshold(in) : HPS_OK;
}

/* How many rows there are, what they need, where the split lies. */
static enum hps_status survey(struct hps_intake *in, const struct hps_format *f,
                              const struct inputs *inputs)
{
    bool share = in->split == HPS_SPLIT_FILE || (in->split == HPS_SPLIT_KEY && !in->has_at);
    enum hps_status s = HPS_OK;

    if (share || in->survey || in->relearn) s = spool(in, inputs);
    if (s || (!share && !in->survey)) return s;
    if (share && in->split == HPS_SPLIT_KEY) {
        in->key = hps_mem_new(KEYS, sizeof *in->key);
        in->keys = hps_select_scratch(in->opt->output);
        s = in->keys < 0 ? HPS_OUTPUT : HPS_OK;
    }
    if (!s) s = read_inputs(in, f, inputs, HPS_PASS_SURVEY);
    if (!s) s = judge_once(in);
    in->rows = in->row;
    return s || !share ? s : find_split(in);
}

/* A guess at the number of rows from the size of the inputs: numbers take some six signs each. */
static double rows_about(const struct hps_intake *in, const struct inputs *inputs)
{
    struct stat facts;
    double bytes = 0;
    const char *end;

    if (in->rows) return (double)in->rows;
    for (int i = 0; i < inputs->n; i++) {
        end = strrchr(inputs->path[i], '.');
        if (stat(inputs->path[i], &facts) == 0)
            bytes += (double)facts.st_size * (end && strcmp(end, ".gz") == 0 ? PACKING : 1);
    }
    return bytes / (6.0 * (1 + in->form[0].D + in->form[0].nslot));
}

static int nfile(const struct hps_intake *in)
{
    return in->split == HPS_SPLIT_NONE ? 1 : 2;
}

static enum hps_status begin_files(struct hps_intake *in, const struct inputs *inputs)
{
    const char *path[2] = { in->opt->output, in->opt->test_output };
    enum hps_status s = HPS_OK;

    for (int i = 0; i < nfile(in) && !s; i++) {
        in->form[i].rows_about = rows_about(in, inputs);
        s = in->opt->append ? hps_writer_append(&in->writer[i], path[i], &in->form[i])
                            : hps_writer_new(&in->writer[i], path[i], &in->form[i]);
        in->before += s ? 0 : in->writer[i]->written;
    }
    return s;
}

/* Nothing can be learned of one class alone: mostly it is a misspelt text. */
static void warn_of_one_class(const struct hps_writer *w, const char *path)
{
    bool all = w->positives == w->written;

    if (w->form->classes && (all || w->positives == 0))
        HPS_SAY(HPS_WARN, "%s: all %lld labels are %d, there is one class only (1 is: %s)", path,
                w->written, all, w->form->rule);
}

/* The test file takes the constants of the train file; both are whole before one gets its name. */
static enum hps_status end_files(struct hps_intake *in)
{
    enum hps_status s = HPS_OK;

    for (int i = 0; i < nfile(in) && !s; i++)
        s = hps_writer_finish(in->writer[i], i ? in->form[0].scale : NULL);
    for (int i = 0; i < nfile(in) && !s; i++)
        s = hps_writer_close(in->writer[i]);
    for (int i = 0; i < nfile(in) && !s; i++)
        s = hps_writer_commit(in->writer[i]);
    for (int i = 0; i < nfile(in) && !s; i++)
        warn_of_one_class(in->writer[i], i ? in->opt->test_output : in->opt->output);
    return s;
}

static void sum_up(const struct hps_intake *in, struct hps_import_result *r)
{
    r->rows = in->writer[0]->written;
    r->test_rows = in->writer[1] ? in->writer[1]->written : 0;
    r->bad = in->bad;
    for (int i = 0; i < nfile(in); i++) {
        for (int d = 0; d < in->form[i].D; d++)
            r->missing += (long long)in->form[i].scale[d].missing;
        for (int j = 0; j < in->form[i].nslot; j++) {
            r->missing += in->form[i].slot[j].missing;
            r->unknown += in->form[i].slot[j].unknown;
        }
    }
}

static enum hps_status run(struct hps_intake *in, const struct hps_format *f,
                           const struct inputs *inputs, struct hps_import_result *result)
{
    enum hps_status s = survey(in, f, inputs);

    if (!s && f->ready) s = f->ready(f->self, in);
    if (!s) s = begin_files(in, inputs);
    if (!s && in->relearn) s = read_inputs(in, f, inputs, HPS_PASS_LEARN);
    if (!s) s = read_inputs(in, f, inputs, HPS_PASS_WRITE);
    if (!s) s = judge_once(in);
    if (!s && f->end) f->end(f->self, in);
    if (!s) s = end_files(in);
    if (!s) sum_up(in, result);
    return s;
}

/* --split-at: a number, or a date as in the column or else as in ISO 8601. */
static bool parse_threshold(struct hps_intake *in, const char *at)
{
    struct hps_date date;
    size_t n = strlen(at);

    if (!in->key_time) return hps_parse_real(at, n, &in->threshold);
    if (!hps_date_parse(in->key_time, at, n, &date) && !hps_date_parse("iso", at, n, &date))
        return false;
    in->threshold = hps_date_s(&date);
    return true;
}

enum hps_status hps_intake_split(struct hps_intake *in, const char *by, double share)
{
    const struct hps_import_opt *opt = in->opt;
    const char *at = opt->split_at, *why = NULL;

    in->share = opt->test_share > 0 ? opt->test_share : share;
    in->random = hps_rng_key((uint64_t)opt->seed, "split");
    in->has_at = *opt->split_at;
    by = *opt->split ? opt->split : by;
    if (!*opt->test_output)
        in->split = HPS_SPLIT_NONE;
    else if (strcmp(by, "file") == 0)
        in->split = HPS_SPLIT_FILE;
    else
        in->split = strcmp(by, "random") == 0 ? HPS_SPLIT_RANDOM : HPS_SPLIT_KEY;
    if (!*opt->test_output && (*opt->split || in->has_at || opt->test_share > 0))
        why = "--split, --split-at and --test-share are for --test-output, which is missing";
    else if (in->has_at && in->split != HPS_SPLIT_KEY)
        why = "--split-at needs a column: --split COLUMN";
    else if (in->has_at && !parse_threshold(in, at))
        why = in->key_time ? "--split-at wants a date, as in the column or as 2014-10-21T13:45:00Z"
                           : "--split-at wants a number (of dates, the schema says `time`)";
    if (!why) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s", why);
    return HPS_USAGE;
}

enum hps_status hps_intake_split_rows(struct hps_intake *in)
{
    enum hps_status s = hps_intake_split(in, "file", HPS_INTAKE_SHARE);

    if (s || in->split != HPS_SPLIT_KEY) return s;
    HPS_SAY(HPS_ERROR, "--split %s: file or random; this format has no column to split by",
            in->opt->split);
    return HPS_USAGE;
}

enum hps_status hps_intake_run(struct hps_intake *in, const struct hps_format *format, int ninput,
                               char *const *input, struct hps_import_result *result)
{
    const struct inputs inputs = { ninput, input };
    double begin_s = hps_now_s();
    enum hps_status s;

    *result = (struct hps_import_result){ 0 };
    in->keys = in->spool = -1;
    s = run(in, format, &inputs, result);
    result->seconds = hps_now_s() - begin_s;
    hps_writer_free(in->writer[0]);
    hps_writer_free(in->writer[1]);
    hps_mem_free(in->key);
    if (in->keys >= 0) close(in->keys);
    if (in->spool >= 0) close(in->spool);
    return s;
}
