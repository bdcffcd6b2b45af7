/* report_html.c - the report as one self-contained page: table, plots, timeline. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "train/report/report_impl.h"

enum { MAX_POINTS = 200, MAX_SPANS = 8000 };

static const char style[] =
    "<style>:root{color-scheme:light dark;--ink:#1c2430;--soft:#5d6b7c;--grid:#e2e6ec;--back:#fff}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e8ecf2;--soft:#9aa7b8;--grid:#333c49;"
    "--back:#171c23}}"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);"
    "max-width:1340px;margin:2em auto;padding:0 1em}"
    "h1{font-size:1.4em}pre{font:13px/1.4 ui-monospace,monospace;overflow-x:auto}"
    ".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,520px),1fr));"
    "gap:1em}svg{width:100%;height:auto}text{font-size:11px;fill:var(--soft)}"
    ".title{font-size:13px;font-weight:600;fill:var(--ink)}.grid{stroke:var(--grid)}"
    ".frame{fill:none;stroke:var(--soft)}.line{fill:none;stroke-width:1.8}.dot{fill:#2a78b8}"
    ".line.got{stroke:#2a78b8}.line.said{stroke:#d95f02;stroke-dasharray:6 4}"
    ".line.model{stroke:#8c8c8c;stroke-dasharray:2 3}rect.got{fill:#2a78b8}rect.said{fill:#d95f02}"
    "rect.model{fill:#8c8c8c}"
    ".key{color:var(--soft);font-size:13px}.key i{display:inline-block;width:.8em;height:.8em;"
    "margin:0 .35em 0 1em}";

static const char *const colour[HPS_REGIONS] = {
    "#b58900", "#2a78b8", "#1b9e77", "#66c2a5", "#7fb3e0", "#e6ab02",
    "#d95f02", "#f4a582", "#b8bfc9", "#7570b3", "#555e6b"
};

static void styles(struct hps_page *t)
{
    hps_page_add(t, "%s", style);
    for (int g = 0; g < HPS_REGIONS; g++)
        hps_page_add(t, ".r%d{fill:%s}", g, colour[g]);
    hps_page_add(t, "</style>\n");
}

static void key_of_regions(struct hps_page *t)
{
    hps_page_add(t, "<p class=\"key\">");
    for (int g = 0; g < HPS_REGIONS; g++)
        hps_page_add(t, "<i style=\"background:%s\"></i>%s", colour[g], hps_region_name[g]);
    hps_page_add(t, "</p>\n");
}

/* The largest of three numbers, ignoring NaN. */
static double most_of(double a, double b, double c)
{
    return fmax(fmax(isfinite(a) ? a : 0, isfinite(b) ? b : 0), isfinite(c) ? c : 0);
}

/* Three bars for each quantity, relative to the longest: measured, promised, the paper's model. */
static void plot_promises(struct hps_page *t, const json_t *r)
{
    static const char *const key[3][3] = {
        { "examples_s", "predicted_examples_s", "model_examples_s" },
        { "seconds_epoch", "predicted_seconds_epoch", "model_seconds_epoch" },
        { "usd_epoch", "predicted_usd_epoch", "model_usd_epoch" }
    };
    static const char *const what[] = { "examples/s", "seconds an epoch", "USD an epoch" };
    static const char *const who[] = { "measured", "promised", "paper's model" };
    static const char *const class[] = { "got", "said", "model" };
    const struct hps_plot p = { t, 0, 13, 0, 1.1, true, true };

    hps_plot_begin(&p, "Measured (blue), promised (orange), by the paper's model (grey)", "", "");
    for (int q = 0; q < 3; q++) {
        double x[3], max;
        hps_plot_word(&p, 'x', 2.5 + 4 * q, what[q]);
        for (int k = 0; k < 3; k++)
            x[k] = hps_report_real(r, key[q][k]);
        max = most_of(x[0], x[1], x[2]);
        for (int k = 0; k < 3 && max > 0; k++) {
            char tip[96], number[32];
            snprintf(tip, sizeof tip, "%s %s: %s", what[q], who[k],
                     hps_page_real(number, sizeof number, x[k]));
            hps_plot_box(&p, 1 + 4 * q + k, 1.8 + 4 * q + k, 0, x[k] / max, class[k], tip);
        }
    }
    hps_plot_end(&p);
}

/* Windows i to j - 1 as one. Plots omit window 0, which begins with the program. */
static struct hps_perf_window sum_of(const struct hps_perf *perf, int i, int j)
{
    struct hps_perf_window sum = perf->window[j - 1];

    for (int k = i; k < j - 1; k++) {
        sum.seconds += perf->window[k].seconds;
        for (int g = 0; g < HPS_REGIONS; g++)
            sum.region[g] += perf->window[k].region[g];
    }
    return sum;
}

static int group_of(const struct hps_perf *perf)
{
    return 1 + perf->nwindow / MAX_POINTS;
}

static void plot_rate(struct hps_page *t, const json_t *r, const struct hps_perf *perf)
{
    double said = hps_report_real(r, "predicted_examples_s"), max = isfinite(said) ? said : 0;
    double x[MAX_POINTS + 1], y[MAX_POINTS + 1];
    int n = 0, group = group_of(perf);

    for (int i = 1; i < perf->nwindow; i += group) {
        int j = i + group < perf->nwindow ? i + group : perf->nwindow;
        struct hps_perf_window w = sum_of(perf, i, j);
        double steps = (double)(w.step - perf->window[i - 1].step);
        x[n] = (double)w.step;
        y[n] = steps * hps_report_real(r, "batch") / w.seconds;
        if (isfinite(y[n])) max = fmax(max, y[n]);
        n++;
    }
    if (n < 2 || !(max > 0)) return;
    const struct hps_plot p = { t, x[0], x[n - 1], 0, 1.1 * max, false, false };
    const double ends[] = { x[0], x[n - 1] }, promise[] = { said, said };
    hps_plot_begin(&p, "Examples per second (dashed: promised)", "step", "");
    hps_plot_line(&p, 2, ends, promise, "said");
    hps_plot_line(&p, n, x, y, "got");
    hps_plot_end(&p);
}

/* A stacked bar from step x0 on: the shares of its time. */
static void stack(const struct hps_plot *p, double x0, const struct hps_perf_window *w)
{
    double below = 0;

    for (int g = 0; g < HPS_REGIONS; g++) {
        char class[16], tip[96];
        double share = 100 * w->region[g] / w->seconds;
        if (!(share > 0)) continue;
        snprintf(class, sizeof class, "r%d", g);
        snprintf(tip, sizeof tip, "%s %.1f %%", hps_region_name[g], share);
        hps_plot_box(p, x0, (double)w->step, below, fmin(below + share, 100), class, tip);
        below = fmin(below + share, 100);
    }
}

static void plot_regions(struct hps_page *t, const struct hps_perf *perf)
{
    int n = perf->nwindow, group = group_of(perf);

    if (n < 2) return;
    const struct hps_plot p = { t, (double)perf->window[0].step, (double)perf->window[n - 1].step,
                                0, 100, false, false };
    hps_plot_begin(&p, "Where the time went, average of the ranks", "step", "% of time");
    for (int i = 1; i < n; i += group) {
        struct hps_perf_window w = sum_of(perf, i, i + group < n ? i + group : n);
        stack(&p, (double)perf->window[i - 1].step, &w);
    }
    hps_plot_end(&p);
}

static void plot_loss(struct hps_page *t, const json_t *r)
{
    const json_t *list = json_object_get(r, "loss");
    int n = (int)json_array_size(list);
    double *x = hps_mem_new((size_t)n, sizeof *x), *y = hps_mem_new((size_t)n, sizeof *y);
    double min = INFINITY, max = -INFINITY;

    for (int i = 0; i < n; i++) {
        const json_t *point = json_array_get(list, (size_t)i), *value = json_array_get(point, 1);
        x[i] = json_number_value(json_array_get(point, 0));
        y[i] = json_is_number(value) ? json_number_value(value) : NAN;
        min = fmin(min, y[i]);
        max = fmax(max, y[i]);
    }
    if (n > 1 && x[n - 1] > x[0] && max > min) {
        double room = 0.05 * (max - min);
        const struct hps_plot p = { t, x[0], x[n - 1], min - room,
                                    max + room, false, false };
        hps_plot_begin(&p, "Training loss", "step", "");
        hps_plot_line(&p, n, x, y, "got");
        hps_plot_end(&p);
    }
    hps_mem_free(y);
    hps_mem_free(x);
}

static void plot_calibration(struct hps_page *t, const json_t *r)
{
    const json_t *bins = json_object_get(json_object_get(r, "test"), "calibration_bins");
    const struct hps_plot p = { t, 0, 1, 0, 1, false, false };
    const double ends[] = { 0, 1 };
    double all = hps_report_real(json_object_get(r, "test"), "examples");

    if (json_array_size(bins) == 0) return;
    hps_plot_begin(&p, "Calibration on the test split", "predicted", "share of positives");
    hps_plot_line(&p, 2, ends, ends, "model");
    for (size_t b = 0; b < json_array_size(bins); b++) {
        const json_t *bin = json_array_get(bins, b);
        double n = hps_report_real(bin, "examples");
        char tip[64];
        snprintf(tip, sizeof tip, "%.0f examples", n);
        hps_plot_dot(&p, hps_report_real(bin, "score"), hps_report_real(bin, "positives"),
                     3 + 9 * sqrt(n / all), tip);
    }
    hps_plot_end(&p);
}

/* The roofline plot: layers and the roofs of the types, both axes logarithmic. */
static void plot_roofline(struct hps_page *t, const json_t *r)
{
    const json_t *layers = json_object_get(r, "layers"), *types = json_object_get(r, "types");
    const struct hps_plot p = { t, -2, 3, -3, 5, false, false };

    if (isnan(hps_report_real(json_array_get(layers, 0), "roofline"))) return;
    hps_plot_begin(&p, "Layers under the roof of their hardware", "log10 flop per byte",
                   "log10 GFLOP/s");
    for (size_t k = 0; k < json_array_size(types); k++) {
        const json_t *type = json_array_get(types, k);
        double slow = fmax(hps_report_real(type, "slow"), 1);
        double peak = log10(hps_report_real(type, "sgemm_flops_s") / slow / 1e9);
        double rate = log10(hps_report_real(type, "memory_bytes_s") / slow / 1e9);
        const double x[] = { -2, peak - rate, 3 }, y[] = { rate - 2, peak, peak };
        hps_plot_line(&p, 3, x, y, "said");
    }
    for (size_t l = 0; l < json_array_size(layers); l++) {
        const json_t *one = json_array_get(layers, l);
        double flops = hps_report_real(one, "flops"), bytes = hps_report_real(one, "bytes");
        double x = log10(flops / bytes), y = log10(hps_report_real(one, "flops_s") / 1e9);
        if (x >= p.x0 && x <= p.x1 && y >= p.y0 && y <= p.y1)
            hps_plot_dot(&p, x, y, 4, hps_report_word(one, "name"));
    }
    hps_plot_end(&p);
}

/* The timeline of two steps of every rank, rank 0 on top. */
static void plot_timeline(struct hps_page *t, const struct hps_perf *perf)
{
    double from = INFINITY, to = -INFINITY;
    int ranks = 0;

    for (int i = 0; i < perf->nspan; i++) {
        from = fmin(from, perf->span[i].begin_s);
        to = fmax(to, perf->span[i].end_s);
        ranks = perf->span[i].rank >= ranks ? perf->span[i].rank + 1 : ranks;
    }
    if (!(to > from)) return;
    const struct hps_plot p = { t, 0, 1e3 * (to - from), -ranks, 0, false, true };
    hps_plot_begin(&p, "Two steps of every rank", "ms", "");
    for (int r = 0; r < ranks; r += 1 + ranks / 24) {
        char word[32];
        snprintf(word, sizeof word, "rank %d", r);
        hps_plot_word(&p, 'y', -r - 0.5, word);
    }
    for (int i = 0; i < perf->nspan && i < MAX_SPANS; i++) {
        const struct hps_perf_span *s = &perf->span[i];
        char class[16], tip[96];
        snprintf(class, sizeof class, "r%d", s->region);
        snprintf(tip, sizeof tip, "rank %d stage %d: %s %.3f ms", s->rank, s->stage,
                 hps_region_name[s->region], 1e3 * (s->end_s - s->begin_s));
        hps_plot_box(&p, 1e3 * (s->begin_s - from), 1e3 * (s->end_s - from), -s->rank - 0.9,
                     -s->rank - 0.1, class, tip);
    }
    hps_plot_end(&p);
}

char *hps_report_html(const json_t *report, const struct hps_perf *perf)
{
    struct hps_page t = { 0 };
    char *table = hps_report_table(report);

    hps_page_add(&t, "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width\"><title>heterps: ");
    hps_page_xml(&t, hps_report_word(report, "name"));
    hps_page_add(&t, "</title>\n");
    styles(&t);
    hps_page_add(&t, "</head><body><h1>heterps: ");
    hps_page_xml(&t, hps_report_word(report, "name"));
    hps_page_add(&t, "</h1>\n<pre>");
    hps_page_xml(&t, table);
    hps_page_add(&t, "</pre>\n<div class=\"plots\">\n");
    plot_promises(&t, report);
    plot_loss(&t, report);
    plot_rate(&t, report, perf);
    plot_regions(&t, perf);
    plot_calibration(&t, report);
    plot_roofline(&t, report);
    hps_report_plot_async(&t, report);
    plot_timeline(&t, perf);
    hps_page_add(&t, "</div>\n");
    key_of_regions(&t);
    hps_page_add(&t, "</body></html>\n");
    hps_mem_free(table);
    return t.at;
}
