/* t_schema: a schema says what its columns are; every misspelt or senseless one is refused with its
 * place; the shipped ones are whole; the parts below it (cells, numbers, categories, the largest of
 * many keys) do what they say. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "data/csv.h"
#include "data/dict.h"
#include "data/parse.h"
#include "data/schema.h"
#include "data/select.h"

static void test_whole(void **state)
{
    static const char text[] = "text: {delimiter: tab, header: false, names: [y, a, b, c, t]}\n"
                               "label: {column: y, equals: [p, q]}\n"
                               "columns:\n"
                               "  - {column: a, dense: log1p+minmax, name: A}\n"
                               "  - {column: b, category: {hash: 100}}\n"
                               "  - {column: c, multi: {index: 5, separator: '::'}}\n"
                               "join: {file: f.csv, on: b}\nsplit: {by: t}\n";
    struct hps_schema *s;

    (void)state;
    assert_int_equal(hps_schema_parse(&s, "s", text, strlen(text), 0, NULL), HPS_OK);
    assert_int_equal(s->delimiter, '\t');
    assert_false(s->header);
    assert_int_equal(s->names.n, 5);
    assert_int_equal(s->equals.n, 2);
    assert_true(s->has_equals && !s->has_at_least);
    assert_int_equal(s->ncolumn, 3);
    assert_string_equal(s->column[0].name, "A");
    assert_true(s->column[0].scale.log1p && s->column[0].scale.range == HPS_RANGE_MINMAX);
    assert_int_equal(s->column[1].kind, HPS_COLUMN_CATEGORY);
    assert_int_equal(s->column[1].hash, 100);
    assert_int_equal(s->column[2].kind, HPS_COLUMN_MULTI);
    assert_string_equal(s->column[2].separator, "::");
    assert_string_equal(s->join_key, "b");
    assert_true(s->split_share == 0.2);
    hps_schema_free(s);
}

/* What is refused; each has something wrong in one place. */
static const char *const refused[] = {
    "columns:\n  - {column: a, dense: none}\n",
    "label: {column: y}\n",
    "label: {column: y, equals: a, at_least: 1}\ncolumns:\n  - {column: a, dense: none}\n",
    "label: {column: y}\ncolums:\n  - {column: a, dense: none}\n",
    "label: {column: y}\ncolumns:\n  - {column: a, dense: zscores}\n",
    "label: {column: y}\ncolumns:\n  - {column: a}\n",
    "label: {column: y}\ncolumns:\n  - {column: a, dense: none, category: {hash: 5}}\n",
    "label: {column: y}\ncolumns:\n  - {column: a, category: {}}\n",
    "label: {column: y}\ncolumns:\n  - {column: a, category: {hash: 5, index: 5}}\n",
    "label: {column: y}\ncolumns:\n  - {column: a, category: {hash: 1}}\n",
    "label: {column: y}\ncolumns:\n  - {column: a, category: {index: 0}}\n",
    "label: {column: y}\ncolumns:\n  - {column: a, category: {hash: 5, separator: x}}\n",
    "label: {column: y}\ncolumns:\n  - {column: a, multi: {hash: 5, separator: ''}}\n",
    "label: {column: y}\ncolumns:\n  - {column: 'a,b', dense: none}\n",
    "label: {column: y}\ncolumns:\n  - {column: a/b, category: {hash: 5}}\n",
    "label: {column: y}\ncolumns:\n  - {column: a, dense: none}\n  - {column: a, dense: none}\n",
    "label: {column: y}\ncolumns:\n  - {column: a, dense: none}\nsplit: {share: 1}\n",
    "label: {column: y}\ncolumns:\n  - {column: a, dense: none}\njoin: {file: x}\n",
    "label: {column: y}\ncolumns:\n  - {column: a, dense: none}\ntext: {delimiter: ab}\n",
    "label: {column: y}\ncolumns:\n  - {column: a, dense: none}\ntext: {delimiter: '\"'}\n",
    "label: {column: y}\ncolumns:\n  - {column: a, dense: none}\ntext: {header: false}\n",
    "",
};

/* What is refused of dates, and with what word. */
static const struct {
    const char *entry, *why;
} refused_dates[] = {
    { "{column: t, time: iso, since: 2014-01-01, dense: log1p}", "s:3:54: columns[0].dense: the" },
    { "{column: t, time: iso, since: 2014-01-01, dense: log1p+zscore}", "a logarithm takes as 0" },
    { "{column: t, time: iso, dense: none}", "give `since: DATE`" },
    { "{column: t, time: iso, since: yesterday, dense: none}", "'yesterday' is no date as" },
    { "{column: t, time: iso, since: 2014-02-29, dense: none}", "'2014-02-29' is no date as" },
    { "{column: t, since: 2014-01-01, dense: none}", "since: it goes with `time` and `dense`" },
    { "{column: t, time: iso, since: 2014-01-01, category: hour}", "it goes with `time` and" },
    { "{column: t, category: hour}", "s:3:27: columns[0].category: 'hour' is a part of a date: "
                                     "give `time: FORMAT`" },
    { "{column: t, time: iso, category: hours}", "'hours' is no part of a date (minute|hour|" },
    { "{column: t, time: iso, category: {index: 9}}", "s:3:23: columns[0].time: dates become" },
    { "{column: t, time: iso, multi: {index: 9}}", "dates become `dense`, with `since`, or" },
    { "{column: t, time: iso}", "give one of `dense`, `category`, `multi`" },
    { "{column: t, time: '%Y-%Q', category: hour}", "'%Y-%Q' is no format of dates: %Q is not" },
    { "{column: t, time: '', category: hour}", "'' is no format of dates: neither iso nor" },
    { "{column: t, time: iso, category: hour}\n  - {column: T, time: '%F', category: day, name: d}",
      "s:4:23: columns.d.time: the column 'T' has the format 'iso' already" },
    { "{column: t, time: iso, category: hour}\n  - {column: t, time: iso, category: day}",
      "a second 't': give another `name`" },
    { "{column: t, time: iso, category: hour}\nsplit: {by: t, time: '%F'}", "the format 'iso'" },
    { "{column: t, dense: none}\nsplit: {by: file, time: iso}", "it goes with `by: COLUMN`" },
    { "{column: t, category: }", "give `hash` or `index`" },
};

/* What a schema that is refused says. */
static void refusal_of(const char *text, char *said, size_t size)
{
    struct hps_schema *s;
    int keep = dup(2), to = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);

    assert_int_equal(dup2(to, 2), 2);
    enum hps_status status = hps_schema_parse(&s, "s", text, strlen(text), 0, NULL);
    assert_int_equal(dup2(keep, 2), 2);
    close(keep);
    ssize_t n = pread(to, said, size - 1, 0);
    said[n > 0 ? n : 0] = 0;
    close(to);
    if (status != HPS_DECK)
        fail_msg("taken: %s", text);
}

static void test_refused_dates(void **state)
{
    char text[512], said[1024];

    (void)state;
    for (size_t i = 0; i < sizeof refused_dates / sizeof *refused_dates; i++) {
        snprintf(text, sizeof text, "label: {column: y}\ncolumns:\n  - %s\n",
                 refused_dates[i].entry);
        refusal_of(text, said, sizeof said);
        if (!strstr(said, refused_dates[i].why))
            fail_msg("%s did not say '%s' but %s", text, refused_dates[i].why, said);
        assert_int_equal(hps_mem_held_bytes(), 0);
    }
}

static void test_dates(void **state)
{
    static const char text[] = "label: {column: y}\ncolumns:\n"
                               "  - {column: t, time: '%d.%m.%Y', category: weekday}\n"
                               "  - {column: t, time: '%d.%m.%Y', since: 2014-01-02, dense: none}\n"
                               "  - {column: b, dense: none}\nsplit: {by: c, time: iso}\n";
    struct hps_schema *s;

    (void)state;
    assert_int_equal(hps_schema_parse(&s, "s", text, strlen(text), 0, NULL), HPS_OK);
    assert_true(s->column[0].part == HPS_DATE_WEEKDAY && s->column[0].kind == HPS_COLUMN_CATEGORY);
    assert_true(s->column[1].part == HPS_DATE_WHOLE && s->column[1].since_s == 1388620800);
    assert_string_equal(hps_schema_time(s, "T"), "%d.%m.%Y");
    assert_string_equal(hps_schema_time(s, "c"), "iso");
    assert_null(hps_schema_time(s, "b"));
    hps_schema_free(s);
}

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct hps_schema *s;
        if (hps_schema_parse(&s, "s", refused[i], strlen(refused[i]), 0, NULL) != HPS_DECK)
            fail_msg("taken: %s", refused[i]);
        assert_null(s);
        assert_int_equal(hps_mem_held_bytes(), 0);
    }
}

static void test_shipped(void **state)
{
    static const char *const names[] = { "census", "movielens" };
    const char *folder = getenv("srcdir");

    (void)state;
    for (int i = 0; i < 2; i++) {
        char *path = hps_mem_print("%s/inputs/%s.schema.yaml", folder ? folder : ".", names[i]);
        char set[] = "split.share=0.1", *const sets[] = { set };
        struct hps_schema *s;
        assert_int_equal(hps_schema_load(&s, path, 1, sets), HPS_OK);
        assert_true(s->split_share == 0.1);
        hps_schema_free(s);
        hps_mem_free(path);
    }
}

static void expect_cells(const char *line, int n, const char *const *want)
{
    char *text = hps_mem_text(line);
    struct hps_record r;

    hps_record_init(&r, ',');
    assert_true(hps_record_cut(&r, text, strlen(text), false));
    if (r.n != n)
        fail_msg("%s: %d cells", line, r.n);
    for (int i = 0; i < n; i++) {
        size_t length;
        const char *s = hps_record_text(&r, text, i, &length);
        if (length != strlen(want[i]) || memcmp(s, want[i], length) != 0)
            fail_msg("%s: cell %d is '%.*s', not '%s'", line, i, (int)length, s, want[i]);
    }
    hps_record_done(&r);
    hps_mem_free(text);
}

static void test_cells(void **state)
{
    struct hps_record r;

    (void)state;
    expect_cells("", 1, (const char *[]){ "" });
    expect_cells("a, b ,\tc\t", 3, (const char *[]){ "a", "b", "c" });
    expect_cells(",,", 3, (const char *[]){ "", "", "" });
    expect_cells("\"a,b\", \"c\"\"d\" ,e", 3, (const char *[]){ "a,b", "c\"d", "e" });
    expect_cells("\"\",\"\"\"\"", 2, (const char *[]){ "", "\"" });
    expect_cells("5\" disk,x", 2, (const char *[]){ "5\" disk", "x" });
    expect_cells("\" a \",b", 2, (const char *[]){ " a ", "b" });
    hps_record_init(&r, ',');
    assert_false(hps_record_cut(&r, "a,\"b", 4, false));
    assert_false(hps_record_cut(&r, "a,\"b\n\"\"c", 8, true));
    assert_true(hps_record_cut(&r, "a,\"b\n\"\"c\",d", 11, true));
    assert_int_equal(r.n, 3);
    hps_record_done(&r);
}

static void test_numbers(void **state)
{
    static const char *const good[] = { "0", "-0", "12", "-7.25", "1e3", "+5", "1E-3", ".5", "5.",
                                        "123456789012345678901234567890", "0.1",
                                        "0.000000000000000000000000001", "-3.14159265358979" };
    static const char *const bad[] = { "", "-", ".", "nan", "inf", "0x10", "1e", "1 2", "1e999",
                                       "--1", "1.2.3", "e5", "1,5" };
    double x;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(hps_parse_real(good[i], strlen(good[i]), &x));
        double want = strtod(good[i], NULL);
        if (fabs(x - want) > 1e-15 * fabs(want))
            fail_msg("%s is read as %.17g", good[i], x);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (hps_parse_real(bad[i], strlen(bad[i]), &x))
            fail_msg("'%s' is taken for %g", bad[i], x);
    assert_true(hps_parse_real("12abc", 2, &x) && x == 12);
}

/* Many like texts spread evenly: chi-square over 64 buckets, 63 degrees of freedom, and 140 is
 * beyond 1 in 10^7; and the short way is the long way. */
static void test_hash(void **state)
{
    double times[64] = { 0 }, chi = 0;
    char text[24];

    (void)state;
    for (int i = 0; i < 64000; i++) {
        int n = snprintf(text, sizeof text, "%08x", i);
        uint64_t word, h = hps_parse_hash(text, (size_t)n, 3);
        memcpy(&word, text, 8);
        assert_true(h == hps_parse_hash8(word, 3));
        times[hps_parse_bucket(h, 64)]++;
    }
    for (int i = 0; i < 64; i++)
        chi += (times[i] - 1000) * (times[i] - 1000) / 1000;
    assert_true(chi < 140);
    assert_true(hps_parse_hash("a", 1, 0) != hps_parse_hash("a\0", 2, 0));
    assert_true(hps_parse_hash("12345678a", 9, 0) != hps_parse_hash("12345678b", 9, 0));
}

static void test_dict(void **state)
{
    struct hps_dict d;
    char text[16];

    (void)state;
    hps_dict_init(&d, 500, 1 << 20);
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < 600; i++) {
            int n = snprintf(text, sizeof text, "t%d", i);
            assert_int_equal(hps_dict_id(&d, text, (size_t)n, true), i < 500 ? i + 1 : 0);
        }
    assert_int_equal(hps_dict_id(&d, "t1", 2, false), 2);
    assert_int_equal(hps_dict_id(&d, "t", 1, true), 0);
    struct hps_dict copy;
    hps_dict_init(&copy, 500, 1 << 20);
    hps_dict_load(&copy, d.text, d.bytes);
    assert_int_equal(copy.n, 500);
    assert_int_equal(hps_dict_id(&copy, "t499", 4, false), 500);
    hps_dict_done(&copy);
    hps_dict_done(&d);
    hps_dict_init(&d, 500, 5);
    assert_int_equal(hps_dict_id(&d, "abcd", 4, true), 1);
    assert_int_equal(hps_dict_id(&d, "e", 1, true), 0);
    assert_int_equal(hps_dict_id(&d, "a\0b", 3, true), 0);
    hps_dict_done(&d);
}

static int upwards(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void test_select(void **state)
{
    enum { N = 3000 };
    double key[N];
    int fd = hps_select_scratch("keys");

    (void)state;
    assert_true(fd >= 0);
    for (int i = 0; i < N; i++)
        key[i] = i % 7 == 0 ? -0.0 : ((double)(i * 7919 % 101) - 50) * pow(10, i % 5);
    assert_int_equal(hps_select_write(fd, "keys", key, sizeof key), HPS_OK);
    qsort(key, N, sizeof *key, upwards);
    for (int n = 1; n < N; n += 211) {
        double threshold;
        long long ties, equal = 0, above = 0;
        assert_int_equal(hps_select_largest(fd, N, n, &threshold, &ties), HPS_OK);
        assert_true(threshold == key[N - n]);
        for (int i = 0; i < N; i++) {
            equal += key[i] == threshold;
            above += key[i] > threshold;
        }
        assert_int_equal(above + equal - ties, n);
        assert_true(ties >= 0 && ties < equal);
    }
    close(fd);
    assert_true(hps_select_scratch("/dev/null/file") < 0);
}

static int nothing_held(void **state)
{
    (void)state;
    return hps_mem_held_bytes() != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_dates),   cmocka_unit_test(test_refused_dates),
        cmocka_unit_test(test_shipped), cmocka_unit_test(test_cells),
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_hash),
        cmocka_unit_test(test_dict),    cmocka_unit_test(test_select),
    };
    return cmocka_run_group_tests(tests, NULL, nothing_held);
}
