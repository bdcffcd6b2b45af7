#!/bin/sh
# A command line is obeyed or refused with 64 and one clear line; help and version need no launcher.
. "$srcdir/tests/lib/lib.sh"

expect 0 '' heterps --version
shows '^heterps [0-9.]+ \(revision .+\)$'
for word in compiler MPI HDF5 PAPI hwloc BLAS CUDA NCCL OpenMP; do
    shows "^$word +[^ ]"
done
expect 0 '' heterps --help
shows '^usage: heterps VERB'
expect 0 '' heterps train --help
shows '^  --check +validate'
expect 0 '' heterps import csv --help
shows '^  --test-share +share of the rows .*\(0\)$'
shows '^  --ids +.*keep\|hash \(keep\)$'
expect 64 'error: no verb' heterps
expect 64 "error: unknown verb 'trian'" heterps trian
[ "$(wc -l <err)" -eq 1 ] || fail 'more than one line for one error'
expect 64 "unknown verb '--versoin'; did you mean '--version'" heterps --versoin
expect 64 "unknown verb 'x'" ranks 2 x
[ "$(grep -c 'unknown verb' err)" -eq 1 ] || fail 'each rank speaks for itself'
mkdir going
echo '{"state": "running", "step": 3, "steps": 9}' >going/status.json
expect 66 "going has no report yet: the run is 'running', step 3 of 9" heterps report going
# a launcher whose processes do not all come: the first of them is not left waiting
late='[ "$OMPI_COMM_WORLD_RANK" = 0 ] || exec sleep 60; exec "$0" train deck.yaml'
# shellcheck disable=SC2086 # the flags are several words
expect 70 'MPI has not started on [^ ]* for 1 s: process 0 of 2 that mpirun' env \
    OMPI_MCA_odls_base_sigkill_timeout=1 HETERPS_START_SECONDS=1 \
    "$MPIEXEC" $MPIEXEC_FLAGS -n 2 sh -c "$late" "$HETERPS"
# a deck's pipe whose writer says nothing
mkfifo late.yaml
sleep 60 >late.yaml &
expect 70 'the run has not begun on [^ ]* for 8 s: it was started without' env \
    HETERPS_START_SECONDS=8 "$HETERPS" train late.yaml
kill $!
expect 73 '' sh -c '"$0" --help >/dev/full' "$HETERPS"
verdict
