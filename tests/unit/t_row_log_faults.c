/* t_row_log_faults: a damaged page, a full disk and a read that fails are named, and the log says
 * so from then on; a disk that hangs is named too; what cannot be opened says what it needs. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/say.h"
#include "tests/lib/row_twin.h"

static struct {
    atomic_int writes, reads;   /* that succeed before all fail; -1: all do    */
    int error;
    atomic_bool hangs;          /* reads do, until it is false                 */
} disk = { -1, -1, 0, false };

static bool fails(atomic_int *left)
{
    int n = *left;

    while (n > 0 && !atomic_compare_exchange_weak(left, &n, n - 1))
        continue;
    if (n == 0) errno = disk.error;
    return n == 0;
}

ssize_t __real_pwritev(int fd, const struct iovec *v, int n, off_t at);
ssize_t __wrap_pwritev(int fd, const struct iovec *v, int n, off_t at);
ssize_t __wrap_pwritev(int fd, const struct iovec *v, int n, off_t at)
{
    return fails(&disk.writes) ? -1 : __real_pwritev(fd, v, n, at);
}

ssize_t __real_pread(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t n, off_t at)
{
    while (disk.hangs)
        hps_sleep_s(0.002);
    return fails(&disk.reads) ? -1 : __real_pread(fd, to, n, at);
}

/* A wait is long after a moment here. */
struct hps_log_patience { double until_s, began_s; };
struct hps_log_patience __wrap_hps_log_patience(void);
struct hps_log_patience __wrap_hps_log_patience(void)
{
    double now_s = hps_steady_s();

    return (struct hps_log_patience){ now_s + (disk.hangs ? 0.05 : 60), now_s };
}

/* What was said since the log was opened: does it have these words? */
static void listen(void)
{
    unlink("said");
    assert_int_equal(hps_say_log("said"), HPS_OK);
}

static int heard(const char *words)
{
    char text[1 << 14] = "";
    FILE *f = fopen("said", "r");
    int n = 0;

    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    for (const char *at = text; (at = strstr(at, words)) != NULL; at++)
        n++;
    if (n == 0) print_message("'%s' was not said, but: %s\n", words, text);
    return n;
}

/* The descriptor of the log's file, which has no name. */
static int file_of_log(void)
{
    char path[64], to[4096];

    for (int fd = 3; fd < 1000; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, to, sizeof to - 1);
        if (n <= 0) continue;
        to[n] = 0;
        if (strstr(to, "(deleted)")) return fd;
    }
    return -1;
}

/* One bit of a page, anywhere in it; and a whole page that is another one of the same log. */
static void damage(const struct row_twin *t, int row, int how)
{
    enum { PAGE = 4096, ROWS = 30 };
    off_t at = t->place[row] / ROWS * PAGE;
    _Alignas(PAGE) static unsigned char page[PAGE];
    int fd = file_of_log();

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, page, PAGE, how < 0 ? (at + PAGE) : at), PAGE);
    if (how >= 0) page[how / 8] ^= (unsigned char)(1 << how % 8);
    assert_int_equal(pwrite(fd, page, PAGE, at), PAGE);
}

static const char *const ways[] = { "0", "1" };     /* threads, io_uring */

static void test_damage(void **state)
{
    (void)state;
    for (int w = 0; w < 2; w++)
        for (int k = 0; k < 20; k++) {
            char words[64];
            assert_int_equal(setenv("HETERPS_URING", ways[w], 1), 0);
            struct row_twin *t = row_twin_filled(128, 5000);
            listen();
            assert_int_equal(row_twin_read(t, 0, 4000), HPS_OK);
            damage(t, 99, k == 0 ? -1 : (int)hps_rng_below(8, (uint64_t)k, 24 * 8 + 30 * 132 * 8));
            assert_int_equal(row_twin_read(t, 0, 4000), HPS_DECK);
            snprintf(words, sizeof words, "4096 bytes at %lld of the row log in ., is not",
                     t->place[99] / 30 * 4096);
            assert_int_equal(heard(words), 1);
            assert_true(heard("table 'ads': the page of row ") == 1);
            assert_int_equal(row_twin_read(t, 4000, 1), HPS_DECK);    /* from then on */
            assert_int_equal(row_twin_append(t, 1, &(int){ 0 }), HPS_DECK);
            row_twin_free(t);
        }
    assert_int_equal(hps_say_log(NULL), HPS_OK);
    assert_int_equal(unsetenv("HETERPS_URING"), 0);
}

/* Write for long, or until the log says no. */
static enum hps_status write_on(struct row_twin *t)
{
    enum hps_status st = HPS_OK;

    for (int k = 0; !st && k < 400; k++)
        st = row_twin_write(t, 500);
    return st;
}

/* The nth write finds no room: said once, with the place and the bytes. */
static void test_full(void **state)
{
    (void)state;
    for (int n = 0; n < 12; n += 3) {
        struct row_twin *t = row_twin_filled(128, 5000);
        listen();
        disk.error = n == 3 ? EIO : ENOSPC;
        disk.writes = n;
        assert_int_equal(write_on(t), HPS_OUTPUT);
        disk.writes = -1;
        assert_int_equal(write_on(t), HPS_OUTPUT);
        assert_int_equal(row_twin_read(t, 0, 1), HPS_OUTPUT);
        assert_int_equal(heard("table 'ads': cannot write 16384 bytes at "), 1);
        assert_int_equal(heard(n == 3 ? "of the row log in .: Input/output error"
                                      : "of the row log in .: No space left on device"), 1);
        row_twin_free(t);
    }
    assert_int_equal(hps_say_log(NULL), HPS_OK);
}

/* A read fails, of a row or of a segment that is to be cleaned. */
static void test_read_fails(void **state)
{
    (void)state;
    assert_int_equal(setenv("HETERPS_URING", "0", 1), 0);
    for (int cleans = 0; cleans < 2; cleans++) {
        struct row_twin *t = row_twin_filled(128, 5000);
        listen();
        disk.error = EIO;
        disk.reads = 0;
        assert_int_equal(cleans ? write_on(t) : row_twin_read(t, 0, 1), HPS_OUTPUT);
        disk.reads = -1;
        assert_int_equal(row_twin_read(t, 0, 1), HPS_OUTPUT);
        assert_int_equal(heard(cleans ? "cannot read 16384 bytes at "
                                      : "cannot read 4096 bytes at "), 1);
        assert_int_equal(heard("of the row log in .: Input/output error"), 1);
        row_twin_free(t);
    }
    assert_int_equal(unsetenv("HETERPS_URING"), 0);
    assert_int_equal(hps_say_log(NULL), HPS_OK);
}

static void *wake(void *none)
{
    hps_sleep_s(0.3);
    disk.hangs = false;
    return none;
}

/* The disk hangs while a row is read, or a segment: that is said once, and it goes on when the disk
 * does. */
static void test_hang(void **state)
{
    pthread_t thread;

    (void)state;
    assert_int_equal(setenv("HETERPS_URING", "0", 1), 0);
    for (int cleans = 0; cleans < 2; cleans++) {
        struct row_twin *t = row_twin_filled(128, 5000);
        listen();
        disk.hangs = true;
        assert_int_equal(pthread_create(&thread, NULL, wake, NULL), 0);
        assert_int_equal(cleans ? write_on(t) : row_twin_read(t, 0, 5000), HPS_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(heard(cleans ? "s: a read of the row log in ."
                                      : "s: reads of the row log in ."), 1);
        row_twin_free(t);
    }
    assert_int_equal(unsetenv("HETERPS_URING"), 0);
    assert_int_equal(hps_say_log(NULL), HPS_OK);
}

/* What cannot be opened: no directory, more bytes than any disk has, more rows than places. */
static void test_open(void **state)
{
    struct hps_row_log_opt opt = { .directory = "nowhere", .what = "table 'ads'", .row_bytes = 128,
                                   .max_rows = 10 };
    struct hps_row_log *log = NULL;

    (void)state;
    listen();
    assert_int_equal(hps_row_log_open(&log, &opt), HPS_OUTPUT);
    assert_int_equal(heard("cannot open the row log in nowhere: No such file"), 1);
    opt.directory = ".";
    opt.row_bytes = HPS_ROW_LOG_ROW_BYTES;
    opt.max_rows = 1000000000;
    assert_int_equal(hps_row_log_open(&log, &opt), HPS_OUTPUT);
    assert_int_equal(heard("the row log in . needs "), 1);
    assert_int_equal(heard(" bytes, and "), 1);
    opt.row_bytes = 4;
    opt.max_rows = 2000000000;
    assert_int_equal(hps_row_log_open(&log, &opt), HPS_DECK);
    assert_int_equal(heard("2000000000 rows are more than"), 1);
    assert_null(log);
    hps_row_log_close(NULL);
    assert_int_equal(hps_say_log(NULL), HPS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_read_fails),
        cmocka_unit_test(test_hang),
        cmocka_unit_test(test_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
