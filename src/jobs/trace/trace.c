/* trace.c - the list of formats, and which one a file has. */
#include "jobs/trace.h"

#include <string.h>

#include "base/say.h"
#include "data/text.h"
#include "jobs/journal_jobs.h"
#include "jobs/trace/trace_impl.h"

extern const struct hps_trace_format hps_trace_tiresias, hps_trace_pollux, hps_trace_gavel,
    hps_trace_elasticflow, hps_trace_philly;

static const struct hps_trace_format *const all[] = {
    &hps_trace_tiresias, &hps_trace_pollux, &hps_trace_gavel, &hps_trace_elasticflow,
    &hps_trace_philly,
};

enum { N = sizeof all / sizeof *all };

const char *hps_trace_words(void)
{
    return "tiresias|pollux|gavel|elasticflow|philly";
}

static bool has(const struct hps_trace_table *t, const char *const *columns)
{
    for (const char *const *c = columns; *c; c++)
        if (hps_trace_column(t, *c) < 0) return false;
    return true;
}

enum hps_status hps_trace_wants(const struct hps_trace_table *t, const char *const *columns)
{
    if (has(t, columns)) return HPS_OK;
    for (const char *const *c = columns; *c; c++) {
        if (hps_trace_column(t, *c) >= 0) continue;
        HPS_SAY(HPS_ERROR, "%s: its first line has no column %s", t->path, *c);
        break;
    }
    return HPS_DECK;
}

static const struct hps_trace_format *named(const char *name)
{
    for (int i = 0; i < N; i++)
        if (strcmp(name, all[i]->name) == 0) return all[i];
    HPS_SAY(HPS_ERROR, "--format %s is none of %s", name, hps_trace_words());
    return NULL;
}

/* ---- which format a file has ---- */

/* The format without a header whose columns the first line has so many of; NULL: none. Standard
 * input, which is read once, has a header, or its format is named. */
static enum hps_status find_bare(const struct hps_trace_format **format, const char *path)
{
    struct hps_text text;
    char *line = NULL;
    size_t length = 0;

    *format = NULL;
    if (strcmp(path, "-") == 0) return HPS_OK;
    enum hps_status st = hps_text_open(&text, path);
    if (st) return st;
    st = hps_text_next(&text, &line, &length);
    for (int i = 0; i < N && !st && line; i++) {
        int want = 0, have = 1;
        for (const char *const *c = all[i]->columns; *c; c++)
            want++;
        for (size_t k = 0; k < length && all[i]->bare; k++)
            have += line[k] == all[i]->bare;
        if (all[i]->bare && have == want) *format = all[i];
    }
    hps_text_close(&text);
    return st;
}

/* The table of a file, and its format, which may be known already. */
static enum hps_status load(struct hps_trace_table *t, const struct hps_trace_format **format,
                            const char *path)
{
    const struct hps_trace_format *wanted = *format;
    enum hps_status st = *format ? HPS_OK : find_bare(format, path);

    if (!st && *format && (*format)->bare)
        return hps_trace_table_load_bare(t, path, (*format)->columns, (*format)->bare);
    if (!st) st = hps_trace_table_load(t, path);
    if (st) return st;
    for (int i = 0; i < N; i++) {
        *format = all[i];
        if (!all[i]->bare && (!wanted || all[i] == wanted) && has(t, all[i]->columns))
            return HPS_OK;
    }
    HPS_SAY(HPS_ERROR, "%s: its first line has not the columns of %s", path,
            wanted ? wanted->name : hps_trace_words());
    hps_trace_table_done(t);
    return HPS_DECK;
}

/* ---- jobs ---- */

enum hps_status hps_trace_each(struct hps_workload **w, const struct hps_trace_table *t,
                               enum hps_status (*one)(struct hps_pool_job *job,
                                                      const struct hps_trace_table *t, int row,
                                                      const void *context),
                               const void *context)
{
    enum hps_status st = HPS_OK;

    *w = hps_workload_new(t->nrow);
    for (int i = 0; i < t->nrow && !st; i++)
        st = one(&(*w)->job[i], t, i, context);
    if (!st) return HPS_OK;
    hps_workload_free(*w);
    *w = NULL;
    return st;
}

/* What was given that the format cannot use, or not what it needs. */
static enum hps_status check(const struct hps_trace_format *f, const struct hps_trace_opt *opt)
{
    if (!opt->pool && !(f->tells_pool && opt->own)) {
        HPS_SAY(HPS_ERROR, "heterps jobs simulate: a trace of %s says nothing of the pool: "
                "--pool NODESxUNITS is wanted", f->name);
        return HPS_USAGE;
    }
    if (opt->nspeeds > 0 && !f->takes_speeds) {
        HPS_SAY(HPS_ERROR, "--speeds: a trace of %s has its jobs' seconds", f->name);
        return HPS_USAGE;
    }
    if (opt->cluster && !f->tells_pool) {
        HPS_SAY(HPS_ERROR, "--cluster %s: a trace of %s has no clusters", opt->cluster, f->name);
        return HPS_USAGE;
    }
    return HPS_OK;
}

/* A journal is called so, and is no table. */
static bool is_journal(const char *path)
{
    const char *end = strrchr(path, '.');

    return end && strcmp(end, ".jsonl") == 0;
}

static enum hps_status load_journal(struct hps_workload **w, const struct hps_trace_opt *opt)
{
    struct hps_job_pool *given = (struct hps_job_pool *)opt->pool;

    if (opt->nspeeds > 0 || opt->cluster) {
        HPS_SAY(HPS_ERROR, "--%s: a journal has its jobs' seconds, and one pool",
                opt->nspeeds > 0 ? "speeds" : "cluster");
        return HPS_USAGE;
    }
    return hps_journal_workload(w, given || !opt->own ? &given : opt->own, opt->path);
}

enum hps_status hps_trace_load(struct hps_workload **w, const struct hps_trace_opt *opt)
{
    const struct hps_trace_format *format = opt->format ? named(opt->format) : NULL;
    struct hps_trace_table t;

    *w = NULL;
    if (opt->format && !format) return HPS_USAGE;
    if (!format && is_journal(opt->path)) return load_journal(w, opt);
    enum hps_status st = load(&t, &format, opt->path);
    if (st) return st;
    st = check(format, opt);
    if (!st) st = format->read(w, &t, opt);
    if (!st) hps_workload_sort(*w);
    hps_trace_table_done(&t);
    return st;
}
