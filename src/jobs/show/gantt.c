#include "jobs/gantt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/page.h"

/* A row is ROW high, its bars BAR; the frame leaves room for names and times. */
enum { WIDTH = 1200, LEFT = 150, RIGHT = 20, TOP = 64, BOTTOM = 30, ROW = 18, BAR = 14 };

struct chart {
    const struct hps_job_outcomes *o;
    struct hps_page text;
    double restart_s, begin_s, end_s;
    int nrow, *row;             /* of each job              */
};

/* ---- rows ---- */

static double last_of(const struct hps_job_outcomes *o, const double *until, int j)
{
    return isfinite(o->job[j].end_s) ? o->job[j].end_s
                                     : fmax(until[j], o->workload->job[j].arrive_s);
}

/* Until when each job had units. */
static double *until_of(const struct hps_job_outcomes *o)
{
    double *until = hps_mem_new((size_t)o->workload->n, sizeof *until);

    for (size_t i = 0; i < o->nspan; i++)
        until[o->span[i].job] = fmax(until[o->span[i].job], o->span[i].end_s);
    return until;
}

/* The end of a job. */
struct ended {
    double last_s;
    int job;
};

static int earlier(const void *a, const void *b)
{
    const struct ended *x = a, *y = b;

    return x->last_s != y->last_s ? (x->last_s < y->last_s ? -1 : 1) : x->job - y->job;
}

/* A row a job; of many jobs, a row that nobody has any more when one arrives, or a new one. */
static void pack(struct chart *c, const double *until)
{
    int n = c->o->workload->n, *unused = hps_mem_new((size_t)n, sizeof *unused), nunused = 0, k = 0;
    struct ended *end = hps_mem_new((size_t)n, sizeof *end);

    for (int j = 0; j < n; j++) {
        end[j] = (struct ended){ last_of(c->o, until, j), j };
        c->row[j] = -1;
    }
    qsort(end, (size_t)n, sizeof *end, earlier);
    for (int j = 0; j < n; j++) {
        double arrive = c->o->workload->job[j].arrive_s;
        for (; k < n && end[k].last_s <= arrive && c->row[end[k].job] >= 0; k++)
            unused[nunused++] = c->row[end[k].job];
        c->row[j] = n > HPS_GANTT_ROWS && nunused > 0 ? unused[--nunused] : c->nrow++;
    }
    hps_mem_free(end);
    hps_mem_free(unused);
}

static void lay_out(struct chart *c)
{
    const struct hps_job_outcomes *o = c->o;
    double *until = until_of(o);

    c->begin_s = INFINITY;
    for (int j = 0; j < o->workload->n; j++) {
        c->begin_s = fmin(c->begin_s, o->workload->job[j].arrive_s);
        c->end_s = fmax(c->end_s, last_of(o, until, j));
    }
    if (!(c->end_s > c->begin_s)) c->end_s = c->begin_s + 1;
    pack(c, until);
    hps_mem_free(until);
}

static double px(const struct chart *c, double at_s)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * (at_s - c->begin_s) / (c->end_s - c->begin_s);
}

static double py(const struct chart *c, int job)
{
    return TOP + (double)ROW * c->row[job];
}

/* ---- the frame ---- */

/* Hue by hue around the circle in golden steps, so that neighbours differ. */
static void add_style(struct chart *c)
{
    hps_page_add(&c->text, "<style>svg{background:#fff;font-family:sans-serif}"
                 "text{font-size:11px;fill:#5d6b7c}.title{font-size:14px;fill:#1c2430}"
                 ".grid{stroke:#e2e6ec}.wait{stroke:#b8c1cc}.late{stroke:#b0412e;stroke-width:2}"
                 ".start{fill:url(#start)}.n{fill:#fff;font-size:10px}"
                 "rect:hover{opacity:.75}");
    for (int t = 0; t < c->o->pool->T; t++)
        hps_page_add(&c->text, ".t%d{fill:hsl(%.0f,55%%,48%%)}", t,
                     fmod(215 + 137.508 * t, 360));
    hps_page_add(&c->text, "</style>\n<defs><pattern id=\"start\" width=\"6\" height=\"6\" "
                 "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                 "<rect width=\"3\" height=\"6\" fill=\"#fff\" fill-opacity=\".6\"/>"
                 "</pattern></defs>\n");
}

/* 1, 2 or 5 times a power of ten seconds, minutes or so many of them, for about ten ticks. */
static double tick_of(double range_s)
{
    static const double nice[] = { 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200,
                                   86400, 172800, 432000, 864000 };
    double unit = pow(10, floor(log10(range_s / 10))), k = range_s / 10 / unit;

    if (range_s / 10 <= 30) return unit * (k <= 1 ? 1 : k <= 2 ? 2 : k <= 5 ? 5 : 10);
    for (size_t i = 0; i < sizeof nice / sizeof *nice; i++)
        if (range_s / nice[i] <= 10) return nice[i];
    return 86400 * pow(10, ceil(log10(range_s / 10 / 86400)));
}

static void add_time(struct hps_page *text, double at_s, double tick_s)
{
    long long s = llround(at_s);

    if (tick_s < 60)
        hps_page_add(text, "%.6g s", at_s);
    else if (tick_s < 86400)
        hps_page_add(text, "%lld:%02lld h", s / 3600, s / 60 % 60);
    else
        hps_page_add(text, "%lld d", s / 86400);
}

static void add_axis(struct chart *c)
{
    double tick_s = tick_of(c->end_s - c->begin_s), bottom = TOP + (double)ROW * c->nrow;

    for (double k = ceil(c->begin_s / tick_s); k * tick_s <= c->end_s * (1 + 1e-12); k++) {
        double x = px(c, k * tick_s);
        hps_page_add(&c->text, "<path class=\"grid\" d=\"M%.2f %dV%.0f\"/>", x, TOP - 4,
                     bottom + 4);
        for (int end = 0; end < 2; end++) {
            hps_page_add(&c->text, "<text x=\"%.2f\" y=\"%.0f\" text-anchor=\"middle\">", x,
                         end ? bottom + 18 : TOP - 8);
            add_time(&c->text, k * tick_s, tick_s);
            hps_page_add(&c->text, "</text>");
        }
    }
    hps_page_add(&c->text, "\n");
}

static void add_head(struct chart *c)
{
    struct hps_job_figures f = hps_outcomes_figures(c->o);
    int height = TOP + ROW * c->nrow + BOTTOM, x = LEFT;

    hps_page_add(&c->text, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                 "width=\"%d\" height=\"%d\" role=\"img\"><title>jobs on the pool</title>\n", WIDTH,
                 height, WIDTH, height);
    add_style(c);
    hps_page_add(&c->text, "<text class=\"title\" x=\"%d\" y=\"18\">%s: %d jobs, mean JCT %.6g s, "
                 "makespan %.6g s%s</text>\n", LEFT, c->o->policy, c->o->workload->n, f.mean_jct_s,
                 f.makespan_s, c->o->nspan > HPS_GANTT_BARS ? "; not all bars are drawn" : "");
    for (int t = 0; t < c->o->pool->T && x < WIDTH - RIGHT - 100; t++) {
        const struct hps_job_type *type = &c->o->pool->type[t];
        hps_page_add(&c->text, "<rect class=\"t%d\" x=\"%d\" y=\"28\" width=\"12\" height=\"12\"/>"
                     "<text x=\"%d\" y=\"38\">%d ", t, x, x + 17, type->units);
        hps_page_xml(&c->text, type->name);
        hps_page_add(&c->text, "</text>");
        x += 50 + 7 * (int)strlen(type->name) + 24;
    }
    add_axis(c);
}

/* ---- jobs ---- */

/* The name of each row's job (of many, the rows have no names), its wait, its deadline. */
static void add_job(struct chart *c, int j, double last)
{
    const struct hps_pool_job *job = &c->o->workload->job[j];
    double y = py(c, j) + BAR / 2.0;

    if (c->o->workload->n <= HPS_GANTT_ROWS) {
        hps_page_add(&c->text, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 6, y + 4);
        struct hps_page cut = { 0 };
        hps_page_cut(&cut, job->name, 22);
        hps_page_xml(&c->text, cut.at);
        hps_mem_free(cut.at);
        hps_page_add(&c->text, "</text>");
    }
    hps_page_add(&c->text, "<path class=\"wait\" d=\"M%.2f %.1fH%.2f\"/>", px(c, job->arrive_s), y,
                 px(c, last));
    if (job->deadline_s <= c->end_s) {
        hps_page_add(&c->text, "<path class=\"late\" d=\"M%.2f %.1fv%d\"><title>",
                     px(c, job->deadline_s), py(c, j) - 1, BAR + 2);
        hps_page_xml(&c->text, job->name);
        hps_page_add(&c->text, ": deadline at %.6g s</title></path>", job->deadline_s);
    }
    hps_page_add(&c->text, "\n");
}

/* What stands under the pointer on a bar. */
static void add_tip(struct chart *c, const struct hps_job_span *s, const char *units)
{
    hps_page_add(&c->text, "<title>");
    hps_page_xml(&c->text, c->o->workload->job[s->job].name);
    hps_page_add(&c->text, ": ");
    hps_page_xml(&c->text, units);
    hps_page_add(&c->text, ", %.6g s to %.6g s (%.6g s)</title>", s->begin_s, s->end_s,
                 s->end_s - s->begin_s);
}

static void add_bar(struct chart *c, const struct hps_job_span *s)
{
    const struct hps_job_config *config = &c->o->workload->job[s->job].config[s->config];
    double x = px(c, s->begin_s), width = px(c, s->end_s) - x, y = py(c, s->job), high;
    char *units = hps_outcomes_units(c->o, config);
    int all = hps_config_units(config);

    hps_page_add(&c->text, "<g>");
    add_tip(c, s, units);
    for (int i = 0; i < config->nparts; i++, y += high) {
        high = (double)BAR * config->part[i].units / all;
        hps_page_add(&c->text, "<rect class=\"t%d\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                     "height=\"%.2f\"/>", config->part[i].type, x, y, fmax(width, 0.1), high);
    }
    double start = fmin(s->begin_s + c->restart_s, s->end_s);
    if (start > s->begin_s)
        hps_page_add(&c->text, "<rect class=\"start\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                     "height=\"%d\"/>", x, py(c, s->job), px(c, start) - x, BAR);
    if (width > 16)
        hps_page_add(&c->text, "<text class=\"n\" x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">%d"
                     "</text>", x + width / 2, py(c, s->job) + BAR - 3.5, all);
    hps_page_add(&c->text, "</g>\n");
    hps_mem_free(units);
}

char *hps_gantt_svg(const struct hps_job_outcomes *o, double restart_s)
{
    size_t n = (size_t)o->workload->n;
    struct chart c = { .o = o, .restart_s = restart_s, .row = hps_mem_new(n, sizeof *c.row) };
    double *until = until_of(o);

    lay_out(&c);
    add_head(&c);
    for (int j = 0; j < o->workload->n; j++)
        add_job(&c, j, last_of(o, until, j));
    for (size_t i = 0; i < o->nspan && i < HPS_GANTT_BARS; i++)
        add_bar(&c, &o->span[i]);
    hps_page_add(&c.text, "</svg>\n");
    hps_mem_free(until);
    hps_mem_free(c.row);
    return c.text.at;
}
