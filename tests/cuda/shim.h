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
