/* thread.c - a thread that no signal reaches. */
#include "base/thread.h"

#include <math.h>
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

void hps_sleep_s(double seconds)
{
    double whole = floor(seconds);

    nanosleep(&(struct timespec){ (time_t)whole, (long)((seconds - whole) * 1e9) }, NULL);
}
