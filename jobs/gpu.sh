#!/bin/bash
# gpu.sh - one training run on GPU nodes of one kind.
#
#   sbatch [SBATCH-OPTION]... gpu.sh DECK [OPTION-OF-TRAIN]...
#
# Ranks     one a GPU: --ntasks-per-node as many as --gpus-per-node, on each of --nodes;
#           --cpus-per-task: the cores that feed one
# Time      --time; the run saves and stops in time by itself, is requeued, and goes on
# Price     resources.*.price_usd_hour of the deck, of one GPU with its cores; the report has the
#           bill
# Result    the run directory of the deck (runs/NAME): report.json, perf.h5, checkpoint/
#SBATCH --job-name=heterps
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --gpus-per-node=2
#SBATCH --cpus-per-task=2
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --open-mode=append

program=${HETERPS:-$(command -v heterps || echo build/heterps)}
. "$("$program" --datadir)/jobs/job.sh" || exit 66
job_train "$@"
