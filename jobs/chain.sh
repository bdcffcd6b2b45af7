#!/bin/bash
# chain.sh - submits a job script that submits itself again until the run is done: for sites where
# a job cannot be requeued.
#
#   chain.sh [SBATCH-OPTION]... SCRIPT DECK [OPTION-OF-TRAIN]...
#
# Started by hand, not by sbatch; the words are those of sbatch, and each link of the chain is
# submitted with them. Ranks, time, price and result are those of SCRIPT: cpu.sh, gpu.sh, mixed.sh,
# or one that heterps plan wrote. A link that was stopped with a checkpoint, or killed, is followed
# by the next; one that failed is not. scancel ends the chain.
if [ $# -lt 2 ] || [ -n "${SLURM_JOB_ID:-}" ]; then
    echo 'usage, outside of a job: chain.sh [SBATCH-OPTION]... SCRIPT DECK [OPTION]...' >&2
    exit 64
fi
HETERPS_CHAIN=$(printf '%q ' "$@")
export HETERPS_CHAIN
unset HETERPS_LINK
exec sbatch "$@"
