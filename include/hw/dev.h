/* dev.h - the device interface: memory, streams and events; and the list of devices of this build.
 *
 * A backend is a constant table of functions over one device, which leads to the tables of its
 * operations: on dense matrices, on rows of tables, and those of single layer types. Device
 * memory comes from ops->alloc and is accessed by operations only; on the CPU backend it is
 * plain memory (dev->host is true). Operations are queued in order on the stream COMPUTE and may
 * return before they are done; ops->sync waits. Sizes: B rows (examples), ld = distance of rows
 * in floats (ld >= width). Matrices are row-major; B = 0 does nothing. Inputs and outputs do not
 * overlap unless said. No operation allocates, but for scratch that the device keeps. All are
 * Local. The same call on the same inputs with the same number of threads gives the same bits. */
#ifndef HPS_HW_DEV_H
#define HPS_HW_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "hw/dense_ops.h"
#include "hw/layer_ops.h"
#include "hw/row_ops.h"

struct hps_dev_ops;

#define HPS_PRECISION_WORDS "fp32|tf32|bf16|auto"
const char *hps_dev_precision_word(enum hps_precision precision);       /* Pure. */

/* The streams of a device: COMPUTE runs the operations, FEED copies the inputs of a later step
 * from the host, RECV and SEND copy tensors from and to other stages, PEERS exchanges with the
 * ranks of a stage. Streams wait for each other only by stream_wait and stream_wait_event. On a
 * host all streams are one. */
enum hps_stream {
    HPS_STREAM_COMPUTE, HPS_STREAM_FEED, HPS_STREAM_RECV, HPS_STREAM_SEND, HPS_STREAM_PEERS,
    HPS_NSTREAM
};
#define HPS_NGRAPH 64
struct hps_event;               /* a point in a stream: done when all work queued before it is */

struct hps_dev {
    const struct hps_dev_ops *ops;
    bool host;                  /* device memory is host memory          */
    int nthread;                /* CPU: threads of this rank             */
    double slow;                /* emulation: computation lasts this many times as long (>= 1).
                                   step and profile sleep the rest, the backend ignores it */
    double late, stall_share, stall_slow;   /* and in a run alone, where it is above 1: so many
                                   times longer still; that share of steps, drawn, so many
                                   times longer again; 0: none           */
    enum hps_precision precision;       /* of large products; HPS_FP32 when opened: a CPU takes
                                   tf32 as fp32                          */
    bool has_bf16;              /* its processor multiplies bf16         */
    bool emulate_bf16;          /* a CPU multiplies bf16 through fp32    */
    void *state;                /* of the backend                        */
};

struct hps_dev_ops {
    const char *name;           /* "cpu", "cuda"                       */

    /* Open the `local`-th device this rank may use with `nthread` CPU threads; sets all of *dev
     * (slow = 1). HPS_FAIL with a message. */
    enum hps_status (*open)(struct hps_dev *dev, int local, int nthread);
    void (*close)(struct hps_dev *dev);

    /* alloc returns zeroed memory, or ends the run with a message of the size. free takes NULL.
     * Both may wait for all streams and are not called in a step. */
    void *(*alloc)(struct hps_dev *dev, size_t bytes);
    void (*free)(struct hps_dev *dev, void *p);
    /* Copy on COMPUTE, from and to any host memory. Host memory has been read when copy_to_device
     * returns, and is filled when copy_to_host returns. */
    void (*copy_to_device)(struct hps_dev *dev, void *to, const void *from_host, size_t bytes);
    void (*copy_to_host)(struct hps_dev *dev, void *to_host, const void *from, size_t bytes);
    void (*zero)(struct hps_dev *dev, void *p, size_t bytes);
    void (*sync)(struct hps_dev *dev);                          /* waits for COMPUTE */

    /* Pinned host memory for asynchronous copies, zeroed. unpin takes NULL; no copy may be under
     * way. Not called in a step. */
    void *(*pin)(struct hps_dev *dev, size_t bytes);
    void (*unpin)(struct hps_dev *dev, void *p);
    /* Mapped memory: pinned, and operations can access it over the bus, for data larger than the
     * device. Free with unpin. */
    void *(*pin_mapped)(struct hps_dev *dev, size_t bytes);
    /* Queue a copy on a stream, between pinned memory and the device. Never waits; both sides must
     * stay untouched until an event recorded after the copy is done. */
    void (*copy_to_device_async)(struct hps_dev *dev, enum hps_stream stream, void *to,
                                 const void *from_pinned, size_t bytes);
    void (*copy_to_host_async)(struct hps_dev *dev, enum hps_stream stream, void *to_pinned,
                               const void *from, size_t bytes);
    /* Work queued on `stream` from now on begins when the work now queued on `before` is done. */
    void (*stream_wait)(struct hps_dev *dev, enum hps_stream stream, enum hps_stream before);
    /* Record an event after the work that a stream has queued, any number of times; an event never
     * recorded is done. event_done does not wait; event_wait waits for the event alone. */
    struct hps_event *(*event_new)(struct hps_dev *dev);
    void (*event_free)(struct hps_dev *dev, struct hps_event *event);   /* NULL is fine */
    void (*event_record)(struct hps_dev *dev, struct hps_event *event, enum hps_stream stream);
    bool (*event_done)(struct hps_dev *dev, struct hps_event *event);
    void (*event_wait)(struct hps_dev *dev, struct hps_event *event);
    /* Work queued on `stream` from now on begins when the event, as recorded now, is done. */
    void (*stream_wait_event)(struct hps_dev *dev, enum hps_stream stream,
                              struct hps_event *event);
    /* Seconds of the device from one event to a later one, both done. */
    double (*event_elapsed_s)(struct hps_dev *dev, struct hps_event *from, struct hps_event *to);

    /* Work queued on COMPUTE between the two may be launched as one graph. Nothing between them
     * waits, allocates or uses another stream. number < HPS_NGRAPH: similar work has the same
     * number, so that its graph can be updated instead of built anew. NULL: the device has no
     * graphs. */
    void (*graph_begin)(struct hps_dev *dev, int number);
    void (*graph_end)(struct hps_dev *dev, int number);
    /* Begin a named range on the timeline of a profiler; name NULL: end the innermost one. The
     * function is NULL where no profiler is attached. */
    void (*range)(const char *name);

    const struct hps_dense_ops *dense;
    const struct hps_row_ops *rows;
    const struct hps_layer_ops *layers;
};

extern const struct hps_dev_ops hps_dev_cpu;

/* "cuda": has `open` alone, which loads the backend - heterps-cuda.so in HETERPS_LIBDIR, else
 * beside the program, else where it was installed - and sets dev->ops to its table. HPS_FAIL
 * where there is no backend or no usable GPU, with the reason as HPS_DEBUG. */
extern const struct hps_dev_ops hps_dev_loaded;

/* The precision of a product of (B, in) by (in, out). Small ones gain nothing from bf16 and are
 * fp32: decided by the network alone, so that neither the cut nor the pool changes a rounding.
 * Pure. */
enum hps_precision hps_dev_product(const struct hps_dev *dev, int in, int out);

/* The backend called `name`, NULL when this build has none. */
const struct hps_dev_ops *hps_dev_find(const char *name);

/* ops->event_wait, while messages to other ranks make progress (base/progress.h). */
void hps_dev_wait(struct hps_dev *dev, struct hps_event *event);

/* From now on the BLAS uses no threads of its own: this program's threads call it, and its
 * results do not depend on a number of threads. Local. */
void hps_dev_blas_alone(void);

#endif
