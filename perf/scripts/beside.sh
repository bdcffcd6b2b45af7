#!/bin/sh
# beside.sh OLD [ROUNDS] - how long short commands take with another program (OLD, of another
# revision) and with this one, in turn: `info` of a dataset, and two steps of training on 1, 2 and 4
# ranks with a recorded profile. Medians of ROUNDS (15), and of the differences of each round.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
old=${1:?which program?} rounds=${2:-15} most_ms=20
old=$(cd "$(dirname "$old")" && pwd)/${old##*/}

# took PROGRAM COMMAND...: its milliseconds; PROGRAM takes the place of the word @
took() {
    program=$1
    shift
    rm -rf runs
    begin=$(date +%s%N)
    # shellcheck disable=SC2091 # words, not a condition
    $(echo "$*" | sed "s|@|$program|") >out 2>err || give_up "$* ended with $?"
    echo $((($(date +%s%N) - begin) / 10000)) | sed 's/..$/.&/'
}

# pair WHAT COMMAND...: a row of the table; $more is the median of the differences
pair() {
    what=$1
    shift
    note "$what"
    : >old.ms
    : >new.ms
    for _ in $(seq "$rounds"); do
        took "$old" "$@" >>old.ms
        took "$PWD/build/heterps" "$@" >>new.ms
    done
    more=$(paste old.ms new.ms | awk '{ print $2 - $1 }' | median)
    row "$what" "$(median <old.ms)" "$(median <new.ms)" "$more"
}

title "Short commands beside $("$old" --version | sed -n '1s/heterps //p')"
import_census
train='@ train inputs/census.yaml --set train.steps=2 --set data.test='
quiet build/heterps train inputs/census.yaml --set train.steps=2
cp runs/census/profile.json .
header command 'before, ms' 'now, ms' 'differences, ms'
pair 'info' @ info data/census_train.h5
info=$more
for n in 1 2 4; do
    # shellcheck disable=SC2086 # words
    pair "train, $n ranks" mpirun --bind-to none -n $n $train \
        --set schedule.profile=profile.json --set schedule.method=single:cpu
done
echo
goal "what looks through a file first takes $most_ms ms at most ($info)" at_most "$info" $most_ms
the_end
