/* background.c - a thread that runs one task. */
#include "train/background.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/thread.h"

struct hps_background {
    void (*run)(void *arg, struct hps_background_end *end);
    void *arg;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t through;
    bool done;
    struct hps_background_end end;
};

static void *start(void *arg)
{
    struct hps_background *e = arg;

    e->run(e->arg, &e->end);
    pthread_mutex_lock(&e->lock);
    e->done = true;
    pthread_cond_signal(&e->through);
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

struct hps_background *hps_background_new(void (*run)(void *arg, struct hps_background_end *end),
                                          void *arg)
{
    struct hps_background *e = hps_mem_new(1, sizeof *e);

    e->run = run;
    e->arg = arg;
    pthread_mutex_init(&e->lock, NULL);
    hps_cond_init(&e->through);
    int rc = hps_thread_start(&e->thread, start, e);
    if (rc) HPS_DIE("pthread_create: %s", strerror(rc));
    return e;
}

bool hps_background_done(struct hps_background *e, double max_s)
{
    double until_s = hps_steady_s() + max_s;
    bool late = max_s <= 0;

    pthread_mutex_lock(&e->lock);
    while (!e->done && !late)
        late = !hps_cond_wait(&e->through, &e->lock, until_s);
    bool done = e->done;
    pthread_mutex_unlock(&e->lock);
    return done;
}

const struct hps_background_end *hps_background_end(const struct hps_background *e)
{
    return &e->end;
}

void hps_background_free(struct hps_background *e)
{
    if (!e) return;
    pthread_join(e->thread, NULL);
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->through);
    hps_mem_free(e);
}
