/* clock.c - the monotonic clock. */
#include "base/clock.h"

#include <assert.h>
#include <time.h>

static double begin_s;

double hps_steady_s(void)
{
    struct timespec t;
    int rc = clock_gettime(CLOCK_MONOTONIC, &t);

    assert(rc == 0);
    (void)rc;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void hps_clock_begin(void)
{
    begin_s = hps_steady_s();
}

double hps_now_s(void)
{
    return hps_steady_s() - begin_s;
}

double hps_core_s(void)
{
    struct timespec t = { 0 };

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void hps_sleep_s(double seconds)
{
    time_t whole = (time_t)seconds;
    struct timespec t = { whole, (long)((seconds - (double)whole) * 1e9) };

    nanosleep(&t, NULL);
}
