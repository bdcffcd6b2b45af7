/* row_mmap.c - the row work of a training (perf/bin/row_work.h) by a table that is a file, mapped:
 * the page cache of the memory group is all its memory. Built by `make perf/peers/row_mmap`. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../bin/row_work.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"

struct store {
    const struct row_work *work;
    float *x;                   /* (nrow, stride) the file */
    size_t bytes;
};

static void *open_store(const struct row_work *w)
{
    struct store *s = hps_mem_new(1, sizeof *s);
    int fd = open(w->directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    s->work = w;
    s->bytes = (size_t)w->nrow * w->row_bytes;
    if (fd < 0 || ftruncate(fd, (off_t)s->bytes) != 0)
        HPS_DIE("%s: %s", w->directory, strerror(errno));
    s->x = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s->x == MAP_FAILED || madvise(s->x, s->bytes, MADV_RANDOM) != 0)
        HPS_DIE("the table cannot be mapped: %s", strerror(errno));
    close(fd);
    return s;
}

static void close_store(void *context)
{
    struct store *s = context;

    munmap(s->x, s->bytes);
    hps_mem_free(s);
}

static void fill(void *context, int first, int n, const float *x)
{
    struct store *s = context;

    memcpy(s->x + (size_t)first * s->work->stride, x, (size_t)n * s->work->row_bytes);
}

static uint64_t step(void *context, const struct row_work_step *now,
                     const struct row_work_step *next)
{
    struct store *s = context;
    uint64_t sum = 0;
    (void)next;

#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(s->work->threads) reduction(+ : sum)
#endif
    for (size_t i = 0; i < now->n; i++)
        sum += row_work_update(s->work, now->number, now->row[i],
                               s->x + (size_t)now->row[i] * s->work->stride);
    return sum;
}

int main(int argc, char **argv)
{
    static const struct row_work_store store = { open_store, fill, step, close_store };

    return row_work_main(argc, argv, &store);
}
