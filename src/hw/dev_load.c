/* dev_load.c - loads the CUDA backend, a shared object, on ranks with a GPU alone, so that CPU
 * ranks pay neither for cuBLAS nor for NCCL. */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/mem.h"
#include "base/say.h"
#include "hw/nccl.h"

#define OBJECT "heterps-cuda.so"
#define TABLE "hps_dev_cuda"
#define TABLE_NCCL "hps_cuda_nccl"

static void *object;            /* stays loaded: CUDA cannot be unloaded */

/* The folder of the object: HETERPS_LIBDIR where that is set; else the program's, as built, or the
 * configured one. To free. */
static char *path_of(void)
{
    const char *asked = getenv("HETERPS_LIBDIR");

    if (asked && *asked) return hps_mem_print("%s/" OBJECT, asked);
    char *folder = hps_folder_program(), *path = hps_mem_print("%s/" OBJECT, folder);
    hps_mem_free(folder);
    if (access(path, R_OK) == 0) return path;
    hps_mem_free(path);
    return hps_mem_print("%s/" OBJECT, HPS_LIBDIR);
}

/* Load the table. NULL: *why, to free. */
static const struct hps_dev_ops *load(char **why)
{
    static const struct hps_dev_ops *loaded;

    if (loaded) return loaded;
    char *path = path_of();
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object) loaded = dlsym(object, TABLE);
    *why = loaded ? NULL : hps_mem_text(dlerror());
    hps_mem_free(path);
    return loaded;
}

const struct hps_nccl_ops *hps_nccl_loaded(void)
{
    return object ? dlsym(object, TABLE_NCCL) : NULL;
}

static enum hps_status open_loaded(struct hps_dev *dev, int local, int nthread)
{
    char *why = NULL;
    const struct hps_dev_ops *ops = load(&why);

    if (ops) return ops->open(dev, local, nthread);
    HPS_SAY_ALL(HPS_DEBUG, "no CUDA backend: %s", why);
    hps_mem_free(why);
    return HPS_FAIL;
}

const struct hps_dev_ops hps_dev_loaded = { .name = "cuda", .open = open_loaded };
