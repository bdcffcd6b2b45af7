/* watch.c - one thread, one counter. */
#include "train/watch.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "base/say.h"
#include "hw/count.h"

static pthread_t thread;
static bool running;
static atomic_bool over;
static _Atomic long long beats, at_step;
static double most_s;
/* A job that the batch system suspended and woke again has not stalled: what a nap lasts longer
 * than this was not the thread's own time. */
static const double lapse_s = 1;

static void alarm_of(double waited_s)
{
    char host[64] = "";
    const char *region = hps_region_now();
    gethostname(host, sizeof host - 1);
    hps_quit(HPS_FAIL,
             "stall: rank %d on %s made no progress for %.0f s after step %lld, inside %s",
             hps_rank(), host, waited_s, (long long)at_step, region ? region : "no region");
}

static void *watch(void *arg)
{
    long long seen = -1;
    double before = hps_now_s(), waited = 0;
    const struct timespec nap = { 0, 200000000 };

    (void)arg;
    while (!over) {
        nanosleep(&nap, NULL);
        double now = hps_now_s();
        waited = beats != seen ? 0 : waited + fmin(now - before, lapse_s);
        seen = beats;
        before = now;
        if (waited > most_s) alarm_of(waited);
    }
    return NULL;
}

void hps_watch_begin(double stall_seconds)
{
    sigset_t all, before;
    if (stall_seconds <= 0) return;
    most_s = stall_seconds;
    over = false;
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    running = pthread_create(&thread, NULL, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!running)
        HPS_SAY_ALL(HPS_WARN, "no thread for the watchdog: run.stall_seconds has no effect");
}

void hps_watch_end(void)
{
    if (!running) return;
    over = true;
    pthread_join(thread, NULL);
    running = false;
}

void hps_watch_beat(long long step)
{
    if (step >= 0) at_step = step;
    beats++;
}
