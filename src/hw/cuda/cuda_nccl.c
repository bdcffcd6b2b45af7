/* cuda_nccl.c - NCCL, opened at run time. While the host waits for the device, MPI makes progress,
 * since a peer may need a message of this rank first. */
#include <assert.h>
#include <dlfcn.h>
#include <nccl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bind.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/quit.h"
#include "base/thread.h"
#include "hw/cuda/cuda_impl.h"
#include "hw/nccl.h"

#define PIECE ((size_t)1 << 28)         /* floats of one message, at most: 1 GiB */

struct hps_nccl_group {
    struct hps_dev *dev;
    ncclComm_t comm;
};

/* ---- the library ---- */

#define CALLS(X)                                                                                   \
    X(GetVersion) X(GetUniqueId) X(CommInitRank) X(CommDestroy) X(CommGetAsyncError) X(AllReduce)  \
    X(Send) X(Recv) X(GroupStart) X(GroupEnd) X(GetErrorString) X(GetLastError)
#define POINTER(name) __typeof__(&nccl##name) name;

static struct {
    CALLS(POINTER)
} nccl;

static bool bind(void *library, void *function, const char *name, char why[HPS_NCCL_WHY])
{
    bool has = hps_bind(library, function, name);

    if (!has) snprintf(why, HPS_NCCL_WHY, "libnccl.so.2 has no %s", name);
    return has;
}

/* It stays loaded, since its threads cannot be unloaded. Its environment variables take
 * precedence. */
static bool load(char why[HPS_NCCL_WHY])
{
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    setenv("NCCL_RUNTIME_CONNECT", "0", 0);
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        snprintf(why, HPS_NCCL_WHY, "%s", dlerror());
        return false;
    }
#define BIND(name) bind(library, &nccl.name, "nccl" #name, why) &&
    return CALLS(BIND) true;
}

static _Noreturn void die(const struct hps_nccl_group *g, ncclResult_t rc, const char *call,
                          int line)
{
    const char *more = nccl.GetLastError(g ? g->comm : NULL);

    hps_die_late(__FILE__, line, "nccl%s: %s (NCCL error %d)%s%s", call, nccl.GetErrorString(rc),
                 (int)rc, more && *more ? ": " : "", more ? more : "");
}

static void check(const struct hps_nccl_group *g, ncclResult_t rc, const char *call, int line)
{
    if (rc != ncclSuccess) die(g, rc, call, line);
}

/* For every call of NCCL, by its name without `nccl`; g: the group, or NULL. */
#define HPS_NCCL(g, call) check((g), nccl.call, #call, __LINE__)

static int version(char why[HPS_NCCL_WHY])
{
    static int known;

    if (!known && load(why)) HPS_NCCL(NULL, GetVersion(&known));
    return known;
}

/* ---- messages ---- */

static cudaStream_t stream(const struct hps_nccl_group *g)
{
    return hps_cuda_of(g->dev)->stream[HPS_STREAM_PEERS];
}

static void sum(struct hps_nccl_group *g, float *at, size_t n)
{
    HPS_NCCL(g, AllReduce(at, at, n, ncclFloat32, ncclSum, g->comm, stream(g)));
}

static void send_to(const struct hps_nccl_group *g, struct hps_nccl_message p)
{
    for (size_t at = 0; at < p.n; at += PIECE) {
        size_t n = p.n - at < PIECE ? p.n - at : PIECE;
        HPS_NCCL(g, Send(p.at + at, n, ncclFloat32, p.peer, g->comm, stream(g)));
    }
}

static void recv_from(const struct hps_nccl_group *g, struct hps_nccl_message p)
{
    for (size_t at = 0; at < p.n; at += PIECE) {
        size_t n = p.n - at < PIECE ? p.n - at : PIECE;
        HPS_NCCL(g, Recv(p.at + at, n, ncclFloat32, p.peer, g->comm, stream(g)));
    }
}

static void exchange(struct hps_nccl_group *g, int nout, const struct hps_nccl_message *out,
                     int nin, const struct hps_nccl_message *in)
{
    if (nout + nin == 0) return;
    HPS_NCCL(g, GroupStart());
    for (int i = 0; i < nout; i++)
        send_to(g, out[i]);
    for (int i = 0; i < nin; i++)
        recv_from(g, in[i]);
    HPS_NCCL(g, GroupEnd());
}

/* ---- while the host waits ---- */

static void check_error(struct hps_nccl_group *g)
{
    ncclResult_t asynchronous = ncclSuccess;

    HPS_NCCL(g, CommGetAsyncError(g->comm, &asynchronous));
    if (asynchronous != ncclSuccess && asynchronous != ncclInProgress)
        die(g, asynchronous, "CommGetAsyncError", __LINE__);
}

/* Called in every wait of this rank. */
static void meanwhile(void *group)
{
    check_error(group);
    hps_progress_mpi();
}

/* ---- groups ---- */

static void gpu(struct hps_dev *dev, char text[HPS_NCCL_GPU])
{
    int device;

    (void)dev;
    memset(text, 0, HPS_NCCL_GPU);
    HPS_CUDA(cudaGetDevice(&device));
    HPS_CUDA(cudaDeviceGetPCIBusId(text, HPS_NCCL_GPU, device));
}

static void name(char text[HPS_NCCL_NAME])
{
    ncclUniqueId id;

    _Static_assert(sizeof id == HPS_NCCL_NAME, "a name is NCCL's");
    HPS_NCCL(NULL, GetUniqueId(&id));
    memcpy(text, &id, sizeof id);
}

/* Opening a group takes seconds and waits for the other hosts: a thread does it, while MPI makes
 * progress so that they can follow. */
struct making {
    struct hps_nccl_group *group;
    ncclUniqueId id;
    int n, me, device;
    float *scratch;                     /* (2 n) device memory */
    atomic_bool done;
};

/* Exchange a number with each member and sum one: NCCL connects at the first use, which is now. */
static void greet(struct making *m)
{
    struct hps_nccl_group *g = m->group;

    HPS_NCCL(g, GroupStart());
    for (int r = 0; r < m->n; r++) {
        if (r == m->me) continue;
        HPS_NCCL(g, Send(m->scratch + r, 1, ncclFloat32, r, g->comm, stream(g)));
        HPS_NCCL(g, Recv(m->scratch + m->n + r, 1, ncclFloat32, r, g->comm, stream(g)));
    }
    HPS_NCCL(g, GroupEnd());
    HPS_NCCL(g, AllReduce(m->scratch, m->scratch, 1, ncclFloat32, ncclSum, g->comm, stream(g)));
}

static void *make(void *arg)
{
    struct making *m = arg;

    HPS_CUDA(cudaSetDevice(m->device));
    HPS_NCCL(m->group, CommInitRank(&m->group->comm, m->n, m->id, m->me));
    greet(m);
    m->done = true;
    return NULL;
}

static struct hps_nccl_group *open_group(struct hps_dev *dev, const char text[HPS_NCCL_NAME],
                                         int n, int rank)
{
    struct hps_nccl_group *g = hps_mem_new(1, sizeof *g);
    struct making m = { .group = g, .n = n, .me = rank };
    pthread_t thread;

    g->dev = dev;
    memcpy(&m.id, text, sizeof m.id);
    HPS_CUDA(cudaGetDevice(&m.device));
    m.scratch = dev->ops->alloc(dev, 2 * (size_t)n * sizeof *m.scratch);
    if (hps_thread_start(&thread, make, &m) != 0) HPS_DIE("no thread to make a group of GPUs");
    while (!m.done) {
        hps_progress_mpi();
        hps_sleep_s(1e-4);
    }
    pthread_join(thread, NULL);
    hps_progress_add(meanwhile, g);
    dev->ops->stream_wait(dev, HPS_STREAM_COMPUTE, HPS_STREAM_PEERS);
    dev->ops->free(dev, m.scratch);
    return g;
}

static void close_group(struct hps_nccl_group *g)
{
    g->dev->ops->stream_wait(g->dev, HPS_STREAM_COMPUTE, HPS_STREAM_PEERS);
    g->dev->ops->sync(g->dev);
    hps_progress_drop(meanwhile, g);
    HPS_NCCL(g, CommDestroy(g->comm));
    hps_mem_free(g);
}

const struct hps_nccl_ops hps_cuda_nccl = {
    .version = version,
    .gpu = gpu,
    .name = name,
    .open = open_group,
    .close = close_group,
    .sum = sum,
    .exchange = exchange,
    .check_error = check_error
};
