# HPS_MPI
# -------
# Before AC_PROG_CC: makes CC the MPI wrapper. CC=clang is honoured: the wrapper is told to call it.
AC_DEFUN([HPS_MPI], [
AC_BEFORE([$0], [AC_PROG_CC])
AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi=DIR], [where Open MPI is installed])],
    [], [with_mpi=yes])
AS_CASE([$with_mpi], [yes], [hps_mpi_path=$PATH],
    [no], [AC_MSG_ERROR([heterps cannot do without MPI])],
    [hps_mpi_path=$with_mpi/bin])
AC_PATH_PROG([MPICC], [mpicc], [], [$hps_mpi_path])
AS_IF([test -n "$MPICC"], [
    AS_CASE([$CC],
        [''], [CC=$MPICC],
        [*mpi*cc*], [],
        [CC="env OMPI_CC=$CC $MPICC"])])
AC_ARG_VAR([MPIEXEC], [the MPI launcher (default: mpiexec, mpirun or srun)])
AC_ARG_VAR([MPIEXEC_FLAGS], [its options in tests (default: by launcher)])
AC_PATH_PROGS([MPIEXEC], [mpiexec mpirun srun], [], [$hps_mpi_path$PATH_SEPARATOR$PATH])
AS_IF([test -z "$MPIEXEC_FLAGS" &&
       $MPIEXEC --version 2>/dev/null | grep -q -e 'Open MPI' -e OpenRTE],
    [MPIEXEC_FLAGS='--oversubscribe --bind-to none'])
])

# HPS_MPI_LINKS
# -------------
# After AC_PROG_CC: the compiler makes MPI programs.
AC_DEFUN([HPS_MPI_LINKS], [
AC_MSG_CHECKING([whether $CC makes MPI programs])
AC_LINK_IFELSE([AC_LANG_PROGRAM([
#include <mpi.h>
#if MPI_VERSION < 3
#error "MPI 3 is needed"
#endif
], [int given; return MPI_Init_thread(0, 0, MPI_THREAD_SERIALIZED, &given);])],
    [hps_have_mpi=yes], [hps_have_mpi=no; hps_missing="$hps_missing libopenmpi-dev openmpi-bin"])
AC_MSG_RESULT([$hps_have_mpi])
])
