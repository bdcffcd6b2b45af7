/* dev_cuda.c - the CUDA backend: its memory, its stream, errors, its table of operations. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hw/cuda.h"

/* Kernels run later: what one of them did wrong is heard of in another call, but where each is
 * waited for. */
static bool waits_for_each(void)
{
    static int yes = -1;

    if (yes < 0) {
        const char *word = getenv("HETERPS_CUDA_SYNC");
        yes = word && strcmp(word, "1") == 0;
    }
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
    HPS_CUDA(cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking));
    HPS_CUBLAS(cublasCreate(&cuda->blas));
    HPS_CUBLAS(cublasSetStream(cuda->blas, cuda->stream));
    cuda->number = new_block(sizeof *cuda->number, "a sum");
    *dev = (struct hps_dev){ .ops = &hps_dev_cuda, .slow = 1, .nthread = nthread, .state = cuda };
    return HPS_OK;
}

static void close_cuda(struct hps_dev *dev)
{
    struct hps_cuda *cuda = dev->state;

    if (!cuda) return;
    HPS_CUDA(cudaStreamSynchronize(cuda->stream));
    HPS_CUDA(cudaFree(cuda->scratch.at));
    HPS_CUDA(cudaFree(cuda->attend.at));
    HPS_CUDA(cudaFree(cuda->number));
    HPS_CUBLAS(cublasDestroy(cuda->blas));
    HPS_CUDA(cudaStreamDestroy(cuda->stream));
    hps_mem_free(cuda);
    dev->state = NULL;
}

void *hps_cuda_take(struct hps_dev *dev, struct hps_cuda_room *room, size_t bytes)
{
    if (room->bytes >= bytes) return room->at;
    HPS_CUDA(cudaStreamSynchronize(hps_cuda_of(dev)->stream));
    HPS_CUDA(cudaFree(room->at));
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

    HPS_CUDA(cudaMemsetAsync(p, 0, bytes, hps_cuda_of(dev)->stream));
    return p;
}

static void release(struct hps_dev *dev, void *p)
{
    HPS_CUDA(cudaStreamSynchronize(hps_cuda_of(dev)->stream));
    HPS_CUDA(cudaFree(p));
}

static void put(struct hps_dev *dev, void *to, const void *from_host, size_t bytes)
{
    if (bytes > 0)
        HPS_CUDA(cudaMemcpyAsync(to, from_host, bytes, cudaMemcpyHostToDevice,
                                 hps_cuda_of(dev)->stream));
}

static void sync(struct hps_dev *dev)
{
    HPS_CUDA(cudaStreamSynchronize(hps_cuda_of(dev)->stream));
}

static void get(struct hps_dev *dev, void *to_host, const void *from, size_t bytes)
{
    if (bytes > 0)
        HPS_CUDA(cudaMemcpyAsync(to_host, from, bytes, cudaMemcpyDeviceToHost,
                                 hps_cuda_of(dev)->stream));
    sync(dev);
}

static void zero(struct hps_dev *dev, void *p, size_t bytes)
{
    if (bytes > 0) HPS_CUDA(cudaMemsetAsync(p, 0, bytes, hps_cuda_of(dev)->stream));
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
#include "hw/dev_table.h"
};
