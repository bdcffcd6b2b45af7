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

static void give_host(void)
{
    char *at = (char *)sbrk(N) + 16;    /* of the heap, which a sanitizer's malloc is not */

    setenv("HPS_SHIM_STRICT", "1", 1);
    hps_shim_look(&at, sizeof at);
}

static void give_pinned(void)
{
    void *at = NULL;

    setenv("HPS_SHIM_STRICT", "1", 1);
    cudaMallocHost(&at, N);
    hps_shim_look(&at, sizeof at);
}

static void give_own(void)
{
    void *at = device_memory();

    setenv("HPS_SHIM_STRICT", "1", 1);
    hps_shim_look(&at, sizeof at);
}

static void clear_host(void)
{
    setenv("HPS_SHIM_STRICT", "1", 1);
    cudaMemsetAsync(malloc(N), 0, N, NULL);
}

/* A number goes to the card on one stream and back on another one. Which wait is left out? */
enum left_out { NONE, BEFORE_CHANGE, BEFORE_SECOND, BEFORE_READ };

static int trip(enum left_out what, int number)
{
    static char *device;
    static int *in, *out;
    static cudaStream_t there, back;
    static cudaEvent_t event, event_back;

    if (!device) {
        device = device_memory();
        if (cudaMallocHost((void **)&in, N) || cudaMallocHost((void **)&out, N) ||
            cudaStreamCreateWithFlags(&there, cudaStreamNonBlocking) ||
            cudaStreamCreateWithFlags(&back, cudaStreamNonBlocking) || cudaEventCreate(&event) ||
            cudaEventCreate(&event_back))
            exit(1);
    }
    *in = number;
    cudaMemcpyAsync(device, in, sizeof *in, cudaMemcpyHostToDevice, there);
    cudaEventRecord(event, there);
    if (what == BEFORE_CHANGE) *in = -1;
    if (what != BEFORE_SECOND) cudaStreamWaitEvent(back, event, 0);
    cudaMemcpyAsync(out, device, sizeof *out, cudaMemcpyDeviceToHost, back);
    cudaEventRecord(event_back, back);
    if (what == BEFORE_READ) return *out;
    if (cudaEventQuery(event_back) != cudaErrorNotReady && cudaEventQuery(event_back)) exit(1);
    cudaEventSynchronize(event_back);
    if (cudaEventQuery(event_back) != cudaSuccess) exit(1);
    return *out;
}

static void what_is_late(void **state)
{
    (void)state;
    for (int what = NONE; what <= BEFORE_READ; what++) {
        int wrong = 0;
        for (int i = 1; i <= 100; i++) {
            wrong += trip((enum left_out)what, i) != i;
            cudaDeviceSynchronize();
        }
        assert_true(what == NONE ? wrong == 0 : wrong > 10);
    }
}

static void what_a_card_forgives(void **state)
{
    (void)state;
    assert_int_equal(end_of(copy), 0);
    assert_int_equal(end_of(write_within), 0);
    assert_int_equal(end_of(all_meet), 0);
    assert_int_equal(end_of(give_own), 0);
}

static void what_it_does_not(void **state)
{
    (void)state;
    assert_int_equal(end_of(touch), SIGSEGV);
    assert_int_equal(end_of(write_behind), SIGSEGV);
    assert_int_equal(end_of(free_twice), SIGABRT);
    assert_int_equal(end_of(some_meet), SIGABRT);
    assert_int_equal(end_of(meet_alone), SIGABRT);
    assert_int_equal(end_of(give_host), SIGABRT);
    assert_int_equal(end_of(give_pinned), SIGABRT);
    assert_int_equal(end_of(clear_host), SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_card_forgives),
        cmocka_unit_test(what_it_does_not),
        cmocka_unit_test(what_is_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
