#!/bin/sh
# start.sh - from the command to the first step, on 1, 2, 4 and 8 ranks, with and without a recorded
# profile: medians of five starts. The program's own part is what it says ("ready after"), from its
# first line; the launcher's is the rest.
cd "$(dirname "$0")/.." || exit 1
. perf/lib.sh
goal_seconds=1 starts=5

# start RANKS ARGUMENT...: adds the seconds of one start to the files own, all
start() {
    rm -rf runs
    note "mpirun -n $*"
    hps_n=$1
    shift
    begin=$(date +%s.%N)
    mpirun -n "$hps_n" build/heterps train inputs/census.yaml --set train.steps=1 "$@" 2>&1 >out |
        while read -r line; do
            case $line in
            *'ready after'*) echo "$(date +%s.%N) ${line##*ready after }" ;;
            esac
        done >ready
    [ -s ready ] || give_up 'a run did not come to its first step'
    awk '{ print $2 }' ready >>own
    awk -v begin="$begin" '{ printf "%.3f\n", $1 - begin }' ready >>all
}

# starts_of RANKS WHAT ARGUMENT...: a row of the table; the program's seconds stay in $seconds
starts_of() {
    n=$1 what=$2
    shift 2
    : >own
    : >all
    for _ in $(seq $starts); do start "$n" "$@"; done
    seconds=$(median <own)
    whole=$(median <all)
    row "$n" "$what" "$seconds" "$(sort -g own | xargs)" "$whole" \
        "$(awk -v a="$whole" -v b="$seconds" 'BEGIN { printf "%.2f\n", a - b }')"
}

title 'Start-up: seconds to the first step, medians of five'
import_census
header ranks profile 'program, s' 'each of them' 'from the command, s' "launcher's part, s"
for ranks in 1 2 4 8; do
    starts_of $ranks measured
    cp runs/census/profile.json "profile_$ranks.json"
    starts_of $ranks recorded --set "schedule.profile=profile_$ranks.json"
    [ $ranks -ne 4 ] || on_four=$seconds
done
commands
for ranks in 1 2 4 8; do
    line="    mpirun -n $ranks build/heterps train inputs/census.yaml --set train.steps=1"
    echo "$line"
    echo "$line --set schedule.profile=profile_$ranks.json"
done
cat <<'EOT'

`profile_N.json` is `runs/census/profile.json` of a run on N ranks; `runs` is removed each time.

EOT
goal "$goal_seconds s on 4 ranks with a recorded profile ($on_four s)" \
    at_most "$on_four" $goal_seconds
the_end
