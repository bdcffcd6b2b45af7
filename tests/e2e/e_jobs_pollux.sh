#!/bin/sh
# Tiresias and Optimus as Pollux' authors simulate them: completion times of single jobs are theirs
# to the second where the speeds of all placements are known, the mean of a workload is within 1 %;
# another restart changes it; what these simulators cannot take is refused.
. "${srcdir:?}/tests/lib/lib.sh"
HETERPS_DATADIR=$srcdir
export HETERPS_DATADIR
in=$srcdir/inputs/jobs

# simulate WORKLOAD POLICY ARGUMENT...
simulate() {
    workload=$1 policy=$2
    shift 2
    heterps jobs simulate "$in/pollux_workload_$workload.csv" --speeds "$in/pollux_speeds.csv" \
        --pool 16x4 --policy "pollux.$policy" --json out.json "$@" >out 2>err ||
        { fail "$policy ended with $?" && cat err; }
}

# took JOB: from its arrival to its end
took() {
    awk -F '[:,]' -v job="\"$1\"" '
        /"name"/ { gsub(/ /, "", $2); mine = $2 == job }
        mine && /"arrive"/ { arrive = $2 }
        mine && /"end"/ { print $2 - arrive }' out.json
}

# near POLICY WORKLOAD: the mean is within 1 % of the authors'
near() {
    awk -F , -v p="$1" -v w="workload-$2" \
        -v got="$(awk -F '[:,]' '/"mean_jct_s"/ { print $2 }' out.json)" '
        $1 == p && $3 == w { found = 1; bad = got > 1.01 * $4 || got < 0.99 * $4
            if (bad) print "FAILED: " p, w ": " got " s, the authors have " $4 }
        END { exit bad || !found }' "$in/pollux_expected.csv" || fail "$1 of workload $2"
}

simulate 7 tiresias
near tiresias 7
for job in bert-5:3150 bert-12:1658 bert-34:1401 bert-48:1365 bert-57:2489 cifar10-1:988 \
    cifar10-10:952 cifar10-15:988 cifar10-58:993 cifar10-79:1107 cifar10-80:1278 bert-78:2360; do
    [ "$(took "${job%:*}")" = "${job#*:}" ] ||
        fail "${job%:*} took $(took "${job%:*}") s, the authors have ${job#*:}"
done
simulate 3 optimus
near optimus 3
before=$(took bert-10)
simulate 3 optimus --restart 300
[ "$(took bert-10)" != "$before" ] || fail 'a restart of 300 s changes nothing'

expect 65 'can run on one unit' heterps jobs simulate "$in/tiresias_60.csv" --pool 2x4 \
    --policy pollux.optimus
verdict
