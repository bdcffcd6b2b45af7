/* t_h5: what is put is got back: attributes of any length, rows in any pieces, growing datasets,
 * cyclic parts; extents are where the bytes are; what is wrong with a file has its own status. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/h5.h"
#include "base/mem.h"

static void test_attributes(void **state)
{
    struct hps_h5 h;
    char *text, *large = hps_mem_new(300001, 1);
    const double real[3] = { 0.1, -1e300, 1.0 / 3 };
    double got[3];
    long long value;

    (void)state;
    memset(large, 'x', 300000);
    assert_int_equal(hps_h5_create(&h, "a.h5", MPI_COMM_NULL), HPS_OK);
    assert_int_equal(hps_h5_put_text(&h, "/", "empty", ""), HPS_OK);
    assert_int_equal(hps_h5_put_text(&h, "/made/on the way", "large", large), HPS_OK);
    assert_int_equal(hps_h5_put_text(&h, "/", "again", "a longer first text"), HPS_OK);
    assert_int_equal(hps_h5_put_text(&h, "/", "again", "gr\xc3\xbc\xc3\x9f"), HPS_OK);
    assert_int_equal(hps_h5_put_long(&h, "made", "n", -(1LL << 62)), HPS_OK);
    assert_int_equal(hps_h5_put_real(&h, "made", "r", 3, real), HPS_OK);
    assert_int_equal(hps_h5_close(&h), HPS_OK);
    assert_int_equal(hps_h5_close(&h), HPS_OK);

    assert_int_equal(hps_h5_open(&h, "a.h5"), HPS_OK);
    assert_int_equal(hps_h5_get_text(&h, "/", "empty", &text, false), HPS_OK);
    assert_string_equal(text, "");
    hps_mem_free(text);
    assert_int_equal(hps_h5_get_text(&h, "made/on the way", "large", &text, false), HPS_OK);
    assert_string_equal(text, large);
    hps_mem_free(text);
    assert_int_equal(hps_h5_get_text(&h, "/", "again", &text, false), HPS_OK);
    assert_string_equal(text, "gr\xc3\xbc\xc3\x9f");
    hps_mem_free(text);
    assert_int_equal(hps_h5_get_long(&h, "made", "n", &value, false), HPS_OK);
    assert_true(value == -(1LL << 62));
    assert_int_equal(hps_h5_get_real(&h, "made", "r", 3, got, false), HPS_OK);
    assert_memory_equal(got, real, sizeof real);
    assert_int_equal(hps_h5_get_real(&h, "made", "r", 2, got, true), HPS_DECK);
    assert_int_equal(hps_h5_get_long(&h, "made", "r", &value, true), HPS_DECK);
    assert_int_equal(hps_h5_get_long(&h, "nowhere/at all", "n", &value, true), HPS_DECK);
    assert_int_equal(hps_h5_get_text(&h, "made", "none", &text, false), HPS_DECK);
    assert_null(text);
    assert_int_equal(hps_h5_close(&h), HPS_OK);
    hps_mem_free(large);
}

/* A number that no long long is: it is not taken for the largest one. */
static void test_large_attribute(void **state)
{
    const unsigned long long large[] = { 1ULL << 62, 1ULL << 63 };
    struct hps_h5 h;
    long long value;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hps_h5_create(&h, "l.h5", MPI_COMM_NULL), HPS_OK);
        hid_t space = (hid_t)HPS_H5(H5Screate(H5S_SCALAR));
        hid_t at = (hid_t)HPS_H5(H5Acreate2(h.file, "n", H5T_STD_U64LE, space, H5P_DEFAULT,
                                            H5P_DEFAULT));
        HPS_H5(H5Awrite(at, H5T_NATIVE_ULLONG, &large[i]));
        HPS_H5(H5Aclose(at));
        HPS_H5(H5Sclose(space));
        assert_int_equal(hps_h5_get_long(&h, "/", "n", &value, false), i ? HPS_DECK : HPS_OK);
        assert_true(i || value == 1LL << 62);
        assert_int_equal(hps_h5_close(&h), HPS_OK);
    }
}

static void fill(float *x, long long first, long long n, int width)
{
    for (long long i = 0; i < n * width; i++)
        x[i] = (float)(first * width + i);
}

/* Written in uneven pieces into a growing dataset, read in others. */
static void test_rows(void **state)
{
    enum { N = 1000, W = 3 };
    float *x = hps_mem_new(N * W, sizeof *x), *y = hps_mem_new(N * W, sizeof *y);
    struct hps_h5 h;
    long long nrow;
    int width;

    (void)state;
    assert_int_equal(hps_h5_create(&h, "r.h5", MPI_COMM_NULL), HPS_OK);
    assert_int_equal(hps_h5_make(&h, "a/b/x", H5T_NATIVE_FLOAT, 0, W, 64), HPS_OK);
    for (long long first = 0, n = 1; first < N; first += n, n = 2 * n + 1) {
        n = n < N - first ? n : N - first;
        fill(x, first, n, W);
        assert_int_equal(hps_h5_put(&h, "a/b/x", H5T_NATIVE_FLOAT, first, n, W, x), HPS_OK);
    }
    assert_int_equal(hps_h5_put(&h, "a/b/x", H5T_NATIVE_FLOAT, 0, 0, W, x), HPS_OK);
    assert_int_equal(hps_h5_close(&h), HPS_OK);
    assert_int_equal(hps_h5_open(&h, "r.h5"), HPS_OK);
    assert_int_equal(hps_h5_shape(&h, "a/b/x", &nrow, &width), HPS_OK);
    assert_int_equal(nrow, N);
    assert_int_equal(width, W);
    fill(x, 0, N, W);
    for (long long first = 0; first < N; first += 123) {
        long long n = N - first < 123 ? N - first : 123;
        assert_int_equal(hps_h5_get(&h, "a/b/x", H5T_NATIVE_FLOAT, first, n, W, y), HPS_OK);
        assert_memory_equal(y, x + first * W, (size_t)n * W * sizeof *x);
    }
    assert_int_equal(hps_h5_get(&h, "a/b/x", H5T_NATIVE_FLOAT, N - 1, 2, W, y), HPS_DECK);
    assert_int_equal(hps_h5_get(&h, "a/b/x", H5T_NATIVE_FLOAT, 0, 1, W + 1, y), HPS_DECK);
    assert_int_equal(hps_h5_get(&h, "a/b", H5T_NATIVE_FLOAT, 0, 1, W, y), HPS_DECK);
    assert_int_equal(hps_h5_shape(&h, "a/c/x", &nrow, &width), HPS_DECK);
    assert_false(hps_h5_has(&h, "a/b/x/y"));
    assert_true(hps_h5_has(&h, "a/b"));
    hps_h5_close(&h);
    hps_mem_free(x);
    hps_mem_free(y);
}

/* Parts in blocks in turn, read by 2 parts, for every number of rows. */
static void test_cyclic(void **state)
{
    enum { W = 2, BLOCK = 4 };
    struct hps_h5 h;
    float x[40 * W], y[40 * W];

    (void)state;
    for (int nrow = 1; nrow < 40; nrow++) {
        assert_int_equal(hps_h5_create(&h, "c.h5", MPI_COMM_NULL), HPS_OK);
        assert_int_equal(hps_h5_make(&h, "x", H5T_NATIVE_FLOAT, nrow, W, 0), HPS_OK);
        fill(x, 0, nrow, W);
        assert_int_equal(hps_h5_put(&h, "x", H5T_NATIVE_FLOAT, 0, nrow, W, x), HPS_OK);
        for (int part = 0; part < 2; part++) {
            int n = 0;
            struct hps_h5_cyclic rows = { nrow, W, BLOCK, part, 2, 0, nrow };
            assert_int_equal(hps_h5_get_cyclic(&h, "x", H5T_NATIVE_FLOAT, &rows, y), HPS_OK);
            for (int row = 0; row < nrow; row++)
                if (row / BLOCK % 2 == part) {
                    fill(x, row, 1, W);
                    assert_memory_equal(y + W * n++, x, W * sizeof *x);
                }
        }
        assert_int_equal(hps_h5_close(&h), HPS_OK);
    }
}

static void check_extent(const char *name, H5T_class_t class, int size, long long nrow, int width)
{
    struct hps_h5 h;
    struct hps_h5_extent e;
    float want[8], got[8];
    int fd;

    assert_int_equal(hps_h5_open(&h, "e.h5"), HPS_OK);
    assert_int_equal(hps_h5_extent(&h, name, class, size, &e), HPS_OK);
    assert_int_equal(hps_h5_close(&h), HPS_OK);
    assert_int_equal(e.nrow, nrow);
    fd = open("e.h5", O_RDONLY);
    for (long long r = 0; r < nrow; r++) {
        off_t at = (off_t)(e.offset[r / e.chunk] + (uint64_t)(r % e.chunk) *
                           (uint64_t)(e.width * size));
        assert_int_equal(pread(fd, got, (size_t)(width * size), at), width * size);
        fill(want, r, 1, width);
        assert_memory_equal(got, want, (size_t)width * sizeof *got);
    }
    close(fd);
    hps_mem_free(e.offset);
}

static void test_extent(void **state)
{
    struct hps_h5 h;
    struct hps_h5_extent e;
    float x[300];

    (void)state;
    fill(x, 0, 300, 1);
    assert_int_equal(hps_h5_create(&h, "e.h5", MPI_COMM_NULL), HPS_OK);
    hps_h5_make(&h, "plain", H5T_NATIVE_FLOAT, 100, 3, 0);
    hps_h5_put(&h, "plain", H5T_NATIVE_FLOAT, 0, 100, 3, x);
    hps_h5_make(&h, "chunks", H5T_NATIVE_FLOAT, 0, 3, 7);
    hps_h5_put(&h, "chunks", H5T_NATIVE_FLOAT, 0, 100, 3, x);
    hps_h5_make(&h, "line", H5T_NATIVE_FLOAT, 0, 0, 64);
    hps_h5_put(&h, "line", H5T_NATIVE_FLOAT, 0, 300, 0, x);
    hps_h5_make(&h, "never", H5T_NATIVE_FLOAT, 10, 0, 4);
    hps_h5_make(&h, "none", H5T_NATIVE_FLOAT, 0, 0, 4);
    assert_int_equal(hps_h5_close(&h), HPS_OK);
    check_extent("plain", H5T_FLOAT, 4, 100, 3);
    check_extent("chunks", H5T_FLOAT, 4, 100, 3);
    check_extent("line", H5T_FLOAT, 4, 300, 1);
    check_extent("none", H5T_FLOAT, 4, 0, 1);
    assert_int_equal(hps_h5_open(&h, "e.h5"), HPS_OK);
    assert_int_equal(hps_h5_extent(&h, "never", H5T_FLOAT, 4, &e), HPS_OK);
    assert_int_equal(e.nchunk, 3);
    assert_true(e.offset[0] == UINT64_MAX && e.offset[2] == UINT64_MAX);
    hps_mem_free(e.offset);
    assert_int_equal(hps_h5_extent(&h, "line", H5T_INTEGER, 4, &e), HPS_DECK);
    assert_int_equal(hps_h5_extent(&h, "line", H5T_FLOAT, 8, &e), HPS_DECK);
    assert_int_equal(hps_h5_extent(&h, "nothing", H5T_FLOAT, 4, &e), HPS_DECK);
    hps_h5_close(&h);
}

/* Stored in other ways than ours. */
static void make_odd(const char *name, hid_t type, hid_t make)
{
    hid_t file = H5Fcreate("odd.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), set;
    hsize_t dims[2] = { 8, 4 };
    hid_t space = H5Screate_simple(2, dims, NULL);

    set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, make, H5P_DEFAULT);
    assert_true(set >= 0);
    HPS_H5(H5Sclose(space));
    HPS_H5(H5Dclose(set));
    HPS_H5(H5Pclose(make));
    HPS_H5(H5Fclose(file));
}

static void test_odd_extents(void **state)
{
    const hsize_t whole[2] = { 2, 4 }, half[2] = { 8, 2 };
    struct hps_h5 h;
    struct hps_h5_extent e;

    (void)state;
    for (int i = 0; i < 5; i++) {
        hid_t make = (hid_t)HPS_H5(H5Pcreate(H5P_DATASET_CREATE));
        if (i < 2)
            HPS_H5(H5Pset_chunk(make, 2, i == 0 ? whole : half));
        if (i == 0)
            HPS_H5(H5Pset_deflate(make, 1));
        if (i == 2)
            HPS_H5(H5Pset_layout(make, H5D_COMPACT));
        make_odd("x", i == 3 ? H5T_IEEE_F32BE : i == 4 ? H5T_STD_U32LE : H5T_IEEE_F32LE, make);
        assert_int_equal(hps_h5_open(&h, "odd.h5"), i == 0 ? HPS_DECK : HPS_OK);
        if (i == 0)
            continue;
        assert_int_equal(hps_h5_extent(&h, "x", i == 4 ? H5T_INTEGER : H5T_FLOAT, 4, &e),
                         HPS_DECK);
        assert_null(e.offset);
        hps_h5_close(&h);
    }
}

/* Numbers whose bits mean something else than those of a processor are not read as if they did. */
static void test_odd_types(void **state)
{
    hid_t biased = (hid_t)HPS_H5(H5Tcopy(H5T_IEEE_F32LE));
    hid_t narrow = (hid_t)HPS_H5(H5Tcopy(H5T_STD_I64LE));
    const hid_t types[] = { biased, narrow, H5T_IEEE_F32LE, H5T_STD_I64LE };
    struct hps_h5 h;
    struct hps_h5_extent e;

    (void)state;
    HPS_H5(H5Tset_ebias(biased, 100));
    HPS_H5(H5Tset_precision(narrow, 32));
    for (int i = 0; i < 4; i++) {
        make_odd("x", types[i], (hid_t)HPS_H5(H5Pcreate(H5P_DATASET_CREATE)));
        assert_int_equal(hps_h5_open(&h, "odd.h5"), HPS_OK);
        assert_int_equal(hps_h5_extent(&h, "x", i % 2 ? H5T_INTEGER : H5T_FLOAT, i % 2 ? 8 : 4, &e),
                         i < 2 ? HPS_DECK : HPS_OK);
        hps_mem_free(e.offset);
        hps_h5_close(&h);
    }
    HPS_H5(H5Tclose(biased));
    HPS_H5(H5Tclose(narrow));
}

/* Rows that nobody wrote are 0, or refused, in chunks and without. */
static void test_fill(void **state)
{
    const hsize_t chunk[2] = { 2, 4 };
    const float fill[] = { 0, 1 };
    struct hps_h5 h;
    struct hps_h5_extent e;

    (void)state;
    for (int i = 0; i < 4; i++) {
        hid_t make = (hid_t)HPS_H5(H5Pcreate(H5P_DATASET_CREATE));
        HPS_H5(H5Pset_fill_value(make, H5T_NATIVE_FLOAT, &fill[i % 2]));
        if (i < 2)
            HPS_H5(H5Pset_chunk(make, 2, chunk));
        make_odd("x", H5T_IEEE_F32LE, make);
        assert_int_equal(hps_h5_open(&h, "odd.h5"), HPS_OK);
        assert_int_equal(hps_h5_extent(&h, "x", H5T_FLOAT, 4, &e), i % 2 ? HPS_DECK : HPS_OK);
        hps_mem_free(e.offset);
        hps_h5_close(&h);
    }
}

static void write_bytes(const char *path, const char *text, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_int_equal(write(fd, text, n), n);
    close(fd);
}

static void test_bad_files(void **state)
{
    struct hps_h5 h;
    struct stat facts;

    (void)state;
    assert_int_equal(hps_h5_open(&h, "missing.h5"), HPS_INPUT);
    assert_int_equal(hps_h5_open(&h, "."), HPS_INPUT);
    write_bytes("text.h5", "no HDF5 at all", 14);
    assert_int_equal(hps_h5_open(&h, "text.h5"), HPS_DECK);
    write_bytes("empty.h5", "", 0);
    assert_int_equal(hps_h5_open(&h, "empty.h5"), HPS_DECK);
    assert_int_equal(stat("e.h5", &facts), 0);
    assert_int_equal(truncate("e.h5", facts.st_size - 100), 0);
    assert_int_equal(hps_h5_open(&h, "e.h5"), HPS_DECK);
    assert_int_equal(hps_h5_create(&h, "no/such/folder.h5", MPI_COMM_NULL), HPS_OUTPUT);
    assert_int_equal(hps_h5_create(&h, ".", MPI_COMM_NULL), HPS_OUTPUT);
    assert_int_equal(hps_h5_close(&h), HPS_OK);
    assert_int_equal(hps_h5_change(&h, "missing.h5"), HPS_OUTPUT);
}

/* A disk that is full: a file size limit answers as one. */
static void test_no_space(void **state)
{
    const struct rlimit small = { 100000, RLIM_INFINITY }, none = { 0, RLIM_INFINITY };
    struct rlimit before;
    struct hps_h5 h;
    float *x = hps_mem_new(1 << 20, sizeof *x);
    enum hps_status s;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(hps_h5_create(&h, "full.h5", MPI_COMM_NULL), HPS_OK);
    assert_int_equal(hps_h5_make(&h, "x", H5T_NATIVE_FLOAT, 0, 0, 1024), HPS_OK);
    setrlimit(RLIMIT_FSIZE, &small);
    s = hps_h5_put(&h, "x", H5T_NATIVE_FLOAT, 0, 1 << 20, 0, x);
    if (!s)
        s = hps_h5_close(&h);
    else
        hps_h5_close(&h);
    assert_int_equal(s, HPS_OUTPUT);
    setrlimit(RLIMIT_FSIZE, &none);
    assert_int_equal(hps_h5_create(&h, "none.h5", MPI_COMM_NULL), HPS_OUTPUT);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_not_equal(access("none.h5", F_OK), 0);
    hps_mem_free(x);
}

static int nothing_held(void **state)
{
    (void)state;
    return hps_mem_held_bytes() != 0;
}

/* A lock, as file systems refuse them, too. */
static void test_locked(void **state)
{
    struct hps_h5 h;

    (void)state;
    assert_int_equal(hps_h5_create(&h, "locked.h5", MPI_COMM_NULL), HPS_OK);
    assert_int_equal(hps_h5_close(&h), HPS_OK);
    int fd = open("locked.h5", O_RDONLY);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(hps_h5_open(&h, "locked.h5"), HPS_OK);
    assert_int_equal(hps_h5_close(&h), HPS_OK);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attributes),  cmocka_unit_test(test_large_attribute),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_cyclic),      cmocka_unit_test(test_extent),
        cmocka_unit_test(test_odd_extents), cmocka_unit_test(test_odd_types),
        cmocka_unit_test(test_fill),        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_no_space),    cmocka_unit_test(test_locked),
    };
    return cmocka_run_group_tests(tests, NULL, nothing_held);
}
