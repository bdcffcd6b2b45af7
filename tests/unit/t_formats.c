/* t_formats: what avazu, slot and libsvm text says is what the dataset holds, and what they cannot
 * say is refused with file and line; a split by rows, by a column, by a threshold or by throws
 * gives each row to one file; rows appended later are thrown as if they had been there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/h5.h"
#include "data/data.h"
#include "tests/lib/imported.h"

#define HEADER                                                                                     \
    "id,click,hour,C1,banner_pos,site_id,site_domain,site_category,app_id,app_domain,"             \
    "app_category,device_id,device_ip,device_model,device_type,device_conn_type,C14,C15,C16,C17,"  \
    "C18,C19,C20,C21\n"
#define REST "1,1fb,f38,289,ecad,7801,07d7,a99f,ddd2,449,1,2,15706,320,50,1722,0,35,-1,79\n"

static long long id_at(const char *path, const char *slot, int row)
{
    struct hps_h5 h;
    long long id;

    assert_int_equal(hps_h5_open(&h, path), HPS_OK);
    assert_int_equal(hps_h5_get(&h, slot, H5T_NATIVE_LLONG, row, 1, 0, &id), HPS_OK);
    hps_h5_close(&h);
    return id;
}

/* 2014-10-21 was a Tuesday, 2016-02-29 a Monday. */
static void test_avazu(void **state)
{
    struct hps_import_opt opt = defaults();
    struct hps_import_result r;
    long long c1;

    (void)state;
    put("in.txt", HEADER "9,0,14102100,1005," REST "9,1,16022923,," REST "9,1,14102613,1005," REST);
    assert_int_equal(import("avazu", &opt, &r), HPS_OK);
    expect_whole("o.h5", 3);
    expect_reals("o.h5", "label", 0, 3, (double[]){ 0, 1, 1 });
    expect_ids("o.h5", "slots/day/ids", 3, (long long[]){ 2, 1, 7 });
    expect_ids("o.h5", "slots/hour/ids", 3, (long long[]){ 1, 24, 14 });
    c1 = id_at("o.h5", "slots/C1/ids", 0);
    assert_true(c1 > 0 && c1 < 1000);
    expect_ids("o.h5", "slots/C1/ids", 3, (long long[]){ c1, 0, c1 });
    assert_int_equal(r.missing, 1);
    unlink("o.h5");
    put("in.txt", "hour,click,id," REST);
    assert_int_equal(import("avazu", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "in.txt: the header has the column '1'"));
    put("in.txt", "id,hour,C1\n");
    assert_int_equal(import("avazu", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "in.txt: there is no column 'click'"));
    put("in.txt", HEADER "9,2,14102100,1005," REST "9,0,14132100,1005," REST "9,0,141021,1," REST
                         "1,2,3\n9,0,14022900,1," REST "9,0,14102100,1," REST);
    assert_int_equal(import("avazu", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "in.txt:2: click: '2' is neither 0 nor 1"));
    assert_non_null(strstr(said, "in.txt:3: hour: '14132100' is no hour of a day"));
    assert_non_null(strstr(said, "in.txt:4: hour: '141021' is no hour"));
    assert_non_null(strstr(said, "in.txt:6: hour: '14022900' is no hour of a day"));
    assert_non_null(strstr(said, "in.txt:5: 3 columns instead of 24"));
    expect_nothing_left();
}

/* The highest hours, or those from a threshold on, wherever they stand; no header is needed. */
static void test_split_by_hour(void **state)
{
    struct hps_import_opt opt = defaults();

    (void)state;
    put("in.txt", "1,1,14103000,1," REST "2,0,14102100,2," REST "3,0,14102101,3," REST
                  "4,0,14102200,4," REST "5,1,14102923,5," REST);
    opt.test_output = "t.h5";
    opt.split = "hour";
    assert_int_equal(import("avazu", &opt, NULL), HPS_OK);
    expect_reals("t.h5", "label", 0, 1, (double[]){ 1 });
    expect_ids("t.h5", "slots/day/ids", 1, (long long[]){ 4 });
    opt.split_at = "14102923";
    assert_int_equal(import("avazu", &opt, NULL), HPS_OK);
    expect_ids("t.h5", "slots/hour/ids", 2, (long long[]){ 1, 24 });
    expect_ids("o.h5", "slots/hour/ids", 3, (long long[]){ 1, 2, 1 });
    opt.split_at = "2014-10-22";
    assert_int_equal(import("avazu", &opt, NULL), HPS_OK);
    expect_ids("t.h5", "slots/hour/ids", 3, (long long[]){ 1, 1, 24 });
    opt.split_at = "14109900";
    assert_int_equal(import("avazu", &opt, NULL), HPS_USAGE);
    assert_non_null(strstr(said, "--split-at wants a date, as in the column"));
    unlink("o.h5");
    unlink("t.h5");
    opt.split_at = "14103001";
    assert_int_equal(import("avazu", &opt, NULL), HPS_DECK);
    expect_nothing_left();
    opt.split = "C1";
    assert_int_equal(import("avazu", &opt, NULL), HPS_USAGE);
    opt.split = "random";
    assert_int_equal(import("avazu", &opt, NULL), HPS_USAGE);
    assert_non_null(strstr(said, "--split-at needs a column"));
    opt.test_output = "";
    assert_int_equal(import("avazu", &opt, NULL), HPS_USAGE);
}

static void test_slot(void **state)
{
    struct hps_import_opt opt = defaults();
    struct hps_import_result r;

    (void)state;
    put("in.txt", "click:0 dense_feature:0.5 dense_feature:-1e1 10:7 2:30\n\n"
                  "click:3 10:8 10:9 \t user:5\n"
                  "10:1 dense_feature:2 dense_feature:4 click:1 2:31\n");
    opt.dense_names = "dense_feature,price";
    assert_int_equal(import("slot", &opt, &r), HPS_OK);
    expect_whole("o.h5", 3);
    expect_reals("o.h5", "label", 0, 3, (double[]){ 0, 1, 1 });
    expect_reals("o.h5", "dense", 2, 6, (double[]){ 0.5, -10, 0, 0, 2, 4 });
    expect_ids("o.h5", "slots/2/ids", 3, (long long[]){ 30, 0, 31 });
    expect_ids("o.h5", "slots/user/ids", 3, (long long[]){ 0, 5, 0 });
    expect_ids("o.h5", "slots/10/ids", 4, (long long[]){ 7, 8, 9, 1 });
    expect_ids("o.h5", "slots/10/offsets", 4, (long long[]){ 0, 1, 3, 4 });
    assert_int_equal(r.missing, 2 + 1 + 2);
    rename("o.h5", "train.h5");
    opt.scaling = "train.h5";                           /* the same slots, seen here or not */
    put("in.txt", "click:1 2:1\n");
    assert_int_equal(import("slot", &opt, &r), HPS_OK);
    expect_ids("o.h5", "slots/user/ids", 1, (long long[]){ 0 });
    expect_ids("o.h5", "slots/10/offsets", 2, (long long[]){ 0, 0 });
    unlink("o.h5");
    put("in.txt", "click:1 new:1\nclick:0 2:1 2:2\n2:1\nclick:1 dense_feature:1\nclick:0 2:1000\n"
                  "click:x\nclick:1 2\n");
    assert_int_equal(import("slot", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "in.txt:1: 'new:1' is in no slot of the dataset"));
    assert_non_null(strstr(said, "in.txt:2: 2 values of 2 instead of 1"));
    assert_non_null(strstr(said, "in.txt:3: there is no label"));
    assert_non_null(strstr(said, "in.txt:4: 1 values of dense_feature instead of 2"));
    assert_non_null(strstr(said, "in.txt:5: '2:1000' is no id below --buckets (see --ids hash)"));
    assert_non_null(strstr(said, "in.txt:6: 'click:x' is no number"));
    assert_non_null(strstr(said, "in.txt:7: a word without a colon"));
    expect_nothing_left();
    opt.dense_names = "dense_feature,price,gone";
    put("in.txt", "click:1 dense_feature:1 dense_feature:2 gone:5\n");
    assert_int_equal(import("slot", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "in.txt:1: 1 values of gone instead of 0"));
    opt.dense_names = "dense_feature,price";
    opt.scaling = "";
    opt.ids = "hash";
    put("in.txt", "click:0 a:18446744073709551615\nclick:0 a:18446744073709551615\n");
    assert_int_equal(import("slot", &opt, NULL), HPS_OK);
    long long id = id_at("o.h5", "slots/a/ids", 0);
    assert_true(id > 0 && id < 1000);
    expect_ids("o.h5", "slots/a/ids", 2, (long long[]){ id, id });
    unlink("o.h5");
}

static void test_libsvm(void **state)
{
    struct hps_import_opt opt = defaults();

    (void)state;
    put("in.txt", "# of two kinds\n \t\n+1 3:1 7:1.0 999:1 # of one\n-1 qid:4 0:1 5:0\n0.5\n");
    assert_int_equal(import("libsvm", &opt, NULL), HPS_OK);
    expect_whole("o.h5", 3);
    expect_reals("o.h5", "label", 0, 3, (double[]){ 1, 0, 1 });
    expect_ids("o.h5", "slots/features/ids", 4, (long long[]){ 3, 7, 999, 0 });
    expect_ids("o.h5", "slots/features/offsets", 4, (long long[]){ 0, 3, 4, 4 });
    unlink("o.h5");
    put("in.txt", "1 3:0.5\n1 1000:1\n1 x\n1:1 2:1\n1 a:1\nno 1:1\n");
    assert_int_equal(import("libsvm", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "in.txt:1: '3:0.5' has another value than 1"));
    assert_non_null(strstr(said, "in.txt:2: '1000:1' has no index below --buckets"));
    assert_non_null(strstr(said, "in.txt:3: 'x' is not INDEX:VALUE"));
    assert_non_null(strstr(said, "in.txt:4: there is no label"));
    assert_non_null(strstr(said, "in.txt:5: 'a:1' has no index"));
    assert_non_null(strstr(said, "in.txt:6: 'no' is not a number, and the label"));
    expect_nothing_left();
    opt.dense_columns = 2;
    opt.labels = "keep";
    put("in.txt", "2.5 2:0.5 3:1\n-1 1:-4\n");
    assert_int_equal(import("libsvm", &opt, NULL), HPS_OK);
    expect_reals("o.h5", "label", 0, 2, (double[]){ 2.5, -1 });
    expect_reals("o.h5", "dense", 2, 4, (double[]){ 0, 0.5, -4, 0 });
    expect_ids("o.h5", "slots/features/offsets", 3, (long long[]){ 0, 1, 1 });
    unlink("o.h5");
}

/* Lines from..to-1, each with its number as its one id. */
static void put_numbers(int from, int to)
{
    char text[16384], *at = text;

    for (int i = from; i < to; i++)
        at += sprintf(at, "1 %d:1\n", i);
    put("in.txt", text);
}

static int read_ids(const char *path, long long *id)
{
    struct hps_data *d;
    struct hps_h5 h;
    int n;

    assert_int_equal(hps_data_open(&d, path, MPI_COMM_NULL), HPS_OK);
    n = (int)d->N;
    hps_data_close(d);
    assert_int_equal(hps_h5_open(&h, path), HPS_OK);
    assert_int_equal(hps_h5_get(&h, "slots/features/ids", H5T_NATIVE_LLONG, 0, n, 0, id), HPS_OK);
    hps_h5_close(&h);
    return n;
}

static void test_random_split(void **state)
{
    enum { N = 900, CUT = 300 };
    struct hps_import_opt opt = defaults();
    long long test[N], again[N], train[N];
    int n, m;

    (void)state;
    opt.test_output = "t.h5";
    opt.split = "random";
    put_numbers(0, N);
    assert_int_equal(import("libsvm", &opt, NULL), HPS_OK);
    n = read_ids("t.h5", test);
    assert_in_range(n, N / 5 - 50, N / 5 + 50);         /* four standard deviations */
    assert_int_equal(read_ids("o.h5", train), N - n);
    for (int i = 0, a = 0, b = 0; i < N; i++)           /* every row once, in its turn */
        assert_int_equal(a < n && test[a] == i ? test[a++] : train[b++], i);
    unlink("o.h5");
    put_numbers(0, CUT);
    assert_int_equal(import("libsvm", &opt, NULL), HPS_OK);
    put_numbers(CUT, N);
    opt.append = true;
    assert_int_equal(import("libsvm", &opt, NULL), HPS_OK);
    m = read_ids("t.h5", again);
    assert_int_equal(m, n);
    assert_memory_equal(again, test, (size_t)n * sizeof *test);
    opt.append = false;
    opt.seed = 2;
    put_numbers(0, N);
    assert_int_equal(import("libsvm", &opt, NULL), HPS_OK);
    m = read_ids("t.h5", again);
    assert_true(m != n || memcmp(again, test, (size_t)n * sizeof *test) != 0);
    unlink("o.h5");
    unlink("t.h5");
}

/* The schema may ask for throws too; categories are learned of the train rows alone. */
static void test_random_csv(void **state)
{
    struct hps_import_opt opt = defaults();
    struct hps_import_result r;
    char text[4096], *at = text + sprintf(text, "y,c\n");

    (void)state;
    put("s.yaml", "label: {column: y}\ncolumns:\n  - {column: c, category: {index: 500}}\n"
                  "split: {by: random, share: 0.5}\n");
    for (int i = 0; i < 200; i++)
        at += sprintf(at, "1,%d\n", i);
    put("in.txt", text);
    opt.test_output = "t.h5";
    assert_int_equal(import("csv", &opt, &r), HPS_OK);
    assert_int_equal(r.rows + r.test_rows, 200);
    assert_in_range(r.test_rows, 70, 130);
    assert_int_equal(r.unknown, r.test_rows);
    opt.split = "file";                                 /* what the options say goes before */
    opt.test_share = 0.1;
    assert_int_equal(import("csv", &opt, &r), HPS_OK);
    assert_int_equal(r.test_rows, 20);
    unlink("o.h5");
    unlink("t.h5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_avazu),        cmocka_unit_test(test_split_by_hour),
        cmocka_unit_test(test_slot),         cmocka_unit_test(test_libsvm),
        cmocka_unit_test(test_random_split), cmocka_unit_test(test_random_csv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
