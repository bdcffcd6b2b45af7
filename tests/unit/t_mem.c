/* t_mem: memory is zeroed, aligned, counted and given back; growth keeps what was there; what
 * cannot be had ends the run with its size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/status.h"

static int is_zero(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return 0;
    return 1;
}

static void test_new(void **state)
{
    static const size_t size[] = { 0, 1, 63, 64, 65, 4095, 100000, (4 << 20) - 1, 4 << 20,
                                   (6 << 20) + 5 };
    void *p[sizeof size / sizeof *size];

    (void)state;
    for (int turn = 0; turn < 3; turn++) {      /* again, so that old memory comes back dirty */
        for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
            size_t before = hps_mem_held_bytes();
            p[i] = hps_mem_new(size[i], 1);
            assert_true(hps_mem_held_bytes() >= before + size[i]);
            assert_int_equal((uintptr_t)p[i] % (size[i] >= 4 << 20 ? 2 << 20 : 64), 0);
            assert_true(is_zero(p[i], size[i]));
            memset(p[i], 0xff, size[i]);
        }
        for (size_t i = 0; i < sizeof size / sizeof *size; i++)
            hps_mem_free(p[i]);
        assert_int_equal(hps_mem_held_bytes(), 0);
    }
    hps_mem_free(NULL);
}

static void test_grow(void **state)
{
    size_t cap = 0, before, moves = 0;
    int *list = NULL;

    (void)state;
    for (int i = 0; i < 2000000; i++) {         /* crosses from small to large blocks */
        before = cap;
        hps_mem_grow(&list, &cap, (size_t)i + 1, sizeof *list);
        moves += cap != before;
        assert_true(cap > (size_t)i);
        if (cap != before && !is_zero((char *)(list + i), (cap - (size_t)i) * sizeof *list))
            fail_msg("the new part of %zu is not zero", cap);
        list[i] = i;
    }
    for (int i = 0; i < 2000000; i++)
        if (list[i] != i)
            fail_msg("element %d was lost", i);
    assert_true(moves < 45);                    /* by halves: log(2e6) / log(1.5) = 36 */
    before = cap;
    hps_mem_grow(&list, &cap, 5, sizeof *list);
    assert_int_equal(cap, before);
    hps_mem_free(list);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void test_text(void **state)
{
    char *a = hps_mem_text("abc"), *b = hps_mem_print("%s-%05d", a, 42);
    char *c = hps_mem_print("%s", "");

    (void)state;
    assert_string_equal(a, "abc");
    assert_string_equal(b, "abc-00042");
    assert_string_equal(c, "");
    hps_mem_free(a);
    hps_mem_free(b);
    hps_mem_free(c);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void dies(size_t n, size_t size, const char *why)
{
    char heard[1024] = "";
    int pipes[2], status;

    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], STDERR_FILENO);
        hps_mem_new(n, size);
        _exit(0);
    }
    close(pipes[1]);
    ssize_t got = read(pipes[0], heard, sizeof heard - 1);
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(got > 0 && WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), HPS_FAIL);
    assert_non_null(strstr(heard, why));
}

static void test_none_left(void **state)
{
    (void)state;
    dies(SIZE_MAX / 8, 16, "things of 16 bytes are more than memory can address");
    dies((size_t)1 << 50, 4, "no memory for 4503599627370496 bytes (1125899906842624 things of 4)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new),
        cmocka_unit_test(test_grow),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_none_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
