#!/bin/sh
# What to expect of a list of jobs: a job without a profile is measured once for all that are as
# fast, and kept; then the list is planned again without measuring, and simulated, to the same
# figures. Twice the steps are twice the seconds. Every deck is checked before, by a child. Jobs
# that never fit, deadlines that are missed are named.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
HETERPS_DATADIR=$srcdir
export HETERPS_DATADIR
bags 900
echo 'schedule: {method: greedy}' >>bags.yaml

# list NAME JOBS...: a list on a pool of four nodes
list() {
    {
        echo "pool: {name: $1, policy: fifo}"
        echo 'types: [{name: cpu, price_usd_hour: 36}]'
        echo 'nodes: [{name: "n[0-3]", units: {cpu: 4}}]'
        shift
        printf '%s\n' "$@"
    } >list.yaml
}

# refuse CODE PATTERN ARGUMENT...: one line
refuse() {
    hps_code=$1 hps_pattern=$2
    shift 2
    expect "$hps_code" "$hps_pattern" heterps jobs "$@"
    [ "$(grep -c 'error: ' err)" -eq 1 ] || { fail 'not one error'; cat err; }
}

echo '-- measured once'
list p 'jobs:' '  - {name: once, deck: bags.yaml}' \
    '  - {name: twice, deck: bags.yaml, set: {train.steps: 24}, arrive: 1, deadline: 2}' \
    'sweep:' '  - {name: lr, deck: bags.yaml, arrive: 2, over: {train.learning_rate: [0.1, 0.2]}}'
refuse 66 "job 'once' has no profile" simulate list.yaml
expect 0 "job 'once' has no profile: it is measured" heterps jobs plan list.yaml --json first.json \
    --gantt first.svg --csv first.csv
equal "$(grep -c 'it is measured' err)" 1
equal "$(find pools/p/profiles -type f | wc -l)" 1
shows '^lr-0.2 '
shows "^The deadline of 'twice', 2 s, "
expect 0 '' heterps jobs plan list.yaml --json again.json
! grep -q measured err || fail 'it was measured again'
cmp first.json again.json || fail 'planned again, the list comes to something else'
expect 0 '' heterps jobs simulate list.yaml --json simulated.json
equal "$(number simulated.json mean_jct_s)" "$(number first.json mean_jct_s)"
equal "$(($(wc -l <first.csv) - 1))" 4
grep -q '"deadlines_missed"' first.json || fail 'no missed deadlines in the JSON'

echo '-- the steps decide'
# seconds NAME SET: of a job alone, without its start
seconds() {
    list p "jobs: [{name: $1, deck: bags.yaml, set: {$2}, units: {min: 4, max: 4}}]"
    heterps jobs plan list.yaml --restart 0 --json one.json >/dev/null 2>err || cat err
    number one.json makespan_s
}
s12=$(seconds a 'train.steps: 12')
s24=$(seconds b 'train.steps: 24')
close "$s24" "$(awk -v s="$s12" 'BEGIN { printf "%.12g", 2 * s }')" 1e-9
close "$(number one.json usd)" "$(awk -v s="$s24" 'BEGIN { printf "%.12g", 4 * s / 100 }')" 1e-9

echo '-- a speed fitted to what runs measured'
# ran NAME UNITS EXAMPLES_S: a run of pool q that has ended
ran() {
    mkdir -p "pools/q/jobs/$1"
    cp bags.yaml "pools/q/jobs/$1/deck.yaml"
    echo '{"format": "heterps-status-1", "state": "finished"}' >"pools/q/jobs/$1/status.json"
    echo '{"format": "heterps-report-1", "epoch_examples": 900, "examples_s": '"$3"',' \
        '"stages": [{"type": "cpu", "units": '"$2"', "shares": null}]}' \
        >"pools/q/jobs/$1/report.json"
}
ran a 1 1000
ran b 2 2000
list q 'jobs:' '  - {name: a, deck: bags.yaml}' '  - {name: b, deck: bags.yaml}' \
    '  - {name: c, deck: bags.yaml, units: {min: 4, max: 4}}'
expect 0 "job 'c' has no profile: its speed is fitted to 2 measured runs" \
    heterps jobs plan list.yaml --restart 0 --json fitted.json
close "$(number fitted.json makespan_s)" 0.18 1e-6      # 720 examples, 4000 in a second
[ ! -e pools/q/profiles ] || fail 'it was measured all the same'
sed -i 's/width: 16/width: 8/' pools/q/jobs/[ab]/deck.yaml
refuse 66 'has no profile, so nobody' simulate list.yaml   # those were runs of another network

echo '-- who waits for whom'
list p 'jobs:' '  - {name: c, deck: bags.yaml, after: [b, lr]}' \
    '  - {name: b, deck: bags.yaml, after: lr}' \
    'sweep: [{name: lr, deck: bags.yaml, over: {train.learning_rate: [0.1, 0.2]}}]'
expect 0 '' heterps jobs plan list.yaml --csv waits.csv
starts() { awk -F , -v j="$1" '$1 == j { print $9 }' waits.csv; }
ends() { awk -F , -v j="$1" '$1 == j { print $10 }' waits.csv; }
equal "$(starts c)" "$(ends b)"
equal "$(starts b)" "$(printf '%s\n' "$(ends lr-0.1)" "$(ends lr-0.2)" | sort -g | tail -n 1)"
refuse 65 'tiresias.fifo knows no jobs that wait' plan list.yaml --policy tiresias.fifo

echo '-- what is wrong is named'
list p 'jobs: [{name: a, deck: bags.yaml}, {name: b, deck: bags.yaml, set: {train.step: 3}}]'
refuse 65 "job 'b': its deck fails its check: .*unknown key 'step'" plan list.yaml
list p 'jobs: [{name: a, deck: bags.yaml, set: {data.train: none.h5}}]'
refuse 66 "job 'a': its deck fails its check: .*none.h5" plan list.yaml
refuse 65 "tiresia" plan list.yaml --set pool.tiresia.queues=5
refuse 65 "'quick' is none of the policies" plan list.yaml --set pool.policy=quick
list p 'jobs: [{name: a, deck: none.yaml}]'
refuse 66 "job 'a': its deck fails its check: none.yaml" plan list.yaml
list p 'jobs: [{name: a, deck: bags.yaml, units: {min: 99}}]'
refuse 65 "list.yaml:.*job 'a' can never run on this pool: it needs 99 " plan list.yaml
list p 'jobs: [{name: a, deck: bags.yaml}, {name: a, deck: bags.yaml}]'
refuse 65 "two jobs are called 'a'" plan list.yaml
list p 'jobs: [{name: a, deck: bags.yaml, deadline: 1, arrive: 3}]'
refuse 65 '1 s has passed when the job arrives' plan list.yaml
list p 'jobs: [{name: a, deck: bags.yaml}]'
echo 'types: [{name: gpu}]' >other.yaml
echo 'nodes: [{name: n, units: {gpu: 4}}, {name: m, units: {gpu: 4}}]' >>other.yaml
refuse 65 'it has none of the types' plan list.yaml --pool other.yaml
refuse 64 'no list of jobs' plan "$srcdir/inputs/jobs/tiresias_60.csv"
refuse 64 'policy all is for' plan list.yaml --policy all

echo '-- two jobs whose ranks mostly wait for a link, one node of both is the same'
/usr/bin/python3 - pools/p/profiles/* <<'END' >slow.json
import json, sys
p = json.load(open(sys.argv[1]))
for layer in p["layers"]:
    layer["sync"] = [1e5 * x for x in layer["sync"]]
    layer["beta"] = [1 for x in layer["sync"]]
json.dump(p, sys.stdout)
END
four='deck: bags.yaml, set: {schedule.profile: slow.json}, units: {min: 4, max: 4}'
list links 'jobs:' "  - {name: a, $four}"
sed -i 's/0-3/0-2/; s/cpu: 4/cpu: 3/' list.yaml
expect 0 '' heterps jobs simulate list.yaml --restart 0 --json alone.json
list links 'jobs:' "  - {name: a, $four}" "  - {name: b, $four}"
sed -i 's/0-3/0-2/; s/cpu: 4/cpu: 3/' list.yaml
expect 0 '' heterps jobs simulate list.yaml --restart 0 --json both.json
awk -v a="$(number alone.json mean_jct_s)" -v b="$(number both.json mean_jct_s)" \
    'BEGIN { exit !(b > 1.2 * a && b < 2.1 * a) }' || fail 'the link is not shared'
verdict
