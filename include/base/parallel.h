/* parallel.h - many small things done in parts, which threads take one after the other: a thread
 * whose core somebody else wants meanwhile takes fewer. */
#ifndef HPS_BASE_PARALLEL_H
#define HPS_BASE_PARALLEL_H

#include <stdatomic.h>
#include <stddef.h>

struct hps_parallel {
    int n;                      /* parts                 */
    int nthread;                /* that may work on them */
};
/* Parts for so many things of some nanoseconds each, and threads. Pure. */
struct hps_parallel hps_parallel_of(size_t things, int nthread);
/* Where part t of n things begins. Pure. */
static inline size_t hps_parallel_cut(const struct hps_parallel *w, size_t n, int t)
{
    return n / (size_t)w->n * (size_t)t + n % (size_t)w->n * (size_t)t / (size_t)w->n;
}
/* n numbers of `size` bytes, and so many more that no cache line has numbers of two parts; a pair
 * of lines is fetched at once. Pure. */
static inline size_t hps_parallel_apart(size_t n, size_t size)
{
    const size_t line = 128 / size;

    return (n + line - 1) / line * line;
}
/* What part t counted, count[t * each], becomes the number of its first one, from `next` on.
 * Returns the number behind all. */
size_t hps_parallel_number(const struct hps_parallel *work, size_t *count, size_t each,
                           size_t next);
/* All parts, on the threads, each begun behind the one before. */
void hps_parallel_for(const struct hps_parallel *work, void (*part)(void *job, int t), void *job);
/* Who does the part that asks, 0 .. nthread - 1. */
int hps_parallel_me(void);

/* Look until somebody else has done `least`; who waits long gives way. */
void hps_parallel_await(atomic_int *done, int least);

/* What parts do in their order: part t between `take` and `pass`. Zeroed before they are spread;
 * each takes it once, and passes it soon: who is late keeps the others waiting, one part each. */
struct hps_parallel_ordered {
    atomic_int next;
};
static inline void hps_parallel_take(struct hps_parallel_ordered *turn, int t)
{
    hps_parallel_await(&turn->next, t);
}
static inline void hps_parallel_pass(struct hps_parallel_ordered *turn, int t)
{
    atomic_store_explicit(&turn->next, t + 1, memory_order_release);
}

#endif
