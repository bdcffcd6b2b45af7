# shellcheck shell=bash
# job.sh - what the job scripts share: how to launch, what to do with signals, and with each way in
# which a start can end. A script reads it and calls job_train, job_array or
# job_plan.
#
#   HETERPS            the program: else heterps of the PATH, else build/heterps
#   HETERPS_LAUNCHER   srun or mpirun: else srun where its PMIx works, else mpirun
#   HETERPS_PROGRESS   seconds between two updates of the job's comment (default 60)
#
# In the run directory: .job, made when the job started first; .deaths, how many starts in a row
# died without a newer checkpoint than the one that it names.

job_deaths=3        # so often a job that dies goes on without a newer checkpoint
job_launch=srun
# Under mpirun a rank that stops for the time being ends with 0: any other code would make mpirun
# wait before it ends, as long as for one that does not end, and the job's time is almost over.
# shellcheck disable=SC2016 # for the shell of the rank
job_stopped='trap "" TERM INT USR1; "$@"; code=$?; [ $code -ne 75 ] || code=0; exit $code'
job_step=           # the launcher's process, while there is one
job_wish=           # a signal asked for the end
job_id=${SLURM_JOB_ID:-}
[ -z "${SLURM_ARRAY_TASK_ID:-}" ] || job_id=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID

job_say() { echo "job $job_id: $*" >&2; }

# job_field NAME: its value in status.json; nothing where there is none
job_field() {
    tr ',' '\n' <"$job_dir/status.json" 2>/dev/null |
        sed -n 's/^[ {]*"'"$1"'": *"\{0,1\}\([^"}]*\)"\{0,1\}[ }]*$/\1/p'
}

# Not a word of any site: nodes, time, account come from sbatch and from the script's head.
job_check() { # DECK...
    if [ -z "$job_id" ]; then
        echo "$0 is a job script: sbatch $0 DECK [OPTION]...; without Slurm:" \
            "mpirun -n RANKS $program train DECK" >&2
        exit 64
    fi
    if [ $# -eq 0 ]; then
        job_say 'no deck: sbatch [SBATCH-OPTION]... SCRIPT DECK [OPTION]...'
        exit 64
    fi
}

# job_folders ARGUMENT-OF-TRAIN-OR-PLAN...: job_dir, the run directory, job_saves, its checkpoints'
job_folders() {
    local ask=() said
    while [ $# -gt 0 ]; do
        case $1 in
        --set) ask+=(--set "${2-}") && shift ;;
        --restart | --method | --seed | --json | --pareto) shift ;;
        --set=*) ask+=("$1") ;;
        --*) ;;
        *) ask+=("$1") ;;
        esac
        shift
    done
    said=$("$program" deck "${ask[@]}" --folders) || exit
    job_dir=${said%%$'\n'*}
    job_saves=${said#*$'\n'}
}

# The name of the newest checkpoint; nothing where there is none.
job_newest() {
    find "$job_saves" -maxdepth 1 -name 'step_*.h5' 2>/dev/null | sort | tail -n 1
}

# What starts the program on all ranks of the job. srun can name PMIx and not have it: tried.
job_launcher() {
    local said='' try=${HETERPS_LAUNCHER:-srun}
    [ -z "${SLURM_TMPDIR:-}" ] || export TMPDIR=$SLURM_TMPDIR
    # a step does not inherit it from the job since Slurm 22.05
    [ -z "${SLURM_CPUS_PER_TASK:-}" ] || export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
    if [ "$try" = srun ]; then
        said=$(timeout -k 5 120 srun --mpi=pmix --nodes=1 --ntasks=1 true 2>&1) && return
        [ -z "${HETERPS_LAUNCHER:-}${SLURM_HET_SIZE:-}" ] && try=mpirun
    fi
    job_launch=mpirun
    if [ "$try" != mpirun ] || ! command -v mpirun >/dev/null; then
        [ -z "$said" ] || said="srun --mpi=pmix does not work here (${said##*$'\n'}), and "
        [ "$try" = mpirun ] || [ "$try" = srun ] || said="HETERPS_LAUNCHER is '$try', and "
        job_say "no launcher: ${said}mpirun is not on the PATH, or cannot serve a heterogeneous job"
        exit 70
    fi
}

job_state() { squeue -h -j "$job_id" -o %T 2>/dev/null | head -n 1; }

# job_ranks: words for srun where the job has whole nodes and says no number of tasks, as it must to
# be requeued on fewer nodes: one rank a GPU, else one for each --cpus-per-task cores.
job_ranks() {
    local cores=${SLURM_CPUS_ON_NODE:-1} ranks=${SLURM_GPUS_ON_NODE:-0}
    job_each=()
    [ -z "${SLURM_NTASKS:-}${SLURM_NTASKS_PER_NODE:-}" ] || return 0
    [ "$ranks" -gt 0 ] || ranks=$((cores / ${SLURM_CPUS_PER_TASK:-1}))
    job_each=(--ntasks-per-node="$ranks" --cpus-per-task=$((cores / ranks)))
}

# job_command ARGUMENT-OF-HETERPS...: job_line, the words that start it on all ranks, and job_end,
# when the job will be ended
job_command() {
    local left=infinity group words
    job_end=$(squeue -h -j "$job_id" -o %e 2>/dev/null | head -n 1)
    # the end of one that is being cancelled is now, not that of its time
    case $(job_state) in RUNNING | '') ;; *) job_end= ;; esac
    job_line=(env)
    # nothing, where squeue has no answer, is midnight to date
    if job_end=$(date -d "${job_end:-unknown}" +%s 2>/dev/null); then
        job_line+=(HETERPS_END_TIME="$job_end")
    fi
    if [ "$job_launch" = mpirun ]; then
        # it waits twice so long before it kills; together as Slurm does where nothing else is set
        job_line+=(OMPI_MCA_odls_base_sigkill_timeout=15 mpirun)
        # a rank's threads are not to share the one core that mpirun binds it to
        [ "${SLURM_CPUS_PER_TASK:-1}" -eq 1 ] || job_line+=(--bind-to none)
        job_line+=(sh -c "$job_stopped" sh "$program" "$@")
    elif [ -z "${SLURM_HET_SIZE:-}" ]; then
        # -K1: a rank that dies ends the others, instead of leaving them waiting
        job_ranks
        job_line+=(srun --mpi=pmix -K1 "${job_each[@]}" "$program" "$@")
    else
        # srun may hang at the end of a step over several groups, or crash
        [ -z "$job_end" ] || left=$((job_end - $(date +%s) + 60))
        job_line+=(timeout -k 10 "$left" srun --mpi=pmix -K1)
        for ((group = 0; group < SLURM_HET_SIZE; group++)); do
            words=SLURM_CPUS_PER_TASK_HET_GROUP_$group
            [ $group -eq 0 ] || job_line+=(:)
            job_line+=(--het-group="$group" --cpus-per-task="${!words:-1}" "$program" "$@")
        done
    fi
}

# The job's steps, but for its shell; false: there are none.
job_steps() { squeue -h -s -j "$job_id" -o %i 2>/dev/null | grep -E '\.[0-9]+$'; }

# Beside one start: the job's comment tells how far it is; a launcher that is still there half a
# minute after all ranks have ended is ended (that of several parts hangs now and then, also when
# they were killed). Looks away from a status that was there `before`.
job_beside() { # BEFORE
    local every=${HETERPS_PROGRESS:-60} ended=0 second=0 told='' now loss
    while sleep 1; do
        second=$((second + 1))
        [ $((second % 5)) -eq 0 ] || [ "$every" -lt 5 ] || continue
        if [ -n "${SLURM_HET_SIZE:-}" ] && [ $((second % 5)) -eq 0 ] && ! job_steps >/dev/null; then
            ended=$((ended + 5))
        fi
        [ $ended -lt 30 ] || kill -TERM "$job_step" 2>/dev/null
        [ $ended -lt 50 ] || kill -KILL "$job_step" 2>/dev/null
        [ "$(cat "$job_dir/status.json" 2>/dev/null)" != "$1" ] || continue
        case $(job_field exit_code):$((second % 5)) in
        null:* | *:[1-4] | :*) ;;
        *) ended=$((ended + 5)) ;;
        esac
        [ $((second % every)) -eq 0 ] || continue
        loss=$(job_field loss)
        [ "${loss:-null}" = null ] || loss=$(LC_ALL=C printf %.5g "$loss")
        now="step $(job_field step)/$(job_field steps) loss $loss"
        [ "${loss:-null}" != null ] || now=$(job_field state)
        [ "$now" != "$told" ] || continue
        told=$now
        scontrol update JobId="$job_id" Comment="$now" 2>/dev/null
    done
}

# The wish to end, in the only way that reaches the program however far it is: the file `stop`,
# which it obeys and removes. A second wish changes nothing.
job_forward() {
    job_woken=1
    job_wish=1
    [ -z "$job_step" ] || touch "$job_dir/stop" 2>/dev/null ||
        scancel --signal=USR1 "$job_id" 2>/dev/null
}

# job_start ARGUMENT-OF-HETERPS...: one start on all ranks; job_code is how it ended, which the
# launcher may hide: status.json has the program's own word.
job_start() {
    local before beside said
    before=$(cat "$job_dir/status.json" 2>/dev/null)
    rm -f "$job_dir/stop"
    job_command "$@"
    "${job_line[@]}" &
    job_step=$!
    [ -z "$job_wish" ] || job_forward       # it came before there was a launcher
    job_beside "$before" &
    beside=$!
    while job_woken=; wait "$job_step"; job_code=$?; [ -n "$job_woken" ]; do :; done
    job_step=
    rm -f "$job_dir/stop"
    kill "$beside" 2>/dev/null
    wait "$beside" 2>/dev/null
    case $job_code in
    64 | 65 | 66 | 73) return ;;
    esac
    [ "$(cat "$job_dir/status.json" 2>/dev/null)" != "$before" ] || return 0
    said=$(job_field exit_code)
    [ "${said:-null}" = null ] || job_code=$said
}

# Ends what is left of a start whose launcher is gone: its steps, for at most a minute.
job_sweep() {
    local i left
    for ((i = 0; i < 60; i++)); do
        left=$(job_steps) || return 0
        # shellcheck disable=SC2086 # one word a step
        scancel $left 2>/dev/null
        sleep 1
    done
}

# Does every node of the job start a process?
job_nodes_answer() {
    local where=(--nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES")
    [ -z "${SLURM_HET_SIZE:-}" ] || where=(--het-group="0-$((SLURM_HET_SIZE - 1))")
    timeout -k 5 60 srun --mpi=none --cpus-per-task=1 --overlap "${where[@]}" true 2>/dev/null
}

# Is this the first start of what was submitted, not one that goes on?
job_first() { [ "${SLURM_RESTART_COUNT:-0}" -eq 0 ] && [ -z "${HETERPS_LINK:-}" ]; }

# The first start: the books of jobs before are closed, but for one that still has the directory and
# needs them, as this job is then told (73).
job_open() {
    local book
    for book in .job .deaths; do
        rm -f "$job_dir/$book.before"
        [ ! -e "$job_dir/$book" ] || mv "$job_dir/$book" "$job_dir/$book.before"
    done
    touch "$job_dir/.job"
}

# Its books are where they were.
job_give_back() {
    local book
    for book in .job .deaths; do
        [ ! -e "$job_dir/$book.before" ] || mv "$job_dir/$book.before" "$job_dir/$book"
    done
}

# job_row: how many starts in a row died since there was a newer checkpoint, by what is written.
job_look() {
    local mark=
    job_row=0
    job_last=$(job_newest)
    read -r job_row mark 2>/dev/null <"$job_dir/.deaths"
    [ "$mark" = "${job_last:--}" ] || job_row=0
}

# Counts this start as one that dies, until it is known better: a batch host that dies cannot count.
job_count() {
    job_look
    job_bounded
    echo "$((job_row + 1)) ${job_last:--}" >"$job_dir/.deaths.part" &&
        mv "$job_dir/.deaths.part" "$job_dir/.deaths"
}

# No more than so many deaths in a row without a newer checkpoint.
job_bounded() {
    [ "$job_row" -gt "$job_deaths" ] || return 0
    job_say "$job_row starts in a row died without a newer checkpoint: not again"
    rm -f "$job_dir/.deaths"
    exit "${job_code:-70}"
}

# job_submit ARGUMENT-OF-SBATCH...: as from outside of this job
job_submit() {
    local name drop=(-u HETERPS_END_TIME)
    for name in "${!SLURM_@}" "${!SRUN_@}" "${!SBATCH_@}"; do
        [ "$name" = SLURM_CONF ] || drop+=(-u "$name")
    done
    env "${drop[@]}" sbatch "$@"
}

# The same job once more, in the queue.
job_again() {
    local state said
    trap '' TERM USR1       # who requeues the job is ended with it, before it has its answer
    state=$(job_state)
    # cancelled, or requeued by Slurm itself, it is as COMPLETING as one whose time is over
    if [ "$state" != RUNNING ] && [ "${job_end:-9999999999}" -gt "$(date +%s)" ]; then
        job_say "is being ended (${state:-unknown to squeue}): not submitted again from here"
    elif [ -n "${HETERPS_CHAIN:-}" ]; then
        export HETERPS_LINK=$((${HETERPS_LINK:-0} + 1))
        eval "job_submit $HETERPS_CHAIN" >&2
    elif ! said=$(scontrol requeue "$job_id" 2>&1); then
        job_say "cannot be requeued ($said): submit it again, or by chain.sh, and it goes on"
    fi
    exit "$job_code"
}

# What was killed goes on: here and now the first time, in the queue the second, where there may be
# better nodes; a job of several parts here. Not while Slurm itself takes the job away.
job_died() {
    job_look
    job_say "on ${SLURM_JOB_NODELIST:-}: killed ($job_code);" \
        "last checkpoint: ${job_last:-none}"
    job_bounded
    if [ -n "$job_wish" ]; then job_again; fi
    job_sweep
    if ! job_nodes_answer; then
        job_say 'not all of its nodes answer: waiting for Slurm to see it'
        for ((i = 0; i < 120; i++)); do
            [ "$(job_state)" = RUNNING ] || break
            sleep 5
        done
        job_again
    fi
    [ "$job_row" -le 1 ] || [ -n "${SLURM_HET_SIZE:-}" ] || job_again
}

# job_train DECK [OPTION-OF-TRAIN]...: until it is done, or must wait in the queue once more.
job_train() {
    trap job_forward USR1 TERM
    job_check "$@"
    job_folders "$@"
    job_launcher
    [ "${SLURM_RESTART_COUNT:-0}" -eq 0 ] || [ ! -e "$job_dir/.deaths" ] ||
        job_say "on ${SLURM_JOB_NODELIST:-}: the start before was killed;" \
            "last checkpoint: $(job_newest)"
    mkdir -p "$job_dir" 2>/dev/null
    ! job_first || job_open 2>/dev/null
    while :; do
        job_count
        # its own checkpoints go before what `--restart` said of the first start
        # shellcheck disable=SC2046 # two words
        job_start train "$@" $(find "$job_saves" -maxdepth 1 -name 'step_*.h5' \
            -newer "$job_dir/.job" -printf '--restart auto' -quit 2>/dev/null)
        [ "$job_code" -ne 70 ] || job_nodes_answer || job_code=137
        case $job_code in
        0 | 64 | 65 | 66 | 70 | 73 | 75) rm -f "$job_dir/.deaths" ;;
        esac
        [ "$job_code" -ne 73 ] || job_give_back
        rm -f "$job_dir"/.{job,deaths}.before
        case $job_code in
        0) exit 0 ;;
        64 | 65 | 66 | 70 | 73)
            job_say "ended with $job_code: not submitted again"
            exit "$job_code" ;;
        75) job_again ;;
        *) job_died ;;
        esac
    done
}

# job_array DECK... [-- OPTION-OF-TRAIN...]: the deck of this task of the array
job_array() {
    local task=${SLURM_ARRAY_TASK_ID:-} deck=()
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        deck+=("$1")
        shift
    done
    [ $# -eq 0 ] || shift
    job_check "${deck[@]}"
    if [ -n "${HETERPS_CHAIN:-}" ]; then
        job_say 'a chain is of one deck: each task would submit the whole array again'
        exit 64
    fi
    if [ -z "$task" ] || [ "$task" -lt 1 ] || [ "$task" -gt ${#deck[@]} ]; then
        job_say "task '$task' of ${#deck[@]} decks: sbatch --array=1-${#deck[@]}"
        exit 64
    fi
    job_train "${deck[task - 1]}" "$@"
}

# job_plan DECK [OPTION-OF-PLAN]...: measures, plans, and submits the job of the plan.
job_plan() {
    job_check "$@"
    job_folders "$@"
    job_launcher
    mkdir -p "$job_dir" || exit 73
    job_command plan "$@" --sbatch "$job_dir/job"
    "${job_line[@]}" || exit
    job_say "submits $job_dir/job: $(sed -n 's/^# Price *//p' "$job_dir/job")"
    job_submit "$job_dir/job"
}
