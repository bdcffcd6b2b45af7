/* t_generate: the same seed gives the same rows, however many are wanted; frequent ids are as
 * frequent as Zipf says and lie anywhere, in slots that are alike the same ones; bags are as long
 * as wanted; the share of positives and the teacher's AUC are what the file says. Where ids drift,
 * most are from a window, and later on from others. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/h5.h"
#include "base/mem.h"
#include "data/generate.h"
#include "data/writer.h"

enum { N = 70000, BUCKETS = 1000 };

static const char *const dense_name[] = { "x", "y" }, *const slot_name[] = { "a", "b" };

static struct hps_generate_opt shape(void)
{
    static const long long buckets[] = { BUCKETS, 7 };
    static const double bag[] = { 0, 2.5 };

    return (struct hps_generate_opt){ .rows = N, .D = 2, .nslot = 2, .dense_name = dense_name,
                                      .slot_name = slot_name, .buckets = buckets, .bag = bag,
                                      .zipf = 1.1, .positives = 0.3, .strength = 2, .seed = 5,
                                      .source = "test" };
}

static void read_ids(const char *path, const char *name, long long n, long long *id)
{
    struct hps_h5 h;

    assert_int_equal(hps_h5_open(&h, path), HPS_OK);
    assert_int_equal(hps_h5_get(&h, name, H5T_NATIVE_LLONG, 0, n, 0, id), HPS_OK);
    hps_h5_close(&h);
}

static void test_same_rows(void **state)
{
    struct hps_generate_opt o = shape();
    long long *many = hps_mem_new(N, sizeof *many), few[100];
    double auc;

    (void)state;
    assert_int_equal(hps_generate("many.h5", &o, &auc), HPS_OK);
    o.rows = 100;
    assert_int_equal(hps_generate("few.h5", &o, &auc), HPS_OK);
    for (int i = 0; i < 3; i++) {
        const char *name = i == 0 ? "slots/a/ids" : i == 1 ? "slots/b/ids" : "slots/b/offsets";
        read_ids("many.h5", name, 100, many);
        read_ids("few.h5", name, 100, few);
        assert_memory_equal(many, few, sizeof few);
    }
    o.first = 40;                                       /* a test set: rows further on */
    o.rows = 60;
    assert_int_equal(hps_generate("few.h5", &o, &auc), HPS_OK);
    read_ids("many.h5", "slots/a/ids", 100, many);
    read_ids("few.h5", "slots/a/ids", 60, few);
    assert_memory_equal(many + 40, few, 60 * sizeof *few);
    o.first = 0;
    o.rows = 100;
    o.seed = 6;
    assert_int_equal(hps_generate("few.h5", &o, &auc), HPS_OK);
    read_ids("few.h5", "slots/a/ids", 100, few);
    read_ids("many.h5", "slots/a/ids", 100, many);
    assert_memory_not_equal(many, few, sizeof few);
    hps_mem_free(many);
}

static int downwards(const void *a, const void *b)
{
    long long x = *(const long long *)a, y = *(const long long *)b;

    return (x < y) - (x > y);
}

static void test_zipf(void **state)
{
    long long *id = hps_mem_new(N, sizeof *id), times[BUCKETS] = { 0 }, low = 0;
    double want;

    (void)state;
    read_ids("many.h5", "slots/a/ids", N, id);
    for (int i = 0; i < N; i++) {
        assert_in_range(id[i], 0, BUCKETS - 1);
        times[id[i]]++;
        low += id[i] < BUCKETS / 2;
    }
    assert_true(low > N / 20 && low < N * 19 / 20);     /* the frequent ones lie anywhere */
    qsort(times, BUCKETS, sizeof *times, downwards);
    /* the law's own share of the first ten of a thousand: (1 - 11^-0.1) / (1 - 1001^-0.1) */
    want = (1 - pow(11, -0.1)) / (1 - pow(1001, -0.1)) * N;
    for (int i = 0; i < 10; i++)
        want -= (double)times[i];
    assert_true(fabs(want) < 5 * sqrt(N * 0.25));       /* five standard deviations */
    hps_mem_free(id);
}

/* The file's own numbers, and features that look normal. */
static void test_told(void **state)
{
    struct hps_data *d;
    struct hps_h5 h;
    double auc, sum = 0, square = 0;
    float *x = hps_mem_new(2 * N, sizeof *x);
    bool told;

    (void)state;
    assert_int_equal(hps_data_open(&d, "many.h5", MPI_COMM_NULL), HPS_OK);
    assert_int_equal(hps_writer_verify(d, &told), HPS_OK);
    assert_true(told);
    assert_true(fabs(d->positives - 0.3) < 0.02);
    assert_true(fabs((double)d->slot[1].ids.nrow / N - 2.5) < 0.05);
    hps_data_close(d);
    assert_int_equal(hps_h5_open(&h, "many.h5"), HPS_OK);
    assert_int_equal(hps_h5_get_real(&h, "/", "teacher_auc", 1, &auc, false), HPS_OK);
    assert_int_equal(hps_h5_get(&h, "dense", H5T_NATIVE_FLOAT, 0, N, 2, x), HPS_OK);
    hps_h5_close(&h);
    assert_true(auc > 0.75 && auc < 0.95);
    for (int i = 0; i < 2 * N; i++) {
        sum += (double)x[i];
        square += (double)x[i] * (double)x[i];
    }
    assert_true(fabs(sum / (2 * N)) < 0.02 && fabs(square / (2 * N) - 1) < 0.03);
    hps_mem_free(x);
}

/* Of two slots the most frequent id: the same where they are alike, else hardly. */
static long long favourite(const char *name, int n)
{
    long long id[2000], times[BUCKETS] = { 0 }, best = 0;

    read_ids("few.h5", name, n, id);
    for (int i = 0; i < n; i++)
        if (++times[id[i]] > times[best])
            best = id[i];
    return best;
}

static void test_even_and_alike(void **state)
{
    static const long long buckets[] = { BUCKETS, BUCKETS };
    static const double bag[] = { 0, 4 };
    struct hps_generate_opt o = shape();
    long long offset[501];
    double auc;

    (void)state;
    o.rows = 500;
    o.buckets = buckets;
    o.bag = bag;
    o.even = true;
    for (int alike = 0; alike < 2; alike++) {
        o.alike = alike == 1;
        assert_int_equal(hps_generate("few.h5", &o, &auc), HPS_OK);
        read_ids("few.h5", "slots/b/offsets", 501, offset);
        for (int i = 0; i <= 500; i++)
            assert_int_equal(offset[i], 4 * i);
        assert_int_equal(favourite("slots/a/ids", 500) == favourite("slots/b/ids", 2000), alike);
    }
}

/* Of BUCKETS ids of slot a, in which of n examples from `first` on each is. */
static void drifted(long long first, int n, bool *in)
{
    struct hps_generate_opt o = shape();
    long long id[1000];
    double auc;

    o.first = first;
    o.rows = n;
    o.zipf = 0;                                         /* outside of the window: any */
    o.drift = 100000;
    o.window = 0.1;
    assert_int_equal(hps_generate("few.h5", &o, &auc), HPS_OK);
    read_ids("few.h5", "slots/a/ids", n, id);
    for (int i = 0; i < n; i++)
        in[id[i]] = true;
}

/* Of a window of 100 ids all are among 1000 examples, and some 45 of the 900 others. Half of them
 * are in the window half its length later; none but a few of those others when it has moved on;
 * and all when it is back at its beginning. */
static void test_drift(void **state)
{
    static const long long later[] = { 0, 50000, 100000, 900000, 1000000 };
    static const int least[] = { 130, 50, 4, 4, 100 }, most[] = { 160, 72, 28, 28, 112 };
    (void)state;

    for (int k = 0; k < 5; k++) {
        bool in[BUCKETS] = { false }, then[BUCKETS] = { false };
        int n = 0, both = 0;
        drifted(0, 1000, in);
        drifted(later[k], 1000, then);
        for (int i = 0; i < BUCKETS; i++) {
            n += in[i];
            both += in[i] && then[i];
        }
        assert_in_range(n, 130, 160);
        assert_in_range(both, least[k], most[k]);
    }
}

static void test_no_folder(void **state)
{
    struct hps_generate_opt o = shape();
    double auc;

    (void)state;
    assert_int_equal(hps_generate("/dev/null/folder.h5", &o, &auc), HPS_OUTPUT);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_rows),
        cmocka_unit_test(test_zipf),
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_even_and_alike),
        cmocka_unit_test(test_drift),
        cmocka_unit_test(test_no_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
