#%Module1.0
# heterps.tcl - a module file, for Lmod and for Environment Modules. A site copies it to
# MODULEPATH/heterps/0.1 (Lmod: any name that does not end in .lua), sets root to what
# `configure --prefix` said, and names its own modules of MPI and HDF5 where it has any.

set version 0.1
set root    /opt/heterps/$version

proc ModulesHelp { } {
    puts stderr "heterps: trains deep networks of embedding tables and dense layers on CPU and GPU"
    puts stderr "nodes.  sbatch \$HETERPS_DATADIR/jobs/cpu.sh DECK;  man heterps"
}
module-whatis "heterps $version: training of embedding tables and dense layers on CPU and GPU nodes"

conflict heterps
# prereq openmpi
# prereq hdf5

prepend-path PATH           $root/bin
prepend-path MANPATH        $root/share/man
setenv       HETERPS_DATADIR $root/share/heterps
