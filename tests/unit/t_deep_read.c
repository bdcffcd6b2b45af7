/* t_deep_read: many reads of a file bring what is there, by each way of reading, whatever their
 * number, size and order, and with several batches under way; a read that fails has its errno, and
 * the others come all the same; a wait ends when its time has come. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/deep_read.h"
#include "base/mem.h"
#include "base/rng.h"

enum { PAGES = 1000, PAGE = 4096, MAX_READS = 3000 };
static const double long_s = 60;

/* What is in the file at some byte. */
static unsigned char byte_at(uint64_t at)
{
    return (unsigned char)hps_rng_bits(7, at);
}

static int make_file(void)
{
    unsigned char *bytes = hps_mem_new(PAGES, PAGE);
    int fd = open("pages", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    assert_true(fd >= 0);
    for (uint64_t i = 0; i < PAGES * PAGE; i++)
        bytes[i] = byte_at(i);
    assert_int_equal(write(fd, bytes, PAGES * PAGE), PAGES * PAGE);
    hps_mem_free(bytes);
    return fd;
}

struct some {
    struct hps_deep_batch batch;
    uint64_t at[MAX_READS];
    size_t size[MAX_READS];
    atomic_int come[MAX_READS];
    int error[MAX_READS];
    atomic_long wrong;
};

static void arrived(void *context, size_t i, const unsigned char *page, int error)
{
    struct some *s = context;
    const size_t bytes = s->batch.size ? s->size[i] : s->batch.bytes;

    if ((uintptr_t)page % PAGE != 0) s->wrong++;
    for (size_t k = 0; !error && k < bytes; k += 61)
        if (page[k] != byte_at(s->at[i] + k)) s->wrong++;
    s->error[i] = error;
    s->come[i]++;
}

static struct some *some_new(int fd, size_t n, size_t bytes, uint64_t seed)
{
    struct some *s = hps_mem_new(1, sizeof *s);

    assert_true(n <= MAX_READS);
    s->batch = (struct hps_deep_batch){ .fd = fd, .bytes = bytes, .n = n, .at = s->at,
                                        .arrived = arrived, .context = s };
    for (size_t i = 0; i < n; i++)
        s->at[i] = hps_rng_below(seed, i, PAGES - bytes / PAGE + 1) * PAGE;
    return s;
}

static void is_whole(struct some *s, int want_error)
{
    for (size_t i = 0; i < s->batch.n; i++) {
        assert_int_equal(s->come[i], 1);
        assert_int_equal(s->error[i], want_error);
    }
    assert_int_equal(s->wrong, 0);
    hps_mem_free(s);
}

static const char *const ways[] = { "io_uring", "threads", NULL };

/* A reader by a way that this build and this kernel may not have. */
static struct hps_deep_reader *reader_of(int w)
{
    struct hps_deep_reader *r = hps_deep_reader_new(ways[w]);

    if (!r) assert_string_equal(ways[w], "io_uring");
    if (r && ways[w]) assert_string_equal(hps_deep_reader_way(r), ways[w]);
    return r;
}

static void test_reads(void **state)
{
    static const size_t count[] = { 0, 1, 2, 31, 127, 128, 129, MAX_READS };
    int fd = make_file();

    (void)state;
    for (int w = 0; w < 3; w++) {
        struct hps_deep_reader *r = reader_of(w);
        for (size_t k = 0; r && k < sizeof count / sizeof *count; k++)
            for (size_t pages = 1; pages <= 10; pages += 3) {
                struct some *a = some_new(fd, count[k], pages * PAGE, k);
                hps_deep_begin(r, &a->batch);
                assert_true(hps_deep_wait(r, &a->batch, hps_steady_s() + long_s));
                is_whole(a, 0);
            }
        hps_deep_reader_free(r);
    }
    close(fd);
}

/* Each read has its own size, up to that of the batch. */
static void vary(struct some *s)
{
    for (size_t i = 0; i < s->batch.n; i++)
        s->size[i] = s->batch.bytes - i % (s->batch.bytes / PAGE) * PAGE;
    s->batch.size = s->size;
    s->batch.bytes = 0;
}

/* Batches of several sizes are under way together, and are waited for in another order. */
static void test_together(void **state)
{
    enum { BATCHES = 9 };
    int fd = make_file();

    (void)state;
    for (int w = 0; w < 3; w++) {
        struct hps_deep_reader *r = reader_of(w);
        struct some *s[BATCHES];
        for (size_t k = 0; r && k < BATCHES; k++) {
            s[k] = some_new(fd, k * 131 % 700, (1 + k % 4) * PAGE, k);
            if (k % 3 == 2) vary(s[k]);
            hps_deep_begin(r, &s[k]->batch);
        }
        for (size_t k = 0; r && k < BATCHES; k++)
            assert_true(hps_deep_wait(r, &s[k * 5 % BATCHES]->batch, hps_steady_s() + long_s));
        for (size_t k = 0; r && k < BATCHES; k++)
            is_whole(s[k], 0);
        hps_deep_reader_free(r);
    }
    close(fd);
}

/* Behind the end of the file, across it, and where the descriptor cannot be read. */
static void test_failures(void **state)
{
    int fd = make_file(), blind = open("pages", O_WRONLY | O_CLOEXEC);

    (void)state;
    assert_true(blind >= 0);
    for (int w = 0; w < 3; w++) {
        struct hps_deep_reader *r = reader_of(w);
        if (!r) continue;
        struct some *past = some_new(fd, 300, PAGE, 1), *bad = some_new(blind, 300, PAGE, 2);
        struct some *across = some_new(fd, 1, 2 * PAGE, 3), *good = some_new(fd, 300, PAGE, 4);
        for (size_t i = 0; i < past->batch.n; i++)
            past->at[i] += (uint64_t)PAGES * PAGE;
        across->at[0] = (uint64_t)(PAGES - 1) * PAGE;
        hps_deep_begin(r, &past->batch);
        hps_deep_begin(r, &bad->batch);
        hps_deep_begin(r, &across->batch);
        hps_deep_begin(r, &good->batch);
        assert_true(hps_deep_wait(r, &good->batch, hps_steady_s() + long_s));
        assert_true(hps_deep_wait(r, &across->batch, hps_steady_s() + long_s));
        assert_true(hps_deep_wait(r, &bad->batch, hps_steady_s() + long_s));
        assert_true(hps_deep_wait(r, &past->batch, hps_steady_s() + long_s));
        is_whole(past, ENODATA);
        is_whole(bad, EBADF);
        is_whole(across, ENODATA);
        is_whole(good, 0);
        hps_deep_reader_free(r);
    }
    close(fd);
    close(blind);
}

/* A pipe to which nobody writes: the wait ends without it; then it comes. */
static void test_wait(void **state)
{
    int end[2];
    unsigned char bytes[PAGE];

    (void)state;
    for (size_t i = 0; i < PAGE; i++)
        bytes[i] = byte_at(i);
    for (int w = 0; w < 2; w++) {
        struct hps_deep_reader *r = reader_of(w);
        if (!r || w == 1) {                     /* pread has no pipes */
            hps_deep_reader_free(r);
            continue;
        }
        assert_int_equal(pipe(end), 0);
        struct some *s = some_new(end[0], 1, PAGE, 0);
        s->at[0] = 0;
        hps_deep_begin(r, &s->batch);
        assert_false(hps_deep_wait(r, &s->batch, hps_steady_s() + 0.05));
        assert_int_equal(write(end[1], bytes, PAGE), PAGE);
        assert_true(hps_deep_wait(r, &s->batch, hps_steady_s() + long_s));
        is_whole(s, 0);
        hps_deep_reader_free(r);
        close(end[0]);
        close(end[1]);
    }
}

/* All who ask share one; the environment can forbid io_uring; there is no other way. */
static void test_shared(void **state)
{
    struct hps_deep_reader *one = hps_deep_reader_get(), *two = hps_deep_reader_get();

    (void)state;
    assert_non_null(one);
    assert_ptr_equal(one, two);
    hps_deep_reader_put(one);
    hps_deep_reader_put(two);
    hps_deep_reader_put(NULL);
    assert_int_equal(setenv("HETERPS_URING", "0", 1), 0);
    one = hps_deep_reader_get();
    assert_string_equal(hps_deep_reader_way(one), "threads");
    hps_deep_reader_put(one);
    assert_int_equal(unsetenv("HETERPS_URING"), 0);
    assert_null(hps_deep_reader_new("carrier pigeons"));
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),    cmocka_unit_test(test_together),
        cmocka_unit_test(test_failures), cmocka_unit_test(test_wait),
        cmocka_unit_test(test_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
