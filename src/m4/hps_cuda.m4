# HPS_CUDA
# --------
# nvcc, the CUDA runtime and cuBLAS; NCCL's header where CUDA is. An nvcc on the PATH does not mean
# that the runtime links: a kernel is compiled and the libraries are linked, from beside that nvcc.
# Sets hps_have_cuda, NVCC, NVCC_ARCH, CUDA_CPPFLAGS, CUDA_LIBS.
AC_DEFUN([HPS_CUDA], [
AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@],
    [optional; default: when nvcc and the libraries beside it work])], [], [with_cuda=check])
AC_ARG_VAR([NVCC], [the CUDA compiler])
AC_ARG_VAR([NVCCFLAGS], [its options (default: -O3)])
AC_ARG_VAR([NVCC_ARCH], [its options for GPU architectures (default: all common ones it knows)])
hps_have_cuda=no
AS_CASE([$with_cuda], [no], [NVCC=],
    [yes|check], [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH$PATH_SEPARATOR/usr/local/cuda/bin])],
    [AC_PATH_PROG([NVCC], [nvcc], [], [$with_cuda/bin])])
AS_IF([test -n "$NVCC"], [HPS_CUDA_LINKS])
AS_CASE([$hps_have_cuda,$with_cuda], [yes,*|no,no|no,check], [],
    [AC_MSG_ERROR([--with-cuda: CUDA does not work; see config.log])])
AS_IF([test $hps_have_cuda = yes],
    [AC_DEFINE([HAVE_CUDA], [1], [Whether CUDA and cuBLAS are used.])],
    [AC_DEFINE([HAVE_CUDA], [0], [Whether CUDA and cuBLAS are used.])
     NVCC= NVCC_ARCH= hps_cuda_version=])
AC_SUBST([CUDA_CPPFLAGS])
AC_SUBST([CUDA_LIBS])
dnl NCCL itself is opened at run time, where it is needed
HPS_CUDA_WITH([nccl], [nccl.h], [], [ncclUniqueId id; return (int)sizeof id - 128;])
AM_CONDITIONAL([HAVE_CUDA], [test $hps_have_cuda = yes])
AM_CONDITIONAL([HAVE_NCCL], [test $hps_have_nccl = yes])
])

# The kernel, then the libraries, from where nvcc lies.
AC_DEFUN([HPS_CUDA_LINKS], [
hps_nvcc=`readlink -f "$NVCC"`
hps_cuda_root=`AS_DIRNAME(["$hps_nvcc"])`/..
AS_IF([test -d "$hps_cuda_root/include"], [], [hps_cuda_root=`AS_DIRNAME(["$NVCC"])`/..])
hps_cuda_root=`cd "$hps_cuda_root" && pwd`
AC_MSG_CHECKING([whether $NVCC compiles])
: ${NVCCFLAGS=-O3}
AS_ECHO(["__global__ void k(float *x) { x@<:@0@:>@ = 1; }"]) >conftest.cu
AS_IF([$NVCC $NVCCFLAGS -c conftest.cu -o conftest_cuda.o >&AS_MESSAGE_LOG_FD 2>&1],
    [hps_nvcc_works=yes], [hps_nvcc_works=no])
rm -f conftest.cu conftest_cuda.o
AC_MSG_RESULT([$hps_nvcc_works])
AC_MSG_CHECKING([whether the CUDA runtime and cuBLAS link])
hps_keep_CPPFLAGS=$CPPFLAGS
hps_keep_LIBS=$LIBS
for hps_dir in "$hps_cuda_root/lib64" "$hps_cuda_root/lib" ''; do
    test "$hps_nvcc_works" = yes || break
    test -z "$hps_dir" || test -d "$hps_dir" || continue
    CUDA_CPPFLAGS="-isystem $hps_cuda_root/include"
    AS_IF([test "$hps_cuda_root" = /usr], [CUDA_CPPFLAGS=])
    CUDA_LIBS="${hps_dir:+-L$hps_dir -Wl,-rpath,$hps_dir }-lcublas -lcudart"
    CPPFLAGS="$hps_keep_CPPFLAGS $CUDA_CPPFLAGS"
    LIBS="$CUDA_LIBS $hps_keep_LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([
#include <cuda_runtime_api.h>
#include <cublas_v2.h>
], [int n; cublasHandle_t h; return cudaGetDeviceCount(&n) + (int)cublasCreate(&h);])],
        [hps_have_cuda=yes; break])
done
CPPFLAGS=$hps_keep_CPPFLAGS
LIBS=$hps_keep_LIBS
AC_MSG_RESULT([$hps_have_cuda])
hps_cuda_version=`$NVCC --version | sed -n 's/.*release \(@<:@0-9.@:>@*\).*/\1/p'`
AS_IF([test -z "$NVCC_ARCH"], [
    hps_last=
    for hps_arch in `$NVCC --list-gpu-arch 2>/dev/null | sed -n 's/^compute_//p'`; do
        AS_CASE([$hps_arch], [75|80|86|90],
            [NVCC_ARCH="$NVCC_ARCH -gencode arch=compute_$hps_arch,code=sm_$hps_arch"
             hps_last=$hps_arch])
    done
    AS_IF([test -n "$hps_last"],
        [NVCC_ARCH="$NVCC_ARCH -gencode arch=compute_$hps_last,code=compute_$hps_last"])])
])

# HPS_CUDA_WITH(NAME, HEADER, LIBS, BODY): a library that only a CUDA build can use.
AC_DEFUN([HPS_CUDA_WITH], [
AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1], [optional; default: when it is found, with CUDA])],
    [], [with_$1=check])
hps_have_$1=no
AS_IF([test $hps_have_cuda = yes && test "x$with_$1" != xno], [
    AC_MSG_CHECKING([for $1])
    hps_keep_CPPFLAGS=$CPPFLAGS
    hps_keep_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS"
    LIBS="$3 $CUDA_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([@%:@include <$2>], [$4])],
        [hps_have_$1=yes; m4_toupper([$1])_LIBS="$3"])
    CPPFLAGS=$hps_keep_CPPFLAGS
    LIBS=$hps_keep_LIBS
    AC_MSG_RESULT([$hps_have_$1])])
AS_CASE([$hps_have_$1,$with_$1], [yes,*|no,no|no,check], [],
    [AC_MSG_ERROR([--with-$1: $1 does not link, or there is no CUDA; see config.log])])
AS_IF([test $hps_have_$1 = yes],
    [AC_DEFINE(m4_toupper([HAVE_$1]), [1], [Whether $1 is used.])],
    [AC_DEFINE(m4_toupper([HAVE_$1]), [0], [Whether $1 is used.])])
AC_SUBST(m4_toupper([$1])[_LIBS])
])
