/* imported.c - what the tests of importers share. */
#include "imported.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/h5.h"
#include "base/mem.h"
#include "data/writer.h"

void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

struct hps_import_opt defaults(void)
{
    return (struct hps_import_opt){
        .output = "o.h5", .test_output = "", .schema = "s.yaml", .scaling = "", .source = "tests",
        .split = "", .split_at = "", .seed = 1, .buckets = 1000, .ids = "keep",
        .labels = "binary", .label_name = "click", .dense_names = "dense_feature",
        .dense = "auto", .header = "auto", .delimiter = "auto", .bad_share = 0.01
    };
}

char said[4096];

/* Import "in.txt"; what was said is in `said`. */
enum hps_status import(const char *format, const struct hps_import_opt *opt,
                              struct hps_import_result *r)
{
    char *const input[] = { (char[]){ "in.txt" } };
    struct hps_import_result mine;
    size_t held = hps_mem_held_bytes();
    int keep = dup(2), to = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);

    assert_int_equal(dup2(to, 2), 2);
    enum hps_status s = hps_import_find(format)->run(opt, 1, input, r ? r : &mine);
    assert_int_equal(dup2(keep, 2), 2);
    close(keep);
    ssize_t n = pread(to, said, sizeof said - 1, 0);
    said[n > 0 ? n : 0] = 0;
    close(to);
    assert_int_equal(hps_mem_held_bytes(), held);
    return s;
}

/* A column of a file: real (width 0 or more) or ids. */
void expect_reals(const char *path, const char *name, int width, int n, const double *want)
{
    struct hps_h5 h;
    float x[64];

    assert_int_equal(hps_h5_open(&h, path), HPS_OK);
    assert_int_equal(hps_h5_get(&h, name, H5T_NATIVE_FLOAT, 0, width ? n / width : n, width, x),
                     HPS_OK);
    hps_h5_close(&h);
    for (int i = 0; i < n; i++)
        if (fabs((double)x[i] - want[i]) > 1e-6 * (1 + fabs(want[i])))
            fail_msg("%s %s: number %d is %g, not %g", path, name, i, (double)x[i], want[i]);
}

void expect_ids(const char *path, const char *name, int n, const long long *want)
{
    struct hps_h5 h;
    long long x[64], nrow;
    int width;

    assert_int_equal(hps_h5_open(&h, path), HPS_OK);
    assert_int_equal(hps_h5_shape(&h, name, &nrow, &width), HPS_OK);
    assert_int_equal(nrow, n);
    assert_int_equal(hps_h5_get(&h, name, H5T_NATIVE_LLONG, 0, n, 0, x), HPS_OK);
    hps_h5_close(&h);
    for (int i = 0; i < n; i++)
        if (x[i] != want[i])
            fail_msg("%s %s: id %d is %lld, not %lld", path, name, i, x[i], want[i]);
}

void expect_whole(const char *path, long long rows)
{
    struct hps_data *d;
    bool told;

    assert_int_equal(hps_data_open(&d, path, MPI_COMM_NULL), HPS_OK);
    assert_int_equal(d->N, rows);
    assert_int_equal(hps_writer_verify(d, &told), HPS_OK);
    assert_true(told);
    hps_data_close(d);
}

void expect_nothing_left(void)
{
    assert_int_not_equal(access("o.h5", F_OK), 0);
    assert_int_not_equal(access("o.h5.part", F_OK), 0);
    assert_int_not_equal(access("t.h5", F_OK), 0);
    assert_int_not_equal(access("t.h5.part", F_OK), 0);
}
