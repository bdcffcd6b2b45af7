/* gpu_group.h - the GPUs of a test: none, or the stand-in's, as the program would load them. */
#ifndef HPS_TESTS_CARDS_H
#define HPS_TESTS_CARDS_H

#include "hw/dev.h"

/* How a test's ranks compute: `far`: on a CPU as if its memory were elsewhere. The others on
 * stand-in cards (HPS_TEST_GPU_GROUP): one each, with NCCL and without; all on the same one. */
enum gpu_group {
    GPU_GROUP_NONE,
    GPU_GROUP_FAR,
    GPU_GROUP_APART,
    GPU_GROUP_FORBIDDEN,
    GPU_GROUP_SHARED
};
#ifdef HPS_TEST_GPU_GROUP
#define GPU_GROUP_FIRST GPU_GROUP_APART
#define GPU_GROUP_LAST  GPU_GROUP_SHARED
#else
#define GPU_GROUP_FIRST GPU_GROUP_NONE
#define GPU_GROUP_LAST  GPU_GROUP_FAR
#endif

/* Open this rank's device; close it with its own close. */
void gpu_group_open(struct hps_dev *dev, enum gpu_group how);

#endif
