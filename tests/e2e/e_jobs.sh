#!/bin/sh
# Jobs that share a pool: what Tiresias' authors simulate comes out as they have it, each job's
# start, end and preemptions under ten policies; the policies of a real pool give away no unit
# twice, and end all jobs. Bad pools, policies and traces are refused with one line.
. "${srcdir:?}/tests/lib/lib.sh"
HETERPS_DATADIR=$srcdir
export HETERPS_DATADIR
trace=$srcdir/inputs/jobs/tiresias_60.csv

# simulate POLICY: rows "job start end preempted", in the order of jobs
simulate() {
    heterps jobs simulate "$trace" --pool 2x4 --policy "$1" --json out.json >/dev/null 2>err || {
        fail "$1 ended with $?"
        cat err
    }
    awk -F '[:,]' '
        /"name"/ { gsub(/[ "]/, "", $2); name = $2 }
        /"start"/ { start = $2 + 0 }
        /"end"/ { end = $2 + 0 }
        /"preempted"/ { print name, start, end, $2 + 0 }' out.json | sort -n
}

for policy in $(cut -d , -f 2 "$srcdir/tests/e2e/e_jobs_tiresias.csv" | sort -u); do
    [ "$policy" != policy ] || continue
    simulate "tiresias.$policy" >got
    awk -F , -v p="$policy" '$2 == p { print $3, $6, $7, $9 }' \
        "$srcdir/tests/e2e/e_jobs_tiresias.csv" | sort -n >wanted
    [ "$(wc -l <wanted)" = 60 ] || fail "the table has not 60 jobs of $policy"
    cmp -s got wanted || {
        fail "$policy is not as its authors have it"
        diff got wanted | head -n 5
    }
done

for policy in fifo backfill drf srtf las tiresias gittins optimus maxmin elasticflow hesrpt; do
    simulate $policy >got
    [ "$(wc -l <got)" = 60 ] || fail "$policy: $(wc -l <got) jobs"
    grep -q 'null' out.json && fail "$policy left a job undone"
done
heterps jobs simulate "$trace" --pool 2x4 --policy all --set pool.dl2.taught=9 \
    --set pool.dl2.tried=0 >out 2>err || fail "all ended with $?"
grep -q '^srtf  *60  *519.867 ' out || fail 'all has not srtf'
grep -q '^dl2  *60 ' out || { fail 'all has not dl2, or it left a job undone'; cat out; }

# parameters are heard
heterps jobs simulate "$trace" --pool 2x4 --policy tiresias \
    --set 'pool.tiresias.queues=[100, 500]' >out || fail "--set ended with $?"
grep -q '^tiresias  *60  *716.217 ' out || { fail 'other queues are not heard'; cat out; }
heterps jobs simulate "$trace" --pool 2x4 --policy backfill --set pool.backfill.kind=conservative \
    >out || fail "conservative ended with $?"

# The proof of a bound convinces a program that shares no source; 100 changed ones do not.
if command -v python3 >/dev/null; then
    heterps jobs simulate "$trace" --pool 2x4 --policy srtf --bound --json proof.json >out 2>err ||
        fail "--bound ended with $?"
    grep -q 'no schedule has a mean JCT below 38[0-9.]* s' out || fail 'no bound in the table'
    python3 "$srcdir/tests/oracle/jobs_oracle.py" proof.json >out || fail 'the proof does not hold'
    heterps jobs simulate "$trace" --pool 2x4 --bound --set pool.objective=makespan \
        --json span.json >out || fail "--bound of the makespan ended with $?"
    grep -q 'no schedule has a makespan below' out || fail 'no bound of the makespan'
    python3 "$srcdir/tests/oracle/jobs_oracle.py" span.json || fail 'its proof does not hold'
    python3 - "$srcdir/tests/oracle" <<'END' || fail 'a changed proof was accepted'
import json, random, sys
sys.path.insert(0, sys.argv[1])
import jobs_oracle
good = json.load(open("proof.json"))
random.seed(1)
for k in range(100):
    bad = json.loads(json.dumps(good))
    prices = bad["certificate"]["prices"]
    for i in random.sample(range(len(prices)), len(prices) // 4):
        prices[i] = [p * random.uniform(0.3, 2) + random.uniform(0, 0.1) for p in prices[i]]
    json.dump(bad, open("bad.json", "w"))
    sys.argv[1:] = ["bad.json"]
    if jobs_oracle.main() == 0:
        sys.exit(1)
for name in ("proof.json", "span.json"):
    bad = json.load(open(name))
    bad["certificate"]["lower_bound"] *= 1.01
    json.dump(bad, open("bad.json", "w"))
    if jobs_oracle.main() == 0:
        sys.exit(1)
END
fi

# refuse CODE PATTERN ARGUMENT...
refuse() {
    hps_code=$1 hps_pattern=$2
    shift 2
    expect "$hps_code" "$hps_pattern" heterps jobs "$@"
    [ "$(grep -c 'error: ' err)" -eq 1 ] || { fail 'not one error'; cat err; }
}
refuse 64 'wants `simulate` or `plan`' simulat
refuse 64 '--pool NODESxUNITS is wanted' simulate "$trace"
refuse 64 '--pool 2x is no pool' simulate "$trace" --pool 2x
refuse 64 "'fast' is none of the policies" simulate "$trace" --pool 2x4 --policy fast
refuse 64 'no number of seconds' simulate "$trace" --pool 2x4 --restart -1
refuse 65 "'usd' is none of jct" simulate "$trace" --pool 2x4 --set pool.objective=usd
refuse 64 'is none of tiresias' simulate "$trace" --pool 2x4 --format slurm
refuse 65 "unknown key 'queue', did you mean 'queues'" simulate "$trace" --pool 2x4 \
    --set pool.tiresias.queue=1
refuse 65 "'5' is no service above 10" simulate "$trace" --pool 2x4 \
    --set 'pool.tiresias.queues=[10, 5]'
refuse 66 'nosuch.csv' simulate nosuch.csv --pool 2x4
refuse 65 "job '1' can never run: the pool has 4 units, it needs 8" \
    simulate "$trace" --pool 1x4
echo 'a,b' >bad.csv && echo '1,2' >>bad.csv
refuse 65 'bad.csv: its first line has not the columns' simulate bad.csv --pool 2x4
sed '3s/,8,/,eight,/' "$trace" >bad.csv
refuse 65 "bad.csv:3: num_gpu is 'eight', wanted is a whole number" simulate bad.csv --pool 2x4
sed '5s/$/,7/' "$trace" >bad.csv
refuse 65 'bad.csv:5: 8 columns, the first line has 7' simulate bad.csv --pool 2x4
head -n 1 "$trace" >bad.csv
refuse 65 'bad.csv: has no lines' simulate bad.csv --pool 2x4
verdict
