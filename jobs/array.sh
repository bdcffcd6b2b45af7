#!/bin/bash
# array.sh - an array of decks: one training run each, on CPU nodes of one kind.
#
#   sbatch --array=1-N [SBATCH-OPTION]... array.sh DECK1 ... DECKN [-- OPTION-OF-TRAIN...]
#
# Ranks     of each run: one for each --cpus-per-task cores of each of --nodes, which are whole
# Time      --time, of each run; it saves and stops in time by itself, is requeued, and goes on
# Price     resources.*.price_usd_hour of each deck
# Result    the run directory of each deck: no two of them the same
#SBATCH --job-name=heterps
#SBATCH --nodes=1
#SBATCH --exclusive
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --open-mode=append

program=${HETERPS:-$(command -v heterps || echo build/heterps)}
data=$("$program" --datadir) || { echo "cannot use $program: set PATH or HETERPS" >&2; exit 66; }
. "$data/jobs/job.sh"
job_array "$@"
