#!/bin/bash
# plan.sh - measures, plans, and submits the training on exactly the units of the plan: profile ->
# plan -> submit.
#
#   sbatch [SBATCH-OPTION]... plan.sh DECK [OPTION-OF-PLAN]...
#
# Ranks     some of each kind that the plan may use, as in mixed.sh; resources.*.limit of the deck
#           says how many units there are to plan with
# Time      minutes: layers and links are measured, nothing is trained
# Price     of the minutes; the script that is submitted says what its job will cost
# Result    RUN_DIRECTORY/job, the script of the plan, submitted with what the deck's resources.*.
#           slurm say (partition, constraint, gres, cores)
#SBATCH --job-name=heterps-plan
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=00:20:00

program=${HETERPS:-$(command -v heterps || echo build/heterps)}
data=$("$program" --datadir) || { echo "cannot use $program: set PATH or HETERPS" >&2; exit 66; }
. "$data/jobs/job.sh"
job_plan "$@"
