/* t_import: what text says is what the dataset holds: numbers, scalings, categories, quotes, joins,
 * splits; constants pass from train to test; appended rows are as if they had been there; bad lines
 * are counted or refused; where something is wrong nothing is left behind. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/h5.h"
#include "base/mem.h"
#include "data/import.h"
#include "data/writer.h"
#include "tests/lib/imported.h"

static const char schema[] =
    "text: {missing: ['?']}\n"
    "label: {column: y, equals: 'yes'}\n"
    "columns:\n"
    "  - {column: a, dense: none}\n"
    "  - {column: b, dense: zscore}\n"
    "  - {column: c, category: {index: 3}}\n"
    "  - {column: d, category: {hash: 10}}\n"
    "  - {column: e, multi: {separator: '|', index: 9}}\n";

static void test_csv(void **state)
{
    const struct hps_import_opt opt = defaults();
    struct hps_import_result r;

    (void)state;
    put("s.yaml", schema);
    put("in.txt", "\xef\xbb\xbfy,a,b,c,d,e,unused\r\n"
                  "yes, 1.5 ,1,red,x,p|q,0\r\n"
                  "no,-2e1,3,\"green, \"\"dark\"\"\",y,,0\r\n"
                  "\r\n"
                  "\"yes\",?,?,red,x,q | p|zz,\"a\r\nb\"\r\n"
                  "NO,7,5,?,,p,0");
    assert_int_equal(import("csv", &opt, &r), HPS_OK);
    assert_int_equal(r.rows, 4);
    assert_int_equal(r.bad, 0);
    assert_int_equal(r.missing, 2 + 1 + 1 + 1);
    expect_reals("o.h5", "label", 0, 4, (double[]){ 1, 0, 1, 0 });
    double std = sqrt(8.0 / 3);
    expect_reals("o.h5", "dense", 2, 8, (double[]){ 1.5, -2 / std, -20, 0, 0, 0, 7, 2 / std });
    expect_ids("o.h5", "slots/c/ids", 4, (long long[]){ 1, 2, 1, 0 });
    expect_ids("o.h5", "slots/e/ids", 6, (long long[]){ 1, 2, 2, 1, 3, 1 });
    expect_ids("o.h5", "slots/e/offsets", 5, (long long[]){ 0, 2, 2, 5, 6 });
    expect_whole("o.h5", 4);
    struct hps_h5 h;
    long long d[4], buckets;
    assert_int_equal(hps_h5_open(&h, "o.h5"), HPS_OK);
    assert_int_equal(hps_h5_get(&h, "slots/d/ids", H5T_NATIVE_LLONG, 0, 4, 0, d), HPS_OK);
    assert_true(d[0] == d[2] && d[0] > 0 && d[0] < 10 && d[3] == 0);
    assert_int_equal(hps_h5_get_long(&h, "slots/c", "buckets", &buckets, false), HPS_OK);
    assert_int_equal(buckets, 4);
    hps_h5_close(&h);
    unlink("o.h5");
}

/* A test file takes constants and categories; a category that is not known there is 0. */
static void test_scaling_passes_on(void **state)
{
    struct hps_import_opt opt = defaults();
    struct hps_import_result r;

    (void)state;
    put("s.yaml", schema);
    put("in.txt", "y,a,b,c,d,e\nyes,1,1,red,x,p\nno,2,3,blue,y,q\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    rename("o.h5", "train.h5");
    put("in.txt", "y,a,b,c,d,e\nyes,1,5,blue,x,q|new\nno,2,?,black,y,p\n");
    opt.scaling = "train.h5";
    assert_int_equal(import("csv", &opt, &r), HPS_OK);
    expect_reals("o.h5", "dense", 2, 4, (double[]){ 1, 3, 2, 0 });
    expect_ids("o.h5", "slots/c/ids", 2, (long long[]){ 2, 0 });
    expect_ids("o.h5", "slots/e/ids", 3, (long long[]){ 2, 0, 1 });
    assert_int_equal(r.unknown, 2);
    expect_whole("o.h5", 2);
    unlink("o.h5");
    put("s.yaml", "label: {column: y}\ncolumns:\n  - {column: a, dense: none}\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "train.h5: its dense features are not those"));
    expect_nothing_left();
}

/* Rows appended are the rows of one import, where no constant depends on them. */
static void test_append(void **state)
{
    struct hps_import_opt opt = defaults();
    struct hps_h5 h;
    char *one, *two;

    (void)state;
    put("s.yaml", "label: {column: y}\ncolumns:\n  - {column: a, dense: log1p}\n"
                  "  - {column: c, category: {index: 5}}\n  - {column: e, multi: {hash: 9}}\n");
    put("in.txt", "y,a,c,e\n1,1,u,p|q\n0,2,v,\n1,3,u,r\n0,?,,p\n");
    put("s.yaml", "text: {missing: ['?']}\nlabel: {column: y}\ncolumns:\n"
                  "  - {column: a, dense: log1p}\n  - {column: c, category: {index: 5}}\n"
                  "  - {column: e, multi: {hash: 9}}\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    assert_int_equal(hps_h5_open(&h, "o.h5"), HPS_OK);
    assert_int_equal(hps_h5_get_text(&h, "/", "checksum", &one, false), HPS_OK);
    hps_h5_close(&h);
    put("in.txt", "y,a,c,e\n1,1,u,p|q\n0,2,v,\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    opt.append = true;
    put("in.txt", "y,a,c,e\n1,3,u,r\n0,?,,p\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    assert_int_equal(hps_h5_open(&h, "o.h5"), HPS_OK);
    assert_int_equal(hps_h5_get_text(&h, "/", "checksum", &two, false), HPS_OK);
    hps_h5_close(&h);
    assert_string_equal(one, two);
    hps_mem_free(one);
    hps_mem_free(two);
    expect_whole("o.h5", 4);
    put("in.txt", "y,a,c,e\nno number,3,u,r\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_DECK);
    expect_whole("o.h5", 4);                            /* the dataset is as it was */
    put("s.yaml", "label: {column: y}\ncolumns:\n  - {column: a, dense: log1p}\n"
                  "  - {column: c, category: {hash: 6}}\n  - {column: e, multi: {hash: 10}}\n");
    put("in.txt", "y,a,c,e\n1,3,u,r\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "rows cannot be appended"));
    expect_whole("o.h5", 4);
    unlink("o.h5");
}

static void test_split_by_file(void **state)
{
    struct hps_import_opt opt = defaults();
    struct hps_import_result r;

    (void)state;
    put("s.yaml", "label: {column: y}\ncolumns:\n  - {column: a, dense: minmax}\n"
                  "  - {column: c, category: {index: 5}}\nsplit: {by: file, share: 0.4}\n");
    put("in.txt", "y,a,c\n1,10,u\n0,x,u\n0,20,v\n1,15,u\n0,30,v\n1,10,w\n");
    opt.test_output = "t.h5";
    opt.bad_share = 0.5;
    assert_int_equal(import("csv", &opt, &r), HPS_OK);
    assert_int_equal(r.rows, 3);
    assert_int_equal(r.test_rows, 2);
    assert_int_equal(r.bad, 1);
    assert_non_null(strstr(said, "in.txt:3: column a: 'x' is not a number"));
    expect_reals("o.h5", "dense", 1, 3, (double[]){ 0, 1, 0.5 });
    expect_reals("t.h5", "dense", 1, 2, (double[]){ 2, 0 });
    expect_ids("t.h5", "slots/c/ids", 2, (long long[]){ 2, 0 });
    expect_whole("o.h5", 3);
    expect_whole("t.h5", 2);
    unlink("o.h5");
    unlink("t.h5");
    put("in.txt", "y,a,c\n1,10,u\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "leaves one of the files empty"));
    expect_nothing_left();
}

/* By a column: the largest, later ones first among equals; categories only from train rows. */
static void test_split_by_column(void **state)
{
    struct hps_import_opt opt = defaults();

    (void)state;
    put("s.yaml", "label: {column: y}\ncolumns:\n  - {column: c, category: {index: 9}}\n"
                  "split: {by: time, share: 0.5}\n");
    put("in.txt", "y,c,time\n1,a,9e9\n2,b,5\n3,c,-1\n4,a,5\n5,d,5\n6,b,1e10\n7,c,0.5\n8,e,-7\n");
    opt.test_output = "t.h5";
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    expect_reals("o.h5", "label", 0, 4, (double[]){ 2, 3, 7, 8 });
    expect_reals("t.h5", "label", 0, 4, (double[]){ 1, 4, 5, 6 });
    expect_ids("o.h5", "slots/c/ids", 4, (long long[]){ 1, 2, 2, 3 });
    expect_ids("t.h5", "slots/c/ids", 4, (long long[]){ 0, 0, 0, 1 });
    unlink("o.h5");
    unlink("t.h5");
}

static void test_join(void **state)
{
    struct hps_import_opt opt = defaults();
    struct hps_import_result r;

    (void)state;
    put("s.yaml", "label: {column: Rating, at_least: 4}\ncolumns:\n"
                  "  - {column: genres, multi: {separator: '|', index: 9}}\n"
                  "  - {column: year, dense: none}\njoin: {file: films.csv, on: film, key: id}\n");
    put("films.csv", "id,genres,year\n7,a|b,1999\n\"8\",\"b|c,d\",\n");
    put("in.txt", "film,rating\n7,4.0\n8,3.5\n9,5\n7,1\n");
    assert_int_equal(import("csv", &opt, &r), HPS_OK);
    expect_reals("o.h5", "label", 0, 4, (double[]){ 1, 0, 1, 0 });
    expect_ids("o.h5", "slots/genres/ids", 6, (long long[]){ 1, 2, 2, 3, 1, 2 });
    expect_ids("o.h5", "slots/genres/offsets", 5, (long long[]){ 0, 2, 4, 4, 6 });
    expect_reals("o.h5", "dense", 1, 4, (double[]){ 1999, 0, 0, 1999 });
    assert_int_equal(r.missing, 3);
    unlink("o.h5");
    put("films.csv", "id,genres,year\n7,a|b,1999\n7,x,\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "films.csv:3: a second row with this key"));
    unlink("films.csv");
    assert_int_equal(import("csv", &opt, NULL), HPS_INPUT);
    assert_non_null(strstr(said, "films.csv"));
    expect_nothing_left();
}

static void test_bad_lines(void **state)
{
    struct hps_import_opt opt = defaults();
    struct hps_import_result r;

    (void)state;
    put("s.yaml", "label: {column: y}\ncolumns:\n  - {column: a, dense: none}\n");
    put("in.txt", "y,a\n1,2\n1\n1,2,3\n,4\n1,nan\n1,inf\n1,1e400\nx,1\n0,\"5\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "in.txt:3: 1 columns instead of 2"));
    assert_non_null(strstr(said, "in.txt:4: 3 columns instead of 2"));
    assert_non_null(strstr(said, "in.txt:5: there is no label"));
    assert_non_null(strstr(said, "in.txt:6: column a: 'nan' is not a number"));
    assert_non_null(strstr(said, "in.txt:9: column y: 'x' is not a number"));
    assert_non_null(strstr(said, "in.txt:10: a quote is not closed"));
    assert_non_null(strstr(said, "8 bad lines of 9 are more than the share"));
    expect_nothing_left();
    opt.bad_share = 0.9;
    assert_int_equal(import("csv", &opt, &r), HPS_OK);
    assert_int_equal(r.rows, 1);
    assert_int_equal(r.bad, 8);
    unlink("o.h5");
    put("in.txt", "y,a\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "the input has no rows"));
    put("in.txt", "");
    assert_int_equal(import("csv", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "no header line"));
    put("in.txt", "y,b\n1,2\n");
    assert_int_equal(import("csv", &opt, NULL), HPS_DECK);
    assert_non_null(strstr(said, "there is no column 'a'"));
    unlink("in.txt");
    assert_int_equal(import("csv", &opt, NULL), HPS_INPUT);
    assert_non_null(strstr(said, "in.txt: No such file"));
    expect_nothing_left();
}

/* A line of Criteo's form: the label, 13 numbers, 26 categories. */
static void criteo_line(char *to, char delimiter, const char *label, const char *number,
                        const char *category)
{
    to += sprintf(to, "%s", label);
    for (int i = 0; i < 39; i++)
        to += sprintf(to, "%c%s", delimiter, i < 13 ? number : category);
    sprintf(to, "\n");
}

static void test_criteo(void **state)
{
    struct hps_import_opt opt = defaults();
    struct hps_import_result r;
    char text[4096] = "", *at = text;
    struct hps_h5 h;
    long long id[5], other[5];

    (void)state;
    criteo_line(at, '\t', "1", "3", "05db9164");
    criteo_line(at += strlen(at), '\t', "0", "-2", "05db9164");
    criteo_line(at += strlen(at), '\t', "0", "", "");
    criteo_line(at += strlen(at), '\t', "1", "260.5", "05db916");
    criteo_line(at += strlen(at), '\t', "0", "1234567890123", "much longer than eight");
    put("in.txt", text);
    assert_int_equal(import("criteo", &opt, &r), HPS_OK);
    assert_int_equal(r.rows, 5);
    assert_int_equal(r.missing, 39);
    double want[65], row[5] = { log(4), 0, 0, log(261.5), log1p(1234567890123.0) };
    for (int i = 0; i < 65; i++)
        want[i] = row[i / 13];
    expect_reals("o.h5", "dense", 13, 39, want);
    expect_reals("o.h5", "label", 0, 5, (double[]){ 1, 0, 0, 1, 0 });
    assert_int_equal(hps_h5_open(&h, "o.h5"), HPS_OK);
    assert_int_equal(hps_h5_get(&h, "slots/C1/ids", H5T_NATIVE_LLONG, 0, 5, 0, id), HPS_OK);
    assert_int_equal(hps_h5_get(&h, "slots/C26/ids", H5T_NATIVE_LLONG, 0, 5, 0, other), HPS_OK);
    hps_h5_close(&h);
    assert_true(id[0] == id[1] && id[2] == 0 && id[3] != id[0] && id[4] != id[0]);
    assert_true(id[0] != other[0] && other[0] == other[1]);     /* slots hash differently */
    expect_whole("o.h5", 5);
    unlink("o.h5");
}

/* Comma and header, gzip in two members, cut anywhere: the same dataset or refused. */
static void test_criteo_forms(void **state)
{
    struct hps_import_opt opt = defaults();
    struct hps_import_result r;
    char text[8192], *at = text;
    struct stat facts;
    gzFile gz;

    (void)state;
    at += sprintf(at, "label");
    for (int i = 1; i <= 39; i++)
        at += sprintf(at, ",%c%d", i < 14 ? 'I' : 'C', i < 14 ? i : i - 13);
    *at++ = '\r';
    *at++ = '\n';
    for (int i = 0; i < 8; i++, at += strlen(at))
        criteo_line(at, ',', i % 3 ? "0" : "1", i == 5 ? "" : "12", "68fd1e64");
    unlink("in.txt");
    for (int part = 0; part < 2; part++) {
        gz = gzopen("in.txt", "ab");
        assert_true(gz != NULL);
        size_t half = strlen(text) / 2;
        assert_true(gzwrite(gz, text + (part ? half : 0), (unsigned)(part ? strlen(text) - half
                                                                         : half)) > 0);
        gzclose(gz);
    }
    opt.test_output = "t.h5";
    assert_int_equal(stat("in.txt", &facts), 0);
    assert_int_equal(truncate("in.txt", facts.st_size + 600), 0);   /* zeros, as on tapes */
    assert_int_equal(import("criteo", &opt, &r), HPS_OK);
    assert_int_equal(r.rows, 7);
    assert_int_equal(r.test_rows, 1);
    unlink("o.h5");
    unlink("t.h5");
    int fd = open("in.txt", O_RDWR);
    assert_int_equal(pwrite(fd, "\xff\xff\xff\xff", 4, facts.st_size / 4), 4);
    close(fd);
    assert_int_equal(import("criteo", &opt, &r), HPS_DECK);
    assert_non_null(strstr(said, "damaged gzip data"));
    expect_nothing_left();
    gz = gzopen("in.txt", "wb");
    assert_true(gzwrite(gz, text, (unsigned)strlen(text)) > 0);
    gzclose(gz);
    assert_int_equal(stat("in.txt", &facts), 0);
    assert_int_equal(truncate("in.txt", facts.st_size - 9), 0);
    assert_int_equal(import("criteo", &opt, &r), HPS_DECK);
    assert_non_null(strstr(said, "the gzip data end too early"));
    expect_nothing_left();
    put("in.txt", "1\t2\t3\n");
    assert_int_equal(import("criteo", &opt, &r), HPS_DECK);
    assert_non_null(strstr(said, "in.txt:1: 3 columns instead of 40"));
    opt.output = "/dev/null/o.h5";
    criteo_line(text, '\t', "1", "3", "05db9164");
    put("in.txt", text);
    opt.test_output = "";
    assert_int_equal(import("criteo", &opt, &r), HPS_OUTPUT);
    assert_true(strchr(said, '\n') == strrchr(said, '\n'));
    expect_nothing_left();
}

/* More rows than the buffers hold; and a disk that is full in the midst of them. */
static void test_many_rows(void **state)
{
    enum { N = 70000 };
    const struct rlimit small = { 600000, RLIM_INFINITY };
    struct hps_import_opt opt = defaults();
    struct rlimit before;
    struct hps_h5 h;
    float *x = hps_mem_new(N, sizeof *x);
    FILE *f = fopen("in.txt", "w");

    (void)state;
    put("s.yaml", "label: {column: y}\ncolumns:\n  - {column: a, dense: minmax}\n"
                  "  - {column: e, multi: {hash: 100}}\n");
    fputs("y,a,e\n", f);
    for (int i = 0; i < N; i++)
        fprintf(f, "%d,%d,a|b|%d\n", i % 2, i, i);
    fclose(f);
    assert_int_equal(import("csv", &opt, NULL), HPS_OK);
    expect_whole("o.h5", N);
    assert_int_equal(hps_h5_open(&h, "o.h5"), HPS_OK);
    assert_int_equal(hps_h5_get(&h, "dense", H5T_NATIVE_FLOAT, 0, N, 1, x), HPS_OK);
    hps_h5_close(&h);
    for (int i = 0; i < N; i++)
        assert_true(fabs((double)x[i] - (double)i / (N - 1)) < 1e-6);
    hps_mem_free(x);
    unlink("o.h5");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    setrlimit(RLIMIT_FSIZE, &small);
    assert_int_equal(import("csv", &opt, NULL), HPS_OUTPUT);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_non_null(strstr(said, "File too large"));
    assert_true(strchr(said, '\n') == strrchr(said, '\n'));
    expect_nothing_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),           cmocka_unit_test(test_scaling_passes_on),
        cmocka_unit_test(test_append),        cmocka_unit_test(test_split_by_file),
        cmocka_unit_test(test_split_by_column), cmocka_unit_test(test_join),
        cmocka_unit_test(test_bad_lines),     cmocka_unit_test(test_criteo),
        cmocka_unit_test(test_criteo_forms),  cmocka_unit_test(test_many_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
