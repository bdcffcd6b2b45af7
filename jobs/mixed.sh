#!/bin/bash
# mixed.sh - one training run on CPU and GPU nodes at once: one job, all ranks in one MPI world.
#
#   sbatch [SBATCH-OPTION]... mixed.sh DECK [OPTION-OF-TRAIN]...
#
# Ranks     --ntasks-per-node on every node, of either kind; best as many as a GPU node has GPUs.
#           --constraint counts the nodes of each kind by the features that your site gives them,
#           --nodes is their sum. Whole nodes, so that a GPU node comes with its GPUs; where Slurm
#           hides the GPUs that a step has not asked for (ConstrainDevices), it is het.sh that asks
# Time      --time; the run saves and stops in time by itself, is requeued, and goes on
# Price     resources.*.price_usd_hour of the deck, by kind; the report has the bill, and what the
#           plan left idle
# Result    the run directory of the deck (runs/NAME): report.json, perf.h5, checkpoint/
#SBATCH --job-name=heterps
#SBATCH --nodes=3
#SBATCH --constraint=[cpu*2&gpu*1]
#SBATCH --ntasks-per-node=2
#SBATCH --exclusive
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --open-mode=append

program=${HETERPS:-$(command -v heterps || echo build/heterps)}
data=$("$program" --datadir) || { echo "cannot use $program: set PATH or HETERPS" >&2; exit 66; }
. "$data/jobs/job.sh"
job_train "$@"
