/* trace.c - the list of formats, and which one a file has. */
#include "jobs/trace.h"

#include <string.h>

#include "base/say.h"
#include "jobs/trace/trace_impl.h"

extern const struct hps_trace_format hps_trace_tiresias;

static const struct hps_trace_format *const all[] = { &hps_trace_tiresias };

enum { N = sizeof all / sizeof *all };

const char *hps_trace_words(void)
{
    return "tiresias";
}

static bool is(const struct hps_trace_format *f, const struct hps_trace_table *t)
{
    for (const char *const *c = f->columns; *c; c++)
        if (hps_trace_column(t, *c) < 0) return false;
    return true;
}

/* The format that is named, or the first whose columns are all there. */
static enum hps_status find(const struct hps_trace_format **format,
                            const struct hps_trace_table *t, const char *name)
{
    bool known = false;

    for (int i = 0; i < N; i++) {
        bool named = name && strcmp(name, all[i]->name) == 0;
        known = known || named;
        *format = all[i];
        if ((named || !name) && is(all[i], t)) return HPS_OK;
    }
    if (name && !known) {
        HPS_SAY(HPS_ERROR, "--format %s is none of %s", name, hps_trace_words());
        return HPS_USAGE;
    }
    HPS_SAY(HPS_ERROR, "%s: its first line has not the columns of %s", t->path,
            name ? name : hps_trace_words());
    return HPS_DECK;
}

enum hps_status hps_trace_load(struct hps_workload **w, const struct hps_trace_opt *opt)
{
    const struct hps_trace_format *format = NULL;
    struct hps_trace_table t;
    enum hps_status st = hps_trace_table_load(&t, opt->path);

    *w = NULL;
    if (st) return st;
    st = find(&format, &t, opt->format);
    if (!st) st = format->read(w, &t, opt);
    if (!st) hps_workload_sort(*w);
    hps_trace_table_done(&t);
    return st;
}
