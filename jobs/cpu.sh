#!/bin/bash
# cpu.sh - one training run on CPU nodes of one kind.
#
#   sbatch [SBATCH-OPTION]... cpu.sh DECK [OPTION-OF-TRAIN]...
#
# Ranks     one for each --cpus-per-task cores of each of --nodes, which are whole; with a range
#           (--nodes=2-8) it starts, and goes on after a node was lost, with what there is. (With
#           --ntasks-per-node Slurm wants the first number of nodes again.) Account, partition and
#           anything else of your site goes to sbatch, too
# Time      --time; the run saves and stops in time by itself, is requeued, and goes on
# Price     resources.*.price_usd_hour of the deck; the report has the bill
# Result    the run directory of the deck (runs/NAME): report.json, perf.h5, checkpoint/
#SBATCH --job-name=heterps
#SBATCH --nodes=2
#SBATCH --exclusive
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --open-mode=append

program=${HETERPS:-$(command -v heterps || echo build/heterps)}
data=$("$program" --datadir) || { echo "cannot use $program: set PATH or HETERPS" >&2; exit 66; }
. "$data/jobs/job.sh"
job_train "$@"
