#!/bin/bash
# array.sh - an array of decks: one training run each, on CPU nodes of one kind.
#
#   sbatch --array=1-N [SBATCH-OPTION]... array.sh DECK1 ... DECKN [-- OPTION-OF-TRAIN...]
#
# Ranks     of each run: --ntasks-per-node on each of --nodes
# Time      --time, of each run; it saves and stops in time by itself, is requeued, and goes on
# Price     resources.*.price_usd_hour of each deck
# Result    the run directory of each deck: no two of them the same
#SBATCH --job-name=heterps
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --open-mode=append

program=${HETERPS:-$(command -v heterps || echo build/heterps)}
. "$("$program" --datadir)/jobs/job.sh" || exit 66
job_array "$@"
