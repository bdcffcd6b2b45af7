/* deep_read.c - a queue of batches, and the threads that take reads off it. */
#include "base/deep_read.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/file/deep_read_impl.h"
#include "base/mem.h"
#include "base/thread.h"
#include "config.h"

/* The best first. */
static const struct hps_deep_ops *const all[] = {
#if HAVE_URING
    &hps_deep_uring,
#endif
    &hps_deep_threads,
};

size_t hps_deep_take(struct hps_deep_reader *r, size_t max, bool wait, struct hps_deep_taken *taken)
{
    size_t n = 0;

    pthread_mutex_lock(&r->mutex);
    while (wait && !r->first && !r->closes)
        pthread_cond_wait(&r->work, &r->mutex);
    while (r->first && n < max) {
        struct hps_deep_batch *b = r->first;
        taken[n++] = (struct hps_deep_taken){ b, b->taken++ };
        if (b->taken < b->n) continue;
        r->first = b->next;
        if (!r->first) r->last = &r->first;
    }
    pthread_mutex_unlock(&r->mutex);
    return n;
}

void hps_deep_end(struct hps_deep_reader *r, size_t n, const struct hps_deep_taken *taken)
{
    bool whole = false;

    pthread_mutex_lock(&r->mutex);
    for (size_t k = 0; k < n; k++)
        whole = --taken[k].batch->left == 0 || whole;
    if (whole) pthread_cond_broadcast(&r->ended);
    pthread_mutex_unlock(&r->mutex);
}

int hps_deep_pread(const struct hps_deep_taken *read, unsigned char *to, size_t done)
{
    const struct hps_deep_batch *b = read->batch;
    const size_t bytes = hps_deep_bytes(read);

    while (done < bytes) {
        ssize_t n = pread(b->fd, to + done, bytes - done, (off_t)(b->at[read->i] + done));
        if (n == 0) return ENODATA;
        if (n < 0 && errno != EINTR) return errno;
        if (n > 0) done += (size_t)n;
    }
    return 0;
}

void hps_deep_room(struct hps_deep_room *room, size_t bytes)
{
    if (bytes <= room->bytes) return;
    hps_mem_free(room->at);
    room->at = hps_mem_pages(bytes);
    room->bytes = bytes;
}

static void *run(void *reader)
{
    struct hps_deep_reader *r = reader;

    r->ops->run(r);
    return NULL;
}

static struct hps_deep_reader *open_way(const struct hps_deep_ops *ops)
{
    void *context = NULL;

    if (!ops->open(&context)) return NULL;
    struct hps_deep_reader *r = hps_mem_new(1, sizeof *r);
    r->ops = ops;
    r->context = context;
    r->last = &r->first;
    pthread_mutex_init(&r->mutex, NULL);
    hps_cond_init(&r->work);
    hps_cond_init(&r->ended);
    r->thread = hps_mem_new((size_t)ops->nthread, sizeof *r->thread);
    while (r->nthread < ops->nthread && hps_thread_start(&r->thread[r->nthread], run, r) == 0)
        r->nthread++;                       /* fewer threads are slower, and enough */
    if (r->nthread > 0) return r;
    hps_deep_reader_free(r);
    return NULL;
}

struct hps_deep_reader *hps_deep_reader_new(const char *way)
{
    struct hps_deep_reader *r = NULL;

    if (!way && hps_env_is("HETERPS_URING", "0")) way = hps_deep_threads.name;
    for (size_t k = 0; !r && k < sizeof all / sizeof *all; k++)
        if (!way || strcmp(way, all[k]->name) == 0) r = open_way(all[k]);
    return r;
}

void hps_deep_reader_free(struct hps_deep_reader *r)
{
    if (!r) return;
    pthread_mutex_lock(&r->mutex);
    assert(!r->first);
    r->closes = true;
    pthread_cond_broadcast(&r->work);
    pthread_mutex_unlock(&r->mutex);
    for (int t = 0; t < r->nthread; t++)
        pthread_join(r->thread[t], NULL);
    r->ops->close(r->context);
    pthread_cond_destroy(&r->work);
    pthread_cond_destroy(&r->ended);
    pthread_mutex_destroy(&r->mutex);
    hps_mem_free(r->thread);
    hps_mem_free(r);
}

static struct {
    pthread_mutex_t mutex;
    struct hps_deep_reader *reader;
    int users;
} shared = { .mutex = PTHREAD_MUTEX_INITIALIZER };

struct hps_deep_reader *hps_deep_reader_get(void)
{
    pthread_mutex_lock(&shared.mutex);
    if (shared.users == 0) shared.reader = hps_deep_reader_new(NULL);
    if (shared.reader) shared.users++;
    struct hps_deep_reader *r = shared.reader;
    pthread_mutex_unlock(&shared.mutex);
    return r;
}

void hps_deep_reader_put(struct hps_deep_reader *r)
{
    if (!r) return;
    pthread_mutex_lock(&shared.mutex);
    assert(r == shared.reader && shared.users > 0);
    if (--shared.users == 0) {
        hps_deep_reader_free(shared.reader);
        shared.reader = NULL;
    }
    pthread_mutex_unlock(&shared.mutex);
}

const char *hps_deep_reader_way(const struct hps_deep_reader *r)
{
    return r->ops->name;
}

void hps_deep_begin(struct hps_deep_reader *r, struct hps_deep_batch *b)
{
    b->taken = 0;
    b->left = b->n;
    b->next = NULL;
    if (b->n == 0) return;
    pthread_mutex_lock(&r->mutex);
    *r->last = b;
    r->last = &b->next;
    if (b->n == 1)
        pthread_cond_signal(&r->work);
    else
        pthread_cond_broadcast(&r->work);
    pthread_mutex_unlock(&r->mutex);
}

bool hps_deep_wait(struct hps_deep_reader *r, struct hps_deep_batch *b, double until_s)
{
    bool in_time = true;

    pthread_mutex_lock(&r->mutex);
    while (b->left > 0 && in_time)
        in_time = hps_cond_wait(&r->ended, &r->mutex, until_s);
    bool whole = b->left == 0;
    pthread_mutex_unlock(&r->mutex);
    return whole;
}
