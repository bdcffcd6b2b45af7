#!/bin/bash
# het.sh - one training run on CPU and GPU nodes at once, as a heterogeneous job: each kind is asked
# for in its own words. Where nodes have features, mixed.sh is the simpler job and the safer one:
# srun can hang or crash after a step over several parts, which is then ended and tried again.
#
#   sbatch het.sh DECK [OPTION-OF-TRAIN]...
#
# Ranks     of each part: --ntasks; first the CPU part, then the GPU part, in one MPI world. Options
#           of sbatch stand before the script for the first part only: a copy of this file is the
#           place for partitions and numbers
# Time      --time; the run saves and stops in time by itself, is requeued, and goes on
# Price     resources.*.price_usd_hour of the deck, by kind; the report has the bill
# Result    the run directory of the deck (runs/NAME): report.json, perf.h5, checkpoint/
#SBATCH --job-name=heterps
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --ntasks=4
#SBATCH --cpus-per-task=1
#SBATCH --constraint=cpu
#SBATCH hetjob
#SBATCH --ntasks=2
#SBATCH --cpus-per-task=1
#SBATCH --gpus-per-task=1
#SBATCH --constraint=gpu

program=${HETERPS:-$(command -v heterps || echo build/heterps)}
data=$("$program" --datadir) || { echo "cannot use $program: set PATH or HETERPS" >&2; exit 66; }
. "$data/jobs/job.sh"
job_train "$@"
