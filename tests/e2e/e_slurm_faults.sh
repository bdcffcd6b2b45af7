#!/bin/sh
# What is killed goes on by itself and ends with the loss of a run that nobody disturbed, on fewer
# nodes where one is lost; what cannot be helped by going on ends with its code, and a line says
# why: a wrong deck, a stall, deaths without progress, scancel, no launcher.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
. "$srcdir/tests/slurm/lib.sh"
cluster p1:pair:2:0 p2:pair:2:0 c1:cpu:2:0 c2:cpu:2:0 c3:cpu:2:0 c4:cpu:2:0 c5:cpu:2:0 c6:cpu:2:0 \
    c7:cpu:2:0 c8:cpu:2:0
census
plan_file 8 '' 2 >plan.json

# job NAME SLOW "OPTION-OF-SBATCH..." ARGUMENT-OF-TRAIN...: cpu.sh in runs/NAME, 2 ranks a node, so
# slow that it is caught in the act on any machine
job() {
    hps_run=$1 hps_sbatch=$3
    echo "$2" >"$1.slow"
    shift 3
    # shellcheck disable=SC2086 # options without blanks
    submit "$hps_run" $hps_sbatch "$hps_jobs/cpu.sh" \
        "$srcdir/inputs/census.yaml" --set "run.directory=runs/$hps_run" --set train.epochs=0 \
        --set train.steps=600 --set checkpoint.interval_steps=10 \
        --set schedule.method=file --set schedule.plan=plan.json "$@"
}

# wrong NAME SENTENCE: and what the job said beside its progress
wrong() {
    fail "$1: $2"
    grep -vE '^(\[.*(step|checkpoint)|$| )' "$1.out" | cut -c1-160 | tail -n 60
}

# ended NAME JOB CODE STARTS PATTERN: so, after so many starts, and said so
ended() {
    gone "$2"
    code_of "$2" | grep -Eqx "$3" || wrong "$1" "ended with $(code_of "$2") instead of $3"
    hps_starts=$(grep -c 'began' "$1.starts")
    if [ "$hps_starts" -lt "${4%-*}" ] || [ "$hps_starts" -gt "${4#*-}" ]; then
        wrong "$1" "$hps_starts starts instead of $4"
    fi
    has_line "$1.out" "$5" || wrong "$1" "did not say '$5'"
    [ ! -e "runs/$1/.deaths" ] || wrong "$1" 'leaves a count of deaths'
}

cat >dying <<'EOF'
#!/bin/sh
[ "$1" != train ] || { echo began >>deaths.starts && kill -KILL $$; }
EOF
echo "exec '$HETERPS' \"\$@\"" >>dying
chmod +x dying
HETERPS=$PWD/dying job deaths 1 '-N1 -n1 -p cpu'
deaths=$id
paced

# hit SIGNAL NAME: a rank of this run; nothing while it has none
hit() {
    hps_rank=$(pids_in "$2" | tail -n 1)
    [ -z "$hps_rank" ] || kill "-$1" "$hps_rank"
}

job fewer 300 '-p pair -N1-2' --set schedule.plan= --set schedule.method=exact
fewer=$id
job kills 1000 '-N1 -p cpu'
kills=$id
job stall 100 '-N1 -p cpu' --set train.steps=100000000 --set run.stall_seconds=3
stall=$id
job cancel 100 '-N1 -p cpu' --set train.steps=100000000
cancel=$id
HETERPS_LAUNCHER=mpirun job mpirun 1000 '-N2 -n2 -p cpu' --set train.steps=200
mpirun=$id
job plain 1 '-N1 -p cpu'
plain=$id
job wrong 1 '-N1 -p cpu' --set data.train=none.h5
wrong=$id
job unread 1 '-N1 -p cpu' --set train.stepz=1
unread=$id

hears fewer.out 'checkpoint at step 10 '
node=$(squeue -h -j "$fewer" -o %B)
bash "$srcdir/tests/slurm/cluster.sh" kill "$hps_cluster" "$node"
scontrol update node="$node" state=down reason=test
rm fewer.slow
hears stall.out 'checkpoint at step 10 '
hit STOP stall
hears cancel.out 'checkpoint at step 10 '
scancel "$cancel"
stops mpirun scancel --signal=USR1 --batch "$mpirun"
for i in 1 2 3; do
    hears kills.out 'training: steps' $i || break
    hears kills.out 'checkpoint at' $(($(grep -c 'checkpoint at' kills.out) + 1)) || break
    sleep "0.$((i * 37 % 3))"
    hit KILL kills
done
rm kills.slow
gone "$plain"
loss=$(number runs/plain/report.json train_loss)

echo '-- a rank is killed, three times'
# a busy machine may need a start more
ended kills "$kills" 0 4-6 'killed .137.; last checkpoint: runs/kills/checkpoint/step_'
[ "$(number runs/kills/report.json train_loss)" = "$loss" ] || fail 'another loss after three kills'
echo '-- the batch host crashes, the rest of the nodes go on'
ended fewer "$fewer" 0 2 'the start before was killed; last checkpoint: runs/fewer/'
has_line fewer.out 'ranks started: 2,' || fail 'it did not go on with what was left'
close "$(number runs/fewer/report.json train_loss)" "$loss" 1e-3
echo '-- no progress'
ended deaths "$deaths" '137|143' 4 '4 starts in a row died without a newer checkpoint: not again'
echo '-- a wrong deck, a stall'
ended wrong "$wrong" 66 1 'ended with 66: not submitted again'
gone "$unread"
[ "$(code_of "$unread")" = 65 ] || fail 'a deck that cannot be read is not 65'
ended stall "$stall" 70 1 'ended with 70: not submitted again'
echo '-- scancel'
gone "$cancel"
[ "$(number runs/cancel/status.json exit_code)" = 75 ] || fail 'scancel left no whole checkpoint'
has_line cancel.starts began 2 && fail 'a cancelled job was started again'
echo '-- mpirun'
ended mpirun "$mpirun" 0 2 "the file 'stop'"
# it waits half a minute then, and the job's time is over
has_line mpirun.out 'exited with non-zero status' && fail 'mpirun takes a stop for a failure'

echo '-- by hand, and where there is no launcher'
expect 64 'is a job script: sbatch' env -u SLURM_JOB_ID "$hps_jobs/cpu.sh" census.yaml
expect 64 'no deck: sbatch' env SLURM_JOB_ID=1 "$hps_jobs/cpu.sh"
expect 66 '' env HETERPS=nowhere/heterps SLURM_JOB_ID=1 "$hps_jobs/cpu.sh" census.yaml
mkdir -p poor
printf '#!/bin/sh\necho "srun: error: no PMIx here" >&2\nexit 1\n' >poor/srun
chmod +x poor/srun
for tool in sed sort tail find timeout env sh; do ln -s "$(command -v $tool)" poor/$tool; done
expect 70 'no launcher: srun --mpi=pmix does not work here .srun: error: no PMIx here' \
    env SLURM_JOB_ID=1 PATH="$PWD/poor" "$(command -v bash)" "$hps_jobs/cpu.sh" \
    "$srcdir/inputs/census.yaml"
verdict
