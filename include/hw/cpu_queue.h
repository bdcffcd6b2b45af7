/* cpu_queue.h - operations of the CPU backend of which a thread takes the next part when it did
 * one, so that threads meet once at the end and not behind each. What they give is what they would
 * one behind the other, the same bits for the same number of threads. Local; one thread does what
 * is queued when the next operation on rows comes. */
#ifndef HPS_HW_CPU_QUEUE_H
#define HPS_HW_CPU_QUEUE_H

#include "hw/dev.h"

#define HPS_CPU_WORTH_NS 15000.0 /* waking threads and meeting again costs some microseconds */
#define HPS_CPU_GRAIN 8         /* rows that parts are cut at */

/* Part t of an operation in n parts. `job` is a copy of what was queued (see hps_cpu_pending). */
typedef void hps_cpu_part(const void *job, int t, int n);

/* Where part t of n begins in `count` things, cut at multiples of `grain`; part n begins at
 * `count`. Pure. */
static inline size_t hps_cpu_cut(size_t count, size_t grain, int t, int n)
{
    size_t grains = (count + grain - 1) / grain;
    size_t at = grains * (size_t)t / (size_t)n * grain;
    return at < count ? at : count;
}

/* Parts for operations on rows: of about `step` rows, or less, as many for each thread. */
int hps_cpu_parts(const struct hps_dev *dev, size_t rows, size_t step);

/* Queue part(job, t, n) for t = 0 .. n-1. Part t is of the rows from hps_cpu_cut(rows,
 * HPS_CPU_GRAIN, t, n) to where part t + 1 begins; of what is queued before, it reads and writes
 * what was made on these rows alone, and waits for no more. Who does a part is left to the moment:
 * what it writes must not depend on it. `work_ns`: what one thread would need, about. `job` (bytes,
 * few) is copied. */
void hps_cpu_rows(const struct hps_dev *dev, size_t rows, double work_ns, int n,
                  hps_cpu_part *part, const void *job, size_t bytes);

/* The job of the operation on rows that was queued last, if it is one of `part` and nothing of it
 * is done yet, else NULL. Until the next call of these it may be changed: more can be done with
 * rows that are near then. */
void *hps_cpu_pending(const struct hps_dev *dev, hps_cpu_part *part);

/* The same, but each part waits for all that is queued before; what is queued behind on rows does
 * not wait for it. What it reads and others may write: hps_cpu_reads. */
void hps_cpu_after(const struct hps_dev *dev, double work_ns, int n, hps_cpu_part *part,
                   const void *job, size_t bytes);

/* The same, but it waits for no hps_cpu_after: it reads nothing that such a one makes, and writes
 * nothing that one reads or writes. */
void hps_cpu_beside(const struct hps_dev *dev, double work_ns, int n, hps_cpu_part *part,
                    const void *job, size_t bytes);

/* On no rows either: it waits for nothing, and what is queued behind, but for others of its kind,
 * waits for it. Short. */
void hps_cpu_first(const struct hps_dev *dev, double work_ns, int n, hps_cpu_part *part,
                   const void *job, size_t bytes);

/* Rows of x (data NULL: none) that the hps_cpu_after or hps_cpu_beside queued last reads, at most
 * two of them; and rows that the operation on rows queued next writes: if they are read so, all
 * that is queued is done first. Overlap is taken from the first float to the last. */
void hps_cpu_reads(const struct hps_dev *dev, size_t rows, struct hps_tensor x);
void hps_cpu_writes(const struct hps_dev *dev, size_t rows, struct hps_tensor x);

/* So many bytes, not zeroed, for the one operation, or the row of them, that is queued next: good
 * until it is done. Asked for once, before. */
void *hps_cpu_keep(const struct hps_dev *dev, size_t bytes);

/* Do what is queued. */
void hps_cpu_wait(const struct hps_dev *dev);

/* For the device that owns it: empty; the caller frees. */
struct hps_cpu_queue *hps_cpu_queue_new(void);
void hps_cpu_queue_free(struct hps_cpu_queue *q);

#endif
