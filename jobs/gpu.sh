#!/bin/bash
# gpu.sh - one training run on GPU nodes of one kind.
#
#   sbatch [SBATCH-OPTION]... gpu.sh DECK [OPTION-OF-TRAIN]...
#
# Ranks     one for each of --gpus-per-node, with its share of the cores, on each of --nodes, which
#           are whole; with a range (--nodes=1-4) it starts, and goes on after a node was lost, with
#           what there is
# Time      --time; the run saves and stops in time by itself, is requeued, and goes on
# Price     resources.*.price_usd_hour of the deck, of one GPU with its cores; the report has the
#           bill
# Result    the run directory of the deck (runs/NAME): report.json, perf.h5, checkpoint/
#SBATCH --job-name=heterps
#SBATCH --nodes=1
#SBATCH --gpus-per-node=2
#SBATCH --exclusive
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --open-mode=append

program=${HETERPS:-$(command -v heterps || echo build/heterps)}
data=$("$program" --datadir) || { echo "cannot use $program: set PATH or HETERPS" >&2; exit 66; }
. "$data/jobs/job.sh"
job_train "$@"
