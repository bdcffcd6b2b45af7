/* t_import_csv: what delimited text must not be taken for something else: another kind of file, a
 * share that was promised; dates by which rows are split, and of which features are made; rows are
 * appended to rows of the same making only, and no choice is made in silence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/h5.h"
#include "base/mem.h"
#include "data/data.h"
#include "tests/lib/imported.h"

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

#define SCHEMA(label, columns) "label: {column: y, " label "}\ncolumns:\n" columns
#define DENSE(word) "  - {column: a, dense: " word "}\n"
#define CATEGORY(word) "  - {column: c, category: " word "}\n"
#define MADE SCHEMA("equals: yes", DENSE("minmax") CATEGORY("{index: 5}"))

/* Make o.h5 by a schema, then append by another: HPS_OK, or what is said. */
static void append_by(const char *first, const char *second, const char *why)
{
    struct hps_import_opt opt = defaults();

    put("s.yaml", first);
    put("in.txt", "y,a,c\nyes,1,2014-10-21\nno,2,2014-10-22\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    opt.append = true;
    put("s.yaml", second);
    enum hps_status s = import("csv", &opt, NULL);
    if (s != (why ? HPS_DECK : HPS_OK) || (why && !strstr(said, why)) || (!why && *said))
        fail_msg("%s appended to %s: %d, %s", second, first, (int)s, said);
    expect_whole("o.h5", why ? 2 : 4);
    unlink("o.h5");
}

static void test_append_alike(void **state)
{
    (void)state;
    append_by(MADE, MADE, NULL);
    append_by(MADE, SCHEMA("equals: no", DENSE("minmax") CATEGORY("{index: 5}")),
              "o.h5: its label is made in another way than here: y equals 'yes', not y equals 'n");
    append_by(MADE, SCHEMA("equals: [yes, x]", DENSE("minmax") CATEGORY("{index: 5}")),
              "not y equals 'x' or 'yes'");
    append_by(SCHEMA("equals: [yes, x]", DENSE("none")), SCHEMA("equals: [x, yes]", DENSE("none")),
              NULL);
    append_by(MADE, SCHEMA("equals: yes", DENSE("zscore") CATEGORY("{index: 5}")),
              "its dense feature a is made in another way than here: scaling minmax and zscore");
    append_by(MADE, SCHEMA("equals: yes", DENSE("minmax") CATEGORY("{hash: 6}")),
              "its slot c is made in another way than here: index, not hash of the text");
    append_by(SCHEMA("equals: yes", "  - {column: c, time: iso, category: weekday}\n"),
              SCHEMA("equals: yes", "  - {column: c, category: {hash: 8}}\n"),
              "its slot c is made in another way than here: weekday, not hash of the text");
    append_by(SCHEMA("equals: yes", "  - {column: c, time: iso, since: 2014-10-20, dense: none}"),
              SCHEMA("equals: yes", "  - {column: c, time: iso, since: 2014-10-21, dense: none}"),
              "its dense feature c is made in another way than here: seconds since 1413763200 and "
              "1413849600 (of 1970)");
}

/* A dataset of others does not tell: a warning; then nothing is claimed of its first rows. */
static void test_append_to_untold(void **state)
{
    struct hps_import_opt opt = defaults();
    struct hps_h5 h;
    char *rule;

    (void)state;
    put("s.yaml", SCHEMA("equals: yes", DENSE("none") CATEGORY("{hash: 6}")));
    put("in.txt", "y,a,c\nyes,1,u\nno,2,v\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    assert_int_equal(hps_h5_change(&h, "o.h5"), HPS_OK);
    assert_true(H5Adelete_by_name(h.file, "label", "rule", H5P_DEFAULT) >= 0);
    assert_true(H5Adelete_by_name(h.file, "slots/c", "rule", H5P_DEFAULT) >= 0);
    hps_h5_close(&h);
    opt.append = true;
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    assert_non_null(strstr(said, "o.h5 does not tell how its labels or ids were made"));
    assert_true(strchr(said, '\n') == strrchr(said, '\n'));
    expect_whole("o.h5", 4);
    assert_int_equal(hps_h5_open(&h, "o.h5"), HPS_OK);
    assert_int_equal(hps_h5_get_text(&h, "label", "rule", &rule, true), HPS_DECK);
    hps_h5_close(&h);
    unlink("o.h5");
}

/* Constants come from a dataset of the same words; its categories all have room. Of several files
 * of one dataset the labels are the same. */
static void test_constants_alike(void **state)
{
    struct hps_import_opt opt = defaults();
    struct hps_list both = { 2, (const char *[]){ "first.h5", "o.h5" } };
    struct hps_data *data;

    (void)state;
    put("s.yaml", MADE);
    put("in.txt", "y,a,c\nyes,1,u\nno,2,v\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    rename("o.h5", "first.h5");
    opt.scaling = "first.h5";
    put("s.yaml", SCHEMA("equals: yes", DENSE("zscore") CATEGORY("{index: 5}")));
    expect_refusal(&opt, "csv", "first.h5: its dense feature a is made in another way");
    put("s.yaml", SCHEMA("equals: yes", DENSE("minmax") CATEGORY("{hash: 6}")));
    expect_refusal(&opt, "csv", "first.h5: its slot c is made in another way");
    put("s.yaml", SCHEMA("equals: yes", DENSE("minmax") CATEGORY("{index: 1}")));
    expect_refusal(&opt, "csv", "slot c has 2 categories, the schema's index holds 1");
    put("s.yaml", SCHEMA("equals: no", DENSE("minmax") CATEGORY("{index: 5}")));
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    assert_int_equal(hps_data_open_all(&data, &both, MPI_COMM_NULL), HPS_DECK);
    hps_data_close(data);
    put("s.yaml", MADE);
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    assert_int_equal(hps_data_open_all(&data, &both, MPI_COMM_NULL), HPS_OK);
    hps_data_close(data);
    unlink("first.h5");
    unlink("o.h5");
}

/* Formats without a schema: other --ids, --labels, --dense than before. */
static void test_options_alike(void **state)
{
    struct hps_import_opt opt = defaults();

    (void)state;
    put("in.txt", "1 1:0.5 7:1\n0 1:2 8:1\n");
    opt.dense_columns = 1;
    opt.dense = "zscore";
    assert_int_equal(import("libsvm", &opt, NULL), HPS_OK);
    opt.append = true;
    opt.ids = "hash";
    assert_int_equal(import("libsvm", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "slot features is made in another way than here: number, not"));
    opt.ids = "keep";
    opt.labels = "keep";
    assert_int_equal(import("libsvm", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "label above 0, not label as it is"));
    opt.labels = "binary";
    opt.dense = "log1p";
    assert_int_equal(import("libsvm", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "scaling zscore and log1p"));
    opt.dense = "auto";                                 /* as the dataset has it */
    assert_int_equal(import("libsvm", &opt, NULL), HPS_OK);
    expect_whole("o.h5", 4);
    unlink("o.h5");
}

static void test_columns_twice(void **state)
{
    const struct hps_import_opt opt = defaults();

    (void)state;
    put("s.yaml", SCHEMA("", DENSE("none")));
    put("in.txt", "y,a,b,a\n1,2,3,4\n");
    expect_refusal(&opt, "csv", "in.txt: the columns 2 and 4 are both 'a': which of them?");
    put("in.txt", "y,A,b,a,b\n1,2,3,4,5\n");          /* b is not used, a is as it is written */
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    expect_reals("o.h5", "dense", 1, 1, (double[]){ 4 });
    unlink("o.h5");
    put("s.yaml", "label: {column: Y}\ncolumns:\n  - {column: B, dense: none}\n"
                  "join: {file: j.csv, on: k, key: K}\n");
    put("in.txt", "y,b,k\n1,2,3\n");
    put("j.csv", "K,b\n3,7\n");
    expect_refusal(&opt, "csv", "in.txt and j.csv both have the column 'B'");
    put("j.csv", "K,x,x,k\n3,7,8,9\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);    /* neither x nor k is used */
    unlink("o.h5");
    put("j.csv", "k,x,K,K\n3,7,8,9\n");
    expect_refusal(&opt, "csv", "j.csv: the columns 3 and 4 are both 'K'");
    put("in.txt", "y,k\n1,3\n");
    put("j.csv", "K,b,B\n3,7,8\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    expect_reals("o.h5", "dense", 1, 1, (double[]){ 8 });
    unlink("o.h5");
    put("s.yaml", "text: {header: false, names: [y, a, y]}\n" SCHEMA("", DENSE("none")));
    expect_refusal(&opt, "csv", "'y' is there twice, at 1 and 3");
}

/* A text that no label equals, or all: there is one class, and it is said of each file. */
static void test_one_class(void **state)
{
    struct hps_import_opt opt = defaults();

    (void)state;
    put("s.yaml", SCHEMA("equals: 'yes'", DENSE("none")) "split: {by: file, share: 0.5}\n");
    put("in.txt", "y,a\nYES,1\nno,2\nyes,3\nyes,4\n");
    opt.test_output = "t.h5";
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    assert_non_null(strstr(said, "warning: o.h5: all 2 labels are 0, there is one class only "
                                 "(1 is: y equals 'yes')"));
    assert_non_null(strstr(said, "warning: t.h5: all 2 labels are 1, there is one class only"));
    opt.test_output = "";
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    assert_string_equal(said, "");
    put("in.txt", "y,a\n1,1\n1,2\n");
    put("s.yaml", SCHEMA("", DENSE("none")));           /* numbers may all be equal */
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    assert_string_equal(said, "");
    put("s.yaml", SCHEMA("at_least: 3", DENSE("none")));
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    assert_non_null(strstr(said, "one class only (1 is: y at_least 3)"));
    unlink("o.h5");
    unlink("t.h5");
}

/* Counts and constants that no import writes. */
static void test_numbers_that_cannot_be(void **state)
{
    static const struct {
        const char *object, *name;
        long long count;                /* 0: a real */
        double x;
        const char *why;
    } bad[] = {
        { "/", "positives", -5, 0, "o.h5: attribute positives is -5 of 2 examples" },
        { "/", "positives", 3, 0, "o.h5: attribute positives is 3 of 2 examples" },
        { "slots/c", "missing", -1, 0, "attribute missing of slots/c is -1: no count" },
        { "slots/c", "unknown", -7, 0, "attribute unknown of slots/c is -7: no count" },
        { "dense", "seen", 0, -2, "attribute seen of dense is -2, which no import writes" },
        { "dense", "missing", 0, -1, "attribute missing of dense is -1" },
        { "dense", "std", 0, -1, "attribute std of dense is -1" },
        { "dense", "scale", 0, -0.5, "attribute scale of dense is -0.5" },
        { "dense", "scale", 0, 0, "attribute scale of dense is 0" },
        { "dense", "shift", 0, 1.0 / 0.0, "attribute shift of dense is inf" },
    };

    (void)state;
    put("in.txt", "y,a,c\nyes,1,u\nno,2,v\n");
    put("s.yaml", MADE);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hps_import_opt opt = defaults();
        struct hps_h5 h;
        assert_int_equal(import("csv", &opt, NULL), HPS_OK);
        assert_int_equal(hps_h5_change(&h, "o.h5"), HPS_OK);
        if (bad[i].count)
            hps_h5_put_long(&h, bad[i].object, bad[i].name, bad[i].count);
        else
            hps_h5_put_real(&h, bad[i].object, bad[i].name, 1, &bad[i].x);
        assert_int_equal(hps_h5_close(&h), HPS_OK);
        opt.append = true;
        if (import("csv", &opt, NULL) != HPS_DECK || !strstr(said, bad[i].why))
            fail_msg("not '%s' but: %s", bad[i].why, said);
    }
    unlink("o.h5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_promised_share),
        cmocka_unit_test(test_date_features),
        cmocka_unit_test(test_split_by_date),
        cmocka_unit_test(test_append_alike),
        cmocka_unit_test(test_append_to_untold),
        cmocka_unit_test(test_constants_alike),
        cmocka_unit_test(test_options_alike),
        cmocka_unit_test(test_columns_twice),
        cmocka_unit_test(test_one_class),
        cmocka_unit_test(test_numbers_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
