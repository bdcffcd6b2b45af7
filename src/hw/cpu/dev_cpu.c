/* dev_cpu.c - the CPU backend: its memory, its threads, its table of operations. */
#include <cblas.h>
#include <string.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/clock.h"
#include "base/mem.h"
#include "hw/cpu/cpu_impl.h"

/* Only OpenBLAS has it. Our threads call the BLAS; it must not start its own under each of them. */
void openblas_set_num_threads(int n) __attribute__((weak));

void hps_dev_blas_alone(void)
{
    static bool alone;          /* set again after a fork, OpenBLAS would start its threads anew */

    if (openblas_set_num_threads && !alone)
        openblas_set_num_threads(1);
    alone = true;
#ifdef _OPENMP
    omp_set_num_threads(1);             /* oneDNN's; our own loops name their number */
#endif
}

/* Numbers next to zero become zero: gradients of examples that are learnt vanish, and a processor
 * takes a hundred times as long over such remainders. Threads that this one starts do the same. */
static void flush_denormals(void)
{
#if defined(__SSE__)
    const unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;

    _mm_setcsr(_mm_getcsr() | flush_to_zero | denormals_are_zero);
#elif defined(__aarch64__)
    unsigned long long fpcr;

    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr | 1ull << 24));
#endif
}

static enum hps_status open_cpu(struct hps_dev *dev, int local, int nthread)
{
    (void)local;                        /* the threads are bound by the launcher's mask */
    hps_dev_blas_alone();
    flush_denormals();
    *dev = (struct hps_dev){ .ops = &hps_dev_cpu, .host = true, .slow = 1, .nthread = 1 };
#ifdef _OPENMP
    dev->nthread = nthread > 1 ? nthread : 1;
#else
    (void)nthread;
#endif
    struct hps_cpu *cpu = hps_mem_new(1, sizeof *cpu);
    cpu->queue = hps_cpu_queue_new();
    dev->state = cpu;
    return HPS_OK;
}

static void close_cpu(struct hps_dev *dev)
{
    struct hps_cpu *cpu = dev->state;

    if (cpu) {
        hps_cpu_queue_free(cpu->queue);
        hps_mem_free(cpu->scratch);
        hps_mem_free(cpu->attend);
        hps_mem_free(cpu->folded);
    }
    hps_mem_free(cpu);
    dev->state = NULL;
}

void hps_cpu_spread(const struct hps_dev *dev, double work_ns,
                    hps_cpu_part *part, const void *job)
{
    int n = dev->nthread;

    hps_cpu_wait(dev);
#ifdef _OPENMP
    if (n > 1 && work_ns > HPS_CPU_WORTH_NS) {
#pragma omp parallel for num_threads(n) schedule(static, 1)
        for (int t = 0; t < n; t++)
            part(job, t, n);
        return;
    }
#else
    (void)work_ns;
#endif
    for (int t = 0; t < n; t++)
        part(job, t, n);
}

void *hps_cpu_scratch(struct hps_dev *dev, size_t bytes)
{
    struct hps_cpu *cpu = dev->state;

    hps_mem_grow(&cpu->scratch, &cpu->scratch_bytes, bytes, 1);
    return cpu->scratch;
}

static void *alloc(struct hps_dev *dev, size_t bytes)
{
    (void)dev;
    return hps_mem_new(bytes, 1);
}

static void release(struct hps_dev *dev, void *p)
{
    hps_cpu_wait(dev);
    hps_mem_free(p);
}

static void move(struct hps_dev *dev, void *to, const void *from, size_t bytes)
{
    hps_cpu_wait(dev);
    if (bytes > 0)
        memcpy(to, from, bytes);
}

static void zero(struct hps_dev *dev, void *p, size_t bytes)
{
    hps_cpu_wait(dev);
    if (bytes > 0)
        memset(p, 0, bytes);
}

static void sync(struct hps_dev *dev)
{
    hps_cpu_wait(dev);
}

/* ---- one lane: what is queued is done when it is asked for ---- */

struct hps_mark {
    double at_s;
};

static void move_on(struct hps_dev *dev, enum hps_lane lane, void *to, const void *from,
                    size_t bytes)
{
    (void)lane;
    move(dev, to, from, bytes);
}

static void follow(struct hps_dev *dev, enum hps_lane lane, enum hps_lane before)
{
    (void)dev, (void)lane, (void)before;
}

static struct hps_mark *mark_new(struct hps_dev *dev)
{
    (void)dev;
    return hps_mem_new(1, sizeof(struct hps_mark));
}

static void mark_free(struct hps_dev *dev, struct hps_mark *mark)
{
    (void)dev;
    hps_mem_free(mark);
}

static void mark(struct hps_dev *dev, struct hps_mark *mark, enum hps_lane lane)
{
    (void)lane;
    hps_cpu_wait(dev);
    mark->at_s = hps_now_s();
}

static bool reached(struct hps_dev *dev, struct hps_mark *mark)
{
    (void)dev, (void)mark;
    return true;
}

static void wait(struct hps_dev *dev, struct hps_mark *mark)
{
    (void)dev, (void)mark;
}

static void after(struct hps_dev *dev, enum hps_lane lane, struct hps_mark *mark)
{
    (void)dev, (void)lane, (void)mark;
}

static double between_s(struct hps_dev *dev, struct hps_mark *from, struct hps_mark *to)
{
    (void)dev;
    return to->at_s - from->at_s;
}

const struct hps_dev_ops hps_dev_cpu = {
    .name = "cpu",
    .open = open_cpu,
    .close = close_cpu,
    .alloc = alloc,
    .free = release,
    .put = move,
    .get = move,
    .zero = zero,
    .sync = sync,
    .pin = alloc,
    .unpin = release,
    .pin_far = alloc,
    .bring = move_on,
    .fetch = move_on,
    .follow = follow,
    .mark_new = mark_new,
    .mark_free = mark_free,
    .mark = mark,
    .reached = reached,
    .wait = wait,
    .after = after,
    .between_s = between_s,
#include "hw/dev_table.h"
};
