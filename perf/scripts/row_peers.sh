#!/bin/sh
# row_peers.sh - the row work of a training (perf/bin/row_work.h) where memory has room for a share of the
# rows: our row store, the same table mapped, RocksDB with the options of FBGEMM's SSD tables, LMDB, each
# in a memory group of the same limit, all rows written before, warm. 26 slots of BUCKETS (1,000,000)
# rows of DIM (16) weights and their Adagrad states, batches of BATCH (4096) by Zipf 1.05, STEPS (1500)
# of them, SHARE (0.25) of the rows' bytes in memory, THREADS (2), WARM (60) seconds, then MEASURE (60).
# STORES: of them; DIRECTORY: on the disk that is measured (the scratch folder). 25 minutes, 20 GB.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
. perf/scripts/group.sh
buckets=${BUCKETS:-1000000} dim=${DIM:-16} batch=${BATCH:-4096} steps=${STEPS:-1500}
share=${SHARE:-0.25} threads=${THREADS:-2} warm=${WARM:-60} seconds=${MEASURE:-60}
stores=${STORES:-store mmap mmap32 rocksdb lmdb}
directory=${DIRECTORY:-$HPS_TMP/rows}
bytes=$(awk -v n="$buckets" -v d="$dim" -v s="$share" 'BEGIN { printf "%.0f\n", 26 * n * 8 * d * s }')
data=data/rows.h5

# peer_tool NAME PACKAGE HEADER: builds perf/peers/row_NAME, with a package of Debian where it needs one
peer_tool() {
    if [ -n "$2" ] && [ ! -f "/usr/include/$3" ] && command -v apt-get >/dev/null; then
        DEBIAN_FRONTEND=noninteractive apt-get -qq install -y "$2" >&2
    fi
    if make -C "$HPS_BUILD" "perf/peers/row_$1" >&2; then
        ln -sf "$HPS_BUILD/perf/peers/row_$1" build
    else
        note "perf/peers/row_$1 is not built${2:+: it needs $2}"
    fi
}

# of NAME: a number of the run
of() { awk -v name="$1" '$1 == name { print $2 }' out; }

# work STORE PROGRAM THREADS TEXT: its row; $rate_STORE: its examples/s, empty where it cannot be
work() {
    eval "rate_$1="
    case " $stores " in *" $1 "*) ;; *) return ;; esac
    if [ ! -x "build/$2" ] || ! group_new "$bytes"; then
        row "$4" - - - - - - - 'not measured'
        return
    fi
    rm -rf "$directory"
    mkdir -p "$directory"
    note "build/$2, $3 threads"
    "build/$2" $data "$batch" "$dim" "$directory" "$bytes" "$group" "$3" "$warm" "$seconds" >out 2>err || {
        row "$4" - - - - - - - "ended with $?"
        tail -n 5 err >&2
        group_end
        return
    }
    eval "rate_$1=$(of examples_s)"
    check=${check:-$(of check)}
    [ "$check" = "$(of check)" ] || unequal="$unequal $1"
    row "$4" "$(digits 4 "$(of examples_s)")" "$(digits 4 "$(of rows_s)")" \
        "$(awk -v x="${rate_store:-0}" -v y="$(of examples_s)" 'BEGIN { printf "%.2f\n", x / y }')" \
        "$(digits 3 "$(awk -v x="$(of read_bytes)" 'BEGIN { print x / 1e6 }')")" \
        "$(digits 3 "$(awk -v x="$(of write_bytes)" 'BEGIN { print x / 1e6 }')")" \
        "$(digits 4 "$(awk -v x="$(group_peak)" 'BEGIN { print x / 1e6 }')")" "$(of warm_steps)" \
        "$(of steps)"
    group_end
    rm -rf "$directory"
}

# over STORE: our rate over its
over() {
    eval "theirs=\$rate_$1"
    awk -v x="$rate_store" -v y="$theirs" 'BEGIN { if (x > 0 && y > 0) printf "%.2f\n", x / y }'
}

build_tool row_store
peer_tool mmap '' ''
peer_tool rocksdb librocksdb-dev rocksdb/c.h
peer_tool lmdb liblmdb-dev lmdb.h
mkdir -p data
said build/heterps generate inputs/dlrm.yaml --set "generate.buckets=$buckets" --set generate.dense=0 \
    --rows $((batch * steps)) --output $data
title 'The row work of a training by stores of rows'
printf '26 x %s rows of %s bytes, %s bytes of memory, %s threads.\n\n' "$buckets" $((8 * dim)) "$bytes" \
    "$threads"
header store examples/s rows/s 'ours over it' 'MB read a step' 'MB written' 'MB of memory, at most' \
    'steps before' 'steps'
unequal=''
work store row_store "$threads" 'ours'
work mmap row_mmap "$threads" 'the table mapped'
work mmap32 row_mmap 32 'the same, 32 threads'
work rocksdb row_rocksdb "$threads" RocksDB
work lmdb row_lmdb 1 LMDB
cat <<TEXT

A step reads the distinct rows of a batch, updates them and writes them back; every row was written before.
Memory is limited by a group of processes, from the store's first byte on, with the page cache; batches were
read before. Ours and RocksDB read directly. The sums of all rows in the first four steps agree.

TEXT
goal "all stores have the same rows, not:${unequal:- none}" [ -z "$unequal" ]
for pair in 'mmap 10 the table mapped' 'rocksdb 4 RocksDB'; do
    name=${pair%% *} rest=${pair#* }
    case " $stores " in *" $name "*) ;; *) continue ;; esac
    goal "at least ${rest%% *} times ${rest#* } ($(over "$name"))" \
        at_most "${rest%% *}" "$(over "$name")"
done
commands
echo "    build/row_STORE $data $batch $dim DIRECTORY $bytes MEMORY_GROUP THREADS $warm $seconds"
the_end
