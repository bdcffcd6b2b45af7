/* version.c - prints what was compiled in, and the libraries of this process. */
#include <cblas.h>
#include <hdf5.h>
#include <hwloc.h>
#include <jansson.h>
#include <mpi.h>
#include <papi.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "app/verbs.h"
#include "base/build.h"
#include "base/deep_read.h"
#include "config.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/say.h"
#include "data/unpack.h"
#include "hw/bf16.h"
#include "hw/gemm.h"

static void print_mpi(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;

    HPS_MPI(MPI_Get_library_version(text, &length));
    text[strcspn(text, ",\n")] = '\0';
    hps_out("MPI       %s\n", text);
}

static void print_hdf5(void)
{
    unsigned major = 0, minor = 0, release = 0;

    if (H5get_libversion(&major, &minor, &release) < 0) HPS_DIE("HDF5 does not tell its version");
    hps_out("HDF5      %u.%u.%u (parallel)\n", major, minor, release);
}

static void print_blas(void)
{
#if HAVE_OPENBLAS
    hps_out("BLAS      %s\n", openblas_get_config());
#else
    hps_out("BLAS      not OpenBLAS\n");
#endif
    hps_out("GEMM      %s\n", hps_gemm_lib()->name);
    hps_out("bf16      %s\n", hps_bf16_native() ? hps_bf16_native()->name : "not here");
}

static const char *yes(bool have)
{
    return have ? "yes" : "no";
}

/* How rows on a disk are read here. */
static void print_reader(void)
{
    struct hps_deep_reader *reader = hps_deep_reader_new(NULL);

    hps_out("reads     by %s\n", reader ? hps_deep_reader_way(reader) : "nothing: no threads");
    hps_deep_reader_free(reader);
}

enum hps_status hps_app_version(void)
{
    unsigned hwloc = hwloc_get_api_version();

    hps_out("heterps %s (revision %s)\n", hps_build.version, hps_build.revision);
    hps_out("compiler  %s, %s\n", hps_build.compiler, hps_build.cflags);
    print_mpi();
    print_hdf5();
    hps_out("PAPI      %d.%d.%d\n", (int)PAPI_VERSION_MAJOR(PAPI_VERSION),
            (int)PAPI_VERSION_MINOR(PAPI_VERSION), (int)PAPI_VERSION_REVISION(PAPI_VERSION));
    hps_out("hwloc     %u.%u.%u\n", hwloc >> 16, hwloc >> 8 & 0xff, hwloc & 0xff);
    print_blas();
    hps_out("libyaml   %s\n", yaml_get_version_string());
    hps_out("jansson   %s\n", JANSSON_VERSION);
    hps_out("gzip      %s\n", hps_unpack_library());
    print_reader();
    hps_out("OpenMP    %s\n", yes(hps_build.openmp));
    hps_out("CUDA      %s\n", hps_build.cuda);
    hps_out("NCCL      %s\n", yes(hps_build.nccl));
    return hps_out_flush();
}
