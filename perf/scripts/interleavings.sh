#!/bin/sh
# interleavings.sh - RUNS (10,000) runs of small nets by workers and servers that are fibers of one
# process, from seed FIRST (1) on: the net, what happens to it and the order of all messages are
# drawn (tests/unit/t_interleavings.c). Every fourth run is replayed in another order of messages.
# JOBS (one a core) at a time. Two minutes of two cores that do nothing else.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
runs=${RUNS:-10000} first=${FIRST:-1} jobs=${JOBS:-$(nproc)} part=0 at=$first

make -C "$HPS_BUILD" tests/unit/t_interleavings >out 2>&1 ||
    give_up "make -C $HPS_BUILD tests/unit/t_interleavings failed"
while [ $part -lt "$jobs" ]; do
    n=$((runs * (part + 1) / jobs - runs * part / jobs))
    mkdir "part$part"
    (cd "part$part" && "$HPS_BUILD/tests/unit/t_interleavings" $n $at >out 2>err) &
    at=$((at + n)) part=$((part + 1))
done
wait
cat part*/out >out
cat part*/err >&2

# all KEY: of the lines of all parts, the sum; most KEY: the largest
all() {
    awk -v key="$1" '$1 == "runs" { for (i = 1; i < NF; i++) if ($i == key) n += $(i + 1) }
        END { print n + 0 }' out
}
most() {
    awk -v key="$1" '$1 == "runs" { for (i = 1; i < NF; i++) if ($i == key && $(i + 1) > n)
        n = $(i + 1) } END { print n + 0 }' out
}

title 'Drawn interleavings'
echo "Of $runs runs $(all runs) came to their end, $(all stops) of them over a stop, and" \
    "$(all replays) were replayed."
echo "Of $(all of_several) runs with several asynchronous workers $(all orders) have an order of" \
    'their own.'
echo
header what count
row 'pulls, each with the versions and values that were due' "$(all pulls)"
row 'gradients, each applied once' "$(all gradients)"
row 'moves of the scheduler' "$(all moves)"
row 'clocks that a pull was ahead of the slowest worker, under a bound of up to 4' "$(most ahead)"
row 'gradients applied to a row between its pull and its update' "$(most staleness)"
echo
goal 'all runs end, none in a deadlock, with each gradient applied once and none beyond the bound' \
    [ "$(all runs)" = "$runs" ]
goal 'nine of ten orders differ' [ $(($(all orders) * 10)) -ge $(($(all of_several) * 9)) ]
the_end
