/* t_reader: a reader gives every example of an epoch once, with all its values, in any batch,
 * micro-batch, share and chunking; two steps live at once; what is wrong in the data is named. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "data/data.h"
#include "tests/lib/sample.h"

static struct hps_data *open_sample(const struct sample *s)
{
    struct hps_data *data;

    sample_write("sample.h5", s);
    assert_int_equal(hps_data_open(&data, "sample.h5", MPI_COMM_NULL), HPS_OK);
    assert_int_equal(data->N, s->N);
    assert_int_equal(data->D, s->D);
    assert_int_equal(data->nslot, s->nsingle + s->nmulti);
    return data;
}

static void check_slot(const struct sample *s, const struct hps_batch *b, int j, long long i)
{
    long long e = b->example[i];
    bool multi = j >= s->nsingle;
    long long first = multi ? b->offset[j][i] : i;

    if (multi)
        assert_int_equal(b->offset[j][i + 1] - first, sample_nid(s, j, e));
    else
        assert_null(b->offset[j]);
    for (int k = 0; k < sample_nid(s, j, e); k++)
        assert_int_equal(hps_ids_get(b->ids[j], (size_t)(first + k)), sample_id(s, j, e, k));
}

/* Every value of a micro-batch is what the rule says of its example; rows rise in the file. */
static void check_batch(const struct sample *s, const struct hps_batch *b)
{
    for (long long i = 0; i < b->B; i++) {
        long long e = b->example[i];
        assert_true(i == 0 || e > b->example[i - 1]);
        assert_true(b->label[i] == sample_label(e));
        for (int d = 0; d < s->D; d++)
            assert_true(b->dense[i * s->D + d] == sample_dense(e, d));
        for (int j = 0; j < s->nsingle + s->nmulti; j++)
            check_slot(s, b, j, i);
    }
    for (int j = s->nsingle; j < s->nsingle + s->nmulti; j++)
        assert_int_equal(b->offset[j][0], 0);
}

static const bool all_slots[8] = { true, true, true, true, true, true, true, true };

struct shape {
    long long batch;
    int M, parts, W, ahead;
    bool shuffle, in_turn;
};

/* All parts of all steps: each example once an epoch, each micro-batch as large as its share. */
static void check_run(const struct sample *s, struct hps_data *data, const struct shape *q)
{
    struct hps_order order = hps_order_of_data(data, q->shuffle, q->in_turn, 9);
    struct hps_steps steps = hps_steps_of(s->N, q->batch, q->M, 2, 0);
    char *seen = hps_mem_new((size_t)s->N, 1);

    steps.W = q->W;
    for (int k = 0; k < q->parts * steps.W; k++) {
        int part = k % q->parts, w = k / q->parts;
        struct hps_reader_opt opt = { .label = true, .dense = true, .slot = all_slots,
                                      .worker = w, .part = part, .parts = q->parts,
                                      .ahead = q->ahead };
        const struct hps_batch *b, *before = NULL;
        struct hps_reader *r;
        assert_int_equal(hps_reader_new(&r, data, &order, &steps, &opt, 0), HPS_OK);
        for (long long step = 0; step < steps.total; step = hps_steps_next(&steps, step)) {
            long long epoch, position;
            long long n = hps_steps_of_worker(&steps, step, w, &epoch, &position);
            assert_int_equal(hps_reader_next(r, &b), HPS_OK);
            assert_non_null(b);
            for (int m = 0; m < q->M; m++) {
                long long rows = hps_share(n, q->M, m + 1) - hps_share(n, q->M, m);
                assert_int_equal(b[m].B, hps_share(rows, q->parts, part + 1) -
                                             hps_share(rows, q->parts, part));
                check_batch(s, &b[m]);
                for (int i = 0; i < b[m].B; i++) {
                    char *mine = &seen[b[m].example[i]];
                    assert_int_equal(*mine >> epoch & 1, 0);
                    *mine = (char)(*mine | 1 << epoch);
                }
            }
            for (int m = 0; m < q->M && before; m++)
                check_batch(s, &before[m]);             /* the step before is still alive */
            before = b;
        }
        assert_int_equal(hps_reader_next(r, &b), HPS_OK);
        assert_null(b);
        hps_reader_free(r);
    }
    for (long long e = 0; e < s->N; e++)
        assert_int_equal(seen[e], 3);
    hps_mem_free(seen);
}

static void test_all_rows(void **state)
{
    const struct sample samples[] = { { 1, 0, 0, 1, 1, 1, 0 },      { 700, 100, 3, 2, 2, 42, 0 },
                                      { 1000, 0, 2, 2, 0, 42, 0 },  { 513, 1, 0, 0, 1, 9, 0 },
                                      { 900, 900, 1, 1, 1, 1LL << 32, 0 },
                                      { 400, 100, 3, 2, 2, (1LL << 32) + 1, 0 } };
    const struct shape shapes[] = {
        { 1, 1, 1, 1, 1, true, false },    { 64, 4, 1, 1, 2, true, false },
        { 100, 3, 1, 1, 1, false, false }, { 5000, 7, 1, 1, 3, true, false },
        { 257, 2, 1, 1, 2, false, false }, { 64, 2, 2, 3, 2, true, false },
    };

    (void)state;
    for (int i = 0; i < 6; i++) {
        struct hps_data *data = open_sample(&samples[i]);
        for (int k = samples[i].N < 10 ? 0 : 1; k < 6; k++)
            check_run(&samples[i], data, &shapes[k]);
        hps_data_close(data);
    }
}

/* More than one window, so that blocks are dropped and read again; steps that lie across. */
static void test_windows(void **state)
{
    const struct sample s = { 150000, 5000, 1, 1, 1, 77, 0 };
    const struct shape shapes[] = { { 4096, 2, 1, 1, 2, true, false },
                                    { 100000, 1, 1, 1, 1, true, false },
                                    { 30000, 3, 1, 1, 1, false, false } };
    struct hps_data *data = open_sample(&s);

    (void)state;
    for (int k = 0; k < 3; k++)
        check_run(&s, data, &shapes[k]);
    hps_data_close(data);
}

/* Read until trouble; what was said is in text. */
static enum hps_status read_all(struct hps_data *data, char *text, size_t size)
{
    struct hps_order order = hps_order_of(data->N, true, 4);
    struct hps_steps steps = hps_steps_of(data->N, 100, 2, 1, 0);
    struct hps_reader_opt opt = { .label = true, .dense = true, .slot = all_slots,
                                  .part = 0, .parts = 1, .ahead = 2 };
    const struct hps_batch *b;
    struct hps_reader *r;
    enum hps_status s;
    int keep = dup(2), to = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);

    assert_true(keep >= 0 && to >= 0 && dup2(to, 2) == 2);
    hps_reader_new(&r, data, &order, &steps, &opt, 0);
    do {
        s = hps_reader_next(r, &b);
    } while (!s && b);
    assert_int_equal(hps_reader_next(r, &b), s);        /* again: the same status, in silence */
    hps_reader_free(r);
    assert_int_equal(dup2(keep, 2), 2);
    close(keep);
    ssize_t n = pread(to, text, size - 1, 0);
    text[n > 0 ? n : 0] = 0;
    close(to);
    return s;
}

/* Several files are one: their rows numbered through, in any order of them, also where blocks are
 * short, files have windows of their own and steps lie across; what is wrong is told by file. */
static void test_several_files(void **state)
{
    const long long length[] = { 300, 256, 1, 70000, 700 };
    const struct shape shapes[] = {
        { 4096, 2, 1, 1, 2, true, false }, { 100000, 1, 1, 1, 1, true, true },
        { 5000, 3, 1, 1, 1, false, false }, { 999, 4, 1, 1, 2, true, true },
    };
    struct sample s = { 0, 5000, 1, 1, 1, 77, 0 };
    const char *name[] = { "f_[0-2].h5", "f_3.h5", "f_[4-9].h5" };
    struct hps_data *data;
    char path[24], said[512];

    (void)state;
    for (int i = 0; i < 5; i++) {
        s.N = length[i];
        snprintf(path, sizeof path, "f_%d.h5", i);
        sample_write(path, &s);
        s.first += s.N;
    }
    s.N = s.first;
    assert_int_equal(hps_data_open_all(&data, &(struct hps_list){ 3, name }, MPI_COMM_NULL), 0);
    assert_int_equal(data->files.n, 5);
    assert_int_equal(data->N, s.N);
    for (int k = 0; k < 4; k++)
        check_run(&s, data, &shapes[k]);
    sample_put_id("f_3.h5", "slots/s0/ids", 69999, 77);
    assert_int_equal(read_all(data, said, sizeof said), HPS_DECK);
    assert_non_null(strstr(said, "f_3.h5: slot s0, example 69999: id 77 is outside 0..76"));
    hps_data_close(data);
}

/* The union of shares is the batch; a restart at any step goes on with the same rows. */
static void test_shares_and_restart(void **state)
{
    const struct sample s = { 1000, 0, 1, 1, 1, 50, 0 };
    struct hps_data *data = open_sample(&s);
    struct hps_order order = hps_order_of(s.N, true, 4);
    struct hps_steps steps = hps_steps_of(s.N, 101, 4, 1, 0);
    long long sum_whole = 0, sum_parts = 0;

    (void)state;
    for (int parts = 1; parts <= 7; parts += 6)
        for (int part = 0; part < parts; part++) {
            struct hps_reader_opt opt = { .label = true, .dense = true, .slot = all_slots,
                                          .part = part, .parts = parts, .ahead = 1 };
            const struct hps_batch *b;
            struct hps_reader *r;
            hps_reader_new(&r, data, &order, &steps, &opt, 5);
            while (!hps_reader_next(r, &b) && b)
                for (int m = 0; m < 4; m++)
                    for (int i = 0; i < b[m].B; i++)
                        *(parts == 1 ? &sum_whole : &sum_parts) += b[m].example[i] * (m + 1);
            hps_reader_free(r);
        }
    assert_int_equal(sum_whole, sum_parts);
    hps_data_close(data);
}

/* Only what is wanted is there. */
static void test_columns(void **state)
{
    const struct sample s = { 100, 0, 2, 2, 1, 50, 0 };
    const bool some[] = { false, true, false };
    struct hps_data *data = open_sample(&s);
    struct hps_order order = hps_order_of(s.N, false, 4);
    struct hps_steps steps = hps_steps_of(s.N, 10, 1, 1, 0);
    struct hps_reader_opt opt = { .label = false, .dense = false, .slot = some,
                                  .part = 0, .parts = 1, .ahead = 1 };
    const struct hps_batch *b;
    struct hps_reader *r;

    (void)state;
    hps_reader_new(&r, data, &order, &steps, &opt, 0);
    assert_int_equal(hps_reader_next(r, &b), HPS_OK);
    assert_null(b->label);
    assert_null(b->dense);
    assert_null(b->ids[0].at);
    assert_null(b->ids[2].at);
    for (int i = 0; i < 10; i++)
        assert_int_equal(hps_ids_get(b->ids[1], (size_t)i), sample_id(&s, 1, i, 0));
    hps_reader_free(r);                                 /* in the midst: no hang, nothing held */
    opt.slot = NULL;
    hps_reader_new(&r, data, &order, &steps, &opt, 0);
    assert_int_equal(hps_reader_next(r, &b), HPS_OK);
    assert_null(b->ids[1].at);
    hps_reader_free(r);
    hps_data_close(data);
}

static void expect_trouble(struct hps_data *data, enum hps_status want, const char *words)
{
    char text[1024];
    enum hps_status s = read_all(data, text, sizeof text);

    if (s != want || !strstr(text, words) || strchr(text, '\n') != strrchr(text, '\n'))
        fail_msg("%d '%s' instead of %d '%s'", s, text, want, words);
}

static void test_bad_values(void **state)
{
    const struct sample s = { 1000, 300, 2, 1, 1, 42, 0 };
    struct hps_data *data = open_sample(&s);
    float nan_value = 0.0f / (float)(state == NULL), inf = 1e38f * 10;

    expect_trouble(data, HPS_OK, "");
    sample_put_id("sample.h5", "slots/s0/ids", 17, 99);
    expect_trouble(data, HPS_DECK, "sample.h5: slot s0, example 17: id 99 is outside 0..41");
    sample_put_id("sample.h5", "slots/s0/ids", 17, -1);
    expect_trouble(data, HPS_DECK, "example 17: id -1 is outside 0..41");
    sample_put_id("sample.h5", "slots/s0/ids", 17, 41);
    sample_put_real("sample.h5", "label", 999, 0, nan_value);
    expect_trouble(data, HPS_DECK, "label, example 999: ");
    sample_put_real("sample.h5", "label", 999, 0, 1);
    sample_put_real("sample.h5", "dense", 2 * 500 + 1, 2, -inf);
    expect_trouble(data, HPS_DECK, "dense d1, example 500: -inf is not a finite number");
    sample_put_real("sample.h5", "dense", 2 * 500 + 1, 2, 0);
    sample_put_id("sample.h5", "slots/m0/offsets", 600, 1000000);
    expect_trouble(data, HPS_DECK, "slot m0, example 599: the offsets do not rise");
    hps_data_close(data);

    data = open_sample(&s);
    long long at = 0;
    while (sample_nid(&s, 1, at) == 0)
        at++;
    sample_put_id("sample.h5", "slots/m0/ids", 0, 42);
    char words[80];
    snprintf(words, sizeof words, "slot m0, example %lld: id 42 is outside 0..41", at);
    expect_trouble(data, HPS_DECK, words);
    hps_data_close(data);
}

/* A file that is cut short while it is open. */
static void test_cut_short(void **state)
{
    const struct sample s = { 100000, 0, 4, 3, 1, 42, 0 };
    struct hps_data *data = open_sample(&s);

    (void)state;
    assert_int_equal(truncate("sample.h5", 200000), 0);
    expect_trouble(data, HPS_INPUT, "the file ends here");
    hps_data_close(data);
}

static int nothing_held(void **state)
{
    (void)state;
    return hps_mem_held_bytes() != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_rows),           cmocka_unit_test(test_windows),
        cmocka_unit_test(test_several_files),      cmocka_unit_test(test_shares_and_restart),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_bad_values),         cmocka_unit_test(test_cut_short),
    };
    return cmocka_run_group_tests(tests, NULL, nothing_held);
}
