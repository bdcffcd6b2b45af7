#!/bin/sh
# tier_passes.sh - after many passes over BATCHES (60) batches, SHARE (0.25) of the rows in memory: the
# time of a step beside what bounds it, the time with all in memory and the reads that it needs at
# the rate of the disk alone at a depth of 128, measured at the start. The last two of PASSES (8)
# passes are counted: the run is made with them and without. And what memory, index, misses and
# bytes written come to. NETWORKS (ctrdnn dlrm), THREADS (2), DIRECTORY. Some twenty minutes.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
. perf/scripts/tiers.sh
batches=${BATCHES:-60} passes=${PASSES:-8} share=${SHARE:-0.25} threads=${THREADS:-2}
late=$((2 * batches))

# disk: random reads a second of as large a file as the rows', by row_log.c
disk() {
    quiet build/row_log "$directory" "$rows" $((4 * row)) 10000 3 "${READS:-200000}" 0
    awk '$1 == "alone_reads_s" { print $2 }' out
}

# counts FILE: what the run has moved
counts() {
    for key in asked hits read pages_read written bytes; do echo "$key $(tiers $key)"; done >"$1"
    echo "seconds $(number runs/it/report.json seconds)" >>"$1"
    echo "disk $(io read_bytes)" >>"$1"
}
# of KEY: its mean over the steps of the last passes
of() {
    awk -v key="$1" -v n=$late '$1 == key { x[++i] = $2 } END { printf "%.9g\n", (x[2] - x[1]) / n }' \
        before after
}

# paged STEPS: with a share of the rows in memory; measured is what a run takes, not its profile
paged() {
    train_network 1 "$threads" "$1" --set "storage.host_memory=$bytes" --set "storage.file=$directory" \
        --set schedule.profile=profile.json
}

# runs_of: all in memory ($all_s a step, $plain_bytes without rows), then both others
runs_of() {
    train_network 1 "$threads" $((batches * 2))
    all_s=$(number runs/it/report.json step_median_s)
    mv runs/it/profile.json .
    plain_bytes=$(less "$(number runs/it/report.json peak_bytes)" $((rows * row * 4)))
    bytes=$(bytes_of "$share")
    paged $((batches * passes - late))
    counts before
    paged $((batches * passes))
    counts after
}

# ideal: misses a step of the best fixed set of as many rows
ideal() {
    if [ "$own" = 1 ]; then whose=own; else whose=shared; fi
    quiet build/row_ideal "data/${network}_train.h5" "$batch" $whose "$(tiers slots)"
    awk '$1 == "misses" { print $2 }' out
}

judge() {
    worst=$(larger "${worst:-0}" "$(per "$seconds" "$bound")")
    worst_io=$(larger "${worst_io:-0}" "$(per "$(product "$pages" 4096)" "$(of disk)")")
    worst_written=$(larger "${worst_written:-0}" "$amplified")
    worst_index=$(larger "${worst_index:-0}" "$index")
    worst_misses=$(larger "${worst_misses:-0}" "$(per "$misses" "$least")")
    worst_memory=$(larger "${worst_memory:-0}" "$(per "$peak" "$limit")")
}

# figure: the row of the network; the second table's is kept in the file others
figure() {
    reads=$(of read) pages=$(of pages_read) seconds=$(of seconds)
    reads_s=$(per "$pages" "$rate")
    bound=$(larger "$all_s" "$reads_s")
    row_bytes=$((4 * row))
    amplified=$(per "$(less "$(of bytes)" "$(product "$reads" $row_bytes)")" "$(product "$(of written)" $row_bytes)")
    index=$(per "$(tiers index_bytes)" "$rows")
    misses=$(less "$(of asked)" "$(of hits)")
    peak=$(number runs/it/report.json peak_bytes)
    limit=$(awk -v a="$bytes" -v b="$plain_bytes" 'BEGIN { print a + b }')
    least=$(ideal)
    judge
    row "$network" "$(ms "$all_s")" "$(digits 5 "$reads")" "$(digits 5 "$pages")" "$rate" \
        "$(ms "$reads_s")" "$(ms "$bound")" \
        "$(ms "$seconds")" "$(digits 3 "$(per "$seconds" "$bound")")"
    row "$network" "$(digits 4 "$misses")" "$(digits 4 "$least")" \
        "$(digits 4 "$(per "$(of disk)" "$pages")")" "$(digits 3 "$amplified")" "$(digits 3 "$index")" \
        "$(digits 4 "$(per "$peak" 1e6)")" "$(digits 4 "$(per "$limit" 1e6)")" >>others
}
ms() { digits 3 "$(product "$1" 1000)"; }

build_tool row_log row_ideal
keep_io
title "Rows in memory and in a file, after $((passes - 2)) passes"
header network 'all in memory, ms a step' 'rows read a step' 'in pages' "the disk's pages/s" 'these alone, ms' \
    'bound: the larger, ms' 'measured, ms' 'over the bound'
: >others
for name in ${NETWORKS:-ctrdnn dlrm}; do
    network "$name"
    mkdir -p data
    said build/heterps generate "inputs/$network.yaml" --rows $((batch * batches)) \
        --output "data/${network}_train.h5"
    rate=$(disk)
    runs_of
    figure
done
echo
header network 'rows missed a step' 'by the best fixed set' 'bytes that the process read for a page' \
    'bytes written over those of rows' 'index, bytes a row' 'most memory, MB' 'limit and all but rows, MB'
cat others
cat <<TEXT

$share of the rows are in memory. The best fixed set has as many rows, those that most batches have. The most
memory of a run is to be within \`storage.host_memory\` and what a run with all in memory takes beside rows.

TEXT
goal "a step within 1.15 of its bound ($(digits 3 "$worst"))" at_most "$worst" 1.15
goal "at least 0.9 of the pages' bytes are read by the process: no page cache has them (pages over \
that: $(digits 3 "$worst_io"))" at_most "$worst_io" 1.1112
goal "misses at most 1.15 of the best fixed set's ($(digits 3 "$worst_misses"))" at_most "$worst_misses" 1.15
goal "bytes written at most 1.6 of those of rows ($(digits 3 "$worst_written"))" at_most "$worst_written" 1.6
goal "index at most 8 bytes a row ($(digits 3 "$worst_index"))" at_most "$worst_index" 8
goal "memory at most its limit ($(digits 3 "$worst_memory"))" at_most "$worst_memory" 1
commands
the_end
