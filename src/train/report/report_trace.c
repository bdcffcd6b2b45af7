/* report_trace.c - converts the timeline to Chrome trace events, block by block. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/part_file.h"
#include "base/say.h"
#include "train/report/report_impl.h"

static void name(struct hps_page *t, const char *what, int pid, int tid, const char *word, int n)
{
    hps_page_add(t, "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,"
                    "\"args\":{\"name\":\"%s %d\"}},\n", what, pid, tid, word, n);
}

/* Names of stages and ranks; an idle rank has no spans. */
static void names(struct hps_page *t, const struct hps_perf_spans *f)
{
    for (int i = 0; i < f->R * HPS_MY_STAGES; i++) {
        int r = i / HPS_MY_STAGES, s = f->stage[i];
        if (s < 0) continue;
        name(t, "process_name", s, r, "stage", s);
        name(t, "thread_name", s, r, "rank", r);
    }
}

static void events(struct hps_page *t, const struct hps_perf_spans *f, int n)
{
    for (int i = 0; i < n; i++)
        hps_page_add(t, "{\"name\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":%d,"
                        "\"tid\":%d,\"args\":{\"step\":%lld}},\n",
                     hps_region_name[f->region[i]], 1e6 * f->begin_s[i],
                     1e6 * (f->end_s[i] - f->begin_s[i]), hps_perf_spans_stage(f, i), f->rank[i],
                     f->step[i]);
}

static bool put(FILE *to, struct hps_page *t)
{
    size_t n = t->n;

    t->n = 0;
    return n == 0 || fwrite(t->at, 1, n, to) == n;
}

/* Status of reading; *good: all was written. */
static enum hps_status stream(FILE *to, struct hps_perf_spans *f, bool *good)
{
    struct hps_page t = { 0 };
    enum hps_status s = HPS_OK;
    int n = 0;

    hps_page_add(&t, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    names(&t, f);
    *good = put(to, &t);
    for (long long from = 0; *good && !s; from += n) {
        s = hps_perf_spans_get(f, from, &n);
        if (s || n == 0) break;
        events(&t, f, n);
        *good = put(to, &t);
    }
    hps_page_add(&t, "{\"name\":\"end\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{}}]}\n");
    *good = *good && put(to, &t);
    hps_mem_free(t.at);
    return s;
}

enum hps_status hps_report_trace(const char *perf, const char *to)
{
    struct hps_perf_spans f;
    enum hps_status s = hps_perf_spans_open(&f, perf);
    bool good = false;

    if (s) return s;
    struct hps_part_file part = hps_part_file(to);
    int fd = hps_file_new(part.part, 0);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (file) {
        s = stream(file, &f, &good);
        good = fclose(file) == 0 && good;
    }
    if (!s && !good) {
        HPS_SAY(HPS_ERROR, "%s: cannot be written: %s", to, strerror(errno));
        s = HPS_OUTPUT;
    }
    if (!file && fd >= 0) close(fd);
    hps_perf_spans_close(&f);
    return hps_part_file_end(&part, s);
}
