/* cuda_runtime.h - stands in for CUDA's own where no GPU is: the same .cu files, compiled as C++,
 * run block by block on the CPU, and "device" memory is memory that the host may be forbidden to
 * touch (HPS_SHIM_GUARD=1: it is, but in a copy). What the sources use is here, and no more.
 *
 * HPS_SHIM_MEMORY=BYTES: the card has so much. HPS_SHIM_FAIL=N: the N-th kernel does something
 * illegal, which is heard of as late as on a card. HPS_SHIM_STRICT=1: host memory given to a
 * kernel, and a card's to the host, ends the run.
 *
 * Streams are queues: see shim_stream.c.
 *
 * Threads of a block run one after the other; those of a kernel that meets (launched as a team) are
 * coroutines, so that barriers and shuffles do what they do on a card. A meeting that not all
 * threads of a warp or block come to ends the run. */
#ifndef HPS_TESTS_CUDA_RUNTIME_H
#define HPS_TESTS_CUDA_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int cudaError_t;
typedef struct hps_shim_stream *cudaStream_t;
typedef struct hps_shim_event *cudaEvent_t;
enum {
    cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorInsufficientDriver = 35,
    cudaErrorNotReady = 600
};
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
enum cudaDeviceAttr { cudaDevAttrComputeCapabilityMajor = 75 };
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int device);
cudaError_t cudaMemGetInfo(size_t *unused, size_t *all);
cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocHost(void **p, size_t bytes);
enum { cudaHostAllocMapped = 2 };       /* kernels may be given it */
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaGetLastError(void);

#define CUDART_VERSION 13000
typedef struct hps_shim_graph *cudaGraph_t;
typedef struct hps_shim_exec *cudaGraphExec_t;
typedef struct { int result; } cudaGraphExecUpdateResultInfo;
enum cudaStreamCaptureMode { cudaStreamCaptureModeRelaxed = 2 };
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *info);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaDeviceSynchronize(void);
const char *cudaGetErrorString(cudaError_t error);

/* ---- how kernels run ---- */

struct hps_shim_dim {
    unsigned x, y, z;
};
struct hps_shim_place {
    struct hps_shim_dim thread, block, threads, blocks;
    void *slot;         /* 16 bytes of this thread's, seen by its warp through hps_shim_of */
};
extern struct hps_shim_place hps_shim_now;

/* The kernel on every thread of every block; `team`: its threads meet. */
void hps_shim_run(bool team, struct hps_shim_dim blocks, struct hps_shim_dim threads,
                  void (*kernel)(void *arguments), void *arguments);
/* Queue run(with), then done(with), on a stream; NULL: at once. Device memory is open to it. */
void hps_shim_queue(cudaStream_t stream, void (*run)(void *with), void *with,
                    void (*done)(void *with));
/* A kernel's arguments: no host memory is among them. */
void hps_shim_look(const void *arguments, size_t bytes);
/* All threads of the warp (or of the block) come here before any goes on. */
void hps_shim_meet(bool block);
/* The slot of the thread that is `lane` of this one's warp. */
void *hps_shim_of(unsigned lane);
/* Device memory may be touched from here to the next call with false. */
void hps_shim_open(bool open);

#ifdef __cplusplus
}

#include <cmath>
#include <cstring>

struct dim3 : hps_shim_dim {
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) { x = x_, y = y_, z = z_; }
};

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define threadIdx (hps_shim_now.thread)
#define blockIdx (hps_shim_now.block)
#define blockDim (hps_shim_now.threads)
#define gridDim (hps_shim_now.blocks)

static inline void __syncthreads() { hps_shim_meet(true); }
static inline void __syncwarp() { hps_shim_meet(false); }

template <class T> T __shfl_xor_sync(unsigned, T mine, int mask)
{
    T other;
    unsigned lane = (hps_shim_now.thread.x +
                     hps_shim_now.threads.x * hps_shim_now.thread.y) % 32;

    std::memcpy(hps_shim_now.slot, &mine, sizeof mine);
    hps_shim_meet(false);
    std::memcpy(&other, hps_shim_of(lane ^ (unsigned)mask), sizeof other);
    hps_shim_meet(false);
    return other;
}

template <class F> struct hps_shim_launched {
    bool team;
    dim3 blocks, threads;
    F kernel;

    static void run(void *with)
    {
        hps_shim_launched *l = static_cast<hps_shim_launched *>(with);
        hps_shim_run(l->team, l->blocks, l->threads, [](void *f) { (*static_cast<F *>(f))(); },
                     &l->kernel);
    }
    static void done(void *with) { delete static_cast<hps_shim_launched *>(with); }
};

template <class F> int hps_shim_launch(void *stream, bool team, dim3 blocks, dim3 threads, F kernel)
{
    typedef hps_shim_launched<F> launched;

#ifdef HPS_SHIM_LOOK
    hps_shim_look(&kernel, sizeof kernel);
#endif
    hps_shim_queue((cudaStream_t)stream, launched::run,
                   new launched{ team, blocks, threads, kernel }, launched::done);
    return cudaGetLastError();
}
#endif
#endif
