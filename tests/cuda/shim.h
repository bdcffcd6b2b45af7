/* shim.h - what the files of the stand-in share. */
#ifndef HPS_TESTS_SHIM_H
#define HPS_TESTS_SHIM_H

#include "cuda_runtime.h"

void hps_shim_die(const char *why) __attribute__((noreturn));

/* Where an address lies: in device memory, in pinned memory, elsewhere. */
enum hps_shim_kind { HPS_SHIM_HOST, HPS_SHIM_PINNED, HPS_SHIM_DEVICE };
enum hps_shim_kind hps_shim_kind(const void *at);
/* HPS_SHIM_STRICT=1: it is no such memory, of a card or of the host, and that ends the run. */
void hps_shim_expect(const void *at, enum hps_shim_kind kind);

/* What runs as soon as ready(with), which is asked when all before it in the stream is done: others
 * outside of this process decide. Else as hps_shim_queue. */
void hps_shim_queue_when(cudaStream_t stream, bool (*ready)(void *with), void (*run)(void *with),
                         void *with, void (*done)(void *with));

/* A card works on while its host waits for something else: from the first call with true to the
 * last with false a thread does what is queued, whenever the host has called nothing for a while.
 */
void hps_shim_serve(bool on);
/* Each call of the stand-in's begins so: one at a time. */
#define HPS_SHIM_ALONE __attribute__((cleanup(hps_shim_unlock), unused)) int alone = hps_shim_lock()
int hps_shim_lock(void);
void hps_shim_unlock(int *alone);

/* What a stream has still to do, one after the other, or a graph. */
struct hps_shim_op {
    struct hps_shim_op *next;
    void (*run)(void *with);    /* NULL: an event is recorded, or waited for */
    bool (*ready)(void *with);  /* NULL: always */
    void *with;
    void (*done)(void *with);
    struct hps_shim_event *record, *wait;
    long long time;             /* which of the event's records               */
};

struct hps_shim_graph {
    struct hps_shim_op *first, *last;
    int n, users;               /* operations; the program, executables, launches */
};

struct hps_shim_stream {
    struct hps_shim_op *first, *last;
    struct hps_shim_graph *captured;    /* NULL: it is not */
};

/* Everything that is queued anywhere is done. */
void hps_shim_drain(void);

/* What a kernel did, to be heard of by who waits. */
extern cudaError_t hps_shim_heard;

/* HPS_SHIM_COUNT=FILE: written there at the end, a line a process. */
struct hps_shim_count {
    long taken, pinned;         /* blocks of device memory, of pinned memory            */
    long pageable;              /* copies from or to memory that is not pinned           */
    long waits;                 /* of the host, for what was not done                    */
    long graphs;                /* launched                                              */
    long ranges;                /* entered                                               */
    long launches;              /* kernels                                               */
};
extern struct hps_shim_count hps_shim_count;

#endif
