/* dev_cuda.c - the CUDA backend: its memory, its stream, errors, its table of operations. */
#include <string.h>

#include "base/env.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/wait.h"
#include "base/world.h"
#include "hw/cuda/cuda_impl.h"

#define PRODUCTS ((size_t)32 << 20)     /* what cuBLAS wants on the largest cards */

/* Kernels run later: what one of them did wrong is heard of in another call, but where each is
 * waited for. */
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

static enum hps_status open_cuda(struct hps_dev *dev, int local, int nthread)
{
    int n = 0;

    if (cudaGetDeviceCount(&n) != cudaSuccess || n < 1) {
        HPS_SAY_ALL(HPS_DEBUG, "%s: no GPU answers CUDA", hps_host());
        return HPS_FAIL;
    }
    HPS_CUDA(cudaSetDevice(local % n));
    struct hps_cuda *cuda = hps_mem_new(1, sizeof *cuda);
    for (int i = 0; i < HPS_LANES; i++) {
        HPS_CUDA(cudaStreamCreateWithFlags(&cuda->lane[i], cudaStreamNonBlocking));
        HPS_CUDA(cudaEventCreateWithFlags(&cuda->turn[i], cudaEventDisableTiming));
    }
    HPS_CUBLAS(cublasCreate(&cuda->blas));
    HPS_CUBLAS(cublasSetStream(cuda->blas, cuda->lane[HPS_LANE_WORK]));
    cuda->graphs = hps_cuda_graphs_new();
    if (cuda->graphs) {                         /* else cuBLAS takes memory inside of a graph */
        cuda->products = new_block(PRODUCTS, "products in graphs");
        HPS_CUBLAS(cublasSetWorkspace(cuda->blas, cuda->products, PRODUCTS));
    }
    cuda->number = new_block(sizeof *cuda->number, "a sum");
    *dev = (struct hps_dev){ .ops = &hps_dev_cuda, .slow = 1, .nthread = nthread, .state = cuda };
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
    for (int i = 0; i < HPS_LANES; i++) {
        HPS_CUDA(cudaEventDestroy(cuda->turn[i]));
        HPS_CUDA(cudaStreamDestroy(cuda->lane[i]));
    }
    hps_mem_free(cuda);
    dev->state = NULL;
}

/* A lane may wait for other ranks, and they for messages of this one: who waits for it sees to
 * those. What is not ready yet is no error, but the runtime keeps it as its last one. */
static void see_to_others(cudaStream_t lane)
{
    cudaError_t now;

    while ((now = cudaStreamQuery(lane)) == cudaErrorNotReady && hps_wait_progress())
        ;
    if (now != cudaErrorNotReady) hps_cuda_check((int)now, "cudaStreamQuery", __FILE__, __LINE__);
    (void)cudaGetLastError();
}

static void wait_for(cudaStream_t lane)
{
    see_to_others(lane);
    HPS_CUDA(cudaStreamSynchronize(lane));
}

/* Whichever lane uses it is waited for. */
static void release(struct hps_dev *dev, void *p)
{
    struct hps_cuda *cuda = hps_cuda_of(dev);

    if (!p) return;
    for (int i = 0; i < HPS_LANES; i++)
        wait_for(cuda->lane[i]);
    HPS_CUDA(cudaFree(p));
}

void *hps_cuda_take(struct hps_dev *dev, struct hps_cuda_room *room, size_t bytes)
{
    if (room->bytes >= bytes) return room->at;
    if (!hps_cuda_in_piece(hps_cuda_of(dev)))
        release(dev, room->at);
    else if (room->at)
        hps_cuda_free_later(hps_cuda_of(dev), room->at);
    room->bytes = bytes + bytes / 2;
    room->at = new_block(room->bytes, "an operation's scratch");
    return room->at;
}

void *hps_cuda_scratch(struct hps_dev *dev, size_t bytes)
{
    return hps_cuda_take(dev, &hps_cuda_of(dev)->scratch, bytes);
}

static void *alloc(struct hps_dev *dev, size_t bytes)
{
    void *p = new_block(bytes, "the layers of this stage");

    HPS_CUDA(cudaMemsetAsync(p, 0, bytes, hps_cuda_stream(dev)));
    HPS_CUDA(cudaStreamSynchronize(hps_cuda_stream(dev)));      /* any lane may write to it now */
    return p;
}

static void put(struct hps_dev *dev, void *to, const void *from_host, size_t bytes)
{
    if (bytes > 0)
        HPS_CUDA(cudaMemcpyAsync(to, from_host, bytes, cudaMemcpyHostToDevice,
                                 hps_cuda_stream(dev)));
}

static void sync(struct hps_dev *dev)
{
    wait_for(hps_cuda_stream(dev));
}

static void get(struct hps_dev *dev, void *to_host, const void *from, size_t bytes)
{
    see_to_others(hps_cuda_stream(dev));        /* a copy to memory not pinned waits in CUDA */
    if (bytes > 0)
        HPS_CUDA(cudaMemcpyAsync(to_host, from, bytes, cudaMemcpyDeviceToHost,
                                 hps_cuda_stream(dev)));
    sync(dev);
}

static void zero(struct hps_dev *dev, void *p, size_t bytes)
{
    if (bytes > 0) HPS_CUDA(cudaMemsetAsync(p, 0, bytes, hps_cuda_stream(dev)));
}

/* ---- lanes and marks ---- */

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

static void *pin_far(struct hps_dev *dev, size_t bytes)
{
    void *p = NULL;

    (void)dev;
    if (cudaHostAlloc(&p, bytes > 0 ? bytes : 1, cudaHostAllocMapped) != cudaSuccess)
        HPS_DIE("no pinned memory for rows of tables: %zu bytes wanted", bytes);
    return memset(p, 0, bytes);
}

static void bring(struct hps_dev *dev, enum hps_lane lane, void *to, const void *from,
                  size_t bytes)
{
    if (bytes > 0)
        HPS_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice,
                                 hps_cuda_of(dev)->lane[lane]));
}

static void fetch(struct hps_dev *dev, enum hps_lane lane, void *to, const void *from,
                  size_t bytes)
{
    if (bytes > 0)
        HPS_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost,
                                 hps_cuda_of(dev)->lane[lane]));
}

static void follow(struct hps_dev *dev, enum hps_lane lane, enum hps_lane before)
{
    struct hps_cuda *cuda = hps_cuda_of(dev);

    HPS_CUDA(cudaEventRecord(cuda->turn[before], cuda->lane[before]));
    HPS_CUDA(cudaStreamWaitEvent(cuda->lane[lane], cuda->turn[before], 0));
}

struct hps_mark {
    cudaEvent_t event;
};

static struct hps_mark *mark_new(struct hps_dev *dev)
{
    struct hps_mark *mark = hps_mem_new(1, sizeof *mark);

    (void)dev;
    HPS_CUDA(cudaEventCreate(&mark->event));
    return mark;
}

static void mark_free(struct hps_dev *dev, struct hps_mark *mark)
{
    (void)dev;
    if (!mark) return;
    HPS_CUDA(cudaEventDestroy(mark->event));
    hps_mem_free(mark);
}

static void mark(struct hps_dev *dev, struct hps_mark *mark, enum hps_lane lane)
{
    HPS_CUDA(cudaEventRecord(mark->event, hps_cuda_of(dev)->lane[lane]));
}

static bool reached(struct hps_dev *dev, struct hps_mark *mark)
{
    cudaError_t error = cudaEventQuery(mark->event);

    (void)dev;
    (void)cudaGetLastError();   /* "not ready" would be the next launch's */
    if (error == cudaErrorNotReady) return false;
    hps_cuda_check((int)error, "cudaEventQuery", __FILE__, __LINE__);
    return true;
}

static void wait(struct hps_dev *dev, struct hps_mark *mark)
{
    (void)dev;
    HPS_CUDA(cudaEventSynchronize(mark->event));
}

static void after(struct hps_dev *dev, enum hps_lane lane, struct hps_mark *mark)
{
    HPS_CUDA(cudaStreamWaitEvent(hps_cuda_of(dev)->lane[lane], mark->event, 0));
}

static double between_s(struct hps_dev *dev, struct hps_mark *from, struct hps_mark *to)
{
    float ms = 0;

    (void)dev;
    HPS_CUDA(cudaEventElapsedTime(&ms, from->event, to->event));
    return (double)ms * 1e-3;
}

const struct hps_dev_ops hps_dev_cuda = {
    .name = "cuda",
    .open = open_cuda,
    .close = close_cuda,
    .alloc = alloc,
    .free = release,
    .put = put,
    .get = get,
    .zero = zero,
    .sync = sync,
    .pin = pin,
    .unpin = unpin,
    .pin_far = pin_far,
    .bring = bring,
    .fetch = fetch,
    .follow = follow,
    .mark_new = mark_new,
    .mark_free = mark_free,
    .mark = mark,
    .reached = reached,
    .wait = wait,
    .after = after,
    .between_s = between_s,
    .piece_begin = hps_cuda_piece_begin,
    .piece_end = hps_cuda_piece_end,
    .range = hps_cuda_range,
#include "hw/dev_table.h"
};
