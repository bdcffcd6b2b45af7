/* shim.c - see cuda_runtime.h beside it: memory, copies, the run of a kernel, products. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "cublas_v2.h"
#include "shim.h"

#define STACK ((size_t)32 << 10)
#define MAX_THREADS 1024

void hps_shim_die(const char *why)
{
    fprintf(stderr, "CUDA's stand-in: %s\n", why);
    abort();
}

#define die hps_shim_die

/* ---- memory: each piece ends at a page that nobody may touch ---- */

struct piece {
    struct piece *next;
    char *base, *at;
    size_t pages, bytes;        /* bytes of the pages but for the last one; as asked for */
    bool mapped;                /* pinned: kernels may be given it, too                          */
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
    HPS_SHIM_ALONE;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), need = (bytes + 15) / 16 * 16;
    struct piece *x = calloc(1, sizeof *x);

    hps_shim_count.taken++;
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
    HPS_SHIM_ALONE;
    struct piece **at = &pieces, *x;

    if (!p) return cudaSuccess;
    hps_shim_drain();
    while (*at && (*at)->at != p)
        at = &(*at)->next;
    if (!(x = *at)) die("memory is freed that never was");
    *at = x->next;
    taken -= x->bytes;
    munmap(x->base, x->pages + (size_t)sysconf(_SC_PAGESIZE));
    free(x);
    return cudaSuccess;
}

/* ---- pinned memory ---- */

static struct piece *pinned;

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags)
{
    HPS_SHIM_ALONE;
    struct piece *x = calloc(1, sizeof *x);

    if (!x || !(x->at = malloc(bytes ? bytes : 1))) die("no memory");
    x->bytes = bytes;
    x->mapped = flags & cudaHostAllocMapped;
    x->next = pinned;
    pinned = x;
    *p = x->at;
    hps_shim_count.pinned++;
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    return cudaHostAlloc(p, bytes, 0);
}

cudaError_t cudaFreeHost(void *p)
{
    HPS_SHIM_ALONE;
    struct piece **at = &pinned, *x;

    if (!p) return cudaSuccess;
    hps_shim_drain();
    while (*at && (*at)->at != p)
        at = &(*at)->next;
    if (!(x = *at)) die("pinned memory is freed that never was");
    *at = x->next;
    free(x->at);
    free(x);
    return cudaSuccess;
}

/* The piece that an address lies in; NULL: none of these. */
static const struct piece *lies_in(const struct piece *p, const void *at)
{
    while (p && ((const char *)at < p->at || (const char *)at > p->at + p->bytes))
        p = p->next;
    return p;
}

enum hps_shim_kind hps_shim_kind(const void *at)
{
    return lies_in(pieces, at) ? HPS_SHIM_DEVICE : lies_in(pinned, at) ? HPS_SHIM_PINNED
                                                                       : HPS_SHIM_HOST;
}

static bool strict(void)
{
    const char *word = getenv("HPS_SHIM_STRICT");
    return word && *word == '1';
}

void hps_shim_expect(const void *at, enum hps_shim_kind kind)
{
    enum hps_shim_kind is = hps_shim_kind(at);

    if (strict() && is != kind && (kind == HPS_SHIM_DEVICE || is == HPS_SHIM_DEVICE))
        die(kind == HPS_SHIM_DEVICE ? "host memory where a card expects its own"
                                    : "a card's memory where the host's is expected");
}

/* Where the heap begins: no mapping of the program lies behind it. */
static char *hps_shim_heap(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512];
    void *from = NULL;

    while (f && fgets(line, sizeof line, f))
        if (strstr(line, "[heap]")) sscanf(line, "%p", &from);
    if (f) fclose(f);
    return from ? from : sbrk(0);
}

/* Is there, among the arguments of a kernel, an address of host memory? Of the heap alone: what
 * looks like another one may be numbers. */
void hps_shim_look(const void *arguments, size_t bytes)
{
    static char *heap;
    char *p;

    if (!strict()) return;
    if (!heap) heap = hps_shim_heap();
    for (size_t i = 0; i + sizeof p <= bytes; i += sizeof p) {
        memcpy(&p, (const char *)arguments + i, sizeof p);
        if (((uintptr_t)p & 255) < 2) continue; /* a bool, and what was on the stack behind it */
        const struct piece *mine = lies_in(pinned, p);
        if (mine ? !mine->mapped : p >= heap && p < (char *)sbrk(0))
            die("a kernel is given host memory");
    }
}

cudaError_t cudaMemGetInfo(size_t *unused, size_t *all)
{
    *all = memory();
    *unused = *all - taken;
    return cudaSuccess;
}

/* ---- devices ---- */

static _Thread_local int current;

cudaError_t cudaGetDeviceCount(int *n)
{
    const char *word = getenv("HPS_FAKE_GPUS");

    *n = word ? atoi(word) : 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    int n;

    if (cudaGetDeviceCount(&n) || device < 0 || device >= n) return 101;
    current = device;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    const char *word = getenv("HPS_FAKE_CAPABILITY");   /* of a GPU: major */
    *value = word ? atoi(word) : 9;
    return attribute == cudaDevAttrComputeCapabilityMajor && device >= 0 ? cudaSuccess : 1;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = current;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int device)
{
    snprintf(text, (size_t)size, "0000:%02x:00.0", device + 1);
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t error)
{
    (void)error;
    return "an error of the stand-in";
}

/* ---- kernels ---- */

enum waiting { RUNS, WARP, BLOCK, DONE };

struct thread {
    ucontext_t context;
    enum waiting waiting;
    char slot[16];
};

struct hps_shim_place hps_shim_now;

static struct thread *threads;  /* (MAX_THREADS), with a stack each */
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
    threads = calloc(MAX_THREADS, sizeof *threads);
    stacks = mmap(NULL, MAX_THREADS * STACK, PROT_READ | PROT_WRITE,
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

    hps_shim_count.launches++;
    if (fails && ++launched == atol(fails)) hps_shim_heard = 700;
    nthread = each.x * each.y * each.z;
    if (nthread == 0 || nthread > MAX_THREADS || blocks.y > 65535 || blocks.z > 65535)
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

struct hps_shim_blas {
    cudaStream_t stream;
};

const char *cublasGetStatusString(cublasStatus_t status) { (void)status; return "an error"; }

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    *handle = calloc(1, sizeof **handle);
    return *handle ? CUBLAS_STATUS_SUCCESS : 3;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    hps_shim_drain();
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    (void)handle, (void)bytes;
    hps_shim_expect(workspace, HPS_SHIM_DEVICE);
    return CUBLAS_STATUS_SUCCESS;
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

struct product {
    bool turn_a, turn_b;
    int m, n, k, lda, ldb, ldc;
    float alpha, beta;
    const float *a, *b;
    float *c;
    cublasComputeType_t type;
};

static void multiply(void *product)
{
    const struct product *p = product;
    float *x = rounded(p->a, p->turn_a ? p->k : p->m, p->turn_a ? p->m : p->k, p->lda, p->type);
    float *y = rounded(p->b, p->turn_b ? p->n : p->k, p->turn_b ? p->k : p->n, p->ldb, p->type);

    cblas_sgemm(CblasColMajor, p->turn_a ? CblasTrans : CblasNoTrans,
                p->turn_b ? CblasTrans : CblasNoTrans, p->m, p->n, p->k, p->alpha, x, p->lda, y,
                p->ldb, p->beta, p->c, p->ldc);
    free(x);
    free(y);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t a_as, cublasOperation_t b_as,
                            int m, int n, int k, const void *alpha, const void *a,
                            cudaDataType_t a_is, int lda, const void *b, cudaDataType_t b_is,
                            int ldb, const void *beta, void *c, cudaDataType_t c_is, int ldc,
                            cublasComputeType_t type, cublasGemmAlgo_t how)
{
    struct product *p = malloc(sizeof *p);

    (void)a_is, (void)b_is, (void)c_is, (void)how;
    if (!p) die("no memory for a product");
    *p = (struct product){ a_as == CUBLAS_OP_T, b_as == CUBLAS_OP_T, m, n, k, lda, ldb, ldc,
                           *(const float *)alpha, *(const float *)beta, a, b, c, type };
    hps_shim_expect(a, HPS_SHIM_DEVICE);
    hps_shim_expect(b, HPS_SHIM_DEVICE);
    hps_shim_expect(c, HPS_SHIM_DEVICE);
    hps_shim_queue(handle->stream, multiply, p, free);
    return CUBLAS_STATUS_SUCCESS;
}
