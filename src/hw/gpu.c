/* gpu.c - the CUDA driver's own library, opened where it is; its names and numbers are its ABI. */
#include "hw/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MULTIPROCESSORS = 16 };          /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */

struct driver {
    void *library;
    int (*init)(unsigned flags);
    int (*count)(int *n);
    int (*get)(int *device, int ordinal);
    int (*name)(char *text, int size, int device);
    int (*memory)(size_t *bytes, int device);
    int (*attribute)(int *value, int which, int device);
};

/* A function's address is an object pointer to dlsym: copied, since C does not convert it. */
static bool bind(struct driver *d, void *function, const char *name)
{
    void *at = dlsym(d->library, name);
    memcpy(function, &at, sizeof at);
    return at != NULL;
}

static bool open_driver(struct driver *d)
{
    d->library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    return d->library && bind(d, &d->init, "cuInit") && bind(d, &d->count, "cuDeviceGetCount") &&
           bind(d, &d->get, "cuDeviceGet") && bind(d, &d->name, "cuDeviceGetName") &&
           bind(d, &d->memory, "cuDeviceTotalMem_v2") &&
           bind(d, &d->attribute, "cuDeviceGetAttribute");
}

/* The launcher's word for which rank of the host this is. */
static int local_rank(void)
{
    const char *word = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    if (!word) word = getenv("SLURM_LOCALID");
    return word ? atoi(word) : 0;
}

static void ask(const struct driver *d, struct hps_node *node)
{
    char name[HPS_NODE_TEXT] = "";
    size_t bytes = 0;
    int n = 0, device, processors = 0;

    if (d->init(0) || d->count(&n) || n < 1) return;
    if (d->get(&device, local_rank() % n) || d->name(name, sizeof name, device)) return;
    if (d->memory(&bytes, device) || d->attribute(&processors, MULTIPROCESSORS, device)) return;
    snprintf(node->gpu, sizeof node->gpu, "%s", name);
    node->gpu_index = local_rank() % n;
    node->gpu_sm = processors;
    node->gpu_memory_bytes = (double)bytes;
}

void hps_gpu_probe(struct hps_node *node)
{
    struct driver d = { 0 };

    if (open_driver(&d)) ask(&d, node);
    if (d.library) dlclose(d.library);
}
