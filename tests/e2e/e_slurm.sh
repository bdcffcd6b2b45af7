#!/bin/sh
# A job on CPU nodes ends with the loss of a run that nobody disturbed, whatever ended its starts on
# the way: a signal to the batch shell or to the step, by hand or from Slurm itself, a time limit, a
# rank that was killed, a job that took its node. It goes on by itself, in the queue.
# shellcheck disable=SC2317 # what is called by its name
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
. "$srcdir/tests/slurm/lib.sh"
cluster c1:cpu:2:0 c2:cpu:2:0 c3:cpu:2:0 c4:cpu:2:0 c5:cpu:2:0 c6:cpu:2:0 c7:cpu:2:0 c8:cpu:2:0
census
plan_file 8 '' 2 >plan.json
paced

# job NAME SLOW ARGUMENT-OF-SBATCH...: cpu.sh on the deck in runs/NAME, so slow in its first start
# that it is caught in the act on any machine
job() {
    hps_run=$1
    echo "$2" >"$1.slow"
    shift 2
    submit "$hps_run" -N1 "$@" "$hps_jobs/cpu.sh" "$srcdir/inputs/census.yaml" \
        --set "run.directory=runs/$hps_run" --set train.epochs=0 --set train.steps=600 \
        --set checkpoint.interval_steps=10 --set schedule.method=file \
        --set schedule.plan=plan.json
}

# done_as_if NAME JOB PATTERN: finished, after more than one start, with the loss of the
# undisturbed run; and said so
done_as_if() {
    gone "$2"
    [ "$(grep -c '' "$1.starts")" -ge 2 ] || fail "$1: one start only"
    [ "$(code_of "$2")" = 0 ] || fail "$1: ended with $(code_of "$2")"
    [ "$(number "runs/$1/status.json" exit_code)" = 0 ] || fail "$1 is not finished"
    [ "$(number "runs/$1/report.json" train_loss)" = "$loss" ] || fail "$1: another loss"
    [ ! -e "runs/$1/stop" ] || fail "$1 leaves the file stop"
    [ ! -e "runs/$1/.deaths" ] || fail "$1 leaves a count of deaths"
    has_line "$1.out" "$3" || fail "$1 did not say '$3': $(grep -E '^job|stopping' "$1.out")"
}

# Slurm sends its own signals every half a minute: between 15 and 45 s after the start. A minute's
# limit would leave it only the first 5 to wait for the step, which a busy machine needs to start.
job warned 400 --time=2 --signal=USR1@75
warned=$id
job woken 400 --time=2 --signal=B:USR1@75
woken=$id
job taken 300
taken=$id
job batch 300
batch=$id
job step 300
step=$id
job rank 300
rank=$id
# Slurm's limits are whole minutes: a squeue that tells an earlier one to the first start
mkdir -p early
cat >early/squeue <<'EOT'
#!/bin/sh
case "$*:${SLURM_RESTART_COUNT:-0}" in
*%e:0) date -d '12 seconds' +%FT%T ;;
*) PATH=${PATH#*:} exec squeue "$@" ;;
esac
EOT
chmod +x early/squeue
PATH=$PWD/early:$PATH job limit 200
limit=$id
job plain 1
plain=$id

twice() {
    scancel --signal=USR1 --batch "$1"
    scancel --signal=TERM --batch "$1"
}
urgent() {
    sbatch -p urgent -w "$(squeue -h -j "$taken" -o %N)" -o urgent.out --exclusive --wrap 'sleep 1'
}
kill_a_rank() { pids_in rank | tail -n 1 | xargs -r kill -KILL; }
hears taken.out 'checkpoint at step 10 ' && urgent
stops batch twice "$batch"
stops step scancel --signal=USR1 "$step"
stops rank kill_a_rank
for name in limit taken warned woken; do stops $name :; done
# on a busy machine the next start would not come far in its minute either
scontrol update jobid="$warned" timelimit=10
scontrol update jobid="$woken" timelimit=10

gone "$plain"
loss=$(number runs/plain/report.json train_loss)
[ -n "$loss" ] || fail 'the undisturbed run did not end'
echo '-- a signal to the batch shell, twice; to the step'
done_as_if batch "$batch" "stopping after .*the file 'stop'"
done_as_if step "$step" 'stopping after .*SIGUSR1'
echo '-- a rank is killed'
done_as_if rank "$rank" \
    "job $rank: on c[1-8]: killed .137.; last checkpoint: runs/rank/.*step_0"
echo '-- the time limit'
done_as_if limit "$limit" 'stopping after .*time limit'
echo '-- a job that comes first takes the node'
done_as_if taken "$taken" 'stopping after .*SIGTERM'
echo '-- before the time limit Slurm itself sends a signal, to the step or to the batch shell'
done_as_if warned "$warned" 'stopping after .*SIGUSR1'
done_as_if woken "$woken" "stopping after .*the file 'stop'"
verdict
