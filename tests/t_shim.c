/* t_shim: the stand-in for CUDA sees what a card would not forgive, or would be silent about:
 * device memory that the host touches, a write behind the end, memory freed twice, threads that do
 * not meet, a kernel that meets and was not launched so. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cuda_runtime.h"

#define N 100

static char *device_memory(void)
{
    void *p = NULL;

    setenv("HPS_SHIM_GUARD", "1", 1);
    if (cudaMalloc(&p, N) != cudaSuccess) exit(1);
    return p;
}

/* How a process that does this ends: the signal, 0 if it ends by itself. */
static int end_of(void (*act)(void))
{
    int status;

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);               /* cmocka takes them */
        signal(SIGABRT, SIG_DFL);
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        act();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void touch(void)
{
    device_memory()[0] = 1;
}

static void copy(void)
{
    char here[N] = { 1 };
    char *p = device_memory();

    cudaMemcpyAsync(p, here, N, cudaMemcpyHostToDevice, NULL);
    cudaMemcpyAsync(here, p, N, cudaMemcpyDeviceToHost, NULL);
    if (here[0] != 1) _exit(1);
}

static void write_at(void *p)
{
    ((char *)p)[0] = 1;
}

static void run(bool team, unsigned threads, void (*kernel)(void *), void *arguments)
{
    struct hps_shim_dim one = { 1, 1, 1 }, many = { threads, 1, 1 };

    hps_shim_run(team, one, many, kernel, arguments);
}

static void write_within(void)
{
    run(false, 1, write_at, device_memory() + N - 1);
}

static void write_behind(void)
{
    run(false, 1, write_at, device_memory() + (N + 15) / 16 * 16);
}

static void free_twice(void)
{
    char *p = device_memory();

    cudaFree(p);
    cudaFree(p);
}

static void meet(void *most)
{
    if (hps_shim_now.thread.x < *(unsigned *)most) hps_shim_meet(true);
    hps_shim_meet(false);
}

static void all_meet(void)
{
    unsigned most = 64;
    run(true, 64, meet, &most);
}

static void some_meet(void)
{
    unsigned most = 40;
    run(true, 64, meet, &most);
}

static void meet_alone(void)
{
    unsigned most = 64;
    run(false, 64, meet, &most);
}

static void what_a_card_forgives(void **state)
{
    (void)state;
    assert_int_equal(end_of(copy), 0);
    assert_int_equal(end_of(write_within), 0);
    assert_int_equal(end_of(all_meet), 0);
}

static void what_it_does_not(void **state)
{
    (void)state;
    assert_int_equal(end_of(touch), SIGSEGV);
    assert_int_equal(end_of(write_behind), SIGSEGV);
    assert_int_equal(end_of(free_twice), SIGABRT);
    assert_int_equal(end_of(some_meet), SIGABRT);
    assert_int_equal(end_of(meet_alone), SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_card_forgives),
        cmocka_unit_test(what_it_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
