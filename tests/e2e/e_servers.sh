#!/bin/sh
# Dedicated servers under bsp: the loss is that of one rank, whatever the servers, the stages beside
# them and the way in which rows travel; the same layout gives the same bits. A checkpoint goes on
# with other servers, or none. What cannot be is refused before anything begins.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

cat >net.yaml <<'EOF'
run:   {name: net, seed: 1}
data:  {train: net.h5, test: net.h5, batch: 60, microbatches: 3}
model:
  - {name: ids,  type: embedding, slots: 1-3, table: rows, dim: 4}
  - {name: wide, type: embedding, slots: 1-3, table: ones, dim: 1, combine: sum}
  - {name: one,  type: embedding, slots: [4], dim: 3}
  - {name: both, type: concat, inputs: [ids, one]}
  - {name: h1,   type: fc, width: 16, activation: relu}
  - {name: deep, type: fc, width: 1}
  - {name: out,  type: add, inputs: [wide, deep]}
  - {name: loss, type: logistic}
train:    {optimizer: adam, learning_rate: 0.01, epochs: 0, steps: 30}
generate: {dense: 0, slots: 4, buckets: [700, 700, 700, 40], ids: [9, 5, 3, 0], alike: true}
EOF
expect 0 '' "$HETERPS" generate net.yaml --rows 910 --output net.h5

# run RANKS SERVERS "CUTS" "UNITS" [ARGUMENT...]: in runs/net
run() {
    plan_file 8 "$3" "$4" >plan.json
    n=$1 servers=$2
    shift 4
    expect 0 '' ranks "$n" train net.yaml --set schedule.method=file --set schedule.plan=plan.json \
        --set "storage.servers=$servers" "$@"
    loss=$(number runs/net/report.json train_loss) test=$(number runs/net/report.json test_logloss)
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
[ "$(number runs/net/report.json units)" = 3 ] || fail 'a server is no unit'
some --set train.clip=0.05
bags='--set model.ids.exchange=bags --set model.wide.exchange=bags'
# shellcheck disable=SC2086 # words
all $bags
HETERPS_SHARED_MEMORY=0
export HETERPS_SHARED_MEMORY
# shellcheck disable=SC2086
some $bags
some
unset HETERPS_SHARED_MEMORY

echo '-- the same layout twice: the same bits'
rm -rf runs
run 4 2 '4' '1 1'
first=$loss
cp runs/net/checkpoint/step_000000030.h5 first.h5
rm -rf runs
run 4 2 '4' '1 1'
[ "$loss" = "$first" ] || fail "$loss and $first are not the same bits"
heterps eval net.yaml --checkpoint first.h5 --json - >first.json 2>err
heterps eval net.yaml --checkpoint runs/net/checkpoint/step_000000030.h5 --json - >second.json 2>err
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
expect 0 '' ranks 3 train net.yaml --set storage.servers=1 --set schedule.method=exact
grep -q 'parameter servers *cpu *1' out || fail 'no servers in the table'

echo '-- refused'
refuse() { # PATTERN RANKS ARGUMENT...
    pattern=$1 n=$2
    shift 2
    expect 65 "$pattern" ranks "$n" train net.yaml --set run.directory=runs/no "$@"
}
refuse '3 servers leave no rank of 3' 3 --set storage.servers=3
refuse "the pool has no type 'gpus'" 2 --set storage.servers=1 --set storage.server_type=gpus
refuse "no servers .* of 'cpu'" 2 --set storage.server_type=cpu
refuse 'storage.*servers' 2 --set storage.servers=-1
refuse 'each of 1 servers needs .* bytes for its rows' 2 --set storage.servers=1 \
    --set 'model.ids.buckets=1000000000000000' --set model.ids.hash=mod
plan_file 8 '' 2 >plan.json
refuse 'plan.json' 2 --set storage.servers=1 --set schedule.method=file \
    --set schedule.plan=plan.json
verdict
