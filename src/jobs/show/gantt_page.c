/* gantt_page.c - the chart with its figures as a page, and as a file. */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/page.h"
#include "jobs/gantt.h"

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<title>jobs on a pool</title>\n"
    "<style>body{font-family:sans-serif;margin:24px;color:#1c2430}table{border-collapse:collapse}"
    "td,th{padding:2px 10px;text-align:right;border-bottom:1px solid #e2e6ec}"
    "td:first-child,th:first-child{text-align:left}svg{max-width:100%;height:auto}</style>"
    "</head><body>\n";

static void add_figure(struct hps_page *text, const char *what, double x, const char *unit)
{
    char number[64];

    hps_page_add(text, "<tr><td>%s</td><td>%s %s</td></tr>\n", what,
                 hps_page_real(number, sizeof number, x), unit);
}

static void add_figures(struct hps_page *text, const struct hps_job_outcomes *o)
{
    struct hps_job_figures f = hps_outcomes_figures(o);

    hps_page_add(text, "<h1>%s</h1>\n<table id=\"figures\">\n", o->policy);
    hps_page_add(text, "<tr><td>jobs ended</td><td>%d of %d</td></tr>\n", f.ended, o->workload->n);
    add_figure(text, "mean completion time", f.mean_jct_s, "s");
    add_figure(text, "median", f.median_jct_s, "s");
    add_figure(text, "99th percentile", f.p99_jct_s, "s");
    add_figure(text, "makespan", f.makespan_s, "s");
    add_figure(text, "money", f.usd, "USD");
    if (f.deadlines > 0)
        hps_page_add(text, "<tr><td>deadlines met</td><td>%d of %d</td></tr>\n", f.met,
                     f.deadlines);
    add_figure(text, "most time over that alone on a fair share (rho)", f.rho_max, "");
    add_figure(text, "Jain's index of fairness", f.jain, "");
    hps_page_add(text, "<tr><td>changes of units</td><td>%d</td></tr>\n", f.resizes);
    add_figure(text, "lost to starts again", f.lost_to_resizes_s, "s");
    hps_page_add(text, "</table>\n");
}

static void add_jobs(struct hps_page *text, const struct hps_job_outcomes *o)
{
    char number[64];

    hps_page_add(text, "<table id=\"jobs\">\n<tr><th>job</th><th>arrives, s</th><th>starts, s</th>"
                       "<th>ends, s</th><th>changes</th><th>USD</th></tr>\n");
    for (int j = 0; j < o->workload->n && j < HPS_GANTT_ROWS; j++) {
        const struct hps_job_outcome *x = &o->job[j];
        hps_page_add(text, "<tr><td>");
        hps_page_xml(text, o->workload->job[j].name);
        hps_page_add(text, "</td><td>%.6g</td><td>%s</td>", o->workload->job[j].arrive_s,
                     hps_page_real(number, sizeof number, x->start_s));
        hps_page_add(text, "<td>%s</td><td>%d</td>",
                     hps_page_real(number, sizeof number, x->end_s), x->resized + x->preempted);
        hps_page_add(text, "<td>%s</td></tr>\n", hps_page_real(number, sizeof number, x->usd));
    }
    hps_page_add(text, "</table>\n");
}

char *hps_gantt_html(const struct hps_job_outcomes *o, double restart_s)
{
    struct hps_page text = { 0 };
    char *svg = hps_gantt_svg(o, restart_s);

    hps_page_add(&text, "%s", head);
    add_figures(&text, o);
    hps_page_add(&text, "%s", svg);
    add_jobs(&text, o);
    hps_page_add(&text, "</body></html>\n");
    hps_mem_free(svg);
    return text.at;
}

enum hps_status hps_gantt_save(const struct hps_job_outcomes *o, double restart_s, const char *path)
{
    const char *end = strrchr(path, '.');
    bool page = end && strcmp(end, ".html") == 0;
    char *text = page ? hps_gantt_html(o, restart_s) : hps_gantt_svg(o, restart_s);
    enum hps_status st = hps_json_write(path, text);

    hps_mem_free(text);
    return st;
}
