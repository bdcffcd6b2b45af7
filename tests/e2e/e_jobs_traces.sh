#!/bin/sh
# Traces of five formats become jobs: each format is told by its columns, or by their number; what a
# job takes on how many units of which type is as its table of speeds has it; clusters that share
# nothing are pools of their own. What is missing or damaged is refused with one line.
. "${srcdir:?}/tests/lib/lib.sh"
HETERPS_DATADIR=$srcdir
export HETERPS_DATADIR
in=$srcdir/inputs/jobs

# simulate ARGUMENT...: a simulation, its result in out.json
simulate() {
    heterps jobs simulate --policy fifo "$@" --json out.json >out 2>err || {
        fail "$* ended with $?"
        cat err
    }
}

# has JOB START END CONFIG SECONDS: what became of a job
has() {
    got=$(awk -F '[:,]' -v job="\"$1\"" '
        /"name"/ { gsub(/ /, "", $2); mine = $2 == job }
        mine && /"start"/ { start = $2 + 0 }
        mine && /"end"/ { end = $2 + 0 }
        mine && inside && !/}/ { gsub(/^ *"|"$/, "", $1); config = $1 " " $2 + 0; inside = 0 }
        mine && /"seconds"/ { inside = 1 }
        mine && /"usd"/ { printf "%.6g %.6g %s", start, end, config }' out.json)
    [ "$got" = "$2 $3 $4 $5" ] || fail "job $1: '$got', wanted is '$2 $3 $4 $5'"
}

# pollux: bert, batch 384, on 8 GPUs takes 2459.83 s
simulate "$in/pollux_workload_1.csv" --speeds "$in/pollux_speeds.csv" --pool 64x4
grep -q '^fifo  *160 ' out || fail 'not 160 jobs of pollux'
has cifar10-0 107 1004.3 '6 gpu' 897.298

# gavel: lines without a header; job 1 has 20776 steps of a Transformer, 15.6 a second on a v100
simulate "$in/gavel_medium.trace" --speeds "$in/gavel_speeds.json" --pool 8x4
grep -q "units are taken for v100" err || fail 'it is not said which type the pool is'
grep -q '^fifo  *20 ' out || fail 'not 20 jobs of gavel'
seconds=$(awk -F '[:,]' '/^"v100"/ { v = 1 } v && /Transformer \(batch size 128\).*1\)":{/ { t = 1 }
    v && t && /"null"/ { printf "%.6g", 20776 / $2; exit }' "$in/gavel_speeds.json")
has 1 0 "$seconds" '1 gpu' "$seconds"
simulate "$in/gavel_medium.trace" --format gavel --speeds "$in/gavel_speeds.json" --pool 8x4

# elasticflow: 3249 iterations of deepspeech2, batch 32, 3.02316 a second on an A100
simulate "$in/elasticflow_60.csv" --speeds "$in/elasticflow_A100" --pool 16x4
has bdd640fb-0667-1ad1-1c80-317fa3b1799d 3.71548e+06 3.71656e+06 '1 gpu' 1074.7
grep -q 'deadlines met: [0-9]* of 60' out || fail 'not 60 deadlines'
simulate "$in/elasticflow_60.csv" --pool 16x4
has bdd640fb-0667-1ad1-1c80-317fa3b1799d 3.71548e+06 3.71656e+06 '1 gpu' 1075

# philly: a cluster is as large as its jobs need at once, so that none waits
simulate "$in/philly_400.csv"
grep -q '^fifo  *400 .* 1.000 ' out || grep -q '^fifo  *400 ' out || fail 'not 400 jobs of philly'
awk -F '[:,]' '/"arrive"/ { a = $2 } /"start"/ && $2 != a { exit 1 }' out.json ||
    fail 'a job of philly waits in a pool of the peak'
simulate "$in/philly_400.csv" --cluster e13805
one=$(awk '/^fifo/ { print $2 }' out)
[ "$one" = "$(grep -c ',e13805$' "$in/philly_400.csv")" ] || fail "$one jobs of cluster e13805"
# with 64 GPUs for both clusters, jobs wait for each other
simulate "$in/philly_400.csv" --pool 1x128 --policy srtf

# Jobs that share a node slow each other as the table of pairs says, and whoever places them knows
# it; one that is moved to make room pays a restart.
set -- --speeds "$in/gavel_speeds.json" --interference "$in/gavel_speeds.json"
# of an hour alone on a V100: its steps, and its seconds beside LM
read -r steps pair <<END
$(awk '/^"v100"/ { v = 1 } v && /^"\(.CycleGAN., 1\)":{/ { row = 1 }
    v && row && /^"null"/ { split($0, n, /[:,}]/); alone = n[2] }
    v && row && /LM \(batch size 80\)., 1\)":\[/ { sub(/.*\[/, ""); sub(/,.*/, "")
        print 3600 * alone, 3600 * alone / $0; exit }' "$in/gavel_speeds.json")
END
for job in "CycleGAN:$steps" 'LM (batch size 80):900000000'; do
    printf '%s\tx\tx\tx\t0\t%.0f\t1\t1\t-1\t0\n' "${job%:*}" "${job#*:}"
done >two.trace
simulate two.trace "$@" --pool 1x2
awk -F '[:,]' -v want="$pair" '
    /"end"/ { exit !($2 > 0.999 * want && $2 < 1.001 * want) }' out.json ||
    fail "CycleGAN beside LM has not taken $pair s"
simulate two.trace "$@" --pool 2x1
awk -F '[:,]' '/"end"/ { exit !($2 > 3590 && $2 < 3610) }' out.json ||
    fail 'CycleGAN on a node of its own has not taken 3600 s'
simulate "$in/pairs_20.trace" "$@" --pool 10x2
with=$(awk '/^fifo/ { print $3 }' out)
simulate "$in/pairs_20.trace" "$@" --pool 10x2 --blind
awk -v a="$with" '/^fifo/ { exit !(a < 0.9 * $3) }' out || fail 'knowing of pairs gains nothing'

# At 120 s two nodes of 4 have 2 GPUs free each: a job of 4 is spread over both, or another moves.
{
    echo job_id,num_gpu,submit_time,duration
    printf '%s\n' 1,2,0,100 2,2,0,300 3,2,0,100 4,2,0,300 5,2,0,300 6,2,0,300 7,4,120,50
} >moves.csv
for rule in '' --migrate; do
    # shellcheck disable=SC2086 # nothing or one word
    simulate moves.csv --pool 3x4 --restart 10 --policy srtf $rule
    awk -F '[:,]' '/"moves"/ { print $2 + 0 }' out.json | tail -n 1 >"moves$rule"
    awk -F '[:,]' '/"end"/ { print $2 + 0 }' out.json | sort -n | tail -n 1 >"last$rule"
done
[ "$(cat moves last | xargs)" = '0 310' ] || fail 'a job moved although it may not'
[ "$(cat moves--migrate last--migrate | xargs)" = '1 320' ] ||
    fail "with --migrate $(cat moves--migrate) jobs moved, the last ended at $(cat last--migrate)"

# refuse CODE PATTERN ARGUMENT...
refuse() {
    hps_code=$1 hps_pattern=$2
    shift 2
    expect "$hps_code" "$hps_pattern" heterps jobs simulate "$@"
    [ "$(grep -c 'error: ' err)" -eq 1 ] || { fail 'not one error'; cat err; }
}
refuse 64 'wants its table of speeds' "$in/pollux_workload_1.csv" --pool 16x4
refuse 64 'wants one table of speeds' "$in/pollux_workload_1.csv" --pool 16x4 \
    --speeds "$in/pollux_speeds.csv" --speeds "$in/pollux_speeds.csv"
refuse 64 "has its jobs' seconds" "$in/tiresias_60.csv" --pool 2x4 --speeds "$in/pollux_speeds.csv"
refuse 64 'has no clusters' "$in/tiresias_60.csv" --pool 2x4 --cluster a
refuse 64 'says nothing of the pool' "$in/elasticflow_60.csv"
refuse 66 'nosuch' "$in/gavel_medium.trace" --pool 2x4 --speeds "$in/gavel_speeds.json" \
    --interference nosuch
refuse 65 'has no jobs of cluster none' "$in/philly_400.csv" --cluster none
refuse 65 'has not the columns of pollux' "$in/tiresias_60.csv" --pool 2x4 --format pollux
refuse 66 'nosuch' "$in/elasticflow_60.csv" --pool 2x4 --speeds nosuch
refuse 66 'nosuch' "$in/pollux_workload_1.csv" --pool 2x4 --speeds nosuch
refuse 65 'no JSON table of speeds' "$in/gavel_medium.trace" --pool 2x4 \
    --speeds "$in/pollux_speeds.csv"
grep -v '^bert,384' "$in/pollux_speeds.csv" >speeds.csv
refuse 65 "no speed of 'bert 384'" "$in/pollux_workload_1.csv" --pool 16x4 --speeds speeds.csv
sed '2s/29.06393317317963/-1/' "$in/pollux_speeds.csv" >speeds.csv
refuse 65 "speeds.csv:2: seconds_per_step is '-1'" "$in/pollux_workload_1.csv" --pool 16x4 \
    --speeds speeds.csv
refuse 65 'has no column batch' "$in/pollux_workload_1.csv" \
    --pool 16x4 --speeds "$in/pollux_workload_1.csv"
sed 's/"null":32.3534/"null":-32.3534/' "$in/gavel_speeds.json" >speeds.json
refuse 65 'has no steps a second, alone' "$in/gavel_medium.trace" --pool 8x4 --speeds speeds.json
mkdir -p tables_x && sed '2s/3.0231577845960493/-3/' "$in/elasticflow_A100/deepspeech2.csv" \
    >tables_x/deepspeech2.csv
refuse 65 "'-3' is no number of iterations" "$in/elasticflow_60.csv" --pool 16x4 --speeds tables_x
sed '2s/2017-[0-9-]*/yesterday/' "$in/philly_400.csv" >bad.csv
refuse 65 'wanted is YYYY-MM-DD' bad.csv
cut -f 1-9 "$in/gavel_medium.trace" >bad.trace
refuse 65 'has not the columns' bad.trace --pool 8x4

echo '-- a journal is a trace, and tells its pool; what a crash left of its last record is none'
journal() {
    echo '{"format": "heterps-journal-1"}'
    printf '{"t": 0.0, "event": "pool", "types": [{"name": "gpu", "price_usd_hour": 3}], '
    echo '"nodes": [{"name": "a", "units": {"gpu": 2}}, {"name": "b", "units": {"gpu": 2}}]}'
    for j in a b c; do
        printf '{"t": 1.0, "event": "arrive", "job": "%s", "arrive": 1, "deadline": null, ' $j
        printf '"priority": 1, "after": [], "asked": 0, '
        echo '"configs": [{"units": {"gpu": 2}, "seconds": 100}]}'
    done
}
journal >journal.jsonl
expect 0 '' heterps jobs simulate journal.jsonl --policy fifo --json whole.json
equal "$(number whole.json makespan_s)" 201.0
equal "$(number whole.json ended)" 3
journal | head -c -9 >cut.jsonl
expect 0 'line 5 is damaged: the 3 records before it count' \
    heterps jobs simulate cut.jsonl --policy fifo --json cut.json
equal "$(number cut.json ended)" 2
expect 0 '' heterps jobs simulate journal.jsonl --policy fifo --pool 3x2 --json other.json
equal "$(number other.json makespan_s)" 101.0
tail -n +2 journal.jsonl >bad.jsonl
refuse 65 'is no journal' bad.jsonl
sed 's/"seconds": 100/"seconds": -100/' journal.jsonl >bad.jsonl
refuse 65 "job 'a' has not arrive, priority and configs" bad.jsonl
grep -v arrive journal.jsonl >bad.jsonl
refuse 65 'no job has arrived' bad.jsonl
refuse 64 "a journal has its jobs' seconds" journal.jsonl --speeds "$in/pollux_speeds.csv"
refuse 66 'nosuch' nosuch.jsonl
verdict
