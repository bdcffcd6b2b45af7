/* dev_cuda.c - the CUDA backend: memory, streams, errors, the tables of operations. */
#include <string.h>

#include "base/env.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/wait.h"
#include "base/world.h"
#include "hw/cuda/cuda_impl.h"

#define PRODUCTS ((size_t)32 << 20)     /* workspace that cuBLAS takes on the largest GPUs */

/* Kernels run asynchronously: an error of one is reported by a later call, unless HETERPS_CUDA_SYNC
 * waits for each. */
static bool waits_for_each(void)
{
    static int yes = -1;

    if (yes < 0) yes = hps_env_is("HETERPS_CUDA_SYNC", "1");
    return yes;
}

void hps_cuda_check(int error, const char *call, const char *file, int line)
{
    if (error == cudaSuccess && waits_for_each()) error = (int)cudaDeviceSynchronize();
    if (error != cudaSuccess)
        hps_die(file, line, "%s: %s (CUDA error %d)", call,
                cudaGetErrorString((cudaError_t)error), error);
}

void hps_cublas_check(int status, const char *call, const char *file, int line)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        hps_die(file, line, "%s: %s (cuBLAS status %d)", call,
                cublasGetStatusString((cublasStatus_t)status), status);
}

static void *new_block(size_t bytes, const char *what)
{
    void *p = NULL;
    size_t unused = 0, all = 0;

    if (cudaMalloc(&p, bytes > 0 ? bytes : 1) == cudaSuccess) return p;
    HPS_CUDA(cudaMemGetInfo(&unused, &all));
    HPS_DIE("no GPU memory for %s: %zu bytes wanted, %zu of %zu are free", what, bytes, unused,
            all);
}

/* Tensor cores multiply bf16 from compute capability 8.0 (Ampere) on. */
static bool has_bf16(int device)
{
    int major = 0;

    HPS_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    return major >= 8;
}

static enum hps_status open_cuda(struct hps_dev *dev, int local, int nthread)
{
    int n = 0;

    if (cudaGetDeviceCount(&n) != cudaSuccess || n < 1) {
        HPS_SAY_ALL(HPS_DEBUG, "%s: no GPU answers CUDA", hps_host());
        return HPS_FAIL;
    }
    HPS_CUDA(cudaSetDevice(local % n));
    struct hps_cuda *cuda = hps_mem_new(1, sizeof *cuda);
    for (int i = 0; i < HPS_NSTREAM; i++) {
        HPS_CUDA(cudaStreamCreateWithFlags(&cuda->stream[i], cudaStreamNonBlocking));
        HPS_CUDA(cudaEventCreateWithFlags(&cuda->ahead[i], cudaEventDisableTiming));
    }
    HPS_CUBLAS(cublasCreate(&cuda->blas));
    HPS_CUBLAS(cublasSetStream(cuda->blas, cuda->stream[HPS_STREAM_COMPUTE]));
    cuda->graphs = hps_cuda_graphs_new();
    if (cuda->graphs) {                         /* else cuBLAS allocates inside a graph */
        cuda->products = new_block(PRODUCTS, "products in graphs");
        HPS_CUBLAS(cublasSetWorkspace(cuda->blas, cuda->products, PRODUCTS));
    }
    cuda->number = new_block(sizeof *cuda->number, "a sum");
    *dev = (struct hps_dev){ .ops = &hps_dev_cuda, .slow = 1, .nthread = nthread,
                             .has_bf16 = has_bf16(local % n), .state = cuda };
    return HPS_OK;
}

static void close_cuda(struct hps_dev *dev)
{
    struct hps_cuda *cuda = dev->state;

    if (!cuda) return;
    HPS_CUDA(cudaDeviceSynchronize());
    HPS_CUDA(cudaFree(cuda->scratch.at));
    HPS_CUDA(cudaFree(cuda->attend.at));
    HPS_CUDA(cudaFree(cuda->number));
    HPS_CUDA(cudaFree(cuda->products));
    hps_cuda_graphs_free(cuda->graphs);
    HPS_CUBLAS(cublasDestroy(cuda->blas));
    for (int i = 0; i < HPS_NSTREAM; i++) {
        HPS_CUDA(cudaEventDestroy(cuda->ahead[i]));
        HPS_CUDA(cudaStreamDestroy(cuda->stream[i]));
    }
    hps_mem_free(cuda);
    dev->state = NULL;
}

/* A stream may wait for other ranks, which may wait for messages of this rank: the host makes
 * progress while it waits for the stream. "Not ready" is no error, but the runtime keeps it as
 * the last one. */
static void progress_while_busy(cudaStream_t stream)
{
    cudaError_t now;

    while ((now = cudaStreamQuery(stream)) == cudaErrorNotReady && hps_wait_progress())
        ;
    if (now != cudaErrorNotReady) hps_cuda_check((int)now, "cudaStreamQuery", __FILE__, __LINE__);
    (void)cudaGetLastError();
}

static void wait_for(cudaStream_t stream)
{
    progress_while_busy(stream);
    HPS_CUDA(cudaStreamSynchronize(stream));
}

/* Waits for every stream that may use the block. */
static void release(struct hps_dev *dev, void *p)
{
    struct hps_cuda *cuda = hps_cuda_of(dev);

    if (!p) return;
    for (int i = 0; i < HPS_NSTREAM; i++)
        wait_for(cuda->stream[i]);
    HPS_CUDA(cudaFree(p));
}

void *hps_cuda_reserve(struct hps_dev *dev, struct hps_cuda_block *block, size_t bytes)
{
    if (block->bytes >= bytes) return block->at;
    if (!hps_cuda_capturing(hps_cuda_of(dev)))
        release(dev, block->at);
    else if (block->at)
        hps_cuda_free_later(hps_cuda_of(dev), block->at);
    block->bytes = bytes + bytes / 2;
    block->at = new_block(block->bytes, "an operation's scratch");
    return block->at;
}

void *hps_cuda_stream(struct hps_dev *dev)
{
    return hps_cuda_of(dev)->stream[HPS_STREAM_COMPUTE];
}

void *hps_cuda_scratch(struct hps_dev *dev, size_t bytes)
{
    return hps_cuda_reserve(dev, &hps_cuda_of(dev)->scratch, bytes);
}

static void *alloc(struct hps_dev *dev, size_t bytes)
{
    void *p = new_block(bytes, "the layers of this stage");

    HPS_CUDA(cudaMemsetAsync(p, 0, bytes, hps_cuda_stream(dev)));
    HPS_CUDA(cudaStreamSynchronize(hps_cuda_stream(dev)));      /* any stream may use it now */
    return p;
}

static void copy_to_device(struct hps_dev *dev, void *to, const void *from_host, size_t bytes)
{
    if (bytes > 0)
        HPS_CUDA(cudaMemcpyAsync(to, from_host, bytes, cudaMemcpyHostToDevice,
                                 hps_cuda_stream(dev)));
}

static void sync(struct hps_dev *dev)
{
    wait_for(hps_cuda_stream(dev));
}

static void copy_to_host(struct hps_dev *dev, void *to_host, const void *from, size_t bytes)
{
    progress_while_busy(hps_cuda_stream(dev)); /* a copy to pageable memory blocks in CUDA */
    if (bytes > 0)
        HPS_CUDA(cudaMemcpyAsync(to_host, from, bytes, cudaMemcpyDeviceToHost,
                                 hps_cuda_stream(dev)));
    sync(dev);
}

static void zero(struct hps_dev *dev, void *p, size_t bytes)
{
    if (bytes > 0) HPS_CUDA(cudaMemsetAsync(p, 0, bytes, hps_cuda_stream(dev)));
}

/* ---- streams and events ---- */

static void *pin(struct hps_dev *dev, size_t bytes)
{
    void *p = NULL;

    (void)dev;
    if (cudaMallocHost(&p, bytes > 0 ? bytes : 1) != cudaSuccess)
        HPS_DIE("no pinned memory for messages and inputs: %zu bytes wanted", bytes);
    return memset(p, 0, bytes);
}

static void unpin(struct hps_dev *dev, void *p)
{
    (void)dev;
    HPS_CUDA(cudaFreeHost(p));
}

static void *pin_mapped(struct hps_dev *dev, size_t bytes)
{
    void *p = NULL;

    (void)dev;
    if (cudaHostAlloc(&p, bytes > 0 ? bytes : 1, cudaHostAllocMapped) != cudaSuccess)
        HPS_DIE("no pinned memory for rows of tables: %zu bytes wanted", bytes);
    return memset(p, 0, bytes);
}

static void copy_to_device_async(struct hps_dev *dev, enum hps_stream stream, void *to,
                                 const void *from, size_t bytes)
{
    if (bytes > 0)
        HPS_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice,
                                 hps_cuda_of(dev)->stream[stream]));
}

static void copy_to_host_async(struct hps_dev *dev, enum hps_stream stream, void *to,
                               const void *from, size_t bytes)
{
    if (bytes > 0)
        HPS_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost,
                                 hps_cuda_of(dev)->stream[stream]));
}

static void stream_wait(struct hps_dev *dev, enum hps_stream stream, enum hps_stream before)
{
    struct hps_cuda *cuda = hps_cuda_of(dev);

    HPS_CUDA(cudaEventRecord(cuda->ahead[before], cuda->stream[before]));
    HPS_CUDA(cudaStreamWaitEvent(cuda->stream[stream], cuda->ahead[before], 0));
}

struct hps_event {
    cudaEvent_t cuda;
};

static struct hps_event *event_new(struct hps_dev *dev)
{
    struct hps_event *event = hps_mem_new(1, sizeof *event);

    (void)dev;
    HPS_CUDA(cudaEventCreate(&event->cuda));
    return event;
}

static void event_free(struct hps_dev *dev, struct hps_event *event)
{
    (void)dev;
    if (!event) return;
    HPS_CUDA(cudaEventDestroy(event->cuda));
    hps_mem_free(event);
}

static void event_record(struct hps_dev *dev, struct hps_event *event, enum hps_stream stream)
{
    HPS_CUDA(cudaEventRecord(event->cuda, hps_cuda_of(dev)->stream[stream]));
}

static bool event_done(struct hps_dev *dev, struct hps_event *event)
{
    cudaError_t error = cudaEventQuery(event->cuda);

    (void)dev;
    (void)cudaGetLastError();   /* else the next launch would report "not ready" */
    if (error == cudaErrorNotReady) return false;
    hps_cuda_check((int)error, "cudaEventQuery", __FILE__, __LINE__);
    return true;
}

static void event_wait(struct hps_dev *dev, struct hps_event *event)
{
    (void)dev;
    HPS_CUDA(cudaEventSynchronize(event->cuda));
}

static void stream_wait_event(struct hps_dev *dev, enum hps_stream stream, struct hps_event *event)
{
    HPS_CUDA(cudaStreamWaitEvent(hps_cuda_of(dev)->stream[stream], event->cuda, 0));
}

static double event_elapsed_s(struct hps_dev *dev, struct hps_event *from, struct hps_event *to)
{
    float ms = 0;

    (void)dev;
    HPS_CUDA(cudaEventElapsedTime(&ms, from->cuda, to->cuda));
    return (double)ms * 1e-3;
}

static const struct hps_dense_ops dense = {
    .fc_forward = hps_cuda_fc_forward,
    .fc_backward = hps_cuda_fc_backward,
    .act_forward = hps_cuda_act_forward,
    .act_backward = hps_cuda_act_backward,
    .copy = hps_cuda_copy,
    .scale = hps_cuda_scale,
    .reduce = hps_cuda_reduce,
    .reduce_doubles = hps_cuda_reduce_doubles,
    .update = hps_cuda_update,
    .norm2 = hps_cuda_norm2,
    .gemm_s = hps_cuda_gemm_s,
};

static const struct hps_row_ops rows = {
    .bag_forward = hps_cuda_bag_forward,
    .bag_backward = hps_cuda_bag_backward,
    .gather = hps_cuda_rows_gather,
    .apply = hps_cuda_rows_apply,
    .move = hps_cuda_rows_move,
    .sum = hps_cuda_rows_sum,
};

#define HPS_OP(name) .name = &hps_cuda_##name,
static const struct hps_layer_ops layers = { HPS_LAYER_OPS(HPS_OP) };

const struct hps_dev_ops hps_dev_cuda = {
    .name = "cuda",
    .open = open_cuda,
    .close = close_cuda,
    .alloc = alloc,
    .free = release,
    .copy_to_device = copy_to_device,
    .copy_to_host = copy_to_host,
    .zero = zero,
    .sync = sync,
    .pin = pin,
    .unpin = unpin,
    .pin_mapped = pin_mapped,
    .copy_to_device_async = copy_to_device_async,
    .copy_to_host_async = copy_to_host_async,
    .stream_wait = stream_wait,
    .event_new = event_new,
    .event_free = event_free,
    .event_record = event_record,
    .event_done = event_done,
    .event_wait = event_wait,
    .stream_wait_event = stream_wait_event,
    .event_elapsed_s = event_elapsed_s,
    .graph_begin = hps_cuda_graph_begin,
    .graph_end = hps_cuda_graph_end,
    .range = hps_cuda_range,
    .dense = &dense,
    .rows = &rows,
    .layers = &layers,
};
