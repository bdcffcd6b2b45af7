/* dev_load.c - the CUDA backend as the program knows it: one shared object, loaded only on a rank
 * whose driver answers, so that a CPU rank pays neither for cuBLAS nor for NCCL. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "hw/dev.h"

#define OBJECT "heterps-cuda.so"
#define TABLE "hps_dev_cuda"

/* Beside the program: where it was built. To free; NULL: unknown. */
static char *beside(void)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n <= 0) return NULL;
    self[n] = 0;
    char *slash = strrchr(self, '/');
    if (slash) *slash = 0;
    return hps_mem_print("%s/" OBJECT, self);
}

/* The first of the places that has it: HETERPS_LIBDIR alone where that is set. To free. */
static char *path_of(void)
{
    const char *asked = getenv("HETERPS_LIBDIR");
    char *path = asked && *asked ? hps_mem_print("%s/" OBJECT, asked) : beside();

    if ((asked && *asked) || (path && access(path, R_OK) == 0)) return path;
    hps_mem_free(path);
    return hps_mem_print("%s/" OBJECT, HPS_LIBDIR);
}

/* The table of the object, which stays loaded: CUDA cannot be unloaded. NULL: *why, to free. */
static const struct hps_dev_ops *load(char **why)
{
    static const struct hps_dev_ops *loaded;

    if (loaded) return loaded;
    char *path = path_of();
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object) loaded = dlsym(object, TABLE);
    *why = loaded ? NULL : hps_mem_text(dlerror());
    hps_mem_free(path);
    return loaded;
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
