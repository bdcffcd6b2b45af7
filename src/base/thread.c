/* thread.c - a thread that no signal reaches, a wait that no change of the date touches. */
#include "base/thread.h"

#include <assert.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

int hps_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

void hps_thread_yields(void)
{
#ifdef SCHED_BATCH
    struct sched_param none = { 0 };

    pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
#endif
}

static struct timespec timespec_of(double seconds)
{
    double whole = floor(seconds);

    return (struct timespec){ (time_t)whole, (long)((seconds - whole) * 1e9) };
}

void hps_sleep_s(double seconds)
{
    struct timespec t = timespec_of(seconds);

    nanosleep(&t, NULL);
}

double hps_steady_s(void)
{
    struct timespec t;
    int rc = clock_gettime(CLOCK_MONOTONIC, &t);

    assert(rc == 0);
    (void)rc;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void hps_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t steady;

    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &steady);
    pthread_condattr_destroy(&steady);
}

bool hps_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, double until_s)
{
    struct timespec until = timespec_of(until_s);

    return pthread_cond_timedwait(cond, mutex, &until) == 0;
}
