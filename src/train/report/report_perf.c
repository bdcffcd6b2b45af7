/* report_perf.c - reads perf.h5: windows averaged over the ranks, spans in blocks. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "train/report/report_impl.h"

/* Numbers from the file that index arrays are checked. */
static enum hps_status damaged(const struct hps_h5 *h, const char *what)
{
    HPS_SAY(HPS_ERROR, "%s: damaged: %s", h->path, what);
    return HPS_DECK;
}

static enum hps_status open_perf(struct hps_h5 *h, const char *path)
{
    char *format = NULL;
    enum hps_status s = hps_h5_open(h, path);

    if (s) return s;
    s = hps_h5_get_text(h, "/", "format", &format, false);
    if (!s && strcmp(format, "heterps-perf-1") != 0) {
        HPS_SAY(HPS_ERROR, "%s: the format is %s, wanted is heterps-perf-1", path, format);
        s = HPS_DECK;
    }
    hps_mem_free(format);
    if (s) hps_h5_close(h);
    return s;
}

/* Check the shape of a column: its rows and `width`. */
static enum hps_status fits(struct hps_h5 *h, const char *name, long long nrow, int width)
{
    long long n;
    int w;
    enum hps_status s = hps_h5_shape(h, name, &n, &w);

    if (!s && (n != nrow || w != width)) s = damaged(h, name);
    return s;
}

/* The window of a step; appended when it is new. */
static struct hps_perf_window *window_of(struct hps_perf *p, size_t *cap, long long step)
{
    int lo = 0, hi = p->nwindow;

    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (p->window[mid].step < step)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < p->nwindow && p->window[lo].step == step) return &p->window[lo];
    hps_mem_grow(&p->window, cap, (size_t)p->nwindow + 1, sizeof *p->window);
    memmove(p->window + lo + 1, p->window + lo, (size_t)(p->nwindow - lo) * sizeof *p->window);
    p->nwindow++;
    p->window[lo] = (struct hps_perf_window){ .step = step };
    return &p->window[lo];
}

struct windows {
    int *rank;                  /* a block of each column */
    long long *step;
    double *seconds, *region;
};

static void add_windows(struct hps_perf *p, size_t *cap, const struct windows *w, long long n,
                        const int *stage, int R)
{
    for (long long i = 0; i < n; i++) {
        if (w->rank[i] < 0 || w->rank[i] >= R || stage[w->rank[i] * HPS_MY_STAGES] < 0) continue;
        struct hps_perf_window *to = window_of(p, cap, w->step[i]);
        to->n++;
        to->seconds += w->seconds[i];
        for (int g = 0; g < HPS_REGIONS; g++)
            to->region[g] += w->region[i * HPS_REGIONS + g];
    }
}

static enum hps_status read_windows(struct hps_h5 *h, struct hps_perf *p, const int *stage, int R)
{
    struct windows w = { hps_mem_new(HPS_REPORT_BLOCK, sizeof *w.rank),
                         hps_mem_new(HPS_REPORT_BLOCK, sizeof *w.step),
                         hps_mem_new(HPS_REPORT_BLOCK, sizeof *w.seconds),
                         hps_mem_new(HPS_REPORT_BLOCK * HPS_REGIONS, sizeof *w.region) };
    long long nrow = 0;
    size_t cap = 0;
    int width;
    enum hps_status s = hps_h5_shape(h, "windows/rank", &nrow, &width);

    if (!s) s = fits(h, "windows/rank", nrow, 0);
    if (!s) s = fits(h, "windows/region_seconds", nrow, HPS_REGIONS);
    for (long long from = 0, n; !s && from < nrow; from += n) {
        n = nrow - from < HPS_REPORT_BLOCK ? nrow - from : HPS_REPORT_BLOCK;
        s = hps_h5_get(h, "windows/rank", H5T_NATIVE_INT, from, n, 0, w.rank);
        if (!s) s = hps_h5_get(h, "windows/step", H5T_NATIVE_LLONG, from, n, 0, w.step);
        if (!s) s = hps_h5_get(h, "windows/seconds", H5T_NATIVE_DOUBLE, from, n, 0, w.seconds);
        if (!s)
            s = hps_h5_get(h, "windows/region_seconds", H5T_NATIVE_DOUBLE, from, n, HPS_REGIONS,
                           w.region);
        if (!s) add_windows(p, &cap, &w, n, stage, R);
    }
    for (int i = 0; i < p->nwindow; i++) {
        p->window[i].seconds /= p->window[i].n;
        for (int g = 0; g < HPS_REGIONS; g++)
            p->window[i].region[g] /= p->window[i].n;
    }
    hps_mem_free(w.region);
    hps_mem_free(w.seconds);
    hps_mem_free(w.step);
    hps_mem_free(w.rank);
    return s;
}

static enum hps_status read_stages(struct hps_h5 *h, int **stage, int *R)
{
    long long n;
    int width;
    enum hps_status s = hps_h5_shape(h, "ranks/stage", &n, &width);

    if (!s && (width != HPS_MY_STAGES || n < 1 || n > 1 << 24)) s = damaged(h, "ranks/stage");
    if (s) return s;
    *R = (int)n;
    *stage = hps_mem_new((size_t)n * HPS_MY_STAGES, sizeof **stage);
    return hps_h5_get(h, "ranks/stage", H5T_NATIVE_INT, 0, n, HPS_MY_STAGES, *stage);
}

enum hps_status hps_perf_spans_open(struct hps_perf_spans *spans, const char *path)
{
    int width = 0;

    *spans = (struct hps_perf_spans){ 0 };
    enum hps_status s = open_perf(&spans->file, path);
    if (s) return s;
    if (!hps_h5_has(&spans->file, "spans/rank")) {
        HPS_SAY(HPS_ERROR, "%s has no timeline: set perf.trace: true in the deck and run again",
                path);
        s = HPS_DECK;
    }
    if (!s) s = read_stages(&spans->file, &spans->stage, &spans->R);
    if (!s) s = hps_h5_shape(&spans->file, "spans/rank", &spans->nspan, &width);
    if (!s) s = fits(&spans->file, "spans/rank", spans->nspan, 0);
    spans->rank = hps_mem_new(HPS_REPORT_BLOCK, sizeof *spans->rank);
    spans->part = hps_mem_new(HPS_REPORT_BLOCK, sizeof *spans->part);
    spans->region = hps_mem_new(HPS_REPORT_BLOCK, sizeof *spans->region);
    spans->step = hps_mem_new(HPS_REPORT_BLOCK, sizeof *spans->step);
    spans->begin_s = hps_mem_new(HPS_REPORT_BLOCK, sizeof *spans->begin_s);
    spans->end_s = hps_mem_new(HPS_REPORT_BLOCK, sizeof *spans->end_s);
    if (s) hps_perf_spans_close(spans);
    return s;
}

enum hps_status hps_perf_spans_get(struct hps_perf_spans *spans, long long from, int *n)
{
    struct hps_h5 *h = &spans->file;
    long long left = spans->nspan - from, k = left < HPS_REPORT_BLOCK ? left : HPS_REPORT_BLOCK;

    *n = (int)k;
    if (k == 0) return HPS_OK;
    enum hps_status s = hps_h5_get(h, "spans/rank", H5T_NATIVE_INT, from, k, 0, spans->rank);
    if (!s) s = hps_h5_get(h, "spans/region", H5T_NATIVE_INT, from, k, 0, spans->region);
    if (!s) s = hps_h5_get(h, "spans/part", H5T_NATIVE_INT, from, k, 0, spans->part);
    if (!s) s = hps_h5_get(h, "spans/step", H5T_NATIVE_LLONG, from, k, 0, spans->step);
    if (!s) s = hps_h5_get(h, "spans/begin_s", H5T_NATIVE_DOUBLE, from, k, 0, spans->begin_s);
    if (!s) s = hps_h5_get(h, "spans/end_s", H5T_NATIVE_DOUBLE, from, k, 0, spans->end_s);
    for (int i = 0; i < k && !s; i++)
        if (spans->rank[i] < 0 || spans->rank[i] >= spans->R || spans->region[i] < 0 ||
            spans->region[i] >= HPS_REGIONS || spans->part[i] < 0 ||
            spans->part[i] >= HPS_MY_STAGES)
            s = damaged(h, "a span of no rank, no stage or no region");
    return s;
}

int hps_perf_spans_stage(const struct hps_perf_spans *spans, int i)
{
    return spans->stage[spans->rank[i] * HPS_MY_STAGES + spans->part[i]];
}

void hps_perf_spans_close(struct hps_perf_spans *spans)
{
    hps_h5_close(&spans->file);
    hps_mem_free(spans->end_s);
    hps_mem_free(spans->begin_s);
    hps_mem_free(spans->step);
    hps_mem_free(spans->region);
    hps_mem_free(spans->part);
    hps_mem_free(spans->rank);
    hps_mem_free(spans->stage);
}

/* The spans of two steps in the middle of the trace. */
static enum hps_status read_spans(const char *path, struct hps_perf *p)
{
    struct hps_perf_spans f;
    enum hps_status s = hps_perf_spans_open(&f, path);
    long long first = 0, last = 0, middle;
    size_t cap = 0;
    int n = 0;

    if (s) return s;
    for (long long from = 0; !s && !(s = hps_perf_spans_get(&f, from, &n)) && n > 0; from += n)
        for (int i = 0; i < n; i++) {
            first = from + i == 0 || f.step[i] < first ? f.step[i] : first;
            last = from + i == 0 || f.step[i] > last ? f.step[i] : last;
        }
    middle = first + (last - first) / 2;
    for (long long from = 0; !s && !(s = hps_perf_spans_get(&f, from, &n)) && n > 0; from += n)
        for (int i = 0; i < n; i++) {
            if (f.step[i] < middle || f.step[i] > middle + 1) continue;
            hps_mem_grow(&p->span, &cap, (size_t)p->nspan + 1, sizeof *p->span);
            p->span[p->nspan++] = (struct hps_perf_span){ f.rank[i], hps_perf_spans_stage(&f, i),
                                                          f.region[i], f.begin_s[i], f.end_s[i] };
        }
    hps_perf_spans_close(&f);
    return s;
}

enum hps_status hps_perf_read(struct hps_perf **perf, const char *path)
{
    struct hps_perf *p;
    struct hps_h5 h;
    int *stage = NULL, R = 0;
    enum hps_status s = open_perf(&h, path);

    *perf = NULL;
    if (s) return s;
    p = hps_mem_new(1, sizeof *p);
    s = read_stages(&h, &stage, &R);
    if (!s) s = read_windows(&h, p, stage, R);
    bool traced = !s && hps_h5_has(&h, "spans/rank");
    s = hps_h5_read(&h, s);
    hps_mem_free(stage);
    if (!s && traced) s = read_spans(path, p);
    if (s)
        hps_perf_free(p);
    else
        *perf = p;
    return s;
}

void hps_perf_free(struct hps_perf *perf)
{
    if (!perf) return;
    hps_mem_free(perf->span);
    hps_mem_free(perf->window);
    hps_mem_free(perf);
}
