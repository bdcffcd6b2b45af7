/* t_stall: of what ranks tell of themselves one line names who does not answer, who works by
 * itself, and who waits where for these. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "life/stall.h"

static void ranks_are_short(void **state)
{
    const int rank[] = { 0, 1, 2, 5, 7, 8 };
    char text[64];

    (void)state;
    hps_stall_ranks(text, sizeof text, 0, rank);
    assert_string_equal(text, "");
    hps_stall_ranks(text, sizeof text, 6, rank);
    assert_string_equal(text, "0-2,5,7-8");
    hps_stall_ranks(text, 9, 6, rank);
    assert_string_equal(text, "0-2...");
}

static void expect(int R, const struct hps_stall_report *word, const char *want)
{
    static const char host[][HPS_STALL_HOST] = { "a", "a", "b", "b" };
    char *text = hps_stall_text(R, word, host);

    assert_string_equal(text, want);
    hps_mem_free(text);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void one_line_names_all(void **state)
{
    struct hps_stall_report w[4] = { { true, 8, "reduce", "1", "" },
                                   { .answered = false },
                                   { true, 7, "recv", "0-1", "" },
                                   { true, 8, "wait", "0-2", "" } };
    (void)state;
    expect(4, w,
           "after step 7; rank 1 on a does not answer; rank 0 on a waits in reduce for rank 1; "
           "rank 2 on b waits in recv for rank 1; rank 3 on b waits in wait for rank 1");
    w[1] = (struct hps_stall_report){ true, 7, "read", "", "" };
    expect(3, w,
           "after step 7; rank 1 on a is in read; rank 0 on a waits in reduce for rank 1; "
           "rank 2 on b waits in recv for rank 1");
    w[1] = (struct hps_stall_report){ .answered = false };
    snprintf(w[0].killed, sizeof w[0].killed, "1,3");
    expect(3, w,
           "after step 7; rank 1 on a was killed; rank 0 on a waits in reduce for rank 1; "
           "rank 2 on b waits in recv for rank 1");
    assert_true(hps_stall_killed(3, w, 3) && !hps_stall_killed(3, w, 2));
    w[1] = (struct hps_stall_report){ true, 7, "send", "2", "" };
    expect(3, w,
           "after step 7; all wait: a message does not arrive; rank 0 on a waits in reduce for "
           "rank 1; rank 1 on a waits in send for rank 2; rank 2 on b waits in recv for ranks "
           "0-1");
    expect(1, &(struct hps_stall_report){ true, 3, "read", "", "" },
           "after step 3; rank 0 on a is in read");
}

static void many_are_counted(void **state)
{
    enum { R = 100 };
    static struct hps_stall_report w[R];
    static char host[R][HPS_STALL_HOST];

    (void)state;
    for (int r = 0; r < R; r++)
        if (r != 50) w[r] = (struct hps_stall_report){ true, 1, "wait", "0-99", "" };
    char *text = hps_stall_text(R, w, (const char(*)[HPS_STALL_HOST])host);
    assert_non_null(strstr(text, "rank 50 on  does not answer; rank 0 on  waits in wait for rank "
                                 "50; rank 1 "));
    assert_non_null(strstr(text, "; 91 more wait"));
    hps_mem_free(text);
}

static void words_are_heard(void **state)
{
    const char *folder = "t_stall.words";
    struct hps_stall_report w = { true, 12, "pull", "0,2", "0" }, heard[3];

    (void)state;
    hps_stall_clear(folder);
    assert_false(hps_stall_any(folder));
    assert_int_equal(hps_stall_first(folder, 3), -1);
    hps_stall_put(folder, 1, &w);
    hps_stall_put(folder, 2, &(struct hps_stall_report){ true, 3, "read", "", "" });
    assert_true(hps_stall_any(folder));
    assert_int_equal(hps_stall_first(folder, 3), 1);
    hps_stall_get(folder, 3, heard);
    assert_false(heard[0].answered);
    assert_true(heard[1].answered && heard[1].step == 12);
    assert_string_equal(heard[1].region, "pull");
    assert_string_equal(heard[1].waits_for, "0,2");
    assert_string_equal(heard[1].killed, "0");
    assert_true(heard[2].answered && !*heard[2].waits_for);
    hps_stall_remove(folder, 1);
    assert_int_equal(hps_stall_first(folder, 3), 2);
    hps_stall_remove(folder, 2);
    assert_false(hps_stall_any(folder));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_short),
        cmocka_unit_test(one_line_names_all),
        cmocka_unit_test(many_are_counted),
        cmocka_unit_test(words_are_heard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
