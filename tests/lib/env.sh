# shellcheck shell=sh
# env.sh - what every test runs in: root in a container, more ranks than cores, no ptrace between
# ranks, and sanitizers that leave the MPI library alone. $srcdir is the top of the source.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
# a run that ends with an error ends all its ranks: the launcher need not look on for a second
export OMPI_MCA_odls_base_sigkill_timeout=${OMPI_MCA_odls_base_sigkill_timeout:-0}
export HETERPS_DATADIR=${srcdir:?}
export ASAN_OPTIONS=fast_unwind_on_malloc=0:use_sigaltstack=0
export LSAN_OPTIONS="suppressions=${srcdir:?}/tests/lib/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS=print_stacktrace=1
