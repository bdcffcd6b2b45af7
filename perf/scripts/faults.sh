#!/bin/bash
# faults.sh [FOLDER] - every call fails once: in a short run of each verb, for every n, the n-th call
# of each kind (tests/lib/faults.sh says which and what must hold). Of what libraries call, a sample.
# With a FOLDER it goes on where it was cut off; kept/ in it has the runs that went wrong.
#
# HPS_SEED: of the sample. HPS_FAULT_LIBRARY: its size for a verb and kind (60). HPS_FAULT_ONLY: an
# expression for the lines "VERB KIND FROM MODE" to try. HPS_FAULT_JOBS: runs at a time.
# HPS_FAULT_EACH: a kind with more calls than this (500) is tried once for each place that makes one,
# and of these places HPS_FAULT_PLACES (150) are drawn.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
mkdir -p "${1:-$HPS_TMP/faults}" || exit 1
work=$(cd "${1:-$HPS_TMP/faults}" && pwd)
seed=${HPS_SEED:-1}
jobs=${HPS_FAULT_JOBS:-$(($(nproc) * 2))}       # much of a run is waiting
driver=$srcdir/tests/lib/faults.sh
export srcdir HETERPS=$HPS_BUILD/heterps HPS_FAULT_KEEP=$work/kept

# chosen: of the lines "VERB KIND FROM MODE NUMBER" those to try, as runs "VERB KIND FROM MODE N".
# Behind the last n there is one that finds no call. Where one kind has thousands of calls, most of
# them are the same ones again: then the first of each place in the source.
chosen() {
    local verb kind from mode number most=${HPS_FAULT_LIBRARY:-60}
    grep -E -e "${HPS_FAULT_ONLY:-.}" "$work/counts" | while read -r verb kind from mode number; do
        if [ "$from $mode" != 'own once' ] && [ "$number" -gt "$most" ]; then
            awk -v seed="$seed" -v n="$most" -v of="$number" 'BEGIN {
                srand(seed); while (n-- > 0) print 1 + int(rand() * of) }'
        elif [ "$number" -gt "${HPS_FAULT_EACH:-500}" ]; then
            sh "$driver" places "$work/world" "$verb" "$kind" "$from" </dev/null |
                shuf -n "${HPS_FAULT_PLACES:-150}" --random-source=<(yes)
            echo $((number + 200))
        else
            seq $((number + 1))
        fi | sed "s/^/$verb $kind $from $mode /"
    done
}

# rest: those that no line of the results is about
rest() {
    awk 'NF > 5 { done[$1 " " $2 " " $3 " " $4 " " $5] = 1; next } !($0 in done)' \
        "$work/results" - | sort -u
}

# unended: for each that still found a call at its largest n, the next ones
unended() {
    awk '$3 $4 == "ownonce" { k = $1 " " $2 " " $3 " " $4
            if ($5 > n[k]) { n[k] = $5; last[k] = $8 } }
        END { for (k in n) if (last[k] != "none") for (i = 1; i <= 4; i++) print k, n[k] + i }' \
        "$work/results"
}

# through FILE: all its runs; progress is said
through() {
    local all done=0 began line now
    all=$(wc -l <"$1") began=$(date +%s)
    shuf --random-source=<(yes) "$1" | xargs -P "$jobs" -L 1 sh "$driver" one "$work/world" |
        while read -r line; do
            echo "$line" >>"$work/results"
            done=$((done + 1)) now=$(date +%s)
            case $line in *' bad '*) note "$line" ;; esac
            [ $((done % 50)) -ne 0 ] || note "$done of $all runs," \
                "$(((now - began) * (all - done) / done / 60 + 1)) minutes left"
        done
}

[ -e "$work/counts" ] || {
    mapfile -t verbs < <(sh "$driver" verbs)
    sh "$driver" world "$work/world" "${verbs[@]}" || give_up 'a run without a fault went wrong'
    sh "$driver" count "$work/world" "${verbs[@]}" >"$work/new" && mv "$work/new" "$work/counts"
}
touch "$work/results"
chosen | rest >"$work/todo"
while [ -s "$work/todo" ]; do
    through "$work/todo"
    unended | rest >"$work/todo"
done

# table: of each verb, kind and whose calls: how many there are, how many runs, how they ended
table() {
    header verb kind 'whose calls' fails calls runs 'exit code 0' 65 66 70 73 75 \
        'another, by a library' \
        'against the law'
    awk 'NF == 5 { calls[$1 " " $2 " " $3 " " $4] = $5; next }
        $8 == "none" { next }
        { k = $1 " " $2 " " $3 " " $4; runs[k]++; code[k, $6]++; word[k, $8]++ }
        END {
            for (k in runs) {
                line = k
                gsub(/ /, " | ", line)
                line = "| " line " | " calls[k] " | " runs[k]
                for (i = split("0 65 66 70 73 75", c, " "); i > 0; i--)
                    tail[k] = " | " code[k, c[i]] + 0 tail[k]
                print line tail[k] " | " word[k, "crash"] + 0 " | " word[k, "bad"] + 0 " |"
            }
        }' "$work/counts" "$work/results" | sort
}

title "Every call fails once: $(grep -v -c ' none' "$work/results") runs"
table
echo
goal 'every run ends in time, with a code of the design and a word, and harms nothing' \
    [ "$(grep -c -E '^([^ ]+ ){7}bad ' "$work/results")" -eq 0 ]
the_end
