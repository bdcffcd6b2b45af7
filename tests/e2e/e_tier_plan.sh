#!/bin/sh
# What is promised of rows in a file: a step that takes longer than with all rows in memory, whose
# hits, made, read and written rows are those of the run within a tenth; the same from a recorded
# profile. What cannot be in a profile is refused. A plan that needs a file is none without.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

bags 60
sed 's/buckets: \[700, 700, 700, 40\]/buckets: [20000, 20000, 20000, 400]/; s/bags\.h5/wide.h5/g' \
    bags.yaml >wide.yaml
echo 'resources: [{name: cpu, match: "*", price_usd_hour: 1}]' >>wide.yaml
expect 0 '' heterps generate wide.yaml --rows 1200 --output wide.h5
mkdir disk
set -- --set run.threads=1 --set schedule.method=single:cpu
part='--set storage.file=disk --set storage.host_memory=500000'

# promised: examples/s, of what a check printed
promised() { sed -n 's/^replayed, event by event: \([0-9.e+]*\) .*/\1/p' out; }
# told WORD: the number before a word of what a check printed of rows
told() { sed -n "s/^  rows of ids: .* \([0-9.]*\) $1[,:].*/\1/p" out; }
# counted KEY: the number of the run, of a step
counted() {
    sed -n '/^ "tiers": \[/,/^ \]/p' run/report.json |
        awk -v key="\"$1\":" -v n=20 '$1 == key { printf "%.6g\n", $2 / n; exit }'
}
# near NAME NUMBER OTHER: within a tenth, or ten rows
near() {
    awk -v x="$2" -v y="$3" 'BEGIN { d = x - y
        exit !(x != "" && (d < 0 ? -d : d) <= 0.1 * y + 10) }' || fail "$1: $2, in truth $3"
}

echo '-- what a check says, and what the run counts'
# shellcheck disable=SC2086 # words
expect 0 '' ranks 1 train wide.yaml --check "$@" --set train.steps=20 $part
shows '^rows: each of the 1 units of stage 0 has .* GB: 0.0005 in memory, .*, on ranks 0$'
cp out check
# shellcheck disable=SC2086 # words
expect 0 '' ranks 1 train wide.yaml "$@" --set train.steps=20 --set run.directory=run $part
cp check out
near made "$(told made)" "$(counted made)"
there=$(told '% of them there')
near hits "$(awk -v r="$(told rows)" -v h="$there" 'BEGIN { print r * h / 100 }')" \
    "$(counted hits)"
near written "$(told written)" "$(counted written)"
near rows "$(told rows)" "$(counted asked)"

echo '-- a recorded profile'
profile=run/profile.json
grep -q '"first_hits"' $profile || fail 'the profile has no sample'
# shellcheck disable=SC2086 # words
expect 0 '' ranks 1 train wide.yaml --check "$@" --set train.steps=20 $part \
    --set schedule.profile=$profile
first=$(promised)
equal "$(told made)" "$(cp check out && told made)"
# shellcheck disable=SC2086 # words
expect 0 '' ranks 1 train wide.yaml --check "$@" --set train.steps=20 $part \
    --set schedule.profile=$profile
equal "$(promised)" "$first"
expect 0 '' ranks 1 train wide.yaml --check "$@" --set train.steps=20 \
    --set schedule.profile=$profile
! grep -q "^rows: " out || fail "rows without a file"
awk -v x="$(promised)" -v y="$first" 'BEGIN { exit !(x > y) }' || fail 'files take no time'

echo '-- refused'
# no KEY PATTERN: a profile with another first number of KEY
no() {
    awk -v key="\"$1\":" '{ print } index($0, key) && !done {
        done = 1
        getline
        sub(/[0-9.e+-]+/, "-1")
        print
    }' $profile >bad.json
    # shellcheck disable=SC2086 # words
    expect 65 "$2" ranks 1 train wide.yaml --check $part --set schedule.profile=bad.json
}
no take 'tier.take of layer .* must be finite and not negative'
no hits 'tier.hits of layer .* cannot be'
no distinct 'tier.distinct of layer .* cannot be'
no reads_s 'tier.reads_s of type .* must be finite and not negative'

echo '-- memory'
small='--set resources.cpu.memory=700000'
# shellcheck disable=SC2086 # words
{
    expect 65 'no plan fits the memory' ranks 1 train wide.yaml --check "$@" $small
    expect 0 '' ranks 1 train wide.yaml --check "$@" $small $part
}
verdict
