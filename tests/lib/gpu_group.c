/* gpu_group.c - see gpu_group.h. */
#include "gpu_group.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/folder.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/world.h"

/* The stand-in is in tests/cuda, beside the folder of the test's program. */
static void find_object(void)
{
    char *program = hps_folder_program(), *folder = hps_mem_print("%s/../cuda", program);

    setenv("HETERPS_LIBDIR", folder, 1);
    hps_mem_free(folder);
    hps_mem_free(program);
}

void gpu_group_open(struct hps_dev *dev, enum gpu_group how)
{
    const char *kind = how >= GPU_GROUP_APART ? "cuda" : "cpu";
    char count[16];

    snprintf(count, sizeof count, "%d", hps_nrank());
    setenv("HPS_FAKE_GPUS", count, 1);
    setenv("HETERPS_NCCL", how == GPU_GROUP_FORBIDDEN ? "0" : "1", 1);
    setenv("HPS_SHIM_STRICT", "1", 1);
    if (how >= GPU_GROUP_APART) find_object();
    hps_say_min(HPS_WARN); /* what was found out of them is said each time */
    if (hps_dev_find(kind)->open(dev, how == GPU_GROUP_SHARED ? 0 : hps_rank(), 1) != HPS_OK)
        HPS_DIE("no device");
    if (how == GPU_GROUP_FAR) dev->host = false;
}
