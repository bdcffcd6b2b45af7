/* import.c - the verb `import`: converts text to datasets. */
#include "data/import.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "app/args.h"
#include "app/verbs.h"
#include "base/mem.h"
#include "base/outputs.h"
#include "base/say.h"
#include "data/text.h"

/* The options of the fields of data/import.h. */
struct given {
    int n;
    char **name;                    /* (n) with dashes for underscores */
    const char **text;              /* (n) NULL: not given             */
    bool *flag;                     /* (n)                              */
    struct hps_arg *arg;            /* (n + 2)                          */
    struct hps_arg_list set;
};

static void make_table(struct given *g)
{
    while (hps_import_fields[g->n].name)
        g->n++;
    g->name = hps_mem_new((size_t)g->n, sizeof *g->name);
    g->text = hps_mem_new((size_t)g->n, sizeof *g->text);
    g->flag = hps_mem_new((size_t)g->n, sizeof *g->flag);
    g->arg = hps_mem_new((size_t)g->n + 2, sizeof *g->arg);
    for (int i = 0; i < g->n; i++) {
        g->name[i] = hps_mem_text(hps_import_fields[i].name);
        for (char *c = g->name[i]; *c; c++)
            *c = *c == '_' ? '-' : *c;
        g->arg[i].name = g->name[i];
        if (hps_import_fields[i].kind == HPS_BOOL)
            g->arg[i].flag = &g->flag[i];
        else
            g->arg[i].text = &g->text[i];
    }
    g->arg[g->n].name = "set";
    g->arg[g->n].list = &g->set;
}

static void free_table(struct given *g)
{
    for (int i = 0; i < g->n; i++)
        hps_mem_free(g->name[i]);
    hps_mem_free(g->name);
    hps_mem_free(g->text);
    hps_mem_free(g->flag);
    hps_mem_free(g->arg);
    hps_args_done(&g->set);
}

static enum hps_status refuse(const char *option, const char *text, const char *wanted)
{
    HPS_SAY(HPS_ERROR, "--%s %s: %s", option, text, wanted);
    return HPS_USAGE;
}

static enum hps_status put_number(const struct hps_field *f, const char *option, const char *text,
                                  void *to)
{
    char *end;
    double x;

    errno = 0;
    x = strtod(text, &end);
    if (end == text || *end || errno || !(x >= f->min && x <= f->max))
        return refuse(option, text, "not a number within its bounds");
    if (f->kind == HPS_REAL)
        *(double *)to = x;
    else if (x != (double)(long long)x)
        return refuse(option, text, "not a whole number");
    else
        *(long long *)to = (long long)x;
    return HPS_OK;
}

static bool is_word(const char *words, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = words; n > 0 && (at = strstr(at, word)); at++)
        if ((at == words || at[-1] == '|') && (at[n] == '|' || !at[n])) return true;
    return false;
}

/* The value of a field: as given, where the format has the field, or its default. */
static enum hps_status put_field(const struct given *g, int i, const struct hps_import *format,
                                 struct hps_import_opt *opt)
{
    const struct hps_field *f = &hps_import_fields[i];
    const char *text = g->text[i] ? g->text[i] : f->preset;
    void *to = (char *)opt + f->offset;

    if (g->text[i] && !hps_import_takes(format, f->name)) {
        HPS_SAY(HPS_ERROR, "--%s is not for %s: %s", g->name[i], format->name, f->help);
        return HPS_USAGE;
    }
    if (f->kind == HPS_BOOL) {
        *(bool *)to = g->flag[i];
        return HPS_OK;
    }
    if (!text) {
        HPS_SAY(HPS_ERROR, "--%s is missing", g->name[i]);
        return HPS_USAGE;
    }
    if (f->kind == HPS_LONG || f->kind == HPS_REAL) return put_number(f, g->name[i], text, to);
    if (f->kind == HPS_WORD && !is_word(f->words, text)) return refuse(g->name[i], text, f->words);
    *(const char **)to = text;
    return HPS_OK;
}

static enum hps_status check(const struct hps_import_opt *o, const char *format)
{
    const char *why = NULL;

    if (!*o->output)
        why = "--output is empty";
    else if (o->append && *o->scaling)
        why = "--append keeps the dataset's own constants: --scaling does not go with it";
    else if (o->nset && strcmp(format, "csv") != 0)
        why = "--set changes a schema, which only csv has";
    if (!why) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s", why);
    return HPS_USAGE;
}

static void stop(int signal)
{
    hps_text_stop = signal;
}

static void catch_signals(void (*what)(int))
{
    struct sigaction act = { .sa_handler = what };

    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
}

static double seconds_of(const struct timeval *t)
{
    return (double)t->tv_sec + 1e-6 * (double)t->tv_usec;
}

static void print(const struct hps_import_opt *o, const struct hps_import_result *r)
{
    struct rusage usage;

    hps_out("%s: %lld rows\n", o->output, r->rows);
    if (*o->test_output) hps_out("%s: %lld rows\n", o->test_output, r->test_rows);
    hps_out("%lld bad lines, %lld missing values, %lld unknown categories\n", r->bad, r->missing,
            r->unknown);
    getrusage(RUSAGE_SELF, &usage);
    hps_out("%.3f s (%.3f s of processor), %.0f rows/s, %ld MiB of memory\n", r->seconds,
            seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime),
            (double)(r->rows + r->test_rows) / r->seconds, usage.ru_maxrss / 1024);
}

static char *join_names(int n, char *const *name)
{
    size_t bytes = 1;
    char *text;

    for (int i = 0; i < n; i++)
        bytes += strlen(name[i]) + 1;
    text = hps_mem_new(bytes, 1);
    for (int i = 0; i < n; i++) {
        if (i) strcat(text, " ");
        strcat(text, name[i]);
    }
    return text;
}

/* Resolve links of the outputs, and check that they are none of the inputs. */
static enum hps_status name_files(struct hps_import_opt *o, int ninput, char *const *input)
{
    enum hps_output_how how = o->append ? HPS_OUTPUT_GROWS : HPS_OUTPUT_NEW;
    enum hps_status s = hps_outputs_add("output", &o->output, how);

    if (!s) s = hps_outputs_add("test-output", &o->test_output, how);
    for (int i = 0; i < ninput && !s; i++)
        s = hps_outputs_will_read(input[i]);
    return s;
}

static enum hps_status run(const struct hps_import *format, struct hps_import_opt *opt, int ninput,
                           char *const *input)
{
    struct hps_import_result result;
    char *names = join_names(ninput, input);
    enum hps_status s = check(opt, format->name);

    if (!s) s = name_files(opt, ninput, input);
    if (!*opt->source) opt->source = names;
    if (!s) {
        catch_signals(stop);
        s = format->run(opt, ninput, input, &result);
        catch_signals(SIG_DFL);
    }
    if (hps_text_stop && s) raise(hps_text_stop); /* nothing is left behind: end by the signal */
    if (!s) print(opt, &result);
    hps_mem_free(names);
    return s ? s : hps_out_flush();
}

static const struct hps_import *find(const char *name)
{
    const struct hps_import *format = hps_import_find(name);

    if (!format) HPS_SAY(HPS_ERROR, "import: unknown format '%s' (%s)", name, hps_import_words());
    return format;
}

enum hps_status hps_app_import(int argc, char **argv, MPI_Comm world)
{
    struct given given = { 0 };
    struct hps_arg_list operand = { 0 };
    struct hps_import_opt opt = { 0 };
    const struct hps_import *format = NULL;
    enum hps_status s;

    (void)world;
    make_table(&given);
    s = hps_args_parse(argc, argv, given.arg, 2, -1, &operand);
    if (!s && !(format = find(operand.item[0]))) s = HPS_USAGE;
    for (int i = 0; i < given.n && !s; i++)
        s = put_field(&given, i, format, &opt);
    opt.nset = given.set.n;
    opt.set = given.set.item;
    if (!s) s = run(format, &opt, operand.n - 1, operand.item + 1);
    hps_args_done(&operand);
    free_table(&given);
    return s;
}
