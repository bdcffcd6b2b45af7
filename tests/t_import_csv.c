/* t_import_csv: what delimited text must not be taken for something else: another kind of file, a
 * share that was promised; dates by which rows are split, and of which features are made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "imported.h"

static void expect_refusal(const struct hps_import_opt *opt, const char *format, const char *why)
{
    if (import(format, opt, NULL) != HPS_DECK || !strstr(said, why) ||
        strchr(said, '\n') != strrchr(said, '\n'))
        fail_msg("'%s' was not said, but: %s", why, said);
    expect_nothing_left();
}

static void put_bytes(const char *bytes, size_t n)
{
    FILE *f = fopen("in.txt", "wb");

    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}
#define PUT_BYTES(text) put_bytes(text, sizeof text - 1)

/* What is no delimited text in UTF-8 is told by what it looks like, and what to do. */
static void test_looks(void **state)
{
    const struct hps_import_opt opt = defaults();

    (void)state;
    put("s.yaml", "label: {column: y}\ncolumns:\n  - {column: a, dense: none}\n");
    PUT_BYTES("\xff\xfe" "y\0,\0a\0\n\0");
    expect_refusal(&opt, "csv", "in.txt: this looks like UTF-16, wanted is text in UTF-8: unpack "
                   "or convert it first (iconv -f UTF-16 -t UTF-8)");
    expect_refusal(&opt, "criteo", "looks like UTF-16,");
    PUT_BYTES("y\0,\0a\0\n\0");
    expect_refusal(&opt, "csv", "UTF-16 without its mark");
    PUT_BYTES("\0y\0,\0a\0\n");
    expect_refusal(&opt, "libsvm", "iconv -f UTF-16BE");
    PUT_BYTES("\xff\xfe\0\0y\0\0\0");
    expect_refusal(&opt, "csv", "looks like UTF-32");
    PUT_BYTES("y,a\n1,\0");
    expect_refusal(&opt, "csv", "zero bytes");
    PUT_BYTES("\x28\xb5\x2f\xfd 1234");
    expect_refusal(&opt, "csv", "(zstd -dc)");
    put("in.txt", "y,a\r1,2\r0,3\r");
    expect_refusal(&opt, "csv", "in.txt:1: its lines end in \\r alone: make \\n of it");
    expect_refusal(&opt, "slot", "its lines end in \\r alone");
    put("in.txt", "y;a\n1;2\n");
    expect_refusal(&opt, "csv", "there is no column 'y': its only column is 'y;a'; separated by ;? "
                   "(in the schema, text: {delimiter: \";\"})");
    put("in.txt", "y\ta\n1\t2\n");
    expect_refusal(&opt, "csv", "text: {delimiter: \"tab\"}");
    put("s.yaml", "label: {column: y}\ncolumns:\n  - {column: price, dense: none}\n");
    put("in.txt", "y,b,pirce\n1,2,3\n");
    expect_refusal(&opt, "csv", "there is no column 'price', did you mean 'pirce'?");
    put("s.yaml", "text: {header: false, names: [y, a]}\nlabel: {column: y}\ncolumns:\n"
                  "  - {column: a, dense: none}\n");
    put("in.txt", "1|2\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "1 columns instead of 2 (separated by |? see text.delimiter)"));
    put("in.txt", "1,2\r\n0,3\r");                    /* nothing of this is CR alone */
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    expect_reals("o.h5", "label", 0, 2, (double[]){ 1, 0 });
    unlink("o.h5");
}

/* Without a section `split`, and without a share, --split has its promised fifth of the rows. */
static void test_promised_share(void **state)
{
    struct hps_import_opt opt = defaults();
    struct hps_import_result r;
    char text[1200] = "y,a\n";

    (void)state;
    for (int i = 0; i < 100; i++)
        sprintf(text + strlen(text), "%d,%d\n", i % 2, i);
    put("in.txt", text);
    put("s.yaml", "label: {column: y}\ncolumns:\n  - {column: a, dense: none}\n");
    opt.test_output = "t.h5";
    opt.split = "random";
    assert_int_equal(import("csv", &opt, &r), HPS_OK);
    assert_true(r.test_rows > 8 && r.test_rows < 32);   /* 20, and three times its deviation */
    opt.split = "a";
    assert_int_equal(import("csv", &opt, &r), HPS_OK);
    assert_int_equal(r.test_rows, 20);
    opt.split = "";
    unlink("o.h5");
    unlink("t.h5");
    expect_refusal(&opt, "csv", "there is no section 'split'");
}

static const char dates[] = "id,when,y\n"
                            "0,2014-10-21T13:45:00,1\n"
                            "1,2014-10-22 00:00:00.5,0\n"
                            "2,2014-10-19T23:30:00+02:00,1\n"
                            "3,2014-10-20,0\n"
                            "4,2016-02-29T05:00:00Z,1\n";

/* Features of dates; several columns of the dataset from one of the text; none is a missing value,
 * and a day that there never was a bad line, as a number that is none. */
static void test_date_features(void **state)
{
    struct hps_import_opt opt = defaults();
    struct hps_import_result r;
    char text[512];

    (void)state;
    put("s.yaml", "label: {column: y}\ntext: {missing: [never]}\ncolumns:\n"
                  "  - {column: when, time: iso, since: '2014-10-20T00:00:00Z', dense: none}\n"
                  "  - {column: when, time: iso, category: hour}\n"
                  "  - {column: when, time: iso, category: weekday, name: weekday}\n"
                  "  - {column: when, time: iso, category: yearday, name: yearday}\n");
    snprintf(text, sizeof text, "%s5,,0\n6,never,1\n7,2015-02-29,1\n8,20141021,1\n", dates);
    put("in.txt", text);
    opt.bad_share = 0.5;
    assert_int_equal(import("csv", &opt, &r), HPS_OK);
    assert_non_null(strstr(said, "in.txt:9: column when: '2015-02-29' is no date (iso)"));
    assert_non_null(strstr(said, "in.txt:10: column when: '20141021' is no date (iso)"));
    assert_int_equal(r.bad, 2);
    assert_int_equal(r.missing, 2 * 4);
    expect_reals("o.h5", "dense", 1, 7,
                 (double[]){ 135900, 172800.5, -9000, 0, 42958800, 0, 0 });
    expect_ids("o.h5", "slots/when/ids", 7, (long long[]){ 14, 1, 24, 1, 6, 0, 0 });
    expect_ids("o.h5", "slots/weekday/ids", 7, (long long[]){ 2, 3, 7, 1, 1, 0, 0 });
    expect_ids("o.h5", "slots/yearday/ids", 7, (long long[]){ 294, 295, 292, 293, 60, 0, 0 });
    expect_whole("o.h5", 7);
    unlink("o.h5");
}

/* By date: the latest rows, or those from a date on, which is written as in the column or in ISO;
 * the time zone counts. The format is the split's, or that of a column. */
static void test_split_by_date(void **state)
{
    static const char *const columns[] = {
        "  - {column: id, dense: none}\nsplit: {by: when, time: iso, share: 0.4}\n",
        "  - {column: id, dense: none}\n  - {column: when, time: iso, category: hour}\n"
        "split: {by: When, share: 0.4}\n",
    };
    struct hps_import_opt opt = defaults();

    (void)state;
    opt.test_output = "t.h5";
    put("in.txt", dates);
    for (int i = 0; i < 2; i++) {
        char text[256];
        snprintf(text, sizeof text, "label: {column: y}\ncolumns:\n%s", columns[i]);
        put("s.yaml", text);
        opt.split = opt.split_at = "";
        assert_int_equal(import("csv", &opt, NULL), HPS_OK);
        expect_reals("o.h5", "dense", 1, 3, (double[]){ 0, 2, 3 });
        expect_reals("t.h5", "dense", 1, 2, (double[]){ 1, 4 });
        opt.split = "when";
        opt.split_at = "2014-10-22";
        assert_int_equal(import("csv", &opt, NULL), HPS_OK);
        expect_reals("t.h5", "dense", 1, 2, (double[]){ 1, 4 });
        opt.split_at = "2014-10-19T21:30:00Z";          /* that of row 2, as others write it */
        assert_int_equal(import("csv", &opt, NULL), HPS_DECK);
        assert_non_null(strstr(said, "no row to write"));
        opt.split_at = "2014-10-19T21:30:01Z";
        assert_int_equal(import("csv", &opt, NULL), HPS_OK);
        expect_reals("o.h5", "dense", 1, 1, (double[]){ 2 });
        opt.split_at = "5";
        assert_int_equal(import("csv", &opt, NULL), HPS_USAGE);
        assert_non_null(strstr(said, "--split-at wants a date"));
    }
    put("s.yaml", "label: {column: y}\ncolumns:\n  - {column: id, dense: none}\n"
                  "split: {by: when, time: '%d/%b/%Y', share: 0.5}\n");
    put("in.txt", "id,when,y\n0,21/Oct/2014,1\n1,1/Nov/2014,1\n");
    opt.split = "";
    opt.split_at = "01/nov/2014";
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    expect_reals("t.h5", "dense", 1, 1, (double[]){ 1 });
    put("s.yaml", "label: {column: y}\ncolumns:\n  - {column: id, dense: none}\n"
                  "split: {by: when}\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_USAGE);
    assert_non_null(strstr(said, "--split-at wants a number (of dates, the schema says `time`)"));
    unlink("o.h5");
    unlink("t.h5");
    opt.split_at = "";
    assert_int_equal(import("csv", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "is not a number to split by (of dates, give `time`)"));
    expect_nothing_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_promised_share),
        cmocka_unit_test(test_date_features),
        cmocka_unit_test(test_split_by_date),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
