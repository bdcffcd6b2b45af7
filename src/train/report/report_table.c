/* report_table.c - the printed report: at most 41 lines of 100 columns. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "train/report/report_impl.h"

enum { HEAD_LINES = 3, MAX_STAGES = 5, MAX_LAYERS = 3, MAX_PLANS = 2, ASYNC_LINES = 2 };

static const json_t *list_of(const json_t *report, const char *key, size_t *n)
{
    const json_t *list = json_object_get(report, key);
    *n = json_array_size(list);
    return list;
}

static void real(struct hps_page *t, double x, int width)
{
    char text[32];
    hps_page_fit(t, hps_page_real(text, sizeof text, x), -width);
}

static void share(struct hps_page *t, double x, int width)
{
    if (isnan(x))
        hps_page_add(t, "%*s", width, "-");
    else
        hps_page_add(t, "%*.1f %%", width - 2, 100 * x);
}

/* "3, 7-12": the idle ranks, as many as fit in `width` columns. */
static void left_out(struct hps_page *t, const json_t *idle, size_t n, int width)
{
    struct hps_page list = { 0 };

    for (size_t i = 0, j; i < n; i = j + 1) {
        long long first = hps_report_whole(json_array_get(idle, i), "rank"), last = first;
        for (j = i; j + 1 < n; j++, last++)
            if (hps_report_whole(json_array_get(idle, j + 1), "rank") != last + 1) break;
        hps_page_add(&list, "%s%lld", i ? ", " : "", first);
        if (last > first) hps_page_add(&list, "-%lld", last);
    }
    if (list.at) hps_page_cut(t, list.at, width);
    hps_mem_free(list.at);
}

/* "plans: 2; steps 1-200: 18234 examples/s, 201-1000: 50123 examples/s": the last of them. */
static void plans(struct hps_page *t, const json_t *r)
{
    size_t n;
    const json_t *list = list_of(r, "plans", &n);
    char rate[32];

    if (n < 2) return;
    hps_page_add(t, "plans: %zu; ", n);
    for (size_t i = n > MAX_PLANS ? n - MAX_PLANS : 0; i < n; i++) {
        const json_t *one = json_array_get(list, i);
        hps_page_add(t, "%ssteps %lld-%lld at %s", i + MAX_PLANS > n && i ? ", " : "",
                     hps_report_whole(one, "first_step"), hps_report_whole(one, "last_step"),
                     hps_page_real(rate, sizeof rate, hps_report_real(one, "examples_s")));
    }
    hps_page_add(t, " examples/s\n");
}

/* "heuristic's plan in place of greedy's, which was stopped; until step 9 planned by greedy, in
 * another layout: layers 0-7 on 1 cpu (...)" */
static void origin(struct hps_page *t, const json_t *r)
{
    const json_t *was = json_object_get(r, "before");
    const char *layout = hps_report_word(was, "layout");
    const char *instead = hps_report_word(json_object_get(r, "plan"), "instead_of");
    bool same = strcmp(layout, hps_report_word(r, "layout")) == 0;

    if (*instead) {
        hps_page_add(t, "no plan of ");
        hps_page_cut(t, instead, 16);
        hps_page_add(t, " was found before the search was stopped\n");
    }
    if (!json_is_object(was)) return;
    hps_page_add(t, "until step %lld planned by ", hps_report_whole(was, "last_step"));
    hps_page_cut(t, hps_report_word(was, "plan_origin"), same ? 40 : 18);
    hps_page_add(t, same ? ", in the same layout" : ", in another layout: ");
    if (!same) hps_page_cut(t, layout, 28);
    hps_page_add(t, "\n");
}

static void head(struct hps_page *t, const json_t *r)
{
    double now = hps_report_real(r, "seconds_now"), seconds = hps_report_real(r, "seconds");
    size_t n;
    const json_t *idle = list_of(r, "idle", &n);

    hps_page_add(t, "run ");
    hps_page_cut(t, hps_report_word(r, "name"), 18);
    hps_page_add(t, " %s: %lld of %lld steps, %lld examples in ",
                 json_is_true(json_object_get(r, "finished")) ? "finished" : "stopped",
                 hps_report_whole(r, "steps"), hps_report_whole(r, "steps_total"),
                 hps_report_whole(r, "examples"));
    hps_page_add(t, "%.*f s\n", seconds < 100 ? 2 : 0, isnan(seconds) ? 0 : seconds);
    hps_page_add(t, "ranks started: %lld, units in the plan: %lld, planned by ",
                 hps_report_whole(r, "ranks"), hps_report_whole(r, "units"));
    hps_page_cut(t, hps_report_word(json_object_get(r, "plan"), "method"), 16);
    hps_page_add(t, ", ");
    hps_page_cut(t, hps_report_word(r, "precision"), 8);
    if (n) {
        hps_page_add(t, ", left out: %s ", n > 1 ? "ranks" : "rank");
        left_out(t, idle, n, 18);
    }
    hps_page_add(t, "\n");
    origin(t, r);
    if (now < seconds * (1 - 1e-9))
        hps_page_add(t, "times of stages and regions are of the last start: %.2f s\n", now);
    plans(t, r);
}

/* As many stages as the limit of lines allows. */
static size_t most_stages(const struct hps_page *t, const json_t *r)
{
    bool async = json_is_array(json_object_get(r, "servers"));
    size_t max = MAX_STAGES + HEAD_LINES - (async ? ASYNC_LINES : 0), min = async ? 1 : 2;

    for (const char *c = t->at; *c; c++)
        max -= *c == '\n' && max > min;
    return max < MAX_STAGES ? max : MAX_STAGES;
}

static void stages(struct hps_page *t, const json_t *r)
{
    size_t n, max = most_stages(t, r);
    const json_t *list = list_of(r, "stages", &n);

    hps_page_add(t, "\n%-33s %-10s %6s %9s %9s %9s  %s\n", "stage", "type", "units", "compute",
                 "move", "wait", "most off promise");
    for (size_t s = 0; s < n && s < max; s++) {
        const json_t *one = json_array_get(list, s);
        long long first = hps_report_whole(one, "first"), last = hps_report_whole(one, "last");
        hps_page_add(t, "%5zu  ", s);
        hps_page_fit(t, hps_report_word(one, "first_name"), first < last ? 11 : 26);
        if (first < last) {
            hps_page_add(t, " .. ");
            hps_page_fit(t, hps_report_word(one, "last_name"), 11);
        }
        hps_page_add(t, " ");
        hps_page_fit(t, hps_report_word(one, "type"), 10);
        hps_page_add(t, " %6lld", hps_report_whole(one, "units"));
        share(t, hps_report_real(one, "compute"), 10);
        share(t, hps_report_real(one, "move"), 10);
        share(t, hps_report_real(one, "wait"), 10);
        if (*hps_report_word(one, "most_off"))
            hps_page_add(t, "  %s %+.1f %%", hps_report_word(one, "most_off"),
                         100 * hps_report_real(one, "most_off_share"));
        hps_page_add(t, "\n");
    }
    if (n > max) hps_page_add(t, "       and %zu more stages\n", n - max);
    for (size_t s = 0; s < n; s++) {
        const json_t *with = json_object_get(json_array_get(list, s), "shares");
        if (json_is_integer(with))
            hps_page_add(t, "stage %zu works on the units of stage %lld\n", s,
                         (long long)json_integer_value(with));
    }
}

static void promise(struct hps_page *t, const json_t *r, const char *what, const char *measured,
                    const char *predicted, const char *model)
{
    double got = hps_report_real(r, measured), said = hps_report_real(r, predicted);

    hps_page_add(t, "%-24s", what);
    real(t, got, 15);
    real(t, said, 15);
    real(t, hps_report_real(r, model), 15);
    real(t, got / said, 22);
    hps_page_add(t, "\n");
}

static void promises(struct hps_page *t, const json_t *r)
{
    double bubble = hps_report_real(r, "bubble"), hits = hps_report_real(r, "tier_hits");
    double joules = hps_report_real(r, "gpu_joules");
    char text[32];

    hps_page_add(t, "\n%-24s%15s%15s%15s%22s\n", "", "measured", "promised", "paper's model",
                 "measured/promised");
    if (!isnan(hps_report_real(r, "step_median_s")))
        promise(t, r, "seconds a step, median", "step_median_s", "predicted_step_s",
                "model_step_s");
    promise(t, r, "examples/s", "examples_s", "predicted_examples_s", "model_examples_s");
    promise(t, r, "seconds an epoch", "seconds_epoch", "predicted_seconds_epoch",
            "model_seconds_epoch");
    promise(t, r, "USD an epoch", "usd_epoch", "predicted_usd_epoch", "model_usd_epoch");
    if (!isnan(bubble)) {
        hps_page_add(t, "%-24s", "pipeline bubble");
        share(t, bubble, 15);
        share(t, hps_report_real(r, "predicted_bubble"), 15);
        share(t, hps_report_real(r, "bubble_1f1b"), 15);
        hps_page_add(t, "%22s\n", "last: 1F1B's, equal");
    }
    if (!isnan(hits)) {
        hps_page_add(t, "%-24s", "rows in fast memory");
        share(t, hits, 15);
        hps_page_add(t, ", and %.3g GB moved\n", 1e-9 * hps_report_real(r, "tier_bytes"));
    }
    hps_page_add(t, "%-24s", "USD so far");
    real(t, hps_report_real(r, "usd"), 15);
    if (hps_report_real(r, "usd_idle") > 0) {
        hps_page_add(t, ", and %s for ranks left out",
                     hps_page_real(text, sizeof text, hps_report_real(r, "usd_idle")));
    }
    if (!isnan(joules))
        hps_page_add(t, "; GPUs used %s J", hps_page_real(text, sizeof text, joules));
    hps_page_add(t, "\n");
}

static void regions(struct hps_page *t, const json_t *r)
{
    size_t n;
    const json_t *list = list_of(r, "regions", &n);
    bool gpu = n > 0 && json_object_get(json_array_get(list, 0), "gpu_s");

    hps_page_add(t, "\n%-15s%15s%12s%12s%12s%10s%s\n", "region", "calls", "min s", "avg s",
                 "max s", "share", gpu ? "       GPU s" : "");
    for (size_t g = 0; g < n && g < HPS_REGIONS; g++) {
        const json_t *one = json_array_get(list, g);
        if (hps_report_whole(one, "calls") <= 0) continue;
        hps_page_fit(t, hps_report_word(one, "name"), 15);
        hps_page_add(t, "%15lld%12.3f%12.3f%12.3f", hps_report_whole(one, "calls"),
                     hps_report_real(one, "min_s"), hps_report_real(one, "avg_s"),
                     hps_report_real(one, "max_s"));
        share(t, hps_report_real(one, "share_now"), 10);
        if (gpu) hps_page_add(t, "%12.3f", hps_report_real(one, "gpu_s"));
        hps_page_add(t, "\n");
    }
}

/* The index of the largest `oct` below `under` (by value, then index). */
static size_t next_layer(const json_t *list, size_t n, double under, size_t after)
{
    size_t best = n;
    double max = -1;

    for (size_t l = 0; l < n; l++) {
        double oct = hps_report_real(json_array_get(list, l), "oct");
        bool left = oct < under || (oct == under && l > after);
        if (left && oct > max) {
            max = oct;
            best = l;
        }
    }
    return best;
}

/* Is there a line of row caches, for which a layer leaves? */
static bool has_cache(const json_t *r)
{
    return json_is_object(json_object_get(r, "row_cache"));
}

/* The slowest layers with their rooflines, fewer where the table has other lines; nothing where no
 * roofline is known. */
static void layers(struct hps_page *t, const json_t *r)
{
    size_t n, at = 0;
    const json_t *list = list_of(r, "layers", &n);
    double under = INFINITY;
    int most = MAX_LAYERS - has_cache(r) - hps_report_nmessages(r) - hps_report_has_tiers(r);

    for (int k = 0; k < most; k++) {
        at = next_layer(list, n, under, at);
        const json_t *one = json_array_get(list, at);
        double roof = hps_report_real(one, "roofline");
        if (at == n || (k == 0 && isnan(roof))) return;
        if (k == 0)
            hps_page_add(t, "\n%-30s%6s%12s%12s%12s%12s%10s\n", "slowest layers", "stage",
                         "ms/batch", "GFLOP/s", "GB/s", "roofline", "bound");
        under = hps_report_real(one, "oct");
        hps_page_fit(t, hps_report_word(one, "name"), 30);
        hps_page_add(t, "%6lld", hps_report_whole(one, "stage"));
        real(t, under * 1e3, 12);
        real(t, hps_report_real(one, "flops_s") / 1e9, 12);
        real(t, hps_report_real(one, "bytes_s") / 1e9, 12);
        share(t, roof, 12);
        hps_page_add(t, "%10s\n", hps_report_word(one, "bound"));
    }
}

static void quality(struct hps_page *t, const json_t *r)
{
    static const char *const known[][2] = {
        { "auc", "AUC" }, { "logloss", "log loss" }, { "calibration", "calibration" },
        { "accuracy", "accuracy" }, { "rmse", "rmse" }, { "loss", "loss" }, { NULL, NULL }
    };
    const json_t *test = json_object_get(r, "test");
    char text[32];

    hps_page_add(t, "\ntrain: loss %s\n",
                 hps_page_real(text, sizeof text, hps_report_real(r, "train_loss")));
    if (!json_is_object(test)) return;
    hps_page_add(t, "test:  ");
    for (const char *const (*k)[2] = known; (*k)[0]; k++)
        if (!isnan(hps_report_real(test, (*k)[0])) &&
            (strcmp((*k)[0], "loss") != 0 || isnan(hps_report_real(test, "logloss"))))
            hps_page_add(t, "%s %s, ", (*k)[1],
                         hps_page_real(text, sizeof text, hps_report_real(test, (*k)[0])));
    hps_page_add(t, "%lld examples\n", hps_report_whole(test, "examples"));
}

char *hps_report_table(const json_t *report)
{
    struct hps_page t = { 0 };

    head(&t, report);
    stages(&t, report);
    promises(&t, report);
    hps_report_table_async(&t, report);
    hps_report_table_messages(&t, report);
    hps_report_table_tiers(&t, report);
    regions(&t, report);
    layers(&t, report);
    quality(&t, report);
    return t.at;
}
