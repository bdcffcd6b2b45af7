/* m_report: what each rank counted stands in perf.h5 under its number, whole and in order, and
 * report.json is the sum over the ranks of the plan; the trace has every span. What servers of
 * asynchronous workers did comes to rank 0, each with its own, in their order. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/world.h"
#include "tests/lib/made_run.h"

enum { STEPS = 40, PULLS = 150 };       /* spans of a rank: more than a piece in all */

/* Rank r calls pull PULLS + r times a step, forward once inside of it; a window every 10 steps, on
 * rank 1 a window less. */
static void work(int me)
{
    struct hps_count_opt opt = { .trace = true, .events_per_region = true };

    if (hps_count_begin(&opt)) HPS_DIE("no counting");
    for (int step = 1; step <= STEPS; step++) {
        for (int k = 0; k < PULLS + me; k++) {
            hps_region_enter(HPS_REGION_PULL, 0);
            hps_region_leave(HPS_REGION_PULL);
        }
        hps_region_enter(HPS_REGION_FORWARD, 0);
        hps_region_leave(HPS_REGION_FORWARD);
        if (step % 10 == 0 && !(me == 1 && step == STEPS)) hps_count_window(step);
    }
}

static void get(struct hps_h5 *h, const char *name, hid_t type, long long n, int width, void *to)
{
    if (hps_h5_get(h, name, type, 0, n, width, to)) HPS_DIE("%s cannot be read", name);
}

static void check_ranks(struct hps_h5 *h, int R)
{
    long long *calls = hps_mem_new((size_t)R * HPS_REGIONS, sizeof *calls);
    double *seconds = hps_mem_new((size_t)R * HPS_REGIONS, sizeof *seconds);
    int *stage = hps_mem_new((size_t)R * HPS_MY_STAGES, sizeof *stage);

    get(h, "ranks/calls", H5T_NATIVE_LLONG, R, HPS_REGIONS, calls);
    get(h, "ranks/seconds", H5T_NATIVE_DOUBLE, R, HPS_REGIONS, seconds);
    get(h, "ranks/stage", H5T_NATIVE_INT, R, HPS_MY_STAGES, stage);
    for (int r = 0; r < R; r++) {
        const long long *c = calls + r * HPS_REGIONS;
        if (c[HPS_REGION_PULL] != STEPS * (PULLS + r) || c[HPS_REGION_FORWARD] != STEPS ||
            c[HPS_REGION_WAIT] != 0)
            HPS_DIE("the calls of rank %d are wrong", r);
        if (!(seconds[r * HPS_REGIONS + HPS_REGION_PULL] > 0)) HPS_DIE("no time of rank %d", r);
        if (stage[r * HPS_MY_STAGES] != (r < 2 ? r : -1) || stage[r * HPS_MY_STAGES + 1] != -1)
            HPS_DIE("the stage of rank %d is wrong", r);
    }
    hps_mem_free(stage);
    hps_mem_free(seconds);
    hps_mem_free(calls);
}

/* What was counted inside of regions is a part of all that was counted. */
static void check_events(struct hps_h5 *h, int R)
{
    long long n;
    int E;

    if (!hps_h5_has(h, "ranks/events")) return;         /* a machine without any counter */
    if (hps_h5_shape(h, "ranks/events", &n, &E) || n != R) HPS_DIE("not a row of events a rank");
    double *all = hps_mem_new((size_t)(R * E), sizeof *all);
    double *part = hps_mem_new((size_t)(R * E * HPS_REGIONS), sizeof *part);
    get(h, "ranks/events", H5T_NATIVE_DOUBLE, R, E, all);
    get(h, "ranks/region_events", H5T_NATIVE_DOUBLE, R, E * HPS_REGIONS, part);
    for (int i = 0; i < R * E; i++) {
        double sum = 0;
        for (int g = 0; g < HPS_REGIONS; g++)
            sum += part[i / E * E * HPS_REGIONS + g * E + i % E];
        if (i / E != 1 && sum > all[i] * (1 + 1e-9))    /* rank 1 has an unmarked window */
            HPS_DIE("event %d of rank %d: %g in regions, %g in all", i % E, i / E, sum, all[i]);
    }
    hps_mem_free(part);
    hps_mem_free(all);
}

static void check_windows(struct hps_h5 *h, int R)
{
    long long W = 4 * R - (R > 1), nspan = 0, got, w = 0;
    long long *step = hps_mem_new((size_t)W, sizeof *step);
    long long *calls = hps_mem_new((size_t)W * HPS_REGIONS, sizeof *calls);
    int *rank = hps_mem_new((size_t)W, sizeof *rank), width;

    if (hps_h5_shape(h, "windows/step", &got, &width) || got != W) HPS_DIE("%lld windows", got);
    get(h, "windows/rank", H5T_NATIVE_INT, W, 0, rank);
    get(h, "windows/step", H5T_NATIVE_LLONG, W, 0, step);
    get(h, "windows/calls", H5T_NATIVE_LLONG, W, HPS_REGIONS, calls);
    for (int r = 0; r < R; r++) {
        for (int k = 10; k <= (r == 1 ? 30 : 40); k += 10, w++)
            if (rank[w] != r || step[w] != k ||
                calls[w * HPS_REGIONS + HPS_REGION_PULL] != 10 * (PULLS + r))
                HPS_DIE("window %lld is wrong", w);
        nspan += STEPS * (PULLS + r + 1);
    }
    if (hps_h5_shape(h, "spans/begin_s", &got, &width) || got != nspan)
        HPS_DIE("%lld spans, not %lld", got, nspan);
    hps_mem_free(rank);
    hps_mem_free(calls);
    hps_mem_free(step);
}

static json_t *load(const char *path)
{
    json_error_t error;
    json_t *j = json_load_file(path, 0, &error);

    if (!j) HPS_DIE("%s: %s", path, error.text);
    return j;
}

static void check_json(const char *dir, int R)
{
    char *path = hps_mem_print("%s/report.json", dir), *trace = hps_mem_print("%s/trace.json", dir);
    char *html = hps_mem_print("%s/report.html", dir);
    json_t *j = load(path), *pull = json_array_get(json_object_get(j, "regions"), HPS_REGION_PULL);
    long long want = R == 1 ? STEPS * PULLS : STEPS * (2 * PULLS + 1);
    long long n = 0, nspan = 0, threads = 0;
    size_t i;
    json_t *event;

    if (hps_report_whole(pull, "calls") != want) HPS_DIE("the calls of pull are wrong");
    if (hps_report_whole(j, "ranks") != R) HPS_DIE("the ranks are wrong");
    json_decref(j);
    if (hps_report_show(dir, "-", html, trace)) HPS_DIE("the report is not shown");
    j = load(trace);
    for (int r = 0; r < R; r++)
        nspan += STEPS * (PULLS + r + 1);
    json_array_foreach(json_object_get(j, "traceEvents"), i, event) {
        bool span = strcmp(hps_report_word(event, "ph"), "X") == 0;
        n += span;
        if (span && (hps_report_real(event, "dur") < 0 || hps_report_whole(event, "tid") >= R))
            HPS_DIE("span %zu is wrong", i);
        threads += strcmp(hps_report_word(event, "name"), "thread_name") == 0;
    }
    if (n != nspan || threads != (R < 2 ? R : 2)) HPS_DIE("%lld spans in the trace", n);
    json_decref(j);
    unlink(path);
    unlink(trace);
    unlink(html);
    hps_mem_free(html);
    hps_mem_free(trace);
    hps_mem_free(path);
}

/* What rank r would have done as a server. */
static void served_by(struct hps_server *v, int r)
{
    v->work = (struct hps_server_work){ .clocks = 100 + r, .rows_pulled = 1000 + r,
                                        .seconds = 1 + r };
    for (int i = 0; i <= r; i++)
        hps_staleness_add(&v->staleness, i);
    hps_clock_samples_init(&v->samples, 2);
    hps_clock_samples_take(&v->samples, 0.5, (long long[]){ r, 2 * r }, true);
}

/* The last rank is the first server, the one before it the second. */
static void check_served(int me, int R, MPI_Comm world)
{
    int N = R > 1 ? 2 : 1, server[] = { R - 1, R - 2 };
    struct hps_team team = { .world = world, .R = R, .nserver = N, .server = server,
                             .serves = me >= R - N };
    struct hps_step *step = hps_mem_new(1, sizeof *step);
    struct hps_server *v = hps_mem_new(1, sizeof *v);

    step->team = &team;
    served_by(v, me);
    struct hps_served *got = hps_served_gather(step, team.serves ? v : NULL);
    if ((got != NULL) != (me == 0)) HPS_DIE("it is gathered elsewhere");
    for (int i = 0; got && i < N; i++)
        if (got->rank[i] != server[i] || got->work[i].clocks != 100 + server[i] ||
            got->work[i].rows_pulled != 1000 + server[i] || got->work[i].seconds != 1 + server[i])
            HPS_DIE("what server %d did is wrong", i);
    if (got && (got->N != N || got->dense.max != R - 1 || got->dense.n[0] != N ||
                got->dense.sum != R * (R - 1) / 2 + (R - 1) * (R - 2) / 2 || got->rows.n[0] != 0))
        HPS_DIE("the staleness is wrong");
    if (got && (got->samples.n != 1 || got->samples.clock[0][1] != 2 * (R - 1)))
        HPS_DIE("the clocks are not those of the first server");
    hps_served_free(got);
    hps_mem_free(v);
    hps_mem_free(step);
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);
    int me = hps_rank(), R = hps_nrank();
    char dir[] = "m_report_XXXXXX";
    struct made_run m;
    struct hps_h5 h;

    if (me == 0 && !mkdtemp(dir)) HPS_DIE("no folder %s", dir);
    check_served(me, R, world);
    work(me);
    made_run_init(&m, R, dir);
    if (hps_report_write(&m.facts, world)) HPS_DIE("the report is not written");
    m.facts.directory = "/nowhere/at/all";
    hps_say_min(HPS_SILENT);
    if (hps_report_write(&m.facts, world) != HPS_OUTPUT) HPS_DIE("a report to nowhere is no 73");
    if (me == 0) {
        char *path = hps_mem_print("%s/perf.h5", dir);
        if (hps_h5_open(&h, path)) HPS_DIE("%s cannot be opened", path);
        check_ranks(&h, R);
        check_events(&h, R);
        check_windows(&h, R);
        hps_h5_close(&h);
        check_json(dir, R);
        if (unlink(path) || rmdir(dir)) HPS_DIE("%s holds more than it should", dir);
        hps_mem_free(path);
    }
    made_run_done(&m);
    hps_count_end();
    return hps_end(HPS_OK);
}
