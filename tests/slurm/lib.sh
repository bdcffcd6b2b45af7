# shellcheck shell=sh disable=SC2034
# slurm/lib.sh - what the e_slurm scripts share: one cluster a script, jobs side by side in it, no
# wait without an end. Read after tests/lib/lib.sh and tests/lib/data.sh.

export HETERPS HETERPS_PROGRESS=1
hps_jobs=$srcdir/jobs

# cluster [NODE]...: started here, stopped whatever becomes of this script
cluster() {
    hps_cluster=$(mktemp -d /tmp/hps.XXXXXX) || exit 99
    trap 'hps_stop' EXIT
    trap 'exit 130' HUP INT TERM
    bash "$srcdir/tests/slurm/cluster.sh" start "$hps_cluster" "$@" >"$hps_cluster/env" 2>err
    hps_rc=$?
    [ $hps_rc -ne 77 ] || skip "$(tail -n 1 err)"
    [ $hps_rc -eq 0 ] || { cat err; fail 'no cluster'; verdict; }
    # shellcheck source=/dev/null
    . "$hps_cluster/env"
    timeout 30 srun --mpi=pmix -n1 true 2>err || skip "srun has no PMIx: $(tail -n 1 err)"
}

hps_stop() {
    bash "$srcdir/tests/slurm/cluster.sh" stop "$hps_cluster"
    cd / && rm -rf "$hps_cluster"
}

# paced: from here on jobs run a program that counts the starts of the job NAME in NAME.starts and
# is slowed down while there is a file NAME.slow, which says how many times
paced() {
    cat >paced <<EOF
#!/bin/sh
if [ "\$1" = train ]; then
    [ "\${OMPI_COMM_WORLD_RANK:-\$SLURM_PROCID}" != 0 ] ||
        echo began >>"$HPS_TMP/\$SLURM_JOB_NAME.starts"
    last=\$((\${OMPI_COMM_WORLD_SIZE:-\$SLURM_STEP_NUM_TASKS} - 1))
    ! read -r slow 2>/dev/null <"$HPS_TMP/\$SLURM_JOB_NAME.slow" ||
        set -- "\$@" --set "resources.cpu.emulate={ranks: \"0-\$last\", slow: \$slow}"
fi
exec "$HETERPS" "\$@"
EOF
    chmod +x paced
    HETERPS=$PWD/paced
}

# submit NAME ARGUMENT-OF-SBATCH...: a job whose output goes to NAME.out; $id is its number
submit() {
    hps_name=$1
    shift
    id=$(sbatch --parsable -J "$hps_name" -o "$hps_name.out" "$@" 2>err) || {
        fail "sbatch $*: $(cat err)"
        id=0
    }
}

# until_true SECONDS WHAT COMMAND...: at most so long
until_true() {
    hps_i=$(($1 * 10)) hps_what=$2
    shift 2
    until "$@"; do
        sleep 0.1
        hps_i=$((hps_i - 1))
        [ $hps_i -gt 0 ] || { fail "not in time: $hps_what"; return 1; }
    done
}

# pids_in NAME: the ranks of this cluster that run in runs/NAME, the launcher not among them
pids_in() {
    for hps_pid in $(pgrep -x heterps); do
        tr '\0' ' ' 2>/dev/null <"/proc/$hps_pid/cmdline" | grep -q "runs/$1 " &&
            tr '\0' '\n' 2>/dev/null <"/proc/$hps_pid/environ" |
            grep -q -x -F "SLURM_CONF=$SLURM_CONF" && echo "$hps_pid"
    done
}

# absent ARGUMENT-OF-SQUEUE...: there is no such job; a controller that does not answer is no answer
absent() {
    case $(squeue -h "$@" 2>&1) in
    '' | *'Invalid job id'*) ;;
    *) return 1 ;;
    esac
}
gone() { until_true 90 "the end of job $1" absent -j "$1"; }
# has_line FILE PATTERN [TIMES]
has_line() { [ -f "$1" ] && [ "$(grep -c -E -e "$2" "$1")" -ge "${3:-1}" ]; }
# hears FILE PATTERN [TIMES]: waits for so many such lines
hears() {
    until_true 60 "'$2' in $1" has_line "$@" && return
    tail -n 20 "$1"
    return 1
}
# stops NAME COMMAND...: from its first checkpoint on the command is repeated until the job says
# that it stops, or was killed; then it is fast
stops() {
    hps_run=$1
    shift
    hears "$hps_run.out" 'checkpoint at step'
    until_true 60 "the stop of $hps_run" stopped "$hps_run" "$@"
    rm "$hps_run.slow"
}
stopped() {
    hps_stopped=$1
    shift
    has_line "$hps_stopped.out" 'stopping after|killed .137' || { "$@"; false; }
}
# code_of JOB: how its script ended
code_of() {
    sed -n "s/^JobId=$1 .* ExitCode=\([0-9]*\):.*/\1/p" "$hps_cluster/log/jobcomp.txt" | tail -n 1
}
