/* t_report: a report says what the run's facts and counters say, by the design's formulas; its
 * table fits 41 lines of 100 columns whatever the run; shown from the files it is the same table;
 * what is missing, damaged or was not traced is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/say.h"
#include "base/world.h"
#include "tests/lib/report_check.h"
#include "train/loop.h"

static char dir[64];

static char *slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = hps_mem_new(1 << 20, 1);

    assert_true(f && fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

/* What a verb shows: standard output goes to a file meanwhile. */
static char *shown(enum hps_status want, const char *run, const char *json, const char *html,
                   const char *trace)
{
    char *path = hps_mem_print("%s/out", dir);
    int kept = dup(1);

    assert_non_null(freopen(path, "w+", stdout));
    enum hps_status got = hps_report_show(run, json, html, trace);
    hps_out("\n");                              /* so that there is something */
    hps_out_flush();
    assert_true(dup2(kept, 1) == 1 && close(kept) == 0);
    assert_int_equal(got, want);
    char *text = slurp(path);
    hps_mem_free(path);
    return text;
}

static void test_keys(void **state)
{
    struct made_run m;
    (void)state;

    made_run_init(&m, 4, dir);
    json_t *j = made_report(&m, NULL);
    assert_string_equal(hps_report_word(j, "format"), "heterps-report-1");
    assert_int_equal(hps_report_whole(j, "steps"), 60);
    assert_int_equal(hps_report_whole(j, "examples"), 15360);
    made_is_real(j, "seconds", 3);
    made_is_real(j, "examples_s", 5120);
    made_is_real(j, "usd", 3.0 / 3600 * 0.24);
    made_is_real(j, "usd_idle", 3.0 / 3600 * 0.4);
    made_is_real(j, "step_median_s", 0.048);
    made_is_real(j, "step_p95_s", 0.064);
    made_is_real(j, "train_loss", 0.4375);
    made_is_real(j, "test_auc", 0.875);
    made_is_real(j, "test_logloss", 0.3125);
    assert_int_equal(hps_report_whole(j, "ranks"), 4);
    assert_int_equal(hps_report_whole(j, "units"), 2);
    /* stage 0: 0.003 s for 64 examples on one unit; stage 1: 0.007 / 4 */
    /* a step: 4 of these; the way to stage 1 and back is shorter than the next two forwards */
    double et0 = 0.003 / 64, step = 4 * 0.003;
    made_is_real(j, "model_examples_s", 1 / et0);
    made_is_real(j, "model_usd", 15360 * et0 / 3600 * 0.24);
    made_is_real(j, "model_step_s", 256 * et0);
    made_is_real(j, "predicted_examples_s", 256 / step);
    made_is_real(j, "predicted_step_s", step);
    made_is_real(j, "predicted_usd", 60 * step / 3600 * 0.24);
    made_is_real(j, "predicted_usd_epoch", 30 * step / 3600 * 0.24);
    made_is_real(j, "usd_epoch", 1.5 / 3600 * 0.24);
    made_is_real(j, "bubble_1f1b", 0.2);
    made_is_real(j, "tier_hits", 0.75);
    made_is_real(j, "tier_bytes", 2.5e9);
    assert_int_equal(hps_report_nmessages(j), 0);
    assert_int_equal(json_array_size(json_object_get(j, "tiers")), 0);
    made_is_real(j, "gpu_joules", 1234);
    made_is_real(j, "other_cores", 1.5);
    made_is_real(j, "predicted_bubble", 1 - 4 * (0.003 + 0.007 / 4) / (2 * step));
    assert_string_equal(hps_report_word(json_object_get(j, "plan"), "format"), "heterps-plan-1");
    assert_int_equal(json_array_size(json_object_get(j, "idle")), 2);
    json_decref(j);
    made_run_done(&m);
}

/* What moved of each request's tables. */
static void test_tiers(void **state)
{
    struct made_run m;
    (void)state;

    made_run_init(&m, 1, dir);
    made_tier(&m);
    json_t *j = made_report(&m, NULL), *one = json_array_get(json_object_get(j, "tiers"), 0);
    assert_string_equal(hps_report_word(one, "table"), m.table.name);
    made_is_real(one, "hits", 1.25e12);
    made_is_real(one, "index_bytes", 6e9);
    made_is_real(one, "pages_read", 1.2e11);
    char *table = hps_report_table(j);
    assert_non_null(strstr(table, "1 % in memory; 1.23e+11 read, 1.11e+11 written, waited"));
    hps_mem_free(table);
    json_decref(j);
    made_run_done(&m);
}

/* Regions are those of the ranks in the plan: 0 and 1 of four. */
static void test_regions(void **state)
{
    struct made_run m;
    (void)state;

    made_run_init(&m, 4, dir);
    json_t *j = made_report(&m, NULL), *regions = json_object_get(j, "regions");
    assert_int_equal(json_array_size(regions), HPS_REGIONS);
    for (size_t g = 0; g < HPS_REGIONS; g++) {
        const json_t *one = json_array_get(regions, g);
        double unit = (double)(g + 1) / 100;
        assert_string_equal(hps_report_word(one, "name"), hps_region_name[g]);
        assert_int_equal(hps_report_whole(one, "calls"), 2 * (int)g + 3);
        made_is_real(one, "min_s", unit);
        made_is_real(one, "avg_s", 1.5 * unit);
        made_is_real(one, "max_s", 2 * unit);
        made_is_real(one, "share", 1.5 * unit / 3);
    }
    const json_t *event = json_array_get(json_object_get(j, "events"), 0);
    made_is_real(event, "avg", 1500);
    const json_t *stage = json_array_get(json_object_get(j, "stages"), 1);
    made_is_real(stage, "compute", 2 * (3 + 4 + 10) / 100.0 / 3);
    made_is_real(stage, "wait", 2 * (8 + 9) / 100.0 / 3);
    json_decref(j);
    made_run_done(&m);
}

static void test_roofline(void **state)
{
    struct made_run m;
    (void)state;

    made_run_init(&m, 2, dir);
    json_t *j = made_report(&m, NULL);
    const json_t *ids = json_array_get(json_object_get(j, "layers"), 0);
    const json_t *h1 = json_array_get(json_object_get(j, "layers"), 2);
    made_is_real(h1, "flops", 64 * 600000.0);
    made_is_real(h1, "bytes", 4.0 * (64 * (3 * 20 + 2 * 30) + 300000));
    made_is_real(h1, "roofline", 4.0 * (64 * 120 + 300000) / 1e10 / (0.003 / 4));
    assert_string_equal(hps_report_word(h1, "bound"), "memory");
    made_is_real(ids, "bytes", 4.0 * 64 * (3 * 8 + 2 * 10));
    json_decref(j);
    m.facts.setup.net = NULL;
    j = made_report(&m, NULL);
    made_is_null(json_array_get(json_object_get(j, "layers"), 2), "roofline");
    json_decref(j);
    made_run_done(&m);
}

/* What does not exist is null: no test, one stage, no step. */
static void test_nulls(void **state)
{
    struct made_run m;
    (void)state;

    made_run_init(&m, 1, dir);
    m.facts.has_test = false;
    m.facts.done.step = m.facts.done.examples = 0;
    m.facts.done.seconds = m.facts.start.seconds = m.facts.done.usd = 0;
    m.facts.done.train_loss = m.facts.start.step_median_s = NAN;
    json_t *j = made_report(&m, NULL);
    made_is_null(j, "step_median_s");
    made_is_null(j, "test_auc");
    made_is_null(j, "test_logloss");
    made_is_null(j, "test");
    made_is_null(j, "train_loss");
    made_is_null(j, "examples_s");
    made_is_null(j, "bubble");
    made_is_real(j, "usd", 0);
    char *table = hps_report_table(j);
    assert_non_null(strstr(table, "none"));
    assert_null(strstr(table, "median"));
    hps_mem_free(table);
    json_decref(j);
    made_run_done(&m);
}

/* Of three seconds the last one is this start's; money is what the run has counted over all its
 * starts. */
static void test_restart(void **state)
{
    struct made_run m;
    (void)state;

    made_run_init(&m, 2, dir);
    json_t *old = made_report(&m, NULL);
    m.facts.start.seconds = 1;
    m.facts.done.usd = 2.0 / 3600 * 2.4 + 1.0 / 3600 * 0.24;
    json_t *j = made_report(&m, old);
    made_is_real(j, "usd", 2.0 / 3600 * 2.4 + 1.0 / 3600 * 0.24);
    char *table = hps_report_table(j);
    assert_non_null(strstr(table, "of the last start: 1.00 s"));
    hps_mem_free(table);
    m.facts.start.seconds = 0;              /* finished before: only the evaluation is new */
    m.facts.test.auc = 0.9375;
    json_t *again = made_report(&m, j);
    made_is_real(again, "usd", hps_report_real(j, "usd"));
    made_is_real(again, "test_auc", 0.9375);
    made_is_real(again, "seconds_now", 1);
    json_decref(again);
    json_decref(j);
    json_decref(old);
    made_run_done(&m);
}

static double sum_of(const json_t *list, const char *key)
{
    double sum = 0;

    for (size_t i = 0; i < json_array_size(list); i++)
        sum += hps_report_real(json_array_get(list, i), key);
    return sum;
}

/* The parts of a stage's step are all of it, measured and promised; the part that is most off is
 * the one that differs most. */
static void check_parts(const json_t *report, double seconds, double steps)
{
    const json_t *stages = json_object_get(report, "stages");
    double promised = hps_report_real(report, "predicted_step_s");

    for (size_t s = 0; s < json_array_size(stages); s++) {
        const json_t *one = json_array_get(stages, s), *parts = json_object_get(one, "parts");
        double most = hps_report_real(one, "most_off_share") * seconds / steps;
        int nmost = 0;
        assert_int_equal(json_array_size(parts), 5);
        assert_true(fabs(sum_of(parts, "predicted_s") - promised) < 1e-12 * promised);
        assert_true(sum_of(parts, "measured_s") <= seconds / steps * (1 + 1e-12));
        for (size_t i = 0; i < 5; i++) {
            const json_t *part = json_array_get(parts, i);
            double off = hps_report_real(part, "measured_s") - hps_report_real(part, "predicted_s");
            assert_true(fabs(off) <= fabs(most) * (1 + 1e-9));
            nmost += fabs(off - most) <= 1e-9 * fabs(most) &&
                     strcmp(hps_report_word(part, "part"), hps_report_word(one, "most_off")) == 0;
        }
        assert_int_equal(nmost, 1);
    }
}

/* Which plan was used when: this start's, and those of the start before whose steps were not done
 * again. */
static void test_plans(void **state)
{
    struct made_run m;
    (void)state;

    made_run_init(&m, 2, dir);
    struct hps_plan_epoch epoch[2] = {
        { 1, 20, 5120, 1.5, 2, 0, 0.5, 4000, m.plan, m.stage_of },
        { 21, 60, 10240, 1.5, 1, 0, 0, 8000, m.plan, m.stage_of },
    };
    m.facts.plans.epoch = epoch, m.facts.plans.n = 2;
    json_t *old = made_report(&m, NULL);
    made_is_real(json_array_get(json_object_get(old, "plans"), 0), "examples_s", 5120);
    made_is_real(json_array_get(json_object_get(old, "plans"), 1), "usd", 1);
    m.facts.plans.epoch = epoch + 1, m.facts.plans.n = 1;
    epoch[1].first = 31;
    json_t *j = made_report(&m, old);
    assert_int_equal(json_array_size(json_object_get(j, "plans")), 2);
    assert_int_equal(
        hps_report_whole(json_array_get(json_object_get(j, "plans"), 0), "last_step"), 20);
    char *table = hps_report_table(j);
    assert_non_null(strstr(table, "steps 1-20 at 5120, steps 31-60 at 6827 examples/s\n"));
    check_parts(j, 1.5, 30);
    hps_mem_free(table);
    json_decref(j);
    json_decref(old);
    made_run_done(&m);
}

/* A run that went on in another layout, by the plan of another method than was asked. */
static void test_origin(void **state)
{
    struct made_run m;
    (void)state;

    made_run_init(&m, 2, dir);
    json_t *j = made_report(&m, NULL);
    assert_true(json_is_null(json_object_get(j, "before")));
    json_decref(j);
    snprintf(m.plan->instead, HPS_NAME, "greedy");
    m.facts.layout.now = (struct hps_run_layout){ "layers 0-3 on 2 cpu",
                                                    "heuristic in place of greedy" };
    m.facts.layout.was = (struct hps_run_layout){ "layers 0-3 on 1 cpu", "greedy" };
    m.facts.layout.was_step = 9;
    j = made_report(&m, NULL);
    const json_t *was = json_object_get(j, "before");
    assert_string_equal(hps_report_word(j, "layout"), m.facts.layout.now.layout);
    assert_string_equal(hps_report_word(j, "plan_origin"), m.facts.layout.now.origin);
    assert_string_equal(hps_report_word(was, "layout"), m.facts.layout.was.layout);
    assert_int_equal(hps_report_whole(was, "last_step"), 9);
    char *table = hps_report_table(j);
    assert_non_null(strstr(table, "until step 9 planned by greedy, in another layout: layers 0-3 "
                                  "on 1 cpu\n"));
    assert_non_null(strstr(table, "no plan of greedy was found before the search was stopped\n"));
    hps_mem_free(table);
    json_decref(j);
    made_run_done(&m);
}

static void check_size(const char *table)
{
    int lines = 0;

    for (const char *at = table; *at; at += strcspn(at, "\n") + 1, lines++) {
        int columns = 0;
        for (const char *c = at; *c && *c != '\n'; c++)
            columns += ((unsigned char)*c & 0xc0) != 0x80;
        if (columns > 100) fail_msg("%d columns: %.120s", columns, at);
    }
    if (lines > 41) fail_msg("%d lines:\n%s", lines, table);
}

/* Long names in letters of two bytes, many stages, large and small numbers, every section there. */
static void test_table_fits(void **state)
{
    struct made_run m;
    (void)state;

    made_run_init(&m, 16, dir);
    m.facts.name = "ein sehr langer Name für einen Lauf, der auf vielen Rechnern läuft";
    for (int l = 0; l < 4; l++)
        snprintf(m.profile->layer[l].name, HPS_NAME, "schicht_über_schicht_über_schicht_ü");
    for (int r = 2; r < 16; r += 2)
        m.stage_of[r] = 1;
    m.facts.done.step = m.facts.steps_total = 123456789;
    m.facts.done.examples = 123456789012;
    m.facts.done.seconds = 1234567;
    m.facts.layout.was = (struct hps_run_layout){ m.facts.name, m.facts.name };
    m.facts.layout.was_step = 123456788;
    snprintf(m.plan->instead, HPS_NAME, "%s", m.profile->layer[0].name);
    made_encode_all(&m);
    made_tier(&m);
    json_t *j = made_report(&m, NULL), *stages = json_object_get(j, "stages");
    for (int s = 0; s < 20; s++)
        json_array_append(stages, json_array_get(stages, 0));
    char *table = hps_report_table(j);
    check_size(table);
    hps_mem_free(table);
    json_decref(j);
    made_run_done(&m);
}

static void test_files(void **state)
{
    struct made_run m;
    struct hps_count_opt opt = { 0 };
    char *path = hps_mem_print("%s/report.json", dir), *html = hps_mem_print("%s/r.html", dir);
    char *copy = hps_mem_print("%s/copy.json", dir), *trace = hps_mem_print("%s/t.json", dir);
    (void)state;

    assert_int_equal(hps_count_begin(&opt), HPS_OK);
    made_run_init(&m, 1, dir);
    assert_int_equal(hps_report_write(&m.facts, MPI_COMM_NULL), HPS_OK);
    char *text = slurp(path), *out = shown(HPS_OK, dir, copy, html, NULL), *same = slurp(copy);
    json_t *j = json_loads(text, 0, NULL);
    char *table = hps_report_table(j);
    assert_memory_equal(out, table, strlen(table));
    assert_string_equal(text, same);
    char *json = shown(HPS_OK, dir, "-", NULL, NULL);
    assert_memory_equal(json, text, strlen(text));
    assert_int_equal(strlen(json), strlen(text) + 1);
    char *page = slurp(html);
    assert_non_null(strstr(page, "<svg"));
    assert_non_null(strstr(page, "</html>"));
    assert_null(strstr(page, "nan"));
    hps_mem_free(shown(HPS_DECK, dir, NULL, NULL, trace));   /* it was not traced */
    assert_int_equal(access(trace, F_OK), -1);
    hps_mem_free(shown(HPS_OUTPUT, dir, "/nowhere/x", NULL, NULL));
    json_decref(j);
    char *all[] = { text, out, same, table, json, page, path, html, copy, trace };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hps_mem_free(all[i]);
    made_run_done(&m);
    hps_count_end();
}

static void put(const char *name, const char *text)
{
    char *path = hps_mem_print("%s/%s", dir, name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
    hps_mem_free(path);
}

static void test_refused(void **state)
{
    static const char *const damaged[] = {
        "{\"format\": \"heterps-report-1\"", "[]", "{\"format\": \"heterps-plan-1\"}",
        "{\"format\": \"heterps-report-1\", \"steps\": 1}",
        "{\"format\": \"heterps-report-1\", \"regions\": 3, \"plan\": {}, \"steps\": 1}"
    };
    static const char odd[] =
        "{\"format\": \"heterps-report-1\", \"steps\": 1, \"plan\": {}, \"regions\": [1, {}],"
        " \"stages\": [[], \"a\"], \"types\": [0], \"idle\": [{}, 2], \"layers\": [{}, null],"
        " \"plans\": [0]}";
    char *out, *html = hps_mem_print("%s/r.html", dir);
    (void)state;

    hps_mem_free(shown(HPS_INPUT, "/nowhere/at/all", NULL, NULL, NULL));
    hps_mem_free(shown(HPS_INPUT, "/dev", NULL, NULL, NULL));
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        put("report.json", damaged[i]);
        hps_mem_free(shown(HPS_DECK, dir, NULL, NULL, NULL));
    }
    put("report.json", odd);                    /* odd, but shown as far as it goes */
    put("perf.h5", "no such thing");
    out = shown(HPS_OK, dir, NULL, NULL, NULL);
    check_size(out);
    hps_mem_free(out);
    hps_mem_free(shown(HPS_DECK, dir, NULL, html, NULL));
    hps_mem_free(html);
}

static int nothing_held(void **state)
{
    (void)state;
    return hps_mem_held_bytes() != 0;
}

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/t_report_XXXXXX");
    return mkdtemp(dir) == NULL;
}

static int drop_dir(void **state)
{
    static const char *const names[] = { "report.json", "perf.h5", "out", "copy.json", "r.html" };
    (void)state;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = hps_mem_print("%s/%s", dir, names[i]);
        unlink(path);
        hps_mem_free(path);
    }
    return rmdir(dir);
}

/* The pace is of the last steps, in whatever order they came. */
static void test_pace(void **state)
{
    struct hps_loop_history *past = hps_mem_new(1, sizeof *past);

    (void)state;
    assert_true(isnan(hps_loop_step_s(past, 0.5)));
    for (int i = 0; i < 3 * HPS_LOOP_STEP_TIMES; i++) {
        past->step_time_s[past->nstep_time++ % HPS_LOOP_STEP_TIMES] =
            i < 1000 ? 1e9 : (i * 7919) % 100;
        if (i == 2) assert_true(hps_loop_step_s(past, 0.5) == 1e9);
    }
    assert_in_range((int)hps_loop_step_s(past, 0.5), 48, 51);
    assert_in_range((int)hps_loop_step_s(past, 0.95), 93, 96);
    assert_true(hps_loop_step_s(past, 1) == 99);
    hps_mem_free(past);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_keys, nothing_held),
        cmocka_unit_test_teardown(test_regions, nothing_held),
        cmocka_unit_test_teardown(test_roofline, nothing_held),
        cmocka_unit_test_teardown(test_nulls, nothing_held),
        cmocka_unit_test_teardown(test_pace, nothing_held),
        cmocka_unit_test_teardown(test_restart, nothing_held),
        cmocka_unit_test_teardown(test_tiers, nothing_held),
        cmocka_unit_test_teardown(test_plans, nothing_held),
        cmocka_unit_test_teardown(test_origin, nothing_held),
        cmocka_unit_test_teardown(test_table_fits, nothing_held),
        cmocka_unit_test_teardown(test_files, nothing_held),
        cmocka_unit_test_teardown(test_refused, nothing_held),
    };

    hps_begin(&argc, &argv, false);
    int failed = cmocka_run_group_tests(tests, make_dir, drop_dir);
    return hps_end(failed ? HPS_FAIL : HPS_OK);
}
