/* build.h - what was compiled in: the facts of this build. */
#ifndef HPS_BASE_BUILD_H
#define HPS_BASE_BUILD_H

#include <stdbool.h>

struct hps_build {
    const char *version;   /* of the release: "0.1"                                         */
    const char *revision;  /* of the source, by git or from the tarball; "unknown" otherwise */
    const char *compiler;  /* its own first line                                            */
    const char *cflags;
    const char *cuda;      /* release of the toolkit, or "no"                               */
    bool nccl, openmp, openblas;
};

extern const struct hps_build hps_build;

#endif
