/* report_async.c - what the report has of workers that did not wait for each other: their servers,
 * how stale gradients were, their clocks over time. */
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "train/report/report_impl.h"

/* ---- into the report ---- */

static json_t *servers_of(const struct hps_served *v)
{
    json_t *list = json_array();

    for (int i = 0; i < v->N; i++) {
        const struct hps_server_work *w = &v->work[i];
        json_t *one = json_object();
        hps_report_put_whole(one, "rank", v->rank[i]);
        hps_report_put_whole(one, "clocks", w->clocks);
        hps_report_put_whole(one, "rows_pulled", w->rows_pulled);
        hps_report_put_whole(one, "rows_pushed", w->rows_pushed);
        hps_report_put_real(one, "bytes", w->bytes);
        hps_report_put_real(one, "seconds", w->seconds);
        hps_report_put_real(one, "busy_share", w->busy_s / w->seconds);
        hps_report_put_real(one, "queue", (double)w->nserved / (double)w->npass);
        hps_report_append(list, one);
    }
    return list;
}

/* Bins up to the last one with a gradient; null: there was no gradient. */
static json_t *staleness_of(const struct hps_staleness *s)
{
    json_t *one = json_object(), *from = json_array(), *n = json_array();
    long long all = 0;
    int nbin = 0;

    for (int b = 0; b < HPS_STALENESS_BINS; b++) {
        all += s->n[b];
        if (s->n[b] > 0) nbin = b + 1;
    }
    for (int b = 0; b < nbin; b++) {
        hps_report_append(from, json_integer(hps_staleness_from(b)));
        hps_report_append(n, json_integer(s->n[b]));
    }
    hps_report_put_real(one, "mean", s->sum / (double)all);
    hps_report_put_whole(one, "max", s->max);
    hps_report_put(one, "from", from);
    hps_report_put(one, "n", n);
    if (all > 0) return one;
    json_decref(one);
    return json_null();
}

static json_t *clocks_of(const struct hps_clock_samples *t)
{
    static const char *const summary[] = { "slowest", "median", "fastest" };
    json_t *one = json_object(), *seconds = json_array(), *clocks = json_array();
    json_t *of = json_array();

    for (int i = 0; i < t->n; i++)
        hps_report_append(seconds, hps_json_real(t->s[i]));
    for (int c = 0; c < t->ncurve; c++) {
        json_t *curve = json_array();
        for (int i = 0; i < t->n; i++)
            hps_report_append(curve, json_integer(t->clock[i][c]));
        hps_report_append(clocks, curve);
        hps_report_append(of, t->W > HPS_CLOCK_CURVES ? hps_json_word(summary[c])
                                                      : json_integer(c));
    }
    hps_report_put(one, "workers", of);
    hps_report_put(one, "seconds", seconds);
    hps_report_put(one, "clocks", clocks);
    return one;
}

/* null: there was no cache. */
static json_t *cache_of(const struct hps_ps_cached *c)
{
    if (c->rows == 0) return json_null();
    json_t *one = json_object();
    hps_report_put_whole(one, "rows", c->rows);
    hps_report_put_whole(one, "hits", c->hits);
    hps_report_put_whole(one, "returned", c->returned);
    hps_report_put_real(one, "bytes_saved", c->bytes);
    return one;
}

void hps_report_put_async(json_t *j, const struct hps_report_input *f)
{
    const struct hps_served *v = f->served;
    json_t *staleness = v ? json_object() : json_null();

    if (v) {
        hps_report_put(staleness, "rows", staleness_of(&v->rows));
        hps_report_put(staleness, "dense", staleness_of(&v->dense));
    }
    hps_report_put(j, "servers", v ? servers_of(v) : json_null());
    hps_report_put(j, "staleness", staleness);
    hps_report_put(j, "row_cache", v ? cache_of(&v->cached) : json_null());
    hps_report_put(j, "worker_clocks", v ? clocks_of(&v->samples) : json_null());
}

/* ---- the table ---- */

static void stale(struct hps_page *t, const char *what, const json_t *of)
{
    char text[32];

    if (!json_is_object(of)) return;
    hps_page_add(t, "%s %s, at most %lld", what,
                 hps_page_real(text, sizeof text, hps_report_real(of, "mean")),
                 hps_report_whole(of, "max"));
}

static void table_cache(struct hps_page *t, const json_t *c)
{
    char text[2][32];

    if (!json_is_object(c)) return;
    hps_page_add(t, "row caches: %.1f %% of %s rows, %s bytes saved\n",
                 100 * hps_report_real(c, "hits") / hps_report_real(c, "rows"),
                 hps_page_real(text[0], sizeof text[0], hps_report_real(c, "rows")),
                 hps_page_real(text[1], sizeof text[1], hps_report_real(c, "bytes_saved")));
}

void hps_report_table_async(struct hps_page *t, const json_t *r)
{
    const json_t *list = json_object_get(r, "servers"), *s = json_object_get(r, "staleness");
    const json_t *rows = json_object_get(s, "rows"), *dense = json_object_get(s, "dense");
    double busy = 0, most = 0, clocks = 0, pulled = 0, queue = 0;
    size_t n = json_array_size(list);
    char text[3][32];

    if (n == 0) return;
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(list, i);
        double seconds = hps_report_real(one, "seconds");
        busy += hps_report_real(one, "busy_share") / (double)n;
        most = fmax(most, hps_report_real(one, "busy_share"));
        clocks += hps_report_real(one, "clocks") / seconds / (double)n;
        pulled += hps_report_real(one, "rows_pulled") / seconds;
        queue += hps_report_real(one, "queue") / (double)n;
    }
    hps_page_add(t, "servers: %zu, busy %.1f %% (at most %.1f %%), %s clocks/s, %s rows/s, queue "
                 "%s\n", n, 100 * busy, 100 * most,
                 hps_page_real(text[0], sizeof text[0], clocks),
                 hps_page_real(text[1], sizeof text[1], pulled),
                 hps_page_real(text[2], sizeof text[2], queue));
    table_cache(t, json_object_get(r, "row_cache"));
    if (!json_is_object(rows) && !json_is_object(dense)) return;
    hps_page_add(t, "mean staleness: ");
    stale(t, "rows", rows);
    stale(t, json_is_object(rows) ? "; dense weights" : "dense weights", dense);
    hps_page_add(t, "\n");
}

/* ---- the page ---- */

/* Gradients of this kind: how many there are, and the share of the largest bin. */
static double sum_of(const json_t *kind, double *most)
{
    const json_t *n = json_object_get(kind, "n");
    double sum = 0;

    for (size_t b = 0; b < json_array_size(n); b++)
        sum += json_number_value(json_array_get(n, b));
    for (size_t b = 0; b < json_array_size(n) && sum > 0; b++)
        *most = fmax(*most, json_number_value(json_array_get(n, b)) / sum);
    return sum;
}

static void bars(const struct hps_plot *p, const json_t *kind, double sum, double at,
                 const char *style)
{
    const json_t *n = json_object_get(kind, "n");

    for (size_t b = 0; b < json_array_size(n) && sum > 0; b++) {
        double x = json_number_value(json_array_get(n, b));
        char tip[64];
        snprintf(tip, sizeof tip, "%.0f gradients", x);
        hps_plot_box(p, (double)b + at, (double)b + at + 0.36, 0, 100 * x / sum, style, tip);
    }
}

static void plot_staleness(struct hps_page *t, const json_t *r)
{
    const json_t *s = json_object_get(r, "staleness");
    const json_t *rows = json_object_get(s, "rows"), *dense = json_object_get(s, "dense");
    const json_t *a = json_object_get(rows, "from"), *b = json_object_get(dense, "from");
    const json_t *from = json_array_size(a) > json_array_size(b) ? a : b;
    double most = 0, nrow = sum_of(rows, &most), ndense = sum_of(dense, &most);
    size_t n = json_array_size(from);

    if (n == 0 || !(most > 0)) return;
    const struct hps_plot p = { t, 0, (double)n, 0, 105 * most, true, false };
    hps_plot_begin(&p, "Staleness of gradients: of rows (blue), of dense weights (orange)",
                   "updates since the pull", "% of them");
    for (size_t i = 0; i < n; i++) {
        long long first = json_integer_value(json_array_get(from, i));
        char word[48];
        snprintf(word, sizeof word, first < 4 ? "%lld" : "%lld-%lld", first, 2 * first - 1);
        hps_plot_word(&p, 'x', (double)i + 0.5, word);
    }
    bars(&p, rows, nrow, 0.14, "got");
    bars(&p, dense, ndense, 0.5, "said");
    hps_plot_end(&p);
}

static double *reals_of(const json_t *list, size_t n)
{
    double *x = hps_mem_new(n, sizeof *x);

    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(list, i);
        x[i] = json_is_number(value) ? json_number_value(value) : NAN;
    }
    return x;
}

static void plot_clocks(struct hps_page *t, const json_t *r)
{
    const json_t *all = json_object_get(r, "worker_clocks");
    const json_t *seconds = json_object_get(all, "seconds");
    const json_t *list = json_object_get(all, "clocks");
    size_t n = json_array_size(seconds), ncurve = json_array_size(list);
    double *x = reals_of(seconds, n), min = INFINITY, max = -INFINITY;

    for (size_t c = 0; c < ncurve; c++)
        for (size_t i = 0; i < n; i++) {
            const json_t *value = json_array_get(json_array_get(list, c), i);
            if (!json_is_number(value)) continue;
            min = fmin(min, json_number_value(value));
            max = fmax(max, json_number_value(value));
        }
    if (n > 1 && max > min && x[n - 1] > x[0]) {
        const struct hps_plot p = { t, x[0], x[n - 1], min, max, false, false };
        bool each = json_is_integer(json_array_get(json_object_get(all, "workers"), 0));
        hps_plot_begin(&p, each ? "Clocks of the workers, each a line"
                                : "Clocks of the workers: slowest, median, fastest",
                       "seconds", "clocks");
        for (size_t c = 0; c < ncurve; c++) {
            double *y = reals_of(json_array_get(list, c), n);
            hps_plot_line(&p, (int)n, x, y, "got");
            hps_mem_free(y);
        }
        hps_plot_end(&p);
    }
    hps_mem_free(x);
}

void hps_report_plot_async(struct hps_page *t, const json_t *r)
{
    plot_staleness(t, r);
    plot_clocks(t, r);
}
