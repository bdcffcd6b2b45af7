/* cpu_queue.h - a queue of operations of the CPU backend. An operation is divided into tasks that
 * the threads of a rank take one after the other, across operations, so that threads synchronise
 * once at the end of the queue instead of behind each operation. The result is that of the
 * operations executed in order, with the same bits for the same number of threads. All are Local.
 * With one thread an operation on rows is executed when the next one is queued. */
#ifndef HPS_HW_CPU_QUEUE_H
#define HPS_HW_CPU_QUEUE_H

#include "hw/dev.h"

#define HPS_CPU_WAKE_NS 15000.0 /* work above which it pays to wake threads and join them again */
#define HPS_CPU_GRAIN 8         /* tasks begin at multiples of so many rows                     */

/* Task t of an operation's n. `job` is a copy of what was queued (see hps_cpu_queue_pending). */
typedef void hps_cpu_task(const void *job, int t, int n);

/* Where task t of n begins among `count` things, at a multiple of `grain`; task n begins at
 * `count`. Pure. */
static inline size_t hps_cpu_cut(size_t count, size_t grain, int t, int n)
{
    size_t grains = (count + grain - 1) / grain;
    size_t at = grains * (size_t)t / (size_t)n * grain;
    return at < count ? at : count;
}

/* The number of tasks for an operation on rows: of about `step` rows or less, equally many for each
 * thread. */
int hps_cpu_ntask(const struct hps_dev *dev, size_t rows, size_t step);

/* Queue an operation on rows: task(job, t, n) for t = 0 .. n - 1. Task t works on the rows from
 * hps_cpu_cut(rows, HPS_CPU_GRAIN, t, n) to the beginning of task t + 1. Of the operations queued
 * before, it may read and write what they computed for these rows, and it waits for these rows
 * alone. Which thread takes a task is not determined, and the result must not depend on it.
 * `work_ns`: a guess of the time that one thread needs. `job` (few bytes) is copied. */
void hps_cpu_queue_rows(const struct hps_dev *dev, size_t rows, double work_ns, int n,
                        hps_cpu_task *task, const void *job, size_t bytes);

/* The job of the operation on rows queued last, if its function is `task` and none of its tasks has
 * begun, else NULL. It may be changed until the next call of these functions: this is how an
 * operation is fused into the one before, whose rows are in the cache then. */
void *hps_cpu_queue_pending(const struct hps_dev *dev, hps_cpu_task *task);

/* Queue an operation whose tasks wait for all operations queued before. Operations on rows queued
 * later do not wait for it: declare what it reads and they may write by hps_cpu_queue_reads. */
void hps_cpu_queue_after(const struct hps_dev *dev, double work_ns, int n, hps_cpu_task *task,
                         const void *job, size_t bytes);

/* The same, but it does not wait for operations of hps_cpu_queue_after either: it reads nothing
 * that they write, and writes nothing that they read or write. */
void hps_cpu_queue_beside(const struct hps_dev *dev, double work_ns, int n, hps_cpu_task *task,
                          const void *job, size_t bytes);

/* Queue a short operation that waits for nothing. All operations queued later wait for it, but for
 * others of this kind. */
void hps_cpu_queue_first(const struct hps_dev *dev, double work_ns, int n, hps_cpu_task *task,
                         const void *job, size_t bytes);

/* Declare rows of x (none where it is not computed) that the operation of hps_cpu_queue_after or
 * _beside queued last reads, at most two such; and rows that the operation on rows queued next
 * writes. Where they overlap, from the first number to the last, the queue is executed first. */
void hps_cpu_queue_reads(const struct hps_dev *dev, size_t rows, struct hps_tensor x);
void hps_cpu_queue_writes(const struct hps_dev *dev, size_t rows, struct hps_tensor x);

/* Scratch memory, not zeroed, for the operation (or the chain of fused ones) that is queued next,
 * valid until it is done. At most one call for each. */
void *hps_cpu_queue_scratch(const struct hps_dev *dev, size_t bytes);

/* Execute what is queued. */
void hps_cpu_queue_wait(const struct hps_dev *dev);

/* For the device that owns the queue; free it when it is empty. */
struct hps_cpu_queue *hps_cpu_queue_new(void);
void hps_cpu_queue_free(struct hps_cpu_queue *q);

#endif
