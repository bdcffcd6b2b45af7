/* errand.c - a thread, and whether it is through. */
#include "train/errand.h"

#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/thread.h"

struct hps_errand {
    void (*run)(void *arg, struct hps_errand_end *end);
    void *arg;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t through;
    bool done;
    struct hps_errand_end end;
};

static void *start(void *arg)
{
    struct hps_errand *e = arg;

    e->run(e->arg, &e->end);
    pthread_mutex_lock(&e->lock);
    e->done = true;
    pthread_cond_signal(&e->through);
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

struct hps_errand *hps_errand_new(void (*run)(void *arg, struct hps_errand_end *end), void *arg)
{
    struct hps_errand *e = hps_mem_new(1, sizeof *e);
    pthread_condattr_t steady;

    e->run = run;
    e->arg = arg;
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&e->through, &steady);
    pthread_condattr_destroy(&steady);
    int rc = hps_thread_start(&e->thread, start, e);
    if (rc) HPS_DIE("pthread_create: %s", strerror(rc));
    return e;
}

bool hps_errand_done(struct hps_errand *e, double most_s)
{
    struct timespec until;
    bool late = most_s <= 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    long long ns = until.tv_nsec + (long long)(most_s * 1e9);
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&e->lock);
    while (!e->done && !late)
        late = pthread_cond_timedwait(&e->through, &e->lock, &until) != 0;
    bool done = e->done;
    pthread_mutex_unlock(&e->lock);
    return done;
}

const struct hps_errand_end *hps_errand_end(const struct hps_errand *e)
{
    return &e->end;
}

void hps_errand_free(struct hps_errand *e)
{
    if (!e) return;
    pthread_join(e->thread, NULL);
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->through);
    hps_mem_free(e);
}
