# shellcheck shell=sh
# lib.sh - what the scripts that measure share; read from the top of the source.
# Standard output is Markdown, which record.sh keeps above the history of a record; standard
# error is progress.
# HETERPS=FILE measures another program than build/heterps.
#
# It runs in a scratch folder that looks like the top of the source: inputs/ and perf/ are there,
# the program is build/heterps, data/ and runs/ are its own. So the commands that it prints are
# those of a clone.
srcdir=$(pwd)
HPS_TMP=$(mktemp -d "${TMPDIR:-/tmp}/heterps.XXXXXX") || exit 1
trap 'cd /; rm -rf "$HPS_TMP"' EXIT
trap 'exit 130' HUP INT TERM

give_up() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

HETERPS=${HETERPS:-$srcdir/build/heterps}
[ -x "$HETERPS" ] || give_up "no program $HETERPS: ./jobs/quickstart.sh builds it"
HETERPS=$(cd "$(dirname "$HETERPS")" && pwd)/${HETERPS##*/}
mkdir "$HPS_TMP/build"
ln -s "$HETERPS" "$HPS_TMP/build/heterps"
ln -s "$srcdir/inputs" "$srcdir/perf" "$HPS_TMP"
HPS_BUILD=${HETERPS%/*} # where the tests are built
export HPS_BUILD
HETERPS=build/heterps

. "$srcdir/tests/lib/env.sh"
. "$srcdir/tests/lib/lib.sh"                # heterps, ranks, number
. "$srcdir/tests/lib/data.sh"               # plan_file

note() { printf '%s\n' "$*" >&2; }

# said COMMAND...: prints it, as progress and for the text, and runs it. Its output is in out, err.
said() {
    note "$*"
    printf '    %s\n' "$*" >>commands
    "$@" >out 2>err || {
        status=$?
        tail -n 20 out err >&2
        give_up "$* ended with $status"
    }
}

# quiet COMMAND...: the same, not kept for the text
quiet() {
    cp commands commands.kept
    said "$@"
    mv commands.kept commands
}
: >commands

import_census() {
    mkdir -p data
    said build/heterps import csv --schema inputs/census.schema.yaml \
        --output data/census_train.h5 --test-output data/census_test.h5 inputs/census/adult.csv.gz
}

# import_movielens FOLDER: it has ratings.csv or ratings.csv.gz, and movies beside
import_movielens() {
    mkdir -p data
    ln -s "$1" ml
    csv=ratings.csv
    [ -f ml/$csv ] || csv=ratings.csv.gz
    said build/heterps import csv --schema inputs/movielens.schema.yaml \
        --output data/movielens_train.h5 --test-output data/movielens_test.h5 ml/$csv
}

# machine: on what, in one line
machine() {
    cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
    echo "$(date +%Y-%m-%d), ${cpu:-unknown processor}, $(nproc) cores," \
        "$(build/heterps --version | head -n 1)"
}

# title TEXT: the head of the text
title() {
    printf '## %s\n\n%s\n\n' "$1" "$(machine)"
}

# commands: those that `said` ran
commands() {
    printf '\nCommands:\n\n'
    cat commands
}

# row CELL...: a line of a table; header: its first
row() {
    printf '|'
    printf ' %s |' "$@"
    printf '\n'
}
header() {
    row "$@"
    row "$@" | sed 's/[^|]\{1,\}/ --- /g'
}

# apart A B: how far they are from each other, relative to the larger
apart() {
    awk -v a="$1" -v b="$2" 'BEGIN {
        d = a - b; if (d < 0) d = -d
        m = a < 0 ? -a : a; n = b < 0 ? -b : b; if (n > m) m = n
        if (a == "" || b == "" || a != a + 0 || b != b + 0) print "nan"
        else printf "%.2g\n", (m > 0 ? d / m : 0) }'
}

# larger A B; at_most A B (a condition; nothing and nan are not); median: of the numbers in lines
larger() { awk -v a="$1" -v b="$2" 'BEGIN { print (a == "nan" || a + 0 > b + 0) ? a : b }'; }
at_most() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a == a + 0 && a + 0 <= b + 0) }'; }
median() {
    sort -g | awk '{ x[NR] = $1 } END { print (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }'
}

# layout RANKS|CUTS|UNITS: ranks to start, the layers at which stages begin, units of each stage
# ("4|2,6|1,2,1"), for a network of eight layers. Writes plan.json; $ranks and $shown are set.
# shellcheck disable=SC2034 # used by the scripts
layout() {
    ranks=${1%%|*}
    cuts=${1#*|}
    cuts=$(echo "${cuts%|*}" | tr , ' ')
    units=$(echo "${1##*|}" | tr , ' ')
    plan_file 8 "$cuts" "$units" >plan.json
    shown=$(echo "0 $cuts" | awk -v units="$units" '{
        split(units, u, " ")
        for (s = 1; s <= NF; s++)
            printf "%s%d-%d on %d", (s > 1 ? ", " : ""), $s, (s < NF ? $(s + 1) - 1 : 7), u[s] }')
}

# layers DECK: how many its network has
layers() {
    sed -n '/^model:/,/^[a-z]*:/p' "inputs/$1.yaml" | grep -c '^  - '
}

# spans_of TRACE: "step rank name begin duration" of a timeline, microseconds, in the order of the
# steps, of a rank's spans the outer ones first
spans_of() {
    sed -n 's/.*"name":"\([a-z]*\)","ph":"X","ts":\([0-9.]*\),"dur":\([0-9.]*\),.*"tid":\([0-9]*\),"args":{"step":\([0-9]*\)}.*/\5 \4 \1 \2 \3/p' \
        "$1" | sort -k 1,1n -k 2,2n -k 4,4n -k 5,5nr
}

# digits N NUMBER: rounded to N digits
digits() { awk -v n="$1" -v x="$2" 'BEGIN { printf "%." n "g\n", x }'; }

# goal TEXT CONDITION...: the last line of a text: was it reached?
goal() {
    hps_goal=$1
    shift
    if "$@"; then
        echo "Goal: $hps_goal: reached."
    else
        echo "Goal: $hps_goal: MISSED."
        hps_failed=$((hps_failed + 1))
    fi
}

# the_end: the status of the script says whether all goals were reached
the_end() { exit $((hps_failed > 0)); }
