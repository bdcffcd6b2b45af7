#!/bin/sh
# Dedicated servers under bsp: the loss is that of one rank, whatever the servers, the stages beside
# them and the way in which rows travel; the same layout gives the same bits. A checkpoint goes on
# with other servers, or none. What cannot be is refused before anything begins.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

bags 910

# go RANKS ARGUMENT...: trains in runs/bags
go() {
    n=$1
    shift
    ranks "$n" train bags.yaml --set train.optimizer=adam --set train.learning_rate=0.01 \
        --set data.microbatches=3 "$@"
}

# run RANKS SERVERS "CUTS" "UNITS" [ARGUMENT...]
run() {
    plan_file 8 "$3" "$4" >plan.json
    n=$1 servers=$2
    shift 4
    # shellcheck disable=SC2046 # words
    expect 0 '' go "$n" --set schedule.method=file --set schedule.plan=plan.json \
        --set "storage.servers=$servers" --set train.steps=30 $(profile_of profile.json) "$@"
    keep_profile profile.json runs/bags
    loss=$(number runs/bags/report.json train_loss)
    test=$(number runs/bags/report.json test_logloss)
}
# same WHAT RANKS SERVERS CUTS UNITS: as one rank, to rounding
same() {
    echo "-- $1"
    shift
    rm -rf runs
    run "$@"
    close "$loss" "$one" 1e-4
    close "$test" "$one_test" 1e-4
}

# some ARGUMENT...: two layouts, with these keys; all: more of them
some() {
    rm -rf runs
    run 1 0 '' 1 "$@"
    one=$loss one_test=$test
    same 'two servers, two ranks' 4 2 '' 2 "$@"
    same 'a server, the table of both stages' 3 1 '1' '1 1' "$@"
}
all() {
    some "$@"
    same 'a server, a rank that trains' 2 1 '' 1 "$@"
    same 'three servers, one rank' 4 3 '' 1 "$@"
    same 'a server, two ranks' 3 1 '' 2 "$@"
}
all
grep -q 'parameter servers *cpu' out || fail 'the table does not name the servers'
[ "$(number runs/bags/report.json units)" = 3 ] || fail 'a server is no unit'
some --set train.clip=0.05
sums='--set model.ids.exchange=bags --set model.wide.exchange=bags'
# shellcheck disable=SC2086 # words
all $sums
HETERPS_SHARED_MEMORY=0
export HETERPS_SHARED_MEMORY
# shellcheck disable=SC2086
some $sums
some
unset HETERPS_SHARED_MEMORY

echo '-- the same layout twice: the same bits'
rm -rf runs
run 4 2 '4' '1 1'
first=$loss
cp runs/bags/checkpoint/step_000000030.h5 first.h5
rm -rf runs
run 4 2 '4' '1 1'
[ "$loss" = "$first" ] || fail "$loss and $first are not the same bits"
cp runs/bags/checkpoint/step_000000030.h5 second.h5
for which in first second; do
    heterps eval bags.yaml --checkpoint "$which.h5" --json - >"$which.json" 2>err
done
cmp first.json second.json || fail 'the networks differ'

echo '-- a stop, and on with other servers'
for next in '3 1' '2 0' '4 2'; do
    rm -rf runs
    run 4 2 '' 2 --set train.steps=12
    # shellcheck disable=SC2086 # two words
    set -- $next
    run "$1" "$2" '' "$(($1 - $2))"
    close "$loss" "$one" 1e-4
    grep -q 'going on from .*step 12' err || fail 'it did not go on'
done

echo '-- the planner counts them'
rm -rf runs
expect 0 '' go 3 --set storage.servers=1 --set schedule.method=exact
grep -q 'parameter servers *cpu *1' out || fail 'no servers in the table'

echo '-- the planner chooses them'
rm -rf runs
expect 0 '' go 3 --set storage.servers=auto --set schedule.method=exact --set train.steps=30
grep -q 'parameter servers *cpu *1' out || fail 'no servers in the table'
close "$(number runs/bags/report.json train_loss)" "$one" 1e-4
expect 0 '' go 4 --set storage.servers=auto --set storage.server_type=cpu \
    --set schedule.method=exact --set train.steps=40
grep -q 'going on from .*step 30' err || fail 'it did not go on'

echo '-- refused'
plan_file 8 '' 1 >one.json
refuse() { # PATTERN RANKS ARGUMENT...
    pattern=$1 n=$2
    shift 2
    expect 65 "$pattern" go "$n" --set run.directory=runs/no "$@"
}
refuse '3 servers leave no rank of 3' 3 --set storage.servers=3
refuse "the pool has no type 'gpus'" 2 --set storage.servers=1 --set storage.server_type=gpus
refuse "no servers .* of 'cpu'" 2 --set storage.server_type=cpu
refuse 'storage.*servers' 2 --set storage.servers=-1
refuse 'servers.* must be auto or a whole number' 2 --set storage.servers=1.5
refuse "the pool has no type 'gpus'" 2 --set storage.servers=auto --set storage.server_type=gpus
refuse 'no type has a unit for each worker .1. beside the servers' 1 --set storage.servers=auto
refuse 'one.json: the plan has 0 servers' 2 --set storage.servers=auto \
    --set schedule.method=file --set schedule.plan=one.json
refuse 'each of 1 servers needs .* bytes for its rows' 2 --set storage.servers=1 \
    --set 'model.ids.buckets=1000000000000000' --set model.ids.hash=mod
plan_file 8 '' 2 >plan.json
refuse 'plan.json' 2 --set storage.servers=1 --set schedule.method=file \
    --set schedule.plan=plan.json
verdict
