#!/bin/sh
# server_rate.sh - rows that one core of a server gives and updates in a second, in memory that it
# shares with the worker and by messages, beside what its memory and messages allow, measured in the
# same run; bytes that travel for a row. Messages are MPI's own way, COPY=none: not from memory to
# memory of another process. Tables of TABLE (2,000,000) rows, ROWS (100,000) a step, STEPS
# (50), of DIMS (16 64); medians of RUNS (9). Two minutes.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
unset OMPI_MCA_btl_vader_single_copy_mechanism
[ -z "${COPY:-}" ] || export OMPI_MCA_btl_vader_single_copy_mechanism="$COPY"
table=${TABLE:-2000000} rows=${ROWS:-100000} steps=${STEPS:-50} runs=${RUNS:-9} dims=${DIMS:-16 64}

# of NAME...: millions of rows a second of these parts together; least NAME NAME: of the slower one
of() {
    awk -v list="$*" 'BEGIN { k = split(list, name, " "); for (i = 1; i <= k; i++) want[name[i]] }
        $1 in want { seconds += $2; n = $3 } END { printf "%.4g\n", n / seconds / 1e6 }' out
}
least() {
    awk -v a="$(of "$1")" -v b="$(of "$2")" 'BEGIN { print (a < b ? a : b) }'
}
over() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f\n", a / b }'; }
# bytes NAME COPIES: that travel for a row which goes so many times, over its own
bytes() {
    awk -v name="$1" -v copies="$2" '$1 == name { all = $2 / $3 } $1 == "row_bytes" { own = $2 * copies }
        END { printf "%.4f\n", all / own }' out
}

# medians: of the seconds, or bytes, of each name
medians() {
    sort -k 1,1 -k 2,2g | awk '
        $1 != name { if (n) print name, x[int((n + 1) / 2)], rows; name = $1; n = 0 }
        { x[++n] = $2; rows = $3 }
        END { print name, x[int((n + 1) / 2)], rows }'
}

# wanted A B TEXT: a goal, A is at most B, for the end
wanted() { echo "$*" >>goals; }

# both WAY DIM: pulls and pushes, over what bounds them
both() {
    for what in pulled pushed; do
        case $what in
        pulled) got=$(of "$1_request" "$1_pull") memory=$1_read ;;
        pushed) got=$(of "$1_push" "$1_apply") memory=$1_modify ;;
        esac
        allowed=$(of "$memory")
        [ "$1" = shared ] || allowed=$(least "$memory" "$1_message")
        ratio=$(over "$got" "$allowed")
        row "$2" "$1" "$what" "$got" "$(of "$memory")" "$(of "$1_message")" "$ratio"
        wanted 0.7 "$ratio" "dim $2, $1: rows $what at least 0.7 of what is allowed ($ratio)"
    done
}

build_tool server_rate
: >goals
title 'A server: rows given and updated in a second, one core'
header dim way what 'millions a second' 'by memory alone' 'by messages alone' 'of what is allowed'
for dim in $dims; do
    : >all
    each=said
    for _ in $(seq "$runs"); do
        $each mpirun -n 2 build/server_rate "$table" "$dim" "$rows" "$steps"
        cat out >>all
        each=quiet
    done
    medians <all >out
    both shared "$dim"
    both messages "$dim"
    echo "$dim $(bytes messages_bytes_pull 1) $(bytes messages_bytes_both 2)" >>traffic
done
cat <<EOT

Rows by memory alone: read at random, or read and written with their state, by a loop that prefetches. Rows
pulled: the part of requests that is the server's, versions and the rows; rows pushed: gradients, versions and
the update by adagrad. Allowed: by memory where it is shared, else the lesser of memory and messages.

Bytes sent over those of the rows, request included:

EOT
header dim 'pulled' 'pulled and pushed'
while read -r dim pull both; do
    row "$dim" "$pull" "$both"
    wanted "$pull" 1.15 "dim $dim: bytes at most 1.15 of the row's ($pull)"
done <traffic
echo
echo 'A row number takes four bytes in a request, whether ids in the data take four or eight: it is the number'
echo 'among the rows of its owner, which has less than 2^31.'
echo
while read -r a b text; do
    goal "$text" at_most "$a" "$b"
done <goals
commands
the_end
