/* dev_cpu.c - the CPU backend: memory, threads, the tables of operations. */
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
#include "hw/bf16.h"
#include "hw/cpu/cpu_impl.h"

/* Of OpenBLAS alone. This program's threads call the BLAS, which must not start threads of its
 * own. */
void openblas_set_num_threads(int n) __attribute__((weak));

void hps_dev_blas_alone(void)
{
    static bool alone;          /* a second call after a fork would start OpenBLAS's threads */

    if (openblas_set_num_threads && !alone) openblas_set_num_threads(1);
    alone = true;
#ifdef _OPENMP
    omp_set_num_threads(1);             /* for oneDNN; other loops set their number */
#endif
}

/* Flush denormals to zero: gradients of learnt examples vanish, and a processor takes a hundred
 * times as long for denormals. Threads that this one starts inherit it. */
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
    (void)local;                        /* the launcher binds the threads */
    hps_dev_blas_alone();
    flush_denormals();
    *dev = (struct hps_dev){ .ops = &hps_dev_cpu, .host = true, .slow = 1, .nthread = 1,
                             .has_bf16 = hps_bf16_native() != NULL };
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
        hps_mem_free(cpu->block);
        hps_mem_free(cpu->attend);
        hps_mem_free(cpu->combined);
    }
    hps_mem_free(cpu);
    dev->state = NULL;
}

void hps_cpu_parallel_for(const struct hps_dev *dev, double work_ns,
                          hps_cpu_task *part, const void *job)
{
    int n = dev->nthread;

    hps_cpu_queue_wait(dev);
#ifdef _OPENMP
    if (n > 1 && work_ns > HPS_CPU_WAKE_NS) {
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

char *hps_cpu_block_scratch(struct hps_dev *dev, size_t bytes, size_t *stride)
{
    const size_t page = 4096, n = (size_t)dev->nthread;
    struct hps_cpu *cpu = dev->state;

    if (bytes > cpu->block_bytes / n) {
        hps_cpu_queue_wait(dev);        /* operations in the queue have the old stride */
        hps_mem_free(cpu->block);
        cpu->block_bytes = (bytes + page - 1) / page * page * n;
        cpu->block = hps_mem_new(cpu->block_bytes, 1);
    }
    *stride = cpu->block_bytes / n;
    return cpu->block;
}

static void *alloc(struct hps_dev *dev, size_t bytes)
{
    (void)dev;
    return hps_mem_new(bytes, 1);
}

static void release(struct hps_dev *dev, void *p)
{
    hps_cpu_queue_wait(dev);
    hps_mem_free(p);
}

static void copy_host(struct hps_dev *dev, void *to, const void *from, size_t bytes)
{
    hps_cpu_queue_wait(dev);
    if (bytes > 0) memcpy(to, from, bytes);
}

static void zero(struct hps_dev *dev, void *p, size_t bytes)
{
    hps_cpu_queue_wait(dev);
    if (bytes > 0) memset(p, 0, bytes);
}

static void sync(struct hps_dev *dev)
{
    hps_cpu_queue_wait(dev);
}

/* ---- one stream: the queue is executed when its results are needed ---- */

struct hps_event {
    double at_s;
};

static void copy_async(struct hps_dev *dev, enum hps_stream stream, void *to, const void *from,
                       size_t bytes)
{
    (void)stream;
    copy_host(dev, to, from, bytes);
}

static void stream_wait(struct hps_dev *dev, enum hps_stream stream, enum hps_stream before)
{
    (void)dev, (void)stream, (void)before;
}

static struct hps_event *event_new(struct hps_dev *dev)
{
    (void)dev;
    return hps_mem_new(1, sizeof(struct hps_event));
}

static void event_free(struct hps_dev *dev, struct hps_event *event)
{
    (void)dev;
    hps_mem_free(event);
}

static void event_record(struct hps_dev *dev, struct hps_event *event, enum hps_stream stream)
{
    (void)stream;
    hps_cpu_queue_wait(dev);
    event->at_s = hps_now_s();
}

static bool event_done(struct hps_dev *dev, struct hps_event *event)
{
    (void)dev, (void)event;
    return true;
}

static void event_wait(struct hps_dev *dev, struct hps_event *event)
{
    (void)dev, (void)event;
}

static void stream_wait_event(struct hps_dev *dev, enum hps_stream stream, struct hps_event *event)
{
    (void)dev, (void)stream, (void)event;
}

static double event_elapsed_s(struct hps_dev *dev, struct hps_event *from, struct hps_event *to)
{
    (void)dev;
    return to->at_s - from->at_s;
}

static const struct hps_dense_ops dense = {
    .fc_packed_bytes = hps_cpu_fc_packed_bytes,
    .fc_pack = hps_cpu_fc_pack,
    .keeps_rounded = hps_cpu_keeps_rounded,
    .fc_forward = hps_cpu_fc_forward,
    .fc_backward = hps_cpu_fc_backward,
    .act_forward = hps_cpu_act_forward,
    .act_backward = hps_cpu_act_backward,
    .copy = hps_cpu_copy,
    .scale = hps_cpu_scale,
    .reduce = hps_cpu_reduce,
    .reduce_doubles = hps_cpu_reduce_doubles,
    .update = hps_cpu_update,
    .norm2 = hps_cpu_norm2,
    .gemm_s = hps_cpu_gemm_s,
};

static const struct hps_row_ops rows = {
    .bag_forward = hps_cpu_bag_forward,
    .bag_backward = hps_cpu_bag_backward,
    .gather = hps_cpu_rows_gather,
    .apply = hps_cpu_rows_apply,
    .gather_encoded = hps_cpu_rows_gather_encoded,
    .apply_encoded = hps_cpu_rows_apply_encoded,
    .move = hps_cpu_rows_move,
    .sum = hps_cpu_rows_sum,
};

#define HPS_OP(name) .name = &hps_cpu_##name,
static const struct hps_layer_ops layers = { HPS_LAYER_OPS(HPS_OP) };

const struct hps_dev_ops hps_dev_cpu = {
    .name = "cpu",
    .open = open_cpu,
    .close = close_cpu,
    .alloc = alloc,
    .free = release,
    .copy_to_device = copy_host,
    .copy_to_host = copy_host,
    .zero = zero,
    .sync = sync,
    .pin = alloc,
    .unpin = release,
    .pin_mapped = alloc,
    .copy_to_device_async = copy_async,
    .copy_to_host_async = copy_async,
    .stream_wait = stream_wait,
    .event_new = event_new,
    .event_free = event_free,
    .event_record = event_record,
    .event_done = event_done,
    .event_wait = event_wait,
    .stream_wait_event = stream_wait_event,
    .event_elapsed_s = event_elapsed_s,
    .dense = &dense,
    .rows = &rows,
    .layers = &layers,
};
