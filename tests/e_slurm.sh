#!/bin/sh
# A job on CPU nodes ends with the loss of a run that nobody disturbed, whatever ended its starts on
# the way: a signal to the batch shell or to the step, a time limit, a rank that was killed. It goes
# on by itself, and never where going on cannot help. By srun and by mpirun.
. "${srcdir:?}/tests/lib.sh"
. "$srcdir/tests/data.sh"
. "$srcdir/tests/slurm/lib.sh"
cluster c1:cpu:2:0 c2:cpu:2:0 c3:cpu:2:0 c4:cpu:2:0 c5:cpu:2:0
census
plan_file 8 4 '1 1' >plan.json

# job NAME ARGUMENT-OF-SBATCH... -- ARGUMENT-OF-TRAIN...: cpu.sh on the deck in runs/NAME, so slow
# that it is caught in the act on any machine
job() {
    hps_run=$1 hps_sbatch=
    shift
    while [ "$1" != -- ]; do
        hps_sbatch="$hps_sbatch $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # options without blanks
    submit "$hps_run" -N1 $hps_sbatch "$hps_jobs/cpu.sh" \
        "$srcdir/inputs/census.yaml" --set "run.directory=runs/$hps_run" --set train.epochs=0 \
        --set 'resources.cpu.emulate={ranks: "0-1", slow: 8}' \
        --set train.steps=3000 --set checkpoint.interval_steps=300 \
        --set schedule.method=file --set schedule.plan=plan.json "$@"
}

# done_as_if NAME JOB STARTS: finished, after so many starts, with the loss of the undisturbed run
done_as_if() {
    gone "$2"
    has_line "$1.out" 'training: steps' "$3" || fail "$1: not $3 starts"
    [ "$(code_of "$2")" = 0 ] || fail "$1: ended with $(code_of "$2")"
    [ "$(number "runs/$1/status.json" exit_code)" = 0 ] || fail "$1 is not finished"
    [ "$(number "runs/$1/report.json" train_loss)" = "$loss" ] || fail "$1: another loss"
    [ ! -e "runs/$1/stop" ] || fail "$1 leaves the file stop"
    [ ! -e "runs/$1/.deaths" ] || fail "$1 leaves a count of deaths"
}

job batch --
batch=$id
job step --
step=$id
hears batch.out 'checkpoint at step 300 '
scancel --signal=USR1 --batch "$batch"
scancel --signal=TERM --batch "$batch"
hears step.out 'checkpoint at step 300 '
scancel --signal=USR1 "$step"
job plain --
plain=$id

# Slurm's limits are whole minutes: a squeue that tells an earlier one to the first start
mkdir -p early
cat >early/squeue <<'EOF'
#!/bin/sh
case "$*:${SLURM_RESTART_COUNT:-0}" in
*%e:0) date -d '12 seconds' +%FT%T ;;
*) PATH=${PATH#*:} exec squeue "$@" ;;
esac
EOF
chmod +x early/squeue
PATH=$PWD/early:$PATH job limit -- --set train.steps=9000
limit=$id
job rank --
rank=$id
hears rank.out 'checkpoint at step 300 '
kill -KILL "$(pids_in rank | tail -n 1)"

gone "$plain"
loss=$(number runs/plain/report.json train_loss)
[ -n "$loss" ] || fail 'the undisturbed run did not end'
echo '-- a signal to the batch shell, twice; to the step'
done_as_if batch "$batch" 2
has_line batch.out "the file 'stop'" || fail 'the wish of the batch shell was not obeyed'
done_as_if step "$step" 2
has_line step.out 'SIGUSR1' || fail 'the signal to the step was not obeyed'
echo '-- a rank is killed'
done_as_if rank "$rank" 2
has_line rank.out "job $rank: on c[1-5]: killed .137.; last checkpoint: runs/rank/.*step_0" ||
    fail "no line about the job that was killed: $(grep '^job' rank.out)"
echo '-- the time limit'
gone "$limit"
has_line limit.out "time limit" || fail 'the limit was not seen'
has_line limit.out 'training: steps' 2 || fail 'it did not go on after its time limit'
verdict
