/* cpu_queue.c - executes queued operations without a barrier between them: threads take tasks in
 * the order of the queue, and a task waits only for those before it that it depends on. A slow
 * thread is waited for once, at the end; until then the others take more tasks. */
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "hw/cpu/cpu_impl.h"

#define MAX_OPS 64              /* operations in the queue   */
#define JOB_BYTES 448           /* of an operation's job     */

enum kind { FIRST, ROWS, BESIDE, AFTER };

struct op {
    enum kind kind;
    hps_cpu_task *task;
    int n;                      /* tasks                                               */
    int row_op;                 /* operations on rows before this one                  */
    long long first;            /* tasks of the operations before this one             */
    atomic_int done;            /* tasks that are done                                 */
    _Alignas(max_align_t) unsigned char job[JOB_BYTES];
};

struct span {
    uintptr_t from, end;
};

struct hps_cpu_queue {
    struct op op[MAX_OPS];
    int nop, nrow_op;
    size_t rows;                /* of each operation on rows                           */
    double work_ns;
    atomic_llong next;          /* the next task to take                               */
    atomic_int *done;           /* by grain of rows: operations on rows done           */
    size_t done_cap;
    struct span read[2 * MAX_OPS];      /* by operations of the kinds beside and after */
    int nread;
    char *scratch;              /* of hps_cpu_queue_scratch                            */
    size_t scratch_cap, scratch_at;
};

struct hps_cpu_queue *hps_cpu_queue_new(void)
{
    return hps_mem_new(1, sizeof(struct hps_cpu_queue));
}

void hps_cpu_queue_free(struct hps_cpu_queue *q)
{
    hps_mem_free(q->done);
    hps_mem_free(q->scratch);
    hps_mem_free(q);
}

static struct hps_cpu_queue *queue_of(const struct hps_dev *dev)
{
    return ((struct hps_cpu *)dev->state)->queue;
}

int hps_cpu_ntask(const struct hps_dev *dev, size_t rows, size_t step)
{
    size_t n = (size_t)dev->nthread, max = (rows + HPS_CPU_GRAIN - 1) / HPS_CPU_GRAIN;
    size_t rounds = (rows + n * step - 1) / (n * step);

    return (int)(n * rounds < max ? n * rounds : max > 0 ? max : 1);
}

/* ---- executing ---- */

/* Does an operation wait for all tasks of one that was queued before it? */
static bool waits_for(enum kind kind, enum kind before)
{
    switch (kind) {
    case FIRST: return false;
    case ROWS: return before == FIRST;
    case BESIDE: return before != AFTER;
    default: return true;
    }
}

static void execute(struct hps_cpu_queue *q, struct op *op, int t)
{
    size_t first = hps_cpu_cut(q->rows, HPS_CPU_GRAIN, t, op->n) / HPS_CPU_GRAIN;
    size_t end = hps_cpu_cut(q->rows, HPS_CPU_GRAIN, t + 1, op->n);
    size_t last = (end + HPS_CPU_GRAIN - 1) / HPS_CPU_GRAIN;

    for (struct op *o = q->op; o < op; o++)
        if (waits_for(op->kind, o->kind)) hps_parallel_await(&o->done, o->n);
    for (size_t g = first; op->kind == ROWS && g < last; g++)
        hps_parallel_await(&q->done[g], op->row_op);
    op->task(op->job, t, op->n);
    for (size_t g = first; op->kind == ROWS && g < last; g++)
        atomic_store_explicit(&q->done[g], op->row_op + 1, memory_order_release);
    atomic_fetch_add_explicit(&op->done, 1, memory_order_release);
}

/* Tasks are taken in the order of the queue, so that the tasks that one waits for have begun. */
static void drain(struct hps_cpu_queue *q)
{
    struct op *op = q->op, *end = q->op + q->nop;

    for (;;) {
        long long i = atomic_fetch_add_explicit(&q->next, 1, memory_order_relaxed);
        while (op < end && i >= op->first + op->n)
            op++;
        if (op == end) return;
        execute(q, op, (int)(i - op->first));
    }
}

void hps_cpu_queue_wait(const struct hps_dev *dev)
{
    struct hps_cpu_queue *q = queue_of(dev);

    if (q->nop == 0) return;
    for (size_t g = 0; g * HPS_CPU_GRAIN < q->rows; g++)
        atomic_init(&q->done[g], 0);
    atomic_init(&q->next, 0);
#ifdef _OPENMP
#pragma omp parallel num_threads(dev->nthread) \
    if (dev->nthread > 1 && q->work_ns > HPS_CPU_WAKE_NS)
#endif
    drain(q);
    q->nop = q->nrow_op = q->nread = 0;
    q->work_ns = 0;
}

/* ---- queueing ---- */

static struct span span_of(size_t rows, struct hps_tensor x)
{
    uintptr_t from = x.rounded ? (uintptr_t)x.rounded : (uintptr_t)x.data;
    size_t bytes = x.rounded ? sizeof *x.rounded : sizeof *x.data;
    size_t n = from && rows > 0 ? (rows - 1) * x.ld + (size_t)x.width : 0;

    return (struct span){ from, from + n * bytes };
}

void hps_cpu_queue_reads(const struct hps_dev *dev, size_t rows, struct hps_tensor x)
{
    struct hps_cpu_queue *q = queue_of(dev);

    if (dev->nthread == 1) return;
    assert(q->nop > 0 && q->nread < 2 * q->nop);
    q->read[q->nread++] = span_of(rows, x);
}

void hps_cpu_queue_writes(const struct hps_dev *dev, size_t rows, struct hps_tensor x)
{
    const struct hps_cpu_queue *q = queue_of(dev);
    struct span w = span_of(rows, x);

    for (int i = 0; i < q->nread; i++)
        if (q->read[i].from < w.end && w.from < q->read[i].end) hps_cpu_queue_wait(dev);
}

void *hps_cpu_queue_scratch(const struct hps_dev *dev, size_t bytes)
{
    struct hps_cpu_queue *q = queue_of(dev);

    bytes = (bytes + 63) / 64 * 64;
    if (q->nop == 0) q->scratch_at = 0;
    if (q->nop > MAX_OPS / 2 || q->scratch_at + bytes > q->scratch_cap) {
        hps_cpu_queue_wait(dev);
        /* enough for all of it next time */
        hps_mem_grow(&q->scratch, &q->scratch_cap, q->scratch_at + bytes, 1);
        q->scratch_at = 0;
    }
    q->scratch_at += bytes;
    return q->scratch + q->scratch_at - bytes;
}

static void enqueue(const struct hps_dev *dev, enum kind kind, double work_ns, int n,
                    hps_cpu_task *task, const void *job, size_t bytes)
{
    struct hps_cpu_queue *q = queue_of(dev);

    assert(bytes <= JOB_BYTES && n >= 1);
    if (q->nop == MAX_OPS) hps_cpu_queue_wait(dev);
    struct op *op = &q->op[q->nop];
    op->kind = kind;
    op->task = task;
    op->n = n;
    op->row_op = q->nrow_op;
    op->first = q->nop == 0 ? 0 : op[-1].first + op[-1].n;
    atomic_init(&op->done, 0);
    memcpy(op->job, job, bytes);
    q->work_ns += work_ns;
    q->nop++;
    q->nrow_op += kind == ROWS;
}

/* One thread keeps no more than the operation that may still be changed in the queue, so that
 * messages that other ranks wait for make progress between operations. */
static void execute_on_one_thread(const struct hps_dev *dev)
{
    if (dev->nthread == 1) hps_cpu_queue_wait(dev);
}

void *hps_cpu_queue_pending(const struct hps_dev *dev, hps_cpu_task *task)
{
    struct hps_cpu_queue *q = queue_of(dev);

    for (int i = q->nop - 1; i >= 0; i--)
        if (q->op[i].kind == ROWS) return q->op[i].task == task ? q->op[i].job : NULL;
    return NULL;
}

void hps_cpu_queue_first(const struct hps_dev *dev, double work_ns, int n,
                         hps_cpu_task *task, const void *job, size_t bytes)
{
    execute_on_one_thread(dev);
    enqueue(dev, FIRST, work_ns, n, task, job, bytes);
}

void hps_cpu_queue_rows(const struct hps_dev *dev, size_t rows, double work_ns, int n,
                        hps_cpu_task *task, const void *job, size_t bytes)
{
    struct hps_cpu_queue *q = queue_of(dev);

    execute_on_one_thread(dev);
    if (q->nrow_op > 0 && q->rows != rows) hps_cpu_queue_wait(dev);
    if (q->nrow_op == 0) {
        q->rows = rows;
        hps_mem_grow(&q->done, &q->done_cap, rows / HPS_CPU_GRAIN + 1, sizeof *q->done);
    }
    enqueue(dev, ROWS, work_ns, n, task, job, bytes);
}

void hps_cpu_queue_beside(const struct hps_dev *dev, double work_ns, int n,
                          hps_cpu_task *task, const void *job, size_t bytes)
{
    enqueue(dev, BESIDE, work_ns, n, task, job, bytes);
}

void hps_cpu_queue_after(const struct hps_dev *dev, double work_ns, int n,
                         hps_cpu_task *task, const void *job, size_t bytes)
{
    enqueue(dev, AFTER, work_ns, n, task, job, bytes);
}
