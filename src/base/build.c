/* build.c - the one place where configure's answers become values. */
#include "base/build.h"

#include "config.h"
#include "revision.h"

const struct hps_build hps_build = {
    .version = PACKAGE_VERSION,
    .revision = HPS_REVISION,
    .compiler = HPS_BUILD_CC,
    .cflags = HPS_BUILD_CFLAGS,
    .cuda = HPS_BUILD_CUDA,
    .nccl = HAVE_NCCL,
    .openmp = HAVE_OPENMP,
    .openblas = HAVE_OPENBLAS,
};
