#!/bin/sh
# A recorded run of asynchronous workers is replayed to its own bits: one that came to its end, one
# that was stopped and went on, one that was killed and went on, and one that is not over, up to
# where its record ends. A record of another deck or layout is refused, as one that is damaged.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

census
plan_file 8 '' 2 '[]' 2 >plan.json
profile=
# go DIRECTORY ARGUMENT...: two workers, two servers
go() {
    dir=$1
    shift
    ranks 4 train "$srcdir/inputs/census.yaml" --set "run.directory=$dir" --set train.epochs=2 \
        --set schedule.method=file --set schedule.plan=plan.json --set train.workers=2 \
        --set storage.servers=2 --set train.synchronization=asp --set run.threads=1 \
        --set "schedule.profile=$profile" "$@"
}
record() {
    go "$@" --set train.record=true
}
# same A B: of two runs, the loss and what the network says
same() {
    for dir in "$1" "$2"; do
        for what in steps train_loss test_logloss test_auc; do
            number "$dir/report.json" $what
        done >"$dir.txt"
    done
    cmp "$1.txt" "$2.txt" || fail "$2 is not $1"
}

echo '-- to its end'
expect 0 '' record a
profile=a/profile.json
expect 0 'the order of updates is that of a/record.h5' go b --replay a
same a b

echo '-- what asks for a cut asks in vain; a stop ends it, though another worker is waited for'
expect 0 '' go i --replay a --set checkpoint.interval_steps=7 --set train.eval_interval_steps=5
same a i
expect 75 '' go j --replay a --set run.max_seconds=0.03

# by hybrid with an optimizer that counts its updates; gradients in groups that cuts leave unfilled
hybrid='--set train.synchronization=hybrid --set train.staleness=2'
for how in '' "$hybrid --set train.optimizer=adam" \
    '--set train.aggregate=5 --set checkpoint.interval_steps=40'; do
    echo "-- stopped, and on $how"
    rm -rf c d
    # shellcheck disable=SC2086 # words
    {
        expect 75 '' record c $how --set run.max_seconds=0.03
        expect 0 'going on from' record c $how
        expect 0 '' go d --replay c $how
    }
    same c d
done

echo '-- not over'
expect 75 '' record e --set run.max_seconds=0.03
expect 75 'the record ends' go f --replay e
same e f

echo '-- killed, a worker or a server, and on'
# killed RANK CALL ARGUMENT...: in the directory g
killed() {
    rank=$1 call=$2
    shift 2
    rm -rf g h
    MPIEXEC_FLAGS="$MPIEXEC_FLAGS -x LD_PRELOAD=$bad -x BAD_MPI_END=$rank:own:$call:kill" \
        record g "$@" --set checkpoint.interval_steps=20 >out 2>err && fail 'it was not killed'
    ls g/checkpoint/step_*.h5 >/dev/null || fail 'it had no checkpoint'
    expect 0 'going on from' record g "$@"
    expect 0 '' go h --replay g "$@"
    same g h
}
bad=${HETERPS%/*}/tests/lib/bad_mpi.so
killed 0 2000
killed 3 3500

echo '-- workers keep rows: their caches are emptied at each cut, so a replay has the same ones'
held='--set train.synchronization=ssp --set train.staleness=4 --set train.cache_clocks=2'
# shellcheck disable=SC2086 # words
{
    rm -rf c d
    expect 0 '' record c $held --set checkpoint.interval_steps=20 \
        --set train.eval_interval_steps=30
    expect 0 '' go d --replay c $held
    same c d
    killed 3 2500 $held
}

echo '-- refused'
refuse() { # CODE PATTERN ARGUMENT...
    code=$1 pattern=$2
    shift 2
    expect "$code" "$pattern" go no "$@"
}
refuse 66 'nowhere/record.h5' --replay nowhere
refuse 65 'of another deck' --replay a --set train.learning_rate=0.1
refuse 65 'of another run: servers 2 then, 1 now' --replay a --set storage.servers=1
refuse 65 '--replay: with train.synchronization bsp there is no order to follow' --replay a \
    --set train.synchronization=bsp
refuse 65 'there is no order to record' --set train.synchronization=bsp --set train.record=true
plan_file 8 '4' '2 2' '[]' 2 >plan.json
expect 65 'of another layout' ranks 6 train "$srcdir/inputs/census.yaml" --set run.directory=no \
    --set train.epochs=2 --set schedule.method=file --set schedule.plan=plan.json \
    --set train.workers=2 --set storage.servers=2 --set train.synchronization=asp --replay a
plan_file 8 '' 2 '[]' 2 >plan.json
mkdir cut
head -c 3000 a/record.h5 >cut/record.h5
refuse 65 'cut/record.h5' --replay cut
verdict
