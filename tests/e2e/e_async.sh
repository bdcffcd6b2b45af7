#!/bin/sh
# Workers that do not wait for each other: one worker alone learns what bsp learns; several workers
# come to the quality of one. What cannot be combined is refused by name. The report says what the
# servers did, and how stale gradients were: no staler than the bound allows.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
. "$srcdir/tests/lib/async.sh"

as_bsp
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
