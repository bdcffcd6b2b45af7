#!/bin/sh
# Workers that do not wait for each other, in an order: one that is drawn gives the same bits each
# time, and all servers the same. A stop, a restart with as many workers, with others and with bsp
# train each batch once. Checkpoints and evaluations come in between. A worker that stops for ever
# holds others up as far as their bound says, and a slow server is busy for longer.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
. "$srcdir/tests/lib/async.sh"

as_bsp

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
verdict
