# HPS_HDF5
# --------
# The parallel build of HDF5: only that one has H5Pset_fapl_mpio, so a serial one does not pass.
AC_DEFUN([HPS_HDF5], [
HPS_WITH([hdf5], [libhdf5-openmpi-dev],
    [module:hdf5-openmpi module:hdf5-mpi module:hdf5 wrap:h5pcc lib:hdf5_openmpi lib:hdf5], [
#include <mpi.h>
#include <hdf5.h>
#ifndef H5_HAVE_PARALLEL
#error "not a parallel HDF5"
#endif
], [return H5Pset_fapl_mpio(H5Pcreate(H5P_FILE_ACCESS), MPI_COMM_WORLD, MPI_INFO_NULL) < 0;])
])
