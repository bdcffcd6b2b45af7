/* parallel.h - a parallel-for: many small elements, cut into tasks that threads take one after the
 * other; a thread whose core is busy with something else takes fewer. */
#ifndef HPS_BASE_PARALLEL_H
#define HPS_BASE_PARALLEL_H

#include <stdatomic.h>
#include <stddef.h>

struct hps_parallel {
    int n;                      /* tasks             */
    int nthread;                /* that may run them */
};
/* Tasks for n elements of some nanoseconds each, on this many threads. Pure. */
struct hps_parallel hps_parallel_of(size_t n, int nthread);
/* The first of the n elements that belongs to task t. Pure. */
static inline size_t hps_parallel_cut(const struct hps_parallel *w, size_t n, int t)
{
    return n / (size_t)w->n * (size_t)t + n % (size_t)w->n * (size_t)t / (size_t)w->n;
}
/* n numbers of `size` bytes, rounded up so that no two tasks share a pair of cache lines (which is
 * fetched at once). Pure. */
static inline size_t hps_parallel_apart(size_t n, size_t size)
{
    const size_t line = 128 / size;

    return (n + line - 1) / line * line;
}
/* Prefix sum: count[t * each], what task t counted, becomes the number of its first element, from
 * `next` on. Returns the number after the last. */
size_t hps_parallel_number(const struct hps_parallel *work, size_t *count, size_t each,
                           size_t next);
/* Run task(job, t) for every t on the threads; tasks begin in ascending order. */
void hps_parallel_for(const struct hps_parallel *work, void (*task)(void *job, int t), void *job);
/* The number of the calling thread, 0 .. nthread - 1. */
int hps_parallel_me(void);

/* Spin until *done >= min; a thread that waits long yields its core. */
void hps_parallel_await(atomic_int *done, int min);

/* An ordered section: task t is inside between `take` and `pass`, after task t - 1 has passed.
 * Zeroed before hps_parallel_for. Each task takes and passes once, and soon, since later tasks
 * wait. */
struct hps_parallel_ordered {
    atomic_int next;
};
static inline void hps_parallel_take(struct hps_parallel_ordered *section, int t)
{
    hps_parallel_await(&section->next, t);
}
static inline void hps_parallel_pass(struct hps_parallel_ordered *section, int t)
{
    atomic_store_explicit(&section->next, t + 1, memory_order_release);
}

#endif
