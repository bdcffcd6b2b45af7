/* intake.c - what all importers share: passes over the inputs, bad lines, the split, the end. */
#include "model/intake.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "model/select.h"

enum { KEYS = 8192, TOLD = 10, PACKING = 5 };

/* The inputs of a run. */
struct inputs {
    int n;
    char *const *path;
};

static void keep_key(struct hps_intake *in, double key)
{
    in->key[in->nkey++] = key;
    if (in->nkey < KEYS)
        return;
    if (!in->status)
        in->status = hps_select_write(in->keys, in->opt->output, in->key, KEYS * sizeof key);
    in->nkey = 0;
}

static bool is_test(struct hps_intake *in, long long row, double key)
{
    if (!in->split)
        return false;
    if (!in->by_key)
        return row >= in->rows - in->ntest;
    if (key != in->threshold)
        return key > in->threshold;
    return in->ties-- <= 0;                             /* the first ones train */
}

struct hps_place hps_intake_place(struct hps_intake *in, double key)
{
    struct hps_place place = { 0 };
    long long row = in->row++;

    if (in->pass == HPS_PASS_SURVEY) {
        if (in->by_key)
            keep_key(in, key);
        return place;
    }
    place.test = is_test(in, row, key);
    place.learn = !place.test && (in->pass == HPS_PASS_LEARN || !in->relearn) &&
                  !*in->opt->scaling && !in->opt->append;
    if (in->pass == HPS_PASS_WRITE)
        place.writer = in->writer[place.test];
    return place;
}

static void tell_bad(struct hps_intake *in, const struct hps_text *t, const char *why)
{
    in->bad++;
    if (in->told || in->bad > TOLD)
        return;
    HPS_SAY(HPS_WARN, "%s:%lld: %s", t->path, t->line, why);
    if (in->bad == TOLD)
        HPS_SAY(HPS_WARN, "more bad lines are only counted");
}

static enum hps_status read_text(struct hps_intake *in, const struct hps_format *f,
                                 struct hps_text *t)
{
    bool more = true;
    enum hps_status s = f->begin(f->self, t);

    while (!s && more) {
        const char *why = NULL;
        s = f->record(f->self, t, in, &more, &why);
        if (!s && why)
            tell_bad(in, t, why);
        in->lines += more && !s;
        if (!s)
            s = hps_text_stop ? HPS_AGAIN : in->status;
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
        if (s)
            break;
        s = read_text(in, f, &t);
        hps_text_close(&t);
    }
    in->told = true;
    if (pass != HPS_PASS_SURVEY)
        in->ties = ties;
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
    if (!standard)
        return HPS_OK;
    in->spool = hps_select_scratch(in->opt->output);
    if (in->spool < 0)
        return HPS_OUTPUT;
    buffer = hps_mem_new(PIECE, 1);
    while (!s && got != 0 && !hps_text_stop) {
        got = read(STDIN_FILENO, buffer, PIECE);
        if (got > 0)
            s = hps_select_write(in->spool, in->opt->output, buffer, (size_t)got);
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

/* How many rows there are and where the split lies. */
static enum hps_status survey(struct hps_intake *in, const struct hps_format *f,
                              const struct inputs *inputs)
{
    enum hps_status s = spool(in, inputs);

    if (!s && in->by_key) {
        in->key = hps_mem_new(KEYS, sizeof *in->key);
        in->keys = hps_select_scratch(in->opt->output);
        s = in->keys < 0 ? HPS_OUTPUT : HPS_OK;
    }
    if (!s)
        s = read_inputs(in, f, inputs, HPS_PASS_SURVEY);
    if (!s)
        s = judge(in);
    if (s)
        return s;
    in->rows = in->row;
    in->ntest = (long long)((double)in->rows * in->share + 1e-9);
    if (in->ntest == 0 || in->ntest == in->rows) {
        HPS_SAY(HPS_ERROR, "a share of %g of %lld rows leaves one of the files empty", in->share,
                in->rows);
        return HPS_DECK;
    }
    if (in->by_key)
        s = find_threshold(in);
    if (!s && in->relearn)
        s = read_inputs(in, f, inputs, HPS_PASS_LEARN);
    return s;
}

/* A guess at the number of rows from the size of the inputs: numbers take some six signs each. */
static double rows_about(const struct hps_intake *in, const struct inputs *inputs)
{
    struct stat facts;
    double bytes = 0;
    const char *end;

    if (in->rows)
        return (double)in->rows;
    for (int i = 0; i < inputs->n; i++) {
        end = strrchr(inputs->path[i], '.');
        if (stat(inputs->path[i], &facts) == 0)
            bytes += (double)facts.st_size * (end && strcmp(end, ".gz") == 0 ? PACKING : 1);
    }
    return bytes / (6.0 * (1 + in->form[0].D + in->form[0].nslot));
}

static enum hps_status begin_files(struct hps_intake *in, const struct inputs *inputs)
{
    const char *path[2] = { in->opt->output, in->opt->test_output };
    enum hps_status s = HPS_OK;

    for (int i = 0; i <= in->split && !s; i++) {
        in->form[i].rows_about = rows_about(in, inputs);
        s = in->opt->append ? hps_writer_append(&in->writer[i], path[i], &in->form[i])
                            : hps_writer_new(&in->writer[i], path[i], &in->form[i]);
    }
    return s;
}

/* The test file takes the constants of the train file; both are whole before one gets its name. */
static enum hps_status end_files(struct hps_intake *in)
{
    enum hps_status s = HPS_OK;

    for (int i = 0; i <= in->split && !s; i++)
        s = hps_writer_finish(in->writer[i], i ? in->form[0].scale : NULL);
    for (int i = 0; i <= in->split && !s; i++)
        s = hps_writer_close(in->writer[i]);
    for (int i = 0; i <= in->split && !s; i++)
        s = hps_writer_commit(in->writer[i]);
    return s;
}

static void sum_up(const struct hps_intake *in, struct hps_import_result *r)
{
    r->rows = in->writer[0]->written;
    r->test_rows = in->split ? in->writer[1]->written : 0;
    r->bad = in->bad;
    for (int i = 0; i <= in->split; i++) {
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
    enum hps_status s = in->split ? survey(in, f, inputs) : HPS_OK;

    if (!s)
        s = begin_files(in, inputs);
    if (!s)
        s = read_inputs(in, f, inputs, HPS_PASS_WRITE);
    if (!s && !in->split)
        s = judge(in);
    if (!s && f->end)
        f->end(f->self, in);
    if (!s)
        s = end_files(in);
    if (!s)
        sum_up(in, result);
    return s;
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
    if (in->keys >= 0)
        close(in->keys);
    if (in->spool >= 0)
        close(in->spool);
    return s;
}
