#!/bin/bash
# cpu.sh - one training run on CPU nodes of one kind.
#
#   sbatch [SBATCH-OPTION]... cpu.sh DECK [OPTION-OF-TRAIN]...
#
# Ranks     one a core: 2 nodes of --ntasks-per-node cores; give yours to sbatch, with account,
#           partition and anything else of your site
# Time      --time; the run saves and stops in time by itself, and ends with 75: submit again, it
#           goes on from there
# Price     resources.*.price_usd_hour of the deck; the report has the bill
# Result    the run directory of the deck (runs/NAME): report.json, perf.h5, checkpoint/
#
# The program: $HETERPS, else heterps of the PATH, else build/heterps.
#SBATCH --job-name=heterps
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00

if [ $# -eq 0 ]; then
    echo 'usage: sbatch cpu.sh DECK [OPTION]...' >&2
    exit 64
fi
cd "${SLURM_SUBMIT_DIR:-.}" || exit 66
program=${HETERPS:-$(command -v heterps || echo build/heterps)}

# When the job will be ended, for a Slurm that does not tell its jobs.
end=$(squeue -h -j "$SLURM_JOB_ID" -o %e 2>/dev/null)
if [ -z "${HETERPS_END_TIME:-}" ] && end=$(date -d "$end" +%s 2>/dev/null); then
    export HETERPS_END_TIME=$end
fi

# -K1: a rank that dies ends the others, instead of leaving them waiting.
if srun --mpi=list 2>&1 | grep -q pmix; then
    srun --mpi=pmix -K1 "$program" train "$@"
else
    OMPI_MCA_odls_base_sigkill_timeout=30 mpirun "$program" train "$@"
fi
status=$?
[ $status -ne 75 ] || echo "stopped with a whole checkpoint: sbatch $0 $*" >&2
exit $status
