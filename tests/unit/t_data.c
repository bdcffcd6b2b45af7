/* t_data: a whole dataset opens; every way in which a file is no dataset of ours is refused with
 * one message and its own status, and nothing is held. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "data/data.h"
#include "tests/lib/sample.h"

static const struct sample plain = { 500, 100, 2, 1, 1, 42, 0 };

/* Of several files: their names with blanks between them. */
static void expect(const char *path, enum hps_status want, const char *words)
{
    char text[1024], names[256], *save = NULL;
    struct hps_list list = { 0, (const char *[4]){ NULL } };
    struct hps_data *data;
    int keep = dup(2), to = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);

    assert_true(keep >= 0 && to >= 0 && dup2(to, 2) == 2);
    for (char *n = strtok_r(strcpy(names, path), " ", &save); n; n = strtok_r(NULL, " ", &save))
        list.item[list.n++] = n;
    enum hps_status s = hps_data_open_all(&data, &list, MPI_COMM_NULL);
    assert_int_equal(dup2(keep, 2), 2);
    close(keep);
    ssize_t n = pread(to, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    close(to);
    if (s != want || !strstr(text, words) || strchr(text, '\n') != strrchr(text, '\n'))
        fail_msg("%d '%s' instead of %d '%s'", s, text, want, words);
    assert_null(data);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void test_opens(void **state)
{
    struct hps_data *data;

    (void)state;
    sample_write("d.h5", &plain);
    assert_int_equal(hps_data_open(&data, "d.h5", MPI_COMM_NULL), HPS_OK);
    assert_int_equal(data->N, 500);
    assert_string_equal(data->dense_name[1], "d1");
    assert_string_equal(data->slot[1].name, "m0");
    assert_true(data->slot[1].multi && !data->slot[0].multi);
    assert_int_equal(data->slot[0].buckets, 42);
    double positives = 0;
    for (int i = 0; i < 500; i++)
        positives += sample_label(i);
    assert_true(data->positives == positives / 500);
    hps_data_close(data);
}

/* A change to a whole dataset, and what is then said. */
struct damage {
    const char *what;
    void (*make)(struct hps_h5 *h);
    const char *words;
};

static void remake(struct hps_h5 *h, const char *name, hid_t type, long long n, int width)
{
    char zero[8 * 8 * 600] = { 0 };

    assert_true(H5Ldelete(h->file, name, H5P_DEFAULT) >= 0);
    assert_int_equal(hps_h5_make(h, name, type, n, width, 0), HPS_OK);
    if (n)
        hps_h5_put(h, name, type, 0, n, width, zero);
}

static void no_format(struct hps_h5 *h) { H5Adelete(h->file, "format"); }
static void other_format(struct hps_h5 *h) { hps_h5_put_text(h, "/", "format", "other-1"); }
static void number_format(struct hps_h5 *h) { hps_h5_put_long(h, "/", "format", 1); }
static void no_slots(struct hps_h5 *h) { H5Adelete(h->file, "slots"); }
static void more_slots(struct hps_h5 *h) { hps_h5_put_text(h, "/", "slots", "s0,m0,m1"); }
static void twice(struct hps_h5 *h) { hps_h5_put_text(h, "/", "slots", "s0,s0"); }
static void odd_name(struct hps_h5 *h) { hps_h5_put_text(h, "/", "slots", "s0,,m0"); }
static void path_name(struct hps_h5 *h) { hps_h5_put_text(h, "/", "slots", "s0,m0/ids"); }
static void more_dense(struct hps_h5 *h) { hps_h5_put_text(h, "/", "dense", "d0,d1,d2"); }
static void other_count(struct hps_h5 *h) { hps_h5_put_long(h, "/", "examples", 499); }
static void no_label(struct hps_h5 *h) { H5Ldelete(h->file, "label", H5P_DEFAULT); }
static void no_rows(struct hps_h5 *h) { remake(h, "label", H5T_NATIVE_FLOAT, 0, 0); }
static void wide_label(struct hps_h5 *h) { remake(h, "label", H5T_NATIVE_FLOAT, 500, 2); }
static void column_label(struct hps_h5 *h) { remake(h, "label", H5T_NATIVE_FLOAT, 500, 1); }
static void long_label(struct hps_h5 *h) { remake(h, "label", H5T_NATIVE_LLONG, 500, 0); }
static void double_label(struct hps_h5 *h) { remake(h, "label", H5T_NATIVE_DOUBLE, 500, 0); }
static void short_dense(struct hps_h5 *h) { remake(h, "dense", H5T_NATIVE_FLOAT, 499, 2); }
static void short_ids(struct hps_h5 *h) { remake(h, "slots/s0/ids", H5T_NATIVE_LLONG, 499, 0); }
static void int_ids(struct hps_h5 *h) { remake(h, "slots/s0/ids", H5T_NATIVE_INT, 500, 0); }
static void wide_ids(struct hps_h5 *h) { remake(h, "slots/s0/ids", H5T_NATIVE_LLONG, 500, 2); }
static void wide_multi(struct hps_h5 *h) { remake(h, "slots/m0/ids", H5T_NATIVE_LLONG, 500, 3); }
static void short_offsets(struct hps_h5 *h)
{
    remake(h, "slots/m0/offsets", H5T_NATIVE_LLONG, 500, 0);
}
static void zero_offsets(struct hps_h5 *h)
{
    remake(h, "slots/m0/offsets", H5T_NATIVE_LLONG, 501, 0);
}
static void no_buckets(struct hps_h5 *h) { hps_h5_put_long(h, "slots/s0", "buckets", 0); }

static const struct damage damages[] = {
    { "no format", no_format, "not a heterps dataset" },
    { "other format", other_format, "not heterps-dataset-1" },
    { "number as format", number_format, "not a heterps dataset" },
    { "no slots", no_slots, "no attribute slots" },
    { "more slots", more_slots, "m1" },
    { "slot twice", twice, "one name" },
    { "empty name", odd_name, "unfit name" },
    { "name with a slash", path_name, "unfit name" },
    { "more dense", more_dense, "its shape is (500, 2), (500, 3) is wanted" },
    { "other count", other_count, "attribute examples" },
    { "no label", no_label, "no dataset label" },
    { "no rows", no_rows, "has no examples" },
    { "wide label", wide_label, "its shape is (500, 2), (500) is wanted" },
    { "label as a column", column_label, "its shape is (500, 1), (500) is wanted" },
    { "whole numbers as label", long_label, "does not hold real numbers" },
    { "double label", double_label, "do not have 4 bytes" },
    { "short dense", short_dense, "its shape is (499, 2), (500, 2) is wanted" },
    { "short ids", short_ids, "499 ids for 500 examples" },
    { "ids of 4 bytes", int_ids, "do not have 8 bytes" },
    { "two ids a row", wide_ids, "its shape is (500, 2), (500) is wanted" },
    { "three ids a row, multi-hot", wide_multi, "its shape is (500, 3), (500) is wanted" },
    { "short offsets", short_offsets, "500 offsets instead of 501" },
    { "offsets that end early", zero_offsets, "instead of from 0 to" },
    { "no buckets", no_buckets, "no buckets" },
};

static void test_damages(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        struct hps_h5 h;
        sample_write("x.h5", &plain);
        assert_int_equal(hps_h5_change(&h, "x.h5"), HPS_OK);
        damages[i].make(&h);
        assert_int_equal(hps_h5_close(&h), HPS_OK);
        expect("x.h5", HPS_DECK, damages[i].words);
    }
}

static void test_files(void **state)
{
    struct stat facts;

    (void)state;
    expect("missing.h5", HPS_INPUT, "missing.h5: No such file");
    sample_write("x.h5", &plain);
    assert_int_equal(stat("x.h5", &facts), 0);
    assert_int_equal(truncate("x.h5", facts.st_size / 2), 0);
    expect("x.h5", HPS_DECK, "x.h5: not a whole HDF5 file");
    assert_int_equal(truncate("x.h5", 0), 0);
    expect("x.h5", HPS_DECK, "x.h5: not a whole HDF5 file");
}

/* Files that are no parts of one dataset; a pattern that nothing matches. */
static void test_sets(void **state)
{
    struct sample other = plain;
    struct hps_h5 h;

    (void)state;
    sample_write("a.h5", &plain);
    sample_write("b.h5", &plain);
    expect("a.h5 no.h5", HPS_INPUT, "no.h5: No such file");
    expect("a.h5 z*.h5", HPS_INPUT, "z*.h5: no file has such a name");
    other.buckets = 43;
    sample_write("c.h5", &other);
    expect("[ab].h5 c.h5", HPS_DECK, "a.h5 and c.h5: their slots have other numbers of buckets");
    other.nsingle = 2;
    sample_write("c.h5", &other);
    expect("a.h5 c.h5", HPS_DECK, "a.h5 and c.h5: they have other numbers of slots");
    for (int k = 0; k < 2; k++) {
        assert_int_equal(hps_h5_change(&h, k ? "b.h5" : "a.h5"), HPS_OK);
        assert_int_equal(hps_h5_put_text(&h, "dense", "scaling", "zscore,zscore"), HPS_OK);
        assert_int_equal(hps_h5_put_real(&h, "dense", "shift", 2, (double[]){ 1, k }), HPS_OK);
        assert_int_equal(hps_h5_close(&h), HPS_OK);
    }
    expect("a.h5 b.h5", HPS_DECK, "scaled by other constants");
    unlink("a.h5");
    unlink("b.h5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opens),
        cmocka_unit_test(test_damages),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
