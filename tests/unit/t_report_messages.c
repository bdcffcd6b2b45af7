/* t_report_messages: of messages that were encoded the report and its table have, by kind, the
 * bytes as sent and as they would have been, and the error, with top-k the residual; of others
 * nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/world.h"
#include "tests/lib/report_check.h"

static void are_said(void **state)
{
    struct made_run m;
    (void)state;

    made_run_init(&m, 4, "/nowhere");
    m.facts.traffic.codec[HPS_MESSAGE_ROWS] = "bf16";
    m.facts.traffic.messages[HPS_MESSAGE_ROWS] =
        (struct hps_message_count){ 1.5e6, 3e6, 0.04, 4, 10 };
    m.facts.traffic.codec[HPS_MESSAGE_IDS] = "delta";
    m.facts.traffic.messages[HPS_MESSAGE_IDS] = (struct hps_message_count){ 1e6, 4e6, 0, 0, 0 };
    m.facts.traffic.rows = (struct hps_message_count){ 2e6, 8e6, 0.01, 1, 0 };
    json_t *j = made_report(&m, NULL), *list = json_object_get(j, "messages");
    json_t *rows = json_array_get(list, 0), *ids = json_array_get(list, 1);
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(hps_report_word(rows, "kind"), "rows");
    assert_string_equal(hps_report_word(rows, "codec"), "bf16");
    made_is_real(rows, "bytes", 1.5e6);
    made_is_real(rows, "plain_bytes", 3e6);
    made_is_real(rows, "error", 0.1);
    made_is_null(ids, "error");
    char *table = hps_report_table(j);
    assert_non_null(strstr(table, "\nmessages: rows bf16, 1.5 MB of 3, error 0.1; ids delta, 1 MB "
                                  "of 4\nrows at rest: 2 MB of 8, error 0.1\n"));
    made_is_real(json_object_get(j, "rows_at_rest"), "error", 0.1);
    hps_mem_free(table);
    json_decref(j);
    made_run_done(&m);
}

static void have_a_residual(void **state)
{
    struct made_run m;
    (void)state;

    made_run_init(&m, 4, "/nowhere");
    m.facts.traffic.codec[HPS_MESSAGE_DENSE] = "topk";
    m.facts.traffic.messages[HPS_MESSAGE_DENSE] =
        (struct hps_message_count){ 3e6, 300e6, 0.25, 1, 10 };
    m.facts.traffic.residual = 0.125;
    json_t *j = made_report(&m, NULL);
    made_is_real(json_array_get(json_object_get(j, "messages"), 0), "residual", 0.125);
    char *table = hps_report_table(j);
    assert_non_null(strstr(table,
                           "\nmessages: dense topk, 3 MB of 300, error 0.5, residual 0.12\n"));
    hps_mem_free(table);
    json_decref(j);
    made_run_done(&m);
}

/* The root of the error over that of the numbers; where nothing was measured there is none. */
static void have_an_error(void **state)
{
    const struct hps_message_count some = { 0, 0, 0.25, 4, 1 }, none = { 0 };
    struct hps_message_count sum = some;
    float x[3000];
    uint16_t to[3000];
    (void)state;

    assert_true(hps_message_error(&some) == 0.25);
    assert_true(isnan(hps_message_error(&none)));
    hps_message_count_add(&sum, &some, -1);
    assert_true(isnan(hps_message_error(&sum)) && sum.n == 0);
    for (int i = 0; i < 3000; i++)
        x[i] = 1 + 0x1p-9f;                     /* of bf16 1 is the next number */
    x[5] = INFINITY;
    for (int i = 0; i < 20; i++)
        hps_message_encode(&hps_codec_bf16, 3, 1000, x, to, &sum);
    assert_int_equal(sum.n, 20);
    assert_true(fabs(hps_message_error(&sum) - 0x1p-9 / (1 + 0x1p-9)) < 1e-12);
    hps_message_sent(&hps_codec_bf16, 3, 1000, &sum);
    hps_message_sent(&hps_codec_fp32, 3, 1000, &sum);
    assert_true(sum.bytes == 6000 && sum.plain_bytes == 12000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(are_said),
                                        cmocka_unit_test(have_a_residual),
                                        cmocka_unit_test(have_an_error) };

    hps_begin(&argc, &argv, false);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return hps_end(failed || hps_mem_held_bytes() != 0 ? HPS_FAIL : HPS_OK);
}
