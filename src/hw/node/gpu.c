/* gpu.c - the CUDA driver's library, opened at run time by the names and numbers of its ABI. */
#include "hw/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/bind.h"
#include "base/mem.h"
#include "base/mpi_check.h"

enum { MULTIPROCESSORS = 16 };          /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */

struct driver {
    void *library;
    int (*init)(unsigned flags);
    int (*count)(int *n);
    int (*get)(int *device, int ordinal);
    int (*name)(char *text, int size, int device);
    int (*memory)(size_t *bytes, int device);
    int (*attribute)(int *value, int which, int device);
    int (*uuid)(unsigned char id[16], int device);
};

/* The GPUs visible to a rank, as sent to the other ranks of the host. */
struct seen {
    int n;
    unsigned char id[HPS_GPU_MAX][16];
};

static bool open_driver(struct driver *d)
{
    void *l = d->library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

    return l && hps_bind(l, &d->init, "cuInit") && hps_bind(l, &d->count, "cuDeviceGetCount") &&
           hps_bind(l, &d->get, "cuDeviceGet") && hps_bind(l, &d->name, "cuDeviceGetName") &&
           hps_bind(l, &d->memory, "cuDeviceTotalMem_v2") &&
           hps_bind(l, &d->attribute, "cuDeviceGetAttribute") &&
           (hps_bind(l, &d->uuid, "cuDeviceGetUuid_v2") ||
            hps_bind(l, &d->uuid, "cuDeviceGetUuid"));
}

static void look(const struct driver *d, struct seen *seen)
{
    int n = 0, device;

    if (d->init(0) || d->count(&n)) return;
    for (int i = 0; i < n && i < HPS_GPU_MAX; i++) {
        if (d->get(&device, i) || d->uuid(seen->id[i], device)) return;
        seen->n = i + 1;
    }
}

/* ---- the assignment ---- */

struct use {                    /* a GPU of the host and its ranks so far */
    const unsigned char *id;
    int ranks;
};

/* The entry of a GPU; a new one is appended to the n that there are. */
static struct use *use_of(struct use *use, int *n, const unsigned char *id)
{
    int i = 0;

    while (i < *n && memcmp(use[i].id, id, 16) != 0)
        i++;
    if (i == *n) use[(*n)++] = (struct use){ id, 0 };
    return &use[i];
}

/* The GPU that a rank takes among the visible ones; NULL: none. */
static struct use *take(struct use *use, int *n, const struct seen *seen, int each, int *index)
{
    struct use *best = NULL;

    for (int i = 0; i < seen->n; i++) {
        struct use *u = use_of(use, n, seen->id[i]);
        if (u->ranks < each && (!best || u->ranks < best->ranks)) {
            best = u;
            *index = i;
        }
    }
    if (best) best->ranks++;
    return best;
}

/* Assign in the order of the host's R ranks. Returns the number of this rank's GPU, -1: none,
 * and how many ranks it has. */
static int choose(int R, const struct seen *seen, int each, int me, int *ranks)
{
    struct use *use = hps_mem_new((size_t)R * HPS_GPU_MAX, sizeof *use), *mine = NULL;
    int n = 0, index = 0, chosen = -1;

    for (int r = 0; r < R; r++) {
        struct use *u = take(use, &n, &seen[r], each, &index);
        if (r == me && u) {
            mine = u;
            chosen = index;
        }
    }
    *ranks = mine ? mine->ranks : 0;
    hps_mem_free(use);
    return chosen;
}

static int choose_among(const struct seen *mine, int each, MPI_Comm host, int *ranks)
{
    int R, me;

    if (host == MPI_COMM_NULL) return choose(1, mine, each, 0, ranks);
    HPS_MPI(MPI_Comm_size(host, &R));
    HPS_MPI(MPI_Comm_rank(host, &me));
    struct seen *all = hps_mem_new((size_t)R, sizeof *all);
    HPS_MPI(MPI_Allgather(mine, (int)sizeof *mine, MPI_BYTE, all, (int)sizeof *mine, MPI_BYTE,
                          host));
    int index = choose(R, all, each, me, ranks);
    hps_mem_free(all);
    return index;
}

static void describe(const struct driver *d, int index, int ranks, struct hps_node *node)
{
    char name[HPS_NODE_TEXT] = "";
    size_t bytes = 0;
    int device, processors = 0;

    if (d->get(&device, index) || d->name(name, sizeof name, device)) return;
    if (d->memory(&bytes, device) || d->attribute(&processors, MULTIPROCESSORS, device)) return;
    if (d->uuid(node->gpu_uuid, device)) return;
    snprintf(node->gpu, sizeof node->gpu, "%s", name);
    node->gpu_index = index;
    node->gpu_sm = processors;
    node->gpu_ranks = ranks;
    node->gpu_memory_bytes = (double)bytes / ranks;
    struct hps_nvml *nvml = hps_nvml_open(node->gpu_uuid);
    hps_nvml_facts(nvml, &node->nvml);
    hps_nvml_close(nvml);
}

void hps_gpu_share(struct hps_node *node, int each, MPI_Comm host)
{
    struct driver d = { 0 };
    struct seen seen = { 0 };
    int ranks;

    if (open_driver(&d)) look(&d, &seen);
    int index = choose_among(&seen, each, host, &ranks);
    if (index >= 0) describe(&d, index, ranks, node);
    if (d.library) dlclose(d.library);
}
