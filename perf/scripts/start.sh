#!/bin/sh
# start.sh - from the command to the first step, on 1, 2, 4 and 8 ranks, with and without a recorded
# profile, and on four ranks of which one is a server, under bsp and asp: medians of STARTS (5) starts.
# By mpirun, and by srun in a private Slurm on one and on two of its nodes, which are this machine
# (SLURM=0: not). The program's own part is what it says ("ready after"), from its first line; the
# launcher's is the rest. Three minutes.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. "$srcdir/tests/slurm/lib.sh"
goal_seconds=1 starts=${STARTS:-5}

# start COMMAND...: adds the seconds of one start to the files own, all
start() {
    rm -rf runs
    note "$*"
    begin=$(date +%s.%N)
    "$@" 2>&1 >out |
        while read -r line; do
            case $line in
            *'ready after'*) echo "$(date +%s.%N) ${line##*ready after }" ;;
            esac
        done >ready
    [ -s ready ] || give_up 'a run did not come to its first step'
    awk '{ print $2 }' ready >>own
    awk -v begin="$begin" '{ printf "%.3f\n", $1 - begin }' ready >>all
}

# starts_of RANKS PROFILE COMMAND...: a row of the table; the program's seconds stay in $seconds
starts_of() {
    n=$1 what=$2
    shift 2
    : >own
    : >all
    for _ in $(seq $starts); do start "$@"; done
    seconds=$(median <own)
    whole=$(median <all)
    row "$launcher" "$n$served" "$what" "$seconds" "$(sort -g own | xargs)" "$whole" \
        "$(awk -v a="$whole" -v b="$seconds" 'BEGIN { printf "%.2f\n", a - b }')"
    printf '    %s\n' "$*" >>commands
}

# both RANKS LAUNCHER...: a row that measures, a row with the profile that was measured
both() {
    n=$1
    shift
    # shellcheck disable=SC2086 # several words
    set -- "$@" -n "$n" build/heterps train inputs/census.yaml --set train.steps=1 $with
    starts_of "$n" measured "$@"
    cp runs/census/profile.json "profile_$n.json"
    starts_of "$n" recorded "$@" --set "schedule.profile=profile_$n.json"
}

# served WHAT ARGUMENT...: four ranks with such servers and workers
served() {
    served=", $1"
    shift
    with=$*
    both 4 mpirun
    served='' with=''
}

title "Start-up: seconds to the first step, medians of $starts"
served='' with=''
import_census
header launcher ranks profile 'program, s' 'each of them' 'from the command, s' \
    "launcher's part, s"
launcher=mpirun
for ranks in 1 2 4 8; do
    both $ranks mpirun
    [ $ranks -ne 4 ] || on_four=$seconds
done
served 'a server, bsp' --set storage.servers=1
bsp_served=$seconds
served 'three workers and a server, asp' --set storage.servers=1 --set train.workers=3 \
    --set train.synchronization=asp
asp_served=$seconds
if [ "${SLURM:-1}" = 1 ] && PATH=$PATH:/usr/sbin command -v slurmctld >/dev/null; then
    cluster c1:cpu:8:0 c2:cpu:8:0
    trap 'hps_stop; rm -rf "$HPS_TMP"' EXIT
    for nodes in 1 2; do
        launcher="srun -N $nodes"
        for ranks in 2 4 8; do both $ranks srun --mpi=pmix -N "$nodes"; done
    done
else
    note 'no Slurm: only mpirun'
fi
commands
cat <<'EOT'

`profile_N.json` is `runs/census/profile.json` of the same launcher's run on N ranks; `runs` is
removed each time.

EOT
goal "$goal_seconds s on 4 ranks with a recorded profile ($on_four s)" \
    at_most "$on_four" $goal_seconds
goal "the same, one of them a server, bsp ($bsp_served s)" at_most "$bsp_served" $goal_seconds
goal "the same, three workers and a server, asp ($asp_served s)" at_most "$asp_served" $goal_seconds
the_end
