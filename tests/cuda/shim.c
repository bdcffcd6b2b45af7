/* shim.c - see cuda_runtime.h beside it: memory, copies, the run of a kernel, products. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "cublas_v2.h"

#define STACK ((size_t)32 << 10)
#define MOST_THREADS 1024

static void die(const char *why)
{
    fprintf(stderr, "CUDA's stand-in: %s\n", why);
    abort();
}

/* ---- memory: each piece ends at a page that nobody may touch ---- */

struct piece {
    struct piece *next;
    char *base, *at;
    size_t pages, bytes;        /* bytes of the pages but for the last one; as asked for */
};

static struct piece *pieces;
static size_t taken;            /* bytes of all */
static int opened;              /* calls of hps_shim_open(true) under way */

static bool guarded(void)
{
    const char *word = getenv("HPS_SHIM_GUARD");
    return word && *word == '1';
}

void hps_shim_open(bool open)
{
    opened += open ? 1 : -1;
    if (!guarded() || opened != (open ? 1 : 0)) return;
    for (struct piece *p = pieces; p; p = p->next)
        if (mprotect(p->base, p->pages, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
            die("mprotect");
}

static size_t memory(void)
{
    const char *word = getenv("HPS_SHIM_MEMORY");
    return word && *word ? (size_t)atoll(word) : (size_t)2 << 30;
}

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), need = (bytes + 15) / 16 * 16;
    struct piece *x = calloc(1, sizeof *x);

    if (!x || taken + bytes > memory()) {
        free(x);
        return cudaErrorMemoryAllocation;
    }
    x->pages = (need + page - 1) / page * page;
    x->base = mmap(NULL, x->pages + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (x->base == MAP_FAILED ||
        (!guarded() && mprotect(x->base, x->pages, PROT_READ | PROT_WRITE) != 0)) {
        free(x);
        return cudaErrorMemoryAllocation;
    }
    x->at = x->base + x->pages - need;
    x->bytes = bytes;
    taken += bytes;
    x->next = pieces;
    pieces = x;
    *p = x->at;
    return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
    struct piece **at = &pieces, *x;

    if (!p) return cudaSuccess;
    while (*at && (*at)->at != p)
        at = &(*at)->next;
    if (!(x = *at)) die("memory is freed that never was");
    *at = x->next;
    taken -= x->bytes;
    munmap(x->base, x->pages + (size_t)sysconf(_SC_PAGESIZE));
    free(x);
    return cudaSuccess;
}

static cudaError_t heard = cudaSuccess; /* of a kernel, by who waits for it */

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)stream;
    hps_shim_open(true);
    memcpy(to, from, bytes);
    hps_shim_open(false);
    return kind == cudaMemcpyDeviceToHost ? heard : cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    hps_shim_open(true);
    memset(to, value, bytes);
    hps_shim_open(false);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *unused, size_t *all)
{
    *all = memory();
    *unused = *all - taken;
    return cudaSuccess;
}

/* ---- devices, streams, events ---- */

struct hps_shim_event {
    double ms;
};

cudaError_t cudaGetDeviceCount(int *n) { *n = 1; return cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : 101; }
cudaError_t cudaGetLastError(void) { return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t stream) { (void)stream; return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { (void)stream; return heard; }
cudaError_t cudaDeviceSynchronize(void) { return heard; }
cudaError_t cudaEventSynchronize(cudaEvent_t event) { (void)event; return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t error) { (void)error; return "an error of the stand-in"; }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    *stream = NULL;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = calloc(1, sizeof **event);
    return *event ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    struct timespec t;

    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, &t);
    event->ms = (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    *ms = (float)(to->ms - from->ms);
    return cudaSuccess;
}

/* ---- kernels ---- */

enum waiting { RUNS, WARP, BLOCK, DONE };

struct thread {
    ucontext_t context;
    enum waiting waiting;
    char slot[16];
};

struct hps_shim_place hps_shim_now;

static struct thread *threads;  /* (MOST_THREADS), with a stack each */
static char *stacks;
static ucontext_t scheduler;
static unsigned mine, nthread;
static bool is_team;
static void (*the_kernel)(void *);
static void *the_arguments;

static void place(unsigned i)
{
    struct hps_shim_place *p = &hps_shim_now;

    mine = i;
    p->thread.x = i % p->threads.x;
    p->thread.y = i / p->threads.x % p->threads.y;
    p->thread.z = i / p->threads.x / p->threads.y;
    p->slot = is_team ? threads[i].slot : NULL;
}

void hps_shim_meet(bool block)
{
    if (!is_team) die("a kernel meets that was not launched as a team");
    threads[mine].waiting = block ? BLOCK : WARP;
    swapcontext(&threads[mine].context, &scheduler);
}

void *hps_shim_of(unsigned lane)
{
    unsigned i = mine / 32 * 32 + lane;

    if (lane > 31 || i >= nthread || threads[i].waiting == DONE)
        die("a shuffle with a lane that is not there");
    return threads[i].slot;
}

static void begin(void)
{
    the_kernel(the_arguments);
    threads[mine].waiting = DONE;
    setcontext(&scheduler);
}

/* Do those of first .. last-1 that are not done all wait so? Then they go on. */
static bool release(unsigned first, unsigned last, enum waiting how)
{
    bool any = false;

    for (unsigned i = first; i < last; i++) {
        if (threads[i].waiting != how && threads[i].waiting != DONE) return false;
        any = any || threads[i].waiting == how;
    }
    for (unsigned i = first; any && i < last; i++)
        if (threads[i].waiting == how) threads[i].waiting = RUNS;
    return any;
}

static bool release_any(void)
{
    bool any = release(0, nthread, BLOCK);

    for (unsigned w = 0; w < nthread; w += 32)
        any = release(w, w + 32 < nthread ? w + 32 : nthread, WARP) || any;
    return any;
}

static bool all_done(void)
{
    for (unsigned i = 0; i < nthread; i++)
        if (threads[i].waiting != DONE) return false;
    return true;
}

static void run_team(void)
{
    for (unsigned i = 0; i < nthread; i++) {
        struct thread *t = &threads[i];
        t->waiting = RUNS;
        getcontext(&t->context);
        t->context.uc_stack.ss_sp = stacks + (size_t)i * STACK;
        t->context.uc_stack.ss_size = STACK;
        t->context.uc_link = NULL;
        makecontext(&t->context, begin, 0);
    }
    do {
        for (unsigned i = 0; i < nthread; i++)
            if (threads[i].waiting == RUNS) {
                place(i);
                swapcontext(&scheduler, &threads[i].context);
            }
    } while (release_any());
    if (!all_done()) die("not all threads of a warp or block come to a meeting");
}

static void make_team(void)
{
    if (threads) return;
    threads = calloc(MOST_THREADS, sizeof *threads);
    stacks = mmap(NULL, MOST_THREADS * STACK, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!threads || stacks == MAP_FAILED) die("no memory for threads");
}

static void run_block(void)
{
    if (is_team) {
        run_team();
        return;
    }
    for (unsigned i = 0; i < nthread; i++) {
        place(i);
        the_kernel(the_arguments);
    }
}

void hps_shim_run(bool team, struct hps_shim_dim blocks, struct hps_shim_dim each,
                  void (*kernel)(void *), void *arguments)
{
    struct hps_shim_place *p = &hps_shim_now;

    static long launched;
    const char *fails = getenv("HPS_SHIM_FAIL");

    if (fails && ++launched == atol(fails)) heard = 700;
    nthread = each.x * each.y * each.z;
    if (nthread == 0 || nthread > MOST_THREADS || blocks.y > 65535 || blocks.z > 65535)
        die("a launch that no card takes");
    make_team();
    is_team = team, the_kernel = kernel, the_arguments = arguments;
    p->threads = each, p->blocks = blocks;
    hps_shim_open(true);
    for (p->block.z = 0; p->block.z < blocks.z; p->block.z++)
        for (p->block.y = 0; p->block.y < blocks.y; p->block.y++)
            for (p->block.x = 0; p->block.x < blocks.x; p->block.x++)
                run_block();
    hps_shim_open(false);
}

/* ---- cuBLAS ---- */

cublasStatus_t cublasCreate(cublasHandle_t *handle) { *handle = NULL; return 0; }
cublasStatus_t cublasDestroy(cublasHandle_t handle) { (void)handle; return 0; }
const char *cublasGetStatusString(cublasStatus_t status) { (void)status; return "an error"; }

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    (void)handle, (void)stream;
    return 0;
}

/* A column-major matrix with the low bits of its numbers rounded away: halves to even. */
static float *rounded(const float *from, int rows, int columns, int ld, cublasComputeType_t type)
{
    int lost = type == CUBLAS_COMPUTE_32F_FAST_TF32 ? 13 : 16;
    float *to = calloc((size_t)ld * (size_t)columns + 1, sizeof *to);
    uint32_t bits;

    if (!to) die("no memory for a product");
    for (int c = 0; c < columns; c++)
        for (int r = 0; r < rows; r++) {
            size_t i = (size_t)c * (size_t)ld + (size_t)r;
            memcpy(&bits, from + i, sizeof bits);
            if (type != CUBLAS_COMPUTE_32F) {
                bits += (1u << (lost - 1)) - 1 + (bits >> lost & 1);
                bits &= ~((1u << lost) - 1);
            }
            memcpy(to + i, &bits, sizeof bits);
        }
    return to;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t a_as, cublasOperation_t b_as,
                            int m, int n, int k, const void *alpha, const void *a,
                            cudaDataType_t a_is, int lda, const void *b, cudaDataType_t b_is,
                            int ldb, const void *beta, void *c, cudaDataType_t c_is, int ldc,
                            cublasComputeType_t type, cublasGemmAlgo_t how)
{
    bool turn_a = a_as == CUBLAS_OP_T, turn_b = b_as == CUBLAS_OP_T;

    (void)handle, (void)a_is, (void)b_is, (void)c_is, (void)how;
    hps_shim_open(true);
    float *x = rounded(a, turn_a ? k : m, turn_a ? m : k, lda, type);
    float *y = rounded(b, turn_b ? n : k, turn_b ? k : n, ldb, type);
    cblas_sgemm(CblasColMajor, turn_a ? CblasTrans : CblasNoTrans,
                turn_b ? CblasTrans : CblasNoTrans, m, n, k, *(const float *)alpha, x, lda, y,
                ldb, *(const float *)beta, c, ldc);
    hps_shim_open(false);
    free(x);
    free(y);
    return 0;
}
