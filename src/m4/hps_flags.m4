# HPS_OPENMP
# ----------
# The flag alone proves nothing: clang takes it without its runtime, so a program is linked.
AC_DEFUN([HPS_OPENMP], [
AC_ARG_WITH([openmp], [AS_HELP_STRING([--with-openmp], [optional; default: when it links])],
    [], [with_openmp=check])
hps_have_openmp=no
AS_IF([test "x$with_openmp" != xno], [
    AC_MSG_CHECKING([for openmp])
    hps_keep_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -fopenmp"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([@%:@include <omp.h>], [return omp_get_max_threads();])],
        [hps_have_openmp=yes; OPENMP_CFLAGS=-fopenmp])
    CFLAGS=$hps_keep_CFLAGS
    AC_MSG_RESULT([$hps_have_openmp])])
AS_IF([test "x$with_openmp" = xyes && test $hps_have_openmp = no],
    [AC_MSG_ERROR([--with-openmp: OpenMP does not link; see config.log])])
AS_IF([test $hps_have_openmp = yes],
    [AC_DEFINE([HAVE_OPENMP], [1], [Whether OpenMP is used.])],
    [AC_DEFINE([HAVE_OPENMP], [0], [Whether OpenMP is used.])])
AC_SUBST([OPENMP_CFLAGS])
])

# HPS_ENABLE(NAME, HELP, CFLAGS, LDFLAGS)
# ---------------------------------------
# A build for developers: --enable-NAME adds flags that have to link.
AC_DEFUN([HPS_ENABLE], [
AC_ARG_ENABLE([$1], [AS_HELP_STRING([--enable-$1], [$2])], [], [enable_$1=no])
AS_IF([test "x$enable_$1" != xno], [
    AC_MSG_CHECKING([whether $3 links])
    hps_keep_CFLAGS=$CFLAGS
    hps_keep_LDFLAGS=$LDFLAGS
    CFLAGS="$CFLAGS $3"
    LDFLAGS="$LDFLAGS $4"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([--enable-$1: $CC cannot do it; see config.log])])
    CFLAGS=$hps_keep_CFLAGS
    LDFLAGS=$hps_keep_LDFLAGS
    HPS_CFLAGS="$HPS_CFLAGS $3"
    HPS_LDFLAGS="$HPS_LDFLAGS $4"])
])
