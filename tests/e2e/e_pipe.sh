#!/bin/sh
# A message that is not the one that is due ends the run with 70 and names both ranks.
. "$srcdir/tests/lib/lib.sh"

two() {
    # shellcheck disable=SC2086,SC2317 # the flags are several words; expect calls this
    "$MPIEXEC" $MPIEXEC_FLAGS -n 2 "$(dirname "$HETERPS")/tests/mpi/m_pipe" "$@"
}

expect 70 'rank 1 got from rank 0: step 41 .*; due: step 42 ' two wrong
verdict
