/* report_dump.c - perf.h5: counters by rank, region and window of steps; spans of a traced run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/part_file.h"
#include "base/say.h"
#include "train/report/report_impl.h"

/* The file while it is written. After a first failure (`bad`), data of other ranks are received and
 * dropped, so that these can continue. */
struct dump {
    struct hps_h5 file;
    const struct hps_report_input *facts;
    const struct hps_report_counts *counts;
    MPI_Comm world;
    enum hps_status bad;
    int *number;                /* a block of a column */
    long long *whole;
    double *real;
};

static void make(struct dump *d, const char *name, hid_t type, long long nrow, int width)
{
    if (!d->bad) d->bad = hps_h5_make(&d->file, name, type, nrow, width, 0);
}

static void put(struct dump *d, const char *name, hid_t type, long long first, long long n,
                int width, const void *from)
{
    if (!d->bad && n > 0) d->bad = hps_h5_put(&d->file, name, type, first, n, width, from);
}

static void text(struct dump *d, const char *name, const char *what)
{
    long long n = what ? (long long)strlen(what) : 0;

    if (n == 0) return;
    make(d, name, H5T_NATIVE_UCHAR, n, 0);
    put(d, name, H5T_NATIVE_UCHAR, 0, n, 0, what);
}

static void note(struct dump *d, const char *name, double x)
{
    if (!d->bad) d->bad = hps_h5_put_real(&d->file, "/", name, 1, &x);
}

/* Attributes: names of columns, texts, the main numbers. */
static void put_head(struct dump *d, const char *report)
{
    const struct hps_report_input *f = d->facts;
    struct hps_engine_result e = hps_promise_run(f->setup.plan, f->setup.profile);
    struct hps_page region = { 0 }, event = { 0 };

    for (int g = 0; g < HPS_REGIONS; g++)
        hps_page_add(&region, "%s%s", g ? "," : "", hps_region_name[g]);
    for (int k = 0; k < d->counts->nevent; k++)
        hps_page_add(&event, "%s%s", k ? "," : "", d->counts->event[k]);
    if (!d->bad) d->bad = hps_h5_put_text(&d->file, "/", "format", "heterps-perf-1");
    if (!d->bad) d->bad = hps_h5_put_text(&d->file, "/", "name", f->name);
    if (!d->bad) d->bad = hps_h5_put_text(&d->file, "/", "regions", region.at);
    if (!d->bad) d->bad = hps_h5_put_text(&d->file, "/", "events", event.at ? event.at : "");
    if (!d->bad) d->bad = hps_h5_put_long(&d->file, "/", "steps", f->done.step);
    note(d, "seconds", f->start.seconds);
    note(d, "examples_s", (double)f->done.examples / f->done.seconds);
    note(d, "predicted_examples_s", e.examples_s);
    note(d, "model_examples_s", f->setup.plan->throughput);
    char *plan = hps_plan_text(f->setup.plan), *profile = hps_profile_text(f->setup.profile);
    char *pool = hps_pool_text(f->setup.pool);
    text(d, "report", report);
    text(d, "pool", pool);
    text(d, "plan", plan);
    text(d, "profile", profile);
    text(d, "deck", f->deck);
    hps_mem_free(pool);
    hps_mem_free(profile);
    hps_mem_free(plan);
    hps_mem_free(event.at);
    hps_mem_free(region.at);
}

/* (R, HPS_MY_STAGES) the stages that each rank works for. */
static void put_stages(struct dump *d)
{
    int R = d->counts->R, *stage = hps_mem_new((size_t)R * HPS_MY_STAGES, sizeof *stage);

    for (int r = 0; r < R; r++) {
        int first = d->facts->setup.stage_of[r];
        stage[r * HPS_MY_STAGES] = first;
        stage[r * HPS_MY_STAGES + 1] =
            first < 0 ? -1 : hps_plan_partner(d->facts->setup.plan, first);
    }
    make(d, "ranks/stage", H5T_NATIVE_INT, R, HPS_MY_STAGES);
    put(d, "ranks/stage", H5T_NATIVE_INT, 0, R, HPS_MY_STAGES, stage);
    hps_mem_free(stage);
}

/* Totals of each rank: calls and seconds of the regions, events, stages. */
static void put_ranks(struct dump *d)
{
    const struct hps_report_counts *c = d->counts;
    int R = c->R, E = c->nevent;
    long long *calls = hps_mem_new((size_t)R * HPS_REGIONS, sizeof *calls);
    double *seconds = hps_mem_new((size_t)R * HPS_REGIONS, sizeof *seconds);
    double *event = hps_mem_new((size_t)R * (size_t)E, sizeof *event);
    double *gpu = hps_mem_new((size_t)R * HPS_REGIONS, sizeof *gpu), gpus = 0;

    for (int r = 0; r < R; r++) {
        for (int g = 0; g < HPS_REGIONS; g++) {
            gpus += gpu[r * HPS_REGIONS + g] = c->rank_counts[r].total[g].gpu_s;
            calls[r * HPS_REGIONS + g] = c->rank_counts[r].total[g].calls;
            seconds[r * HPS_REGIONS + g] = c->rank_counts[r].total[g].seconds;
        }
        for (int e = 0; e < E; e++) {
            int k = hps_report_event(&c->rank_counts[r], c->event[e]);
            event[r * E + e] = k < 0 ? NAN : c->rank_counts[r].event_total[k];
        }
    }
    put_stages(d);
    make(d, "ranks/type", H5T_NATIVE_INT, R, 0);
    put(d, "ranks/type", H5T_NATIVE_INT, 0, R, 0, d->facts->setup.pool->type_of);
    make(d, "ranks/calls", H5T_NATIVE_LLONG, R, HPS_REGIONS);
    put(d, "ranks/calls", H5T_NATIVE_LLONG, 0, R, HPS_REGIONS, calls);
    make(d, "ranks/seconds", H5T_NATIVE_DOUBLE, R, HPS_REGIONS);
    put(d, "ranks/seconds", H5T_NATIVE_DOUBLE, 0, R, HPS_REGIONS, seconds);
    if (gpus > 0) {
        make(d, "ranks/gpu_seconds", H5T_NATIVE_DOUBLE, R, HPS_REGIONS);
        put(d, "ranks/gpu_seconds", H5T_NATIVE_DOUBLE, 0, R, HPS_REGIONS, gpu);
    }
    if (E > 0) {
        make(d, "ranks/events", H5T_NATIVE_DOUBLE, R, E);
        put(d, "ranks/events", H5T_NATIVE_DOUBLE, 0, R, E, event);
    }
    hps_mem_free(gpu);
    hps_mem_free(event);
    hps_mem_free(seconds);
    hps_mem_free(calls);
}

/* The plans and the steps in which they were used. */
static void put_plans(struct dump *d)
{
    const struct hps_report_input *f = d->facts;
    int R = f->setup.pool->R;
    long long first[2];

    if (f->plans.n == 0) return;
    struct hps_plan **plan = hps_mem_new((size_t)f->plans.n, sizeof *plan);
    make(d, "plans/first_last_step", H5T_NATIVE_LLONG, f->plans.n, 2);
    make(d, "plans/stage", H5T_NATIVE_INT, f->plans.n, R);
    for (int i = 0; i < f->plans.n; i++) {
        plan[i] = f->plans.epoch[i].plan;
        first[0] = f->plans.epoch[i].first;
        first[1] = f->plans.epoch[i].last;
        put(d, "plans/first_last_step", H5T_NATIVE_LLONG, i, 1, 2, first);
        put(d, "plans/stage", H5T_NATIVE_INT, i, 1, R, f->plans.epoch[i].stage_of);
    }
    char *list = hps_plan_list_text(f->plans.n, plan);
    text(d, "plans/text", list);
    hps_mem_free(list);
    hps_mem_free(plan);
}

/* With perf.events_per_region: events inside of each region, (ranks, regions * events). */
static void put_region_events(struct dump *d)
{
    const struct hps_report_counts *c = d->counts;
    int R = c->R, E = c->nevent, width = HPS_REGIONS * E;

    if (E == 0 || !c->rank_counts[0].by_region) return;
    double *event = hps_mem_new((size_t)R * (size_t)width, sizeof *event);
    for (int r = 0; r < R; r++)
        for (int e = 0; e < E; e++) {
            int k = hps_report_event(&c->rank_counts[r], c->event[e]);
            for (int g = 0; g < HPS_REGIONS; g++)
                event[r * width + g * E + e] = k < 0 ? NAN : c->rank_counts[r].region_event[g][k];
        }
    make(d, "ranks/region_events", H5T_NATIVE_DOUBLE, R, width);
    put(d, "ranks/region_events", H5T_NATIVE_DOUBLE, 0, R, width, event);
    hps_mem_free(event);
}

static void fill_rank(struct dump *d, long long n, int r)
{
    for (long long i = 0; i < n; i++)
        d->number[i] = r;
}

/* Write n windows of rank r to the rows of the columns from `first` on. */
static void put_windows(struct dump *d, int r, const struct hps_count_row *row, long long first,
                        long long n)
{
    const struct hps_report_counts *c = d->counts;
    int E = c->nevent;

    fill_rank(d, n, r);
    put(d, "windows/rank", H5T_NATIVE_INT, first, n, 0, d->number);
    for (long long i = 0; i < n; i++) {
        d->whole[i] = row[i].step;
        d->real[i] = row[i].seconds;
    }
    put(d, "windows/step", H5T_NATIVE_LLONG, first, n, 0, d->whole);
    put(d, "windows/seconds", H5T_NATIVE_DOUBLE, first, n, 0, d->real);
    for (long long i = 0; i < n * HPS_REGIONS; i++) {
        d->whole[i] = row[i / HPS_REGIONS].region[i % HPS_REGIONS].calls;
        d->real[i] = row[i / HPS_REGIONS].region[i % HPS_REGIONS].seconds;
    }
    put(d, "windows/calls", H5T_NATIVE_LLONG, first, n, HPS_REGIONS, d->whole);
    put(d, "windows/region_seconds", H5T_NATIVE_DOUBLE, first, n, HPS_REGIONS, d->real);
    for (int e = 0; e < E; e++) {
        int k = hps_report_event(&c->rank_counts[r], c->event[e]);
        for (long long i = 0; i < n; i++)
            d->real[i * E + e] = k < 0 ? NAN : row[i].event[k];
    }
    if (E > 0) put(d, "windows/events", H5T_NATIVE_DOUBLE, first, n, E, d->real);
}

/* Times are by rank 0's clock. */
static void put_spans(struct dump *d, int r, const struct hps_count_span *span, long long first,
                      long long n)
{
    double shift_s = d->counts->rank_counts[r].shift_s, *end_s = d->real + n;

    fill_rank(d, n, r);
    put(d, "spans/rank", H5T_NATIVE_INT, first, n, 0, d->number);
    for (long long i = 0; i < n; i++) {
        d->number[i] = (int)span[i].region;
        d->whole[i] = span[i].step;
        d->real[i] = span[i].begin_s + shift_s;
        end_s[i] = span[i].end_s + shift_s;
    }
    put(d, "spans/region", H5T_NATIVE_INT, first, n, 0, d->number);
    for (long long i = 0; i < n; i++)
        d->number[i] = span[i].part;
    put(d, "spans/part", H5T_NATIVE_INT, first, n, 0, d->number);
    put(d, "spans/step", H5T_NATIVE_LLONG, first, n, 0, d->whole);
    put(d, "spans/begin_s", H5T_NATIVE_DOUBLE, first, n, 0, d->real);
    put(d, "spans/end_s", H5T_NATIVE_DOUBLE, first, n, 0, end_s);
}

static void make_columns(struct dump *d)
{
    const struct hps_report_counts *c = d->counts;
    long long nrow = 0, nspan = 0;

    for (int r = 0; r < c->R; r++) {
        nrow += c->rank_counts[r].nrow;
        nspan += c->rank_counts[r].nspan;
    }
    make(d, "windows/rank", H5T_NATIVE_INT, nrow, 0);
    make(d, "windows/step", H5T_NATIVE_LLONG, nrow, 0);
    make(d, "windows/seconds", H5T_NATIVE_DOUBLE, nrow, 0);
    make(d, "windows/calls", H5T_NATIVE_LLONG, nrow, HPS_REGIONS);
    make(d, "windows/region_seconds", H5T_NATIVE_DOUBLE, nrow, HPS_REGIONS);
    if (c->nevent > 0) make(d, "windows/events", H5T_NATIVE_DOUBLE, nrow, c->nevent);
    if (nspan == 0) return;
    make(d, "spans/rank", H5T_NATIVE_INT, nspan, 0);
    make(d, "spans/region", H5T_NATIVE_INT, nspan, 0);
    make(d, "spans/part", H5T_NATIVE_INT, nspan, 0);
    make(d, "spans/step", H5T_NATIVE_LLONG, nspan, 0);
    make(d, "spans/begin_s", H5T_NATIVE_DOUBLE, nspan, 0);
    make(d, "spans/end_s", H5T_NATIVE_DOUBLE, nspan, 0);
}

/* From one rank after the other, so that rank 0 has one block in memory. */
static void put_streams(struct dump *d)
{
    struct hps_count_row *row = hps_mem_new(HPS_REPORT_BLOCK, sizeof *row);
    struct hps_count_span *span = hps_mem_new(HPS_REPORT_BLOCK, sizeof *span);
    long long rows = 0, spans = 0, n;

    make_columns(d);
    for (int r = 0; r < d->counts->R; r++) {
        const struct hps_report_rank *its = &d->counts->rank_counts[r];
        for (long long from = 0;
             (n = hps_report_recv(HPS_REPORT_ROWS, its, r, from, row, d->world)) > 0; from += n) {
            put_windows(d, r, row, rows, n);
            rows += n;
        }
        for (long long from = 0;
             (n = hps_report_recv(HPS_REPORT_SPANS, its, r, from, span, d->world)) > 0;
             from += n) {
            put_spans(d, r, span, spans, n);
            spans += n;
        }
    }
    hps_mem_free(span);
    hps_mem_free(row);
}

/* Rank 0 alone writes the file, and removes it after a failure. */
static enum hps_status write_file(struct dump *d, const char *report, const char *part)
{
    size_t wide = HPS_REGIONS;

    if ((size_t)d->counts->nevent > wide) wide = (size_t)d->counts->nevent;
    d->bad = hps_h5_create(&d->file, part, MPI_COMM_NULL);
    bool made = !d->bad;
    d->number = hps_mem_new(HPS_REPORT_BLOCK, sizeof *d->number);
    d->whole = hps_mem_new(HPS_REPORT_BLOCK * wide, sizeof *d->whole);
    d->real = hps_mem_new(HPS_REPORT_BLOCK * wide, sizeof *d->real);
    put_head(d, report);
    put_ranks(d);
    put_plans(d);
    put_region_events(d);
    put_streams(d);
    hps_mem_free(d->real);
    hps_mem_free(d->whole);
    hps_mem_free(d->number);
    if (made && !d->bad) d->bad = hps_h5_close(&d->file);
    if (made && d->bad) hps_h5_drop(&d->file);
    return d->bad;
}

enum hps_status hps_report_dump(const struct hps_report_input *facts,
                                const struct hps_report_counts *counts, const char *report,
                                const char *path, MPI_Comm world)
{
    struct dump d = { .facts = facts, .counts = counts, .world = world };
    enum hps_status s = HPS_OK;

    if (counts) {                               /* rank 0 */
        struct hps_part_file file = hps_part_file(path);
        s = hps_part_file_end(&file, write_file(&d, report, file.part));
    } else {
        hps_report_send(HPS_REPORT_ROWS, world);
        hps_report_send(HPS_REPORT_SPANS, world);
    }
    return hps_agree(world, s);
}
