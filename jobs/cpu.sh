#!/bin/bash
# cpu.sh - one training run on CPU nodes of one kind.
#
#   sbatch [SBATCH-OPTION]... cpu.sh DECK [OPTION-OF-TRAIN]...
#
# Ranks     one a core: --ntasks-per-node on each of --nodes; a range (--nodes=2-8) starts on what
#           there is. Account, partition and anything else of your site goes to sbatch, too
# Time      --time; the run saves and stops in time by itself, is requeued, and goes on
# Price     resources.*.price_usd_hour of the deck; the report has the bill
# Result    the run directory of the deck (runs/NAME): report.json, perf.h5, checkpoint/
#SBATCH --job-name=heterps
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --open-mode=append

program=${HETERPS:-$(command -v heterps || echo build/heterps)}
. "$("$program" --datadir)/jobs/job.sh" || exit 66
job_train "$@"
