/* t_row_log: a log of rows gives back what a slow twin in memory has, whatever is appended,
 * dropped, read and cleaned in any order, for rows of odd sizes, by either way of reading, with and
 * without direct I/O; its file and what it writes stay bounded; near pages are one read. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/lib/row_twin.h"

static bool no_direct;

/* The first write by which a log tries direct I/O. */
ssize_t __real_pwrite(int fd, const void *from, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *from, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *from, size_t n, off_t at)
{
    if (!no_direct) return __real_pwrite(fd, from, n, at);
    errno = EINVAL;
    return -1;
}

static void one_step(struct row_twin *t, size_t batch)
{
    switch (row_twin_below(t, 8)) {
    case 0:
        row_twin_drop(t, row_twin_below(t, batch));
        break;
    case 1:
    case 2:
        if (t->nbegun - t->nended < 2) row_twin_begin_read(t, row_twin_below(t, batch + 1));
        break;
    case 3:
        if (t->nbegun > t->nended) row_twin_end_read(t);
        break;
    default:
        assert_int_equal(row_twin_write(t, row_twin_below(t, batch)), HPS_OK);
    }
}

static void run_twin(size_t row_bytes, int nrow, size_t batch, int steps, uint64_t seed)
{
    struct row_twin *t = row_twin_new(row_bytes, nrow, seed);

    for (int k = 0; k < steps; k++)
        one_step(t, batch);
    row_twin_check(t);
    while (t->nbegun > t->nended)
        row_twin_end_read(t);
    row_twin_begin_read(t, ROW_TWIN_BATCH);
    row_twin_begin_read(t, ROW_TWIN_BATCH);
    row_twin_end_read(t);
    row_twin_end_read(t);
    row_twin_free(t);
}

static const char *const ways[] = { "0", "1" };

static void test_twin(void **state)
{
    static const struct {
        size_t bytes;
        int rows, batch, steps, seeds;
    } c[] = {
        { 36, 20003, 3000, 200, 1 }, { 128, 1000, 64, 1000, 2 },  { 128, 30001, 2000, 150, 1 },
        { 128, 1000, 900, 200, 2 },  { 128, 300, 200, 600, 2 },   { 12288, 150, 20, 300, 2 },
        { 1, 1, 1, 600, 1 },         { 4068, 100, 60, 200, 1 },   { 4069, 100, 60, 200, 1 },
        { 70000, 25, 10, 150, 1 },   { 2044, 5, 3, 1000, 1 },
    };

    (void)state;
    for (int w = 0; w < 2; w++) {
        assert_int_equal(setenv("HETERPS_URING", ways[w], 1), 0);
        for (size_t k = 0; k < sizeof c / sizeof *c; k++)
            for (int s = 0; s < c[k].seeds; s++)
                run_twin(c[k].bytes, c[k].rows, (size_t)c[k].batch, c[k].steps,
                         (uint64_t)(s + 10 * w));
    }
    no_direct = true;
    run_twin(128, 5000, 500, 300, 3);
    no_direct = false;
    assert_int_equal(unsetenv("HETERPS_URING"), 0);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* Rows are updated for long: the file stays at twice the rows' bytes, and what is written at twice
 * the bytes of those appended. */
static void test_bounds(void **state)
{
    enum { ROWS = 60001, BATCH = 2000 };
    const size_t bytes = 128;
    struct row_twin *t = row_twin_new(bytes, ROWS, 5);

    (void)state;
    while (t->alive < ROWS)
        assert_int_equal(row_twin_write(t, ROW_TWIN_BATCH), HPS_OK);
    for (int k = 0; k < 400; k++)
        assert_int_equal(row_twin_write(t, BATCH), HPS_OK);
    struct hps_row_log_count c = hps_row_log_counted(t->log);
    print_message("file %.2f of the rows' bytes, written %.2f of those appended\n",
                  c.file_bytes / (ROWS * (double)bytes),
                  c.bytes_written / (c.rows_appended * (double)bytes));
    assert_true(c.file_bytes <= 2.1 * ROWS * (double)bytes);
    assert_true(c.bytes_written <= 2 * c.rows_appended * (double)bytes);
    assert_true(c.rows_cleaned == (double)t->moves && t->moves > 0);
    row_twin_free(t);
}

/* Pages side by side are read together; one alone is one read. */
static void test_near(void **state)
{
    enum { ROWS = 5000 };
    struct row_twin *t = row_twin_filled(128, ROWS);

    (void)state;
    assert_int_equal(row_twin_read(t, 0, 1), HPS_OK);
    struct hps_row_log_count one = hps_row_log_counted(t->log);
    assert_true(one.reads == 1 && one.pages_read == 1);
    assert_int_equal(row_twin_read(t, 0, ROWS), HPS_OK);
    struct hps_row_log_count all = hps_row_log_counted(t->log);
    assert_true(all.pages_read > 100 && all.reads < all.pages_read / 3);
    row_twin_free(t);
}

/* Ten times the rows that were announced, all kept: the file grows, and they are right. */
static void test_more_rows(void **state)
{
    enum { ROWS = 500, TIMES = 10 };
    struct row_twin *t = row_twin_new(128, ROWS, 6);
    uint32_t *place = hps_mem_new(TIMES * ROWS, sizeof *place);
    unsigned char *data = hps_mem_new(TIMES * ROWS, 128), *back = hps_mem_new(TIMES * ROWS, 128);
    int row[TIMES * ROWS];

    (void)state;
    for (int i = 0; i < TIMES * ROWS; i++) {
        row[i] = i;
        row_twin_fill(t, data + i * 128, i, 1);
    }
    assert_int_equal(hps_row_log_append(t->log, TIMES * ROWS, row, data, place), HPS_OK);
    assert_int_equal(hps_row_log_read_begin(t->log, TIMES * ROWS, place, back), HPS_OK);
    assert_int_equal(hps_row_log_read_end(t->log), HPS_OK);
    assert_memory_equal(data, back, TIMES * ROWS * 128);
    hps_row_log_drop(t->log, TIMES * ROWS, place);
    double grown = hps_row_log_counted(t->log).file_bytes;
    for (int k = 0; k < 300; k++)
        assert_int_equal(row_twin_write(t, ROWS), HPS_OK);
    assert_true(hps_row_log_counted(t->log).file_bytes == grown);
    hps_mem_free(place);
    hps_mem_free(data);
    hps_mem_free(back);
    row_twin_free(t);
}

/* A call appends so many rows that segments have to be cleaned meanwhile; the emptiest is the one
 * in which it began. The rows that it has put there stay: nobody knows their places yet. */
static void test_own_rows(void **state)
{
    enum { ROWS = 1000, SOME = 50 };
    struct row_twin *t = row_twin_filled(128, ROWS);
    int row[ROWS];

    (void)state;
    for (int r = 0; r < ROWS; r++)
        row[r] = r;
    for (int k = 0; k < 40; k++) {
        assert_int_equal(row_twin_append(t, SOME + (size_t)k, row), HPS_OK);
        for (int r = 0; r < SOME + k; r++) {
            uint32_t place = (uint32_t)t->place[r];
            hps_row_log_drop(t->log, 1, &place);
            t->place[r] = ROW_TWIN_NONE;
            t->alive--;
        }
        assert_int_equal(row_twin_append(t, ROWS, row), HPS_OK);
    }
    row_twin_check(t);
    row_twin_begin_read(t, ROW_TWIN_BATCH);
    row_twin_end_read(t);
    assert_true(t->moves > 0);
    row_twin_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twin),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_more_rows),
        cmocka_unit_test(test_own_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
