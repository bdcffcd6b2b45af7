#!/bin/sh
# exchange.sh - what owners send of bags: their rows, or the sums of these, on ranks that share memory and
# on ranks that send messages, in turn; examples/s of the network bags, and what a step gives to other ranks.
# ROUNDS (3), STEPS (25), RANKS ('2 4'), BATCH (1024). On one host messages are copies in memory: the bytes
# are what a network would see. Behind it, from the ids alone, what the busiest of many owners gets.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
rounds=${ROUNDS:-3} steps=${STEPS:-25} layouts=${RANKS:-2 4}
network bags

# measure RANKS MEMORY EXCHANGE: a run; its rate and bytes are kept
measure() {
    kept=r.$1.$2.$3
    x=$(HETERPS_SHARED_MEMORY=$2 ours "$1" 1 --set "model.ids.exchange=$3")
    echo "$x" >>"$kept"
    awk -v b="$(number runs/it/report.json net_bytes)" -v n="$steps" 'BEGIN { print b / n / 1e6 }' \
        >"$kept.mb"
}

# figure RANKS MEMORY WHERE: its row
figure() {
    by_rows=r.$1.$2.rows by_bags=r.$1.$2.bags
    row "$1" "$3" "$(digits 4 "$(median <"$by_rows")")" "$(digits 3 "$(cat "$by_rows.mb")")" \
        "$(digits 4 "$(median <"$by_bags")")" "$(digits 3 "$(cat "$by_bags.mb")")" \
        "$(paste "$by_bags" "$by_rows" | awk '{ printf "%.3f\n", $1 / $2 }' | median)" \
        "$(awk -v x="$(cat "$by_bags.mb")" -v y="$(cat "$by_rows.mb")" 'BEGIN { printf "%.3f\n", x / y }')"
}

# busiest: the table of perf/bin/owners.c
busiest() {
    said mpirun -n 1 build/owners data/bags_train.h5 $((batch / 2)) "$rows" 2 4 8 64 512 4096
    header owners 'ids of the busiest, of a fair share' 'ids of hot rows' \
        'received by the busiest, of a fair share'
    while read -r n ids hot received; do
        row "$n" "$ids" "$hot" "$received"
    done <out
}

title "bags, batch $batch: rows or sums from their owners"
build_tool owners
data_network
for _ in $(seq "$rounds"); do
    for n in $layouts; do
        for memory in 1 0; do
            for exchange in rows bags; do
                measure "$n" "$memory" "$exchange"
            done
        done
    done
done
echo "Load of the machine at the end: $(cut -d ' ' -f 1 /proc/loadavg)."
echo
header ranks by 'examples/s, rows' 'MB a step' 'examples/s, sums' 'MB a step' 'of the rate' 'of the bytes'
for n in $layouts; do
    figure "$n" 1 'shared memory'
    figure "$n" 0 messages
done
echo
echo 'MB a step: of all ranks. The ratios are sums over rows, that of the rate the median over the rounds.'
echo
echo "What owners receive, where each rank reads $((batch / 2)) examples. Each rank requests a hot row once"
echo 'and adds it itself; without that the owner of the hottest row would receive all of its ids.'
echo
busiest
fewer=yes
for n in $layouts; do
    at_most "$(cat "r.$n.0.bags.mb")" "$(cat "r.$n.0.rows.mb")" || fewer=no
done
goal 'sums are fewer bytes than rows' [ $fewer = yes ]
commands
the_end
