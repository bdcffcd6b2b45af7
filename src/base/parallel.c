/* parallel.c - parts on threads. */
#include "base/parallel.h"

#include <sched.h>
#ifdef _OPENMP
#include <omp.h>
#endif

/* Things worth a part of their own; parts for each thread; looks before giving way. */
enum { WORTH = 8192, SHARES = 8, PATIENCE = 2000 };

struct hps_parallel hps_parallel_of(size_t things, int nthread)
{
    size_t worth = things / WORTH, most = nthread > 1 ? (size_t)nthread * SHARES : 1;

    return (struct hps_parallel){ worth == 0 ? 1 : worth < most ? (int)worth : (int)most, nthread };
}

size_t hps_parallel_number(const struct hps_parallel *work, size_t *count, size_t each, size_t next)
{
    for (int t = 0; t < work->n; t++, count += each) {
        size_t n = *count;
        *count = next;
        next += n;
    }
    return next;
}

void hps_parallel_for(const struct hps_parallel *work, void (*part)(void *job, int t), void *job)
{
#ifdef _OPENMP
#pragma omp parallel for schedule(monotonic : dynamic, 1) num_threads(work->nthread) \
    if (work->n > 1)
#endif
    for (int t = 0; t < work->n; t++)
        part(job, t);
}

int hps_parallel_me(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

void hps_parallel_await(atomic_int *done, int least)
{
    int looks = 0;

    while (atomic_load_explicit(done, memory_order_acquire) < least)
        if (looks < PATIENCE)
            looks++;
        else
            sched_yield();
}
