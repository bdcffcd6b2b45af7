#!/bin/sh
# Workers that do not wait for each other: one worker alone learns what bsp learns; an order that is
# drawn gives the same bits each time, and all servers the same; several workers come to the quality
# of one. A stop, a restart with as many workers, with others and with bsp train each batch once.
# Checkpoints and evaluations come in between. What cannot be combined is refused by name. The
# report says what the servers did, and how stale gradients were: no staler than the bound allows.
# Workers that keep rows and hold gradients back send fewer, lose none, and learn as much.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

census
layers=8 profile=
# go RANKS ARGUMENT...: trains in runs/census
go() {
    n=$1
    shift
    ranks "$n" train "$srcdir/inputs/census.yaml" --set train.epochs=2 \
        --set run.threads=1 "$@"
}
# run RANKS WORKERS SERVERS "CUTS" "UNITS" [ARGUMENT...]
run() {
    plan_file "$layers" "$4" "$5" '[]' "$2" >plan.json
    n=$1 workers=$2 servers=$3
    shift 5
    go "$n" --set schedule.method=file --set schedule.plan=plan.json \
        --set "schedule.profile=$profile" --set "train.workers=$workers" \
        --set "storage.servers=$servers" "$@" >out 2>err
    code=$?
    # measured once: what is measured changes no bit
    [ -s profile.json ] || cp runs/census/profile.json profile.json
    profile=profile.json
    loss=$(number runs/census/report.json train_loss)
    auc=$(number runs/census/report.json test_auc)
}
# whole: the run ended well, and each example was trained in each epoch
whole() {
    [ "$code" = 0 ] || {
        fail "it ended with $code"
        tail -n 20 err
    }
    [ "$(number runs/census/report.json examples)" = 52098 ] ||
        fail "$(number runs/census/report.json examples) examples were trained"
}
# good: and it learned as much as bsp
good() {
    whole
    close "$auc" "$one_auc" 3e-3
}
report=runs/census/report.json
# stale KIND: what the report has of the staleness of gradients of rows, or of dense weights
stale() { sed -n '/^ "staleness": {/,/^ }/p' $report | sed -n "/^  \"$1\": {/,/^  }/p"; }
stalest() { stale "$1" | sed -n 's/.*"max": \([0-9]*\).*/\1/p'; }
# applied KIND: gradients in its histogram
applied() {
    stale "$1" | awk '/"n": \[/ { on = 1; next } /\]/ { on = 0 } on { n += $1 } END { print n + 0 }'
}
# served KEY: a number of each server, summed
served() {
    sed -n '/^ "servers": \[/,/^ \]/p' $report |
        awk -v key="\"$1\":" '$1 == key { n += $2 } END { print n + 0 }'
}
# seen [MOST]: the report says of the last run, of 204 steps, what its servers did: each gradient is
# in a histogram, none was staler than MOST
seen() {
    most=${1:-1000000}
    [ "$(served clocks)" = $((204 * servers)) ] || fail "$(served clocks) clocks were served"
    [ "$(served rows_pushed)" -gt 0 ] || fail 'no rows were pushed'
    [ "$(applied rows)" = "$(served rows_pushed)" ] || fail "$(applied rows) gradients of rows"
    [ "$(stalest rows)" -le "$most" ] || fail "a row's gradient was $(stalest rows) updates old"
    if grep -q '^  "dense": {' $report; then
        [ "$(applied dense)" = $((204 * servers)) ] || fail "$(applied dense) dense gradients"
        [ "$(stalest dense)" -le "$most" ] || fail "a dense one was $(stalest dense) updates old"
    fi
    grep -q "^servers: $servers, busy [0-9.]* %" out || fail 'the table lacks the servers'
    grep -q '^mean staleness: rows [0-9.]*, at most [0-9]*' out || fail 'and the staleness'
    grep -q 'promised [0-9]*  clocks [0-9]*-[0-9]*  ' err || fail 'progress lacks the clocks'
}
fresh() {
    echo "-- $1"
    rm -rf runs
}

fresh 'one worker is as bsp'
run 2 1 1 '' 1
whole
one_auc=$auc bsp=$loss
for key in servers staleness worker_clocks; do
    grep -q "^ \"$key\": null" $report || fail "there is $key without asynchronous workers"
done
grep -q 'clocks' err && fail 'progress has clocks without asynchronous workers'
for how in asp 'ssp --set train.staleness=3' 'hybrid --set train.staleness=1'; do
    fresh "$how"
    # shellcheck disable=SC2086 # words
    run 2 1 1 '' 1 --set train.synchronization=$how
    whole
    close "$loss" "$bsp" 1e-6
    seen 0
done
fresh 'clipped'
run 2 1 1 '' 1 --set train.clip=0.05
bsp=$loss
fresh 'clipped, two servers'
run 3 1 2 '' 1 --set train.clip=0.05 --set train.synchronization=asp
close "$loss" "$bsp" 1e-6
fresh 'clipped, two servers, dense weights on a worker of two ranks'
run 4 1 2 '' 2 --set train.clip=0.05 --set train.synchronization=hybrid --set train.staleness=1
close "$loss" "$bsp" 1e-6

fresh 'stopped and on, with an optimizer that counts its updates'
adam='--set train.optimizer=adam --set train.learning_rate=0.002'
# shellcheck disable=SC2086 # words
{
    run 2 1 1 '' 1 $adam
    bsp=$loss
    rm -rf runs
    run 2 1 1 '' 1 $adam --set train.synchronization=asp --set train.steps=150
    [ "$code" = 0 ] || fail "it ended with $code"
    run 2 1 1 '' 1 $adam --set train.synchronization=asp --restart "$(ls runs/census/checkpoint/*)"
}
whole
close "$loss" "$bsp" 1e-6
fresh 'two gradients as one sum: twice what two workers learn in a clock'
sgd='--set train.optimizer=sgd --set train.steps=100'
# shellcheck disable=SC2086 # words
run 3 2 1 '' 2 $sgd --set train.learning_rate=0.2
pair=$(number $report test_logloss)
rm -rf runs
# shellcheck disable=SC2086 # words
run 2 1 1 '' 1 $sgd --set train.learning_rate=0.1 --set train.synchronization=asp \
    --set train.aggregate=2
close "$(number $report test_logloss)" "$pair" 1e-5
[ "$(stalest dense)" = 0 ] || fail 'gradients of a group count as updates of each other'

for how in asp 'ssp --set train.staleness=2 --set train.aggregate=3' \
    'hybrid --set train.staleness=2' \
    'asp --set train.aggregate=3' \
    'asp --set train.optimizer=adam --set train.learning_rate=0.002' \
    'asp --set train.staleness_rate=inverse'; do
    fresh "three workers, $how"
    # shellcheck disable=SC2086 # words
    run 4 3 1 '' 3 --set train.synchronization=$how
    good
    # each other worker finishes at most 2 x 2 + 1 clocks between a pull and its update
    case $how in *staleness=2) seen 10 ;; *) seen ;; esac
done
fresh 'two workers of two stages, two servers'
run 6 2 2 '4' '2 2' --set train.synchronization=ssp --set train.staleness=1
good
seen 3
expect 0 '' heterps report runs/census --html page.html
shows '^servers: 2, busy '
grep -q '<title>Staleness of gradients' page.html || fail 'the page lacks the staleness'
grep -q '<title>Clocks of the workers' page.html || fail 'the page lacks the clocks'
fresh 'two workers of two ranks'
run 5 2 1 '' 4 --set train.synchronization=asp
good

# cached KEY: a number of the workers' caches of rows
cached() { number $report "$1"; }
held='--set train.synchronization=ssp --set train.staleness=4 --set train.cache_clocks'
for how in "$held=1" "$held=2 --set train.eval_interval_steps=30" \
    "$held=2 --set train.synchronization=hybrid --set train.staleness_rate=inverse"; do
    fresh "three workers keep rows, $how"
    # shellcheck disable=SC2086 # words
    run 4 3 1 '' 3 $how
    good
    # and a gradient of its own comes between a worker's pull and those that it holds back
    seen 19
    grep -q '^row caches: [3-9][0-9][0-9.]* % of' out || fail 'the table lacks the caches, or hits'
    [ "$(cached hits)" -gt "$(cached returned)" ] || fail 'no row was saved'
    saved=$(cached bytes_saved)
    [ "${saved%.*}" -gt 200000 ] || fail "$saved bytes were saved"
done
fresh 'held gradients all come: for a small rate the loss changes as by bsp, whatever the layout'
small() { # RATE RANKS WORKERS SERVERS UNITS ARGUMENT...
    rm -rf runs
    rate=$1 n=$2 w=$3 sv=$4 units=$5
    shift 5
    run "$n" "$w" "$sv" '' "$units" --set train.optimizer=sgd --set train.learning_rate=0 \
        --set "train.table_learning_rate=$rate" "$@"
    whole
    number $report test_logloss
}
change() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.9g", (b - a) * 1e4 }'; }
none=$(small 0 2 1 1 1 | tail -n 1)
bsp=$(change "$none" "$(small 1e-5 2 1 1 1 | tail -n 1)")
held='--set train.synchronization=ssp --set train.staleness=8 --set train.cache_clocks=4'
for layout in '2 1 1 1' '4 1 2 2 --set data.microbatches=3' '3 2 1 2' \
    '3 1 2 1 --set train.eval_interval_steps=7'; do
    # shellcheck disable=SC2086 # words
    close "$(change "$none" "$(small 1e-5 $layout $held | tail -n 1)")" "$bsp" 2e-3
done

fresh 'each worker clips its own gradient before the sum: as one worker does batch by batch'
clipped() { # RATE RANKS WORKERS SERVERS UNITS ARGUMENT...
    rm -rf runs
    rate=$1 n=$2 w=$3 sv=$4 units=$5
    shift 5
    run "$n" "$w" "$sv" '' "$units" --set train.optimizer=sgd --set train.clip=0.05 \
        --set data.batch=8 --set train.steps=240 --set "train.learning_rate=$rate" "$@"
    [ "$code" = 0 ] || fail "it ended with $code"
    number $report test_logloss
}
none=$(clipped 0 2 1 1 1 | tail -n 1)
one=$(change "$none" "$(clipped 5e-5 2 1 1 1 | tail -n 1)")
for layout in '3 2 1 2' '6 2 2 4 --set data.microbatches=3'; do
    # shellcheck disable=SC2086 # words
    close "$(change "$none" "$(clipped 1e-4 $layout --set train.synchronization=hybrid \
        --set train.staleness=2 | tail -n 1)")" "$one" 5e-3
done
sum=$(change "$none" "$(clipped 1e-4 3 2 1 2 | tail -n 1)")
awk -v a="$sum" -v b="$one" 'BEGIN { exit !(a < 1.1 * b) }' ||
    fail "the sum of two gradients, clipped, moves by $sum, each clipped by $one"

fresh 'drawn twice: the same bits'
drawn() {
    rm -rf runs
    # shellcheck disable=SC2086 # words
    run "$@" --set train.synchronization=$how
    whole
}
how=asp
drawn 4 2 2 '' 2 --set train.interleaving=7
first=$loss
drawn 4 2 2 '' 2 --set train.interleaving=7
[ "$loss" = "$first" ] || fail "$loss and $first are not the same bits"
# Dense weights and gradients too lie in memory that a host shares: as fp32, where messages may not.
rounded='--set train.interleaving=7 --set storage.messages.dense=bf16'
# shellcheck disable=SC2086 # words
drawn 4 2 2 '' 2 $rounded
[ "$loss" = "$first" ] || fail "dense gradients were rounded in shared memory: $loss, not $first"
for shared in HETERPS_SHARED_MEMORY=0 HETERPS_SHARED_RANKS=2; do
    export "${shared?}"
    drawn 4 2 2 '' 2 --set train.interleaving=7
    [ "$loss" = "$first" ] || fail "$shared: $loss, in memory of all $first"
    # shellcheck disable=SC2086 # words
    drawn 4 2 2 '' 2 $rounded
    [ "$loss" != "$first" ] || fail "$shared: no dense gradient was rounded"
    unset "${shared%=*}"
done
drawn 4 2 2 '' 2 --set train.interleaving=8
[ "$loss" != "$first" ] || fail 'another seed draws the same order'
drawn 3 2 1 '' 2 --set train.interleaving=7
close "$loss" "$first" 1e-5

fresh 'drawn twice where workers sum dense gradients'
how='hybrid --set train.staleness=2'
drawn 4 2 2 '' 2 --set train.interleaving=7
first=$loss
drawn 4 2 2 '' 2 --set train.interleaving=7
[ "$loss" = "$first" ] || fail "$loss and $first are not the same bits"

for how in asp 'hybrid --set train.staleness=2'; do
    fresh "checkpoints and evaluations in between, $how"
    # shellcheck disable=SC2086 # words
    run 4 3 1 '' 3 --set train.eval_interval_steps=50 --set checkpoint.interval_steps=40 \
        --set train.synchronization=$how
    good
    [ "$(grep -c 'checkpoint at step' err)" -ge 5 ] || fail 'it did not save'
    [ "$(grep -c 'test auc' err)" -ge 3 ] || fail 'it did not evaluate'
done

echo '-- a stop, and on with as many workers, with others, with bsp'
for next in '4 3 1 asp' '3 1 2 asp' '4 2 2 asp' '3 2 1 bsp' '2 2 0 bsp'; do
    rm -rf runs
    run 4 3 1 '' 3 --set train.synchronization=asp --set run.max_seconds=0.02
    [ "$code" = 75 ] || fail "it did not stop but end with $code"
    # shellcheck disable=SC2086 # words
    set -- $next
    [ "$4" = asp ] || set -- "$@" --restart "$(ls runs/census/checkpoint/*)"
    ranks=$1 workers=$2 servers=$3 how=$4
    shift 4
    run "$ranks" "$workers" "$servers" '' "$workers" --set "train.synchronization=$how" "$@"
    good
    grep -q 'going on from' err || fail 'it did not go on'
done

echo '-- a worker stops for ever: under asp the others come to their end, under ssp to the bound'
stopped() { # ARGUMENT...: it stops behind its first clocks; $most: the clock that another comes to
    rm -rf runs
    bad="-x LD_PRELOAD=${HETERPS%/*}/tests/lib/bad_mpi.so -x BAD_MPI_END=2:own:2000:stop"
    MPIEXEC_FLAGS="$MPIEXEC_FLAGS $bad" run 4 3 1 '' 3 --set train.epochs=20 \
        --set run.stall_seconds=8 "$@"
    [ "$code" = 70 ] || fail "it ended with $code"
    grep -q 'nothing has come from worker 2' err || fail 'it does not say who stopped'
    grep -q 'stall: .*a wait for worker 2, which is at clock' err || fail 'the stall has no name'
    most=$(sed -n 's/.* after step \([0-9]*\);.*/\1/p' err)
}
stopped --set train.synchronization=asp
[ "$most" -gt 1360 ] || fail "the others came to step $most of 2040 only"
stopped --set train.synchronization=ssp --set train.staleness=5
[ "$most" -lt 1360 ] || fail "the others came to step $most in spite of the bound"

echo '-- a server that is emulated as slower updates for longer'
busy() { awk -v a="$(served seconds)" -v b="$(served busy_share)" 'BEGIN { print a * b }'; }
emulated() { # SLOW: the seconds in which a server has something to do are in $seconds
    rm -rf runs
    profile=
    run 3 2 1 '' 2 --set train.synchronization=asp --set train.steps=100 --set "resources=[
        {name: worker, emulate: {ranks: \"0-1\"}},
        {name: server, emulate: {ranks: \"2\", slow: $1}}]" --set storage.server_type=server
    [ "$code" = 0 ] || fail "it ended with $code"
    seconds=$(busy)
}
emulated 1
fast=$seconds
emulated 200
awk -v a="$fast" -v b="$seconds" 'BEGIN { exit !(b > 3 * a) }' ||
    fail "busy for $seconds s where it is 200 times slower, $fast s where it is not"

echo '-- refused'
refuse() { # PATTERN RANKS ARGUMENT...
    pattern=$1 n=$2
    shift 2
    expect 65 "$pattern" go "$n" --set run.directory=runs/no "$@"
}
refuse 'asp needs servers' 2 --set train.synchronization=asp
refuse 'hybrid needs servers' 2 --set train.synchronization=hybrid --set train.staleness=1
refuse 'staleness: is a bound for ssp and hybrid, not for bsp' 2 --set train.staleness=1
refuse 'staleness' 2 --set train.synchronization=ssp --set train.staleness=-1
set -- --set storage.servers=1 --set train.synchronization=asp
refuse 'record: a record is of one plan' 2 "$@" --set schedule.replan=true \
    --set checkpoint.interval_steps=5 --set train.record=true
refuse 'lamb needs the norm of a layer' 2 "$@" --set train.optimizer=lamb
refuse 'aggregate: is for workers that do not wait' 2 --set train.aggregate=2
refuse 'at most 3' 2 --set storage.servers=1 --set train.synchronization=ssp \
    --set train.staleness=2 --set train.aggregate=4
refuse 'inverse is for gradients that are applied one by one' 2 "$@" --set train.aggregate=2 \
    --set train.staleness_rate=inverse
refuse 'cache_clocks: is a part of the bound of ssp and hybrid, not for asp' 2 "$@" \
    --set train.cache_clocks=1
set -- --set storage.servers=1 --set train.synchronization=ssp --set train.staleness=3
refuse 'cache_clocks: 2 needs a staleness of at least 4' 2 "$@" --set train.cache_clocks=2
refuse 'cache_clocks: is not with clip' 2 "$@" --set train.cache_clocks=1 --set train.clip=1
refuse 'cache_clocks: is not with aggregate' 2 "$@" --set train.cache_clocks=1 \
    --set train.aggregate=2
verdict
