#!/bin/sh
# Servers in whose memory a part of the rows is, and workers that do not wait for each other: with
# the same order of updates, drawn or replayed, losses, evaluation and every row are bit for bit
# those of servers that have all rows in memory. Also where there are slots for the rows of one
# worker alone, so that those of the others leave between a pull and its update. Where the order is
# that of arrival, all workers come to their end. A step that has too few slots is refused, by name.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

wide
profile=
# go NAME RANKS WORKERS SERVERS ARGUMENT...
go() {
    name=$1 n=$2 workers=$3 servers=$4
    shift 4
    plan_file 8 '' $((n - servers)) '[]' "$workers" >plan.json
    ranks "$n" train wide.yaml --set schedule.method=file --set schedule.plan=plan.json \
        --set "schedule.profile=$profile" --set "run.directory=$name" --set run.threads=1 \
        --set train.steps=25 --set checkpoint.keep=9 --set "train.workers=$workers" \
        --set "storage.servers=$servers" --set "train.synchronization=$how" "$@"
}
# run: one that comes to its end
run() {
    # shellcheck disable=SC2086 # words
    expect 0 '' go "$@" $more
    [ -s profile.json ] || cp "$1/profile.json" profile.json
    profile=profile.json
}
# memory INDEX SLOTS SERVERS: bytes of a server for so many bytes of index of each row, and its part
# of so many slots; a step of a worker needs up to 1572, one of the evaluation
memory() { echo $(((20000 * $1 + 55 * $2 + 10000) / $3)); }
# both INDEX "SLOTS..." RANKS WORKERS SERVERS ARGUMENT...: all memory, and so much, in one order
both() {
    index=$1 slots=$2
    shift 2
    rm -rf all
    run all "$@" --set train.interleaving=7
    for room in $slots; do
        rm -rf some
        run some "$@" --set train.interleaving=7 --set storage.file=disk \
            --set "storage.host_memory=$(memory "$index" "$room" "$3")"
        equals some all
        paged some
    done
}

how=asp more=
both 13 '1650 3300' 3 2 1
both 13 '1800 2500' 5 3 2
how=ssp more='--set train.staleness=2'
both 13 '1800 3300' 4 2 2
how=hybrid
both 13 '1650 3300' 3 2 1
both 13 1800 5 3 2
grep -q '^rows of rows: .* % in memory; .* read, .* written, waited .* s' out ||
    fail 'the table does not say what moved'
[ -z "$(ls disk)" ] || fail 'files are left'

echo '-- rules, codecs, sums'
how=asp more=
both 13 2600 3 2 1 --set train.optimizer=adam
both 13 1800 5 3 2 --set train.clip=0.1 --set data.microbatches=5
both 13 1650 3 2 1 --set train.staleness_rate=inverse
both 13 1500 3 2 1 --set storage.rows=int8
both 13 1500 4 2 2 --set storage.rows=bf16 --set storage.states=bf16
both 13 1650 3 2 1 --set storage.messages.rows=bf16 --set storage.messages.ids=delta
both 13 1650 3 2 1 --set model.ids.exchange=bags --set model.wide.exchange=bags
HETERPS_SHARED_MEMORY=0
export HETERPS_SHARED_MEMORY
both 13 1800 4 2 2
unset HETERPS_SHARED_MEMORY

echo '-- gradients in groups, which need more slots than there are; rows that workers keep'
both 21 1650 4 3 1 --set train.aggregate=3
both 21 1800 5 3 2 --set train.aggregate=2
how=ssp more='--set train.staleness=4 --set train.cache_clocks=2'
both 29 3000 4 2 2

echo '-- a record is replayed to the same bits, with checkpoints and evaluations on the way'
part='--set storage.file=disk --set storage.host_memory'
often='--set checkpoint.interval_steps=6 --set train.eval_interval_steps=5'
for options in '13 asp' '21 asp --set train.aggregate=3' '13 hybrid --set train.staleness=2' \
    '29 ssp --set train.staleness=4 --set train.cache_clocks=2'; do
    echo "-- $options"
    bytes=$(memory "${options%% *}" 2500 2) options=${options#* }
    how=${options%% *} more=
    [ "$how" = "$options" ] || more=${options#* }
    rm -rf all some
    # shellcheck disable=SC2086 # words
    {
        run some 4 2 2 --set train.record=true $often $part=$bytes
        run all 4 2 2 --replay some
        equals some all
        rm -rf all some
        run all 4 2 2 --set train.record=true $often
        run some 4 2 2 --replay all $part=$bytes
    }
    equals some all
    paged some
done

echo '-- a run goes on with other memory'
how=asp more='--set train.interleaving=3'
# shellcheck disable=SC2086 # words
{
    rm -rf all some
    run all 3 2 1 --set train.steps=8
    run all 3 2 1 --set train.steps=16
    run all 3 2 1
    run some 3 2 1 --set train.steps=8 $part="$(memory 13 1650 1)"
    run some 3 2 1 --set train.steps=16
    run some 3 2 1 $part="$(memory 13 3000 1)"
    equals some all
}

echo '-- as they come'
more=
for options in 'asp' 'ssp --set train.staleness=1' 'hybrid --set train.staleness=1'; do
    how=${options%% *} more=${options#asp} more=${more#* }
    rm -rf some
    # shellcheck disable=SC2086 # words
    run some 7 5 2 --set train.steps=60 $often $part="$(memory 13 1800 2)"
    [ "$(number some/report.json steps)" = 60 ] || fail 'it has not made all steps'
    paged some
done

echo '-- refused'
# shellcheck disable=SC2086 # words
for how in asp 'hybrid --set train.staleness=1'; do
    more=${how#* } how=${how%% *}
    [ "$more" != "$how" ] || more=
    rm -rf none
    expect 65 'a step needs [0-9]* rows of table .rows. at this rank, there is room for' \
        go none 3 2 1 --set data.batch=300 $part="$(memory 13 1650 1)" $more
done
verdict
