/* deep_read_impl.h - what the ways of reading share: a queue of batches. */
#ifndef HPS_BASE_DEEP_READ_IMPL_H
#define HPS_BASE_DEEP_READ_IMPL_H

#include "base/deep_read.h"

#include <pthread.h>

/* A way: `nthread` threads run `run` until the reader closes. */
struct hps_deep_ops {
    const char *name;
    int nthread;
    bool (*open)(void **context);           /* false: this machine has it not */
    void (*close)(void *context);
    void (*run)(struct hps_deep_reader *reader);
};
extern const struct hps_deep_ops hps_deep_uring, hps_deep_threads;

struct hps_deep_reader {
    const struct hps_deep_ops *ops;
    void *context;                          /* of the way                               */
    pthread_t *thread;
    int nthread;
    pthread_mutex_t mutex;                  /* of all below, and of what batches count  */
    pthread_cond_t work, ended;
    struct hps_deep_batch *first, **last;   /* of which not all reads were taken        */
    bool closes;
};

struct hps_deep_taken {
    struct hps_deep_batch *batch;
    size_t i;
};

/* Bytes of a read. Pure. */
static inline size_t hps_deep_bytes(const struct hps_deep_taken *read)
{
    return read->batch->size ? read->batch->size[read->i] : read->batch->bytes;
}

/* Take at most `max` reads off the queue. Where there is none: 0; with `wait` not before the reader
 * closes. */
size_t hps_deep_take(struct hps_deep_reader *reader, size_t max, bool wait,
                     struct hps_deep_taken *taken);
/* These reads have ended, and were handed on. */
void hps_deep_end(struct hps_deep_reader *reader, size_t n, const struct hps_deep_taken *taken);

/* Make the rest of a read whose first `done` bytes are there. 0 or its errno. */
int hps_deep_pread(const struct hps_deep_taken *read, unsigned char *to, size_t done);

/* Page-aligned memory that grows. Zeroed at first. */
struct hps_deep_room {
    unsigned char *at;
    size_t bytes;
};
void hps_deep_room(struct hps_deep_room *room, size_t bytes);

#endif
