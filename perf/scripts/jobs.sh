# shellcheck shell=sh
# jobs.sh - what the scripts of many jobs on one pool share; read behind lib.sh.
HETERPS_DATADIR=$srcdir
export HETERPS_DATADIR
# shellcheck disable=SC2034 # the traces, for the scripts
in=inputs/jobs

# mean_of COLUMN [DIGITS]: of the workloads, which are the lines of the file `means`
mean_of() { awk -v c="$1" -v d="${2:-1}" '{ s += $c } END { printf "%.*f\n", d, s / NR }' means; }
