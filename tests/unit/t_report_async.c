/* t_report_async: what the servers of asynchronous workers did is in report.json, in the table,
 * which still fits 41 lines of 100 columns, and on the page; all of it is null without them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/world.h"
#include "tests/lib/report_check.h"

/* Two servers of 2 s each, of which they worked for 0.5 and 1; 3 workers. */
static struct hps_served *made_served(void)
{
    struct hps_served *v = hps_mem_new(1, sizeof *v);

    v->N = 2;
    v->rank = hps_mem_new(2, sizeof *v->rank);
    v->work = hps_mem_new(2, sizeof *v->work);
    for (int i = 0; i < 2; i++) {
        v->rank[i] = 3 + i;
        v->work[i] = (struct hps_server_work){ .clocks = 60, .rows_pulled = 1000,
                                               .rows_pushed = 900, .bytes = 1e6, .seconds = 2,
                                               .busy_s = 0.5 + 0.5 * i, .npass = 10,
                                               .nserved = 15 };
    }
    v->cached = (struct hps_ps_cached){ 4000, 1500, 60, 123456 };
    for (int i = 0; i < 1800; i++)
        hps_staleness_add(&v->rows, i < 1350 ? 0 : i < 1799 ? 1 : 9);
    for (int i = 0; i < 120; i++)
        hps_staleness_add(&v->dense, i % 4);
    hps_clock_samples_init(&v->samples, 3);
    for (int i = 0; i < 5; i++)
        hps_clock_samples_take(&v->samples, 0.5 * i, (long long[]){ 4 * i, 5 * i, 6 * i }, true);
    return v;
}

/* What asynchronous workers' servers did is in JSON, table and page, and null without them. */
static void shown(void **state)
{
    struct made_run m;
    struct hps_perf perf = { 0 };
    struct hps_served *v = made_served();
    (void)state;

    made_run_init(&m, 2, "/nowhere");
    m.facts.served = v;
    json_t *j = made_report(&m, NULL), *one = json_array_get(json_object_get(j, "servers"), 1);
    assert_int_equal(json_array_size(json_object_get(j, "servers")), 2);
    assert_int_equal(hps_report_whole(one, "rank"), 4);
    assert_int_equal(hps_report_whole(one, "clocks"), 60);
    assert_int_equal(hps_report_whole(one, "rows_pulled"), 1000);
    assert_int_equal(hps_report_whole(one, "rows_pushed"), 900);
    made_is_real(one, "bytes", 1e6);
    made_is_real(one, "busy_share", 0.5);
    made_is_real(one, "queue", 1.5);
    one = json_object_get(json_object_get(j, "staleness"), "rows");
    made_is_real(one, "mean", (449 + 9) / 1800.0);
    assert_int_equal(hps_report_whole(one, "max"), 9);
    assert_int_equal(json_array_size(json_object_get(one, "n")), 6);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(one, "from"), 5)), 8);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(one, "n"), 5)), 1);
    one = json_object_get(j, "row_cache");
    assert_int_equal(hps_report_whole(one, "rows"), 4000);
    assert_int_equal(hps_report_whole(one, "hits"), 1500);
    assert_int_equal(hps_report_whole(one, "returned"), 60);
    made_is_real(one, "bytes_saved", 123456);
    one = json_array_get(json_object_get(json_object_get(j, "worker_clocks"), "clocks"), 2);
    assert_int_equal(json_integer_value(json_array_get(one, 4)), 24);
    char *table = hps_report_table(j), *page = hps_report_html(j, &perf);
    assert_non_null(strstr(table, "servers: 2, busy 37.5 % (at most 50.0 %), 30.00 clocks/s, "
                                  "1000 rows/s, queue 1.500\n"));
    assert_non_null(strstr(table, "mean staleness: rows 0.2544, at most 9; dense weights 1.5"));
    assert_non_null(strstr(table, "row caches: 37.5 % of 4000 rows, 123456 bytes saved\n"));
    assert_non_null(strstr(page, ">8-15</text>"));
    assert_non_null(strstr(page, "<title>1350 gradients</title>"));
    assert_non_null(strstr(page, "Clocks of the workers"));
    json_decref(j);
    hps_mem_free(table);
    hps_mem_free(page);
    m.facts.served = NULL;
    j = made_report(&m, NULL);
    made_is_null(j, "servers");
    made_is_null(j, "staleness");
    made_is_null(j, "row_cache");
    made_is_null(j, "worker_clocks");
    json_decref(j);
    hps_served_free(v);
    made_run_done(&m);
}

/* Without dense weights on servers (hybrid) there is nothing of them; many workers have three
 * curves. */
static void shown_as_far_as_known(void **state)
{
    struct made_run m;
    struct hps_perf perf = { 0 };
    struct hps_served *v = made_served();
    long long finished[HPS_CLOCK_CURVES + 1] = { 0 };
    (void)state;

    made_run_init(&m, 2, "/nowhere");
    memset(&v->dense, 0, sizeof v->dense);
    memset(&v->cached, 0, sizeof v->cached);
    hps_clock_samples_init(&v->samples, HPS_CLOCK_CURVES + 1);
    hps_clock_samples_take(&v->samples, 0.5, finished, true);
    finished[0] = 9;
    hps_clock_samples_take(&v->samples, 1.5, finished, true);
    m.facts.served = v;
    json_t *j = made_report(&m, NULL), *clocks = json_object_get(j, "worker_clocks");
    made_is_null(json_object_get(j, "staleness"), "dense");
    made_is_null(j, "row_cache");
    assert_int_equal(json_array_size(json_object_get(clocks, "clocks")), 3);
    assert_string_equal(json_string_value(json_array_get(json_object_get(clocks, "workers"), 2)),
                        "fastest");
    char *table = hps_report_table(j), *page = hps_report_html(j, &perf);
    assert_non_null(strstr(table, "mean staleness: rows 0.2544, at most 9\n"));
    assert_non_null(strstr(page, "Clocks of the workers: slowest, median, fastest"));
    hps_mem_free(table);
    hps_mem_free(page);
    json_decref(j);
    hps_served_free(v);
    made_run_done(&m);
}

/* The most that there can be: long names, many stages, large numbers, every section. */
static void the_table_fits(void **state)
{
    struct made_run m;
    struct hps_served *v = made_served();
    int lines = 0;
    (void)state;

    made_run_init(&m, 16, "/nowhere");
    for (int r = 2; r < 16; r += 2)
        m.stage_of[r] = 1;
    m.facts.layout.was = (struct hps_run_layout){ "was", "was" };
    m.facts.layout.was_step = 123456788;
    m.facts.start.seconds = 1;
    snprintf(m.plan->instead, HPS_NAME, "an other method");
    for (int i = 0; i < 2; i++)
        v->work[i] = (struct hps_server_work){ 123456789, 1234567890123, 1, 1, 9.7, 9.7, 3,
                                               400000 };
    v->rows.max = v->dense.max = 1234567890;
    m.facts.served = v;
    made_encode_all(&m);
    json_t *j = made_report(&m, NULL), *stages = json_object_get(j, "stages");
    for (int s = 0; s < 20; s++)
        json_array_append(stages, json_array_get(stages, 0));
    char *table = hps_report_table(j);
    for (const char *at = table; *at; at += strcspn(at, "\n") + 1, lines++)
        if (strcspn(at, "\n") > 100) fail_msg("too long: %.120s", at);
    if (lines > 41) fail_msg("%d lines:\n%s", lines, table);
    hps_mem_free(table);
    json_decref(j);
    hps_served_free(v);
    made_run_done(&m);
}

static int nothing_held(void **state)
{
    (void)state;
    return hps_mem_held_bytes() != 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(shown, nothing_held),
        cmocka_unit_test_teardown(shown_as_far_as_known, nothing_held),
        cmocka_unit_test_teardown(the_table_fits, nothing_held),
    };

    hps_begin(&argc, &argv, false);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return hps_end(failed ? HPS_FAIL : HPS_OK);
}
