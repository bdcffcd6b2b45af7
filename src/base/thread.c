/* thread.c - a thread that no signal reaches, a wait that no change of the date touches. */
#include "base/thread.h"

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
    double whole_s = floor(until_s);
    struct timespec until = { (time_t)whole_s, (long)((until_s - whole_s) * 1e9) };

    return pthread_cond_timedwait(cond, mutex, &until) == 0;
}
