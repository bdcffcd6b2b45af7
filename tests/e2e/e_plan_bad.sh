#!/bin/sh
# A profile, a plan or a limit that is wrong is refused with one line that names it, and nothing is
# planned: numbers that are none, types without units or of one name, plans and profiles of another
# network or pool, stages of nothing, a throughput that cannot be had.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

cat >good.json <<'END'
{"format": "heterps-profile-1", "batch": 10, "examples": 1000, "epochs": 1,
 "throughput_limit": 5, "types": [
  {"name": "cpu", "price_usd_hour": 0.25, "limit": 4},
  {"name": "gpu", "kind": "gpu", "price_usd_hour": 1.5, "limit": 2}],
 "layers": [
  {"name": "emb", "type": "embedding", "input_bytes": 1, "weight_bytes": 8,
   "oct": [2, 1.5], "alpha": [1, 1], "sync": [0.5, 0.5], "beta": [1, 1],
   "recv": [0.125, 0.125], "send": [0.375, 0.375]},
  {"name": "out", "type": "fc", "input_bytes": 1, "weight_bytes": 8,
   "oct": [3, 0.75], "alpha": [1, 1], "sync": [0.5, 0.5], "beta": [1, 1],
   "recv": [0.125, 0.125], "send": [0.375, 0.375]}]}
END

# shellcheck disable=SC2317 # called through expect
plan() { heterps plan --profile "$@"; }

# refuse CODE PATTERN ARGUMENT...: one error, and no plan
refuse() {
    hps_code=$1 hps_pattern=$2
    shift 2
    expect "$hps_code" "$hps_pattern" plan "$@"
    [ "$(grep -c 'error: ' err)" -eq 1 ] || { fail 'not one error'; cat err; }
    [ ! -s out ] || { fail 'something was planned'; cat out; }
}

# bad SED-EXPRESSION PATTERN: the good profile, changed
bad() {
    sed "$1" good.json >bad.json
    cmp -s good.json bad.json && fail "$1 changes nothing"
    refuse 65 "$2" bad.json
}

expect 0 '' plan good.json --json plan.json
shows '^proven'

echo '-- numbers'
bad 's/0.25/-0.25/' 'price_usd_hour of type 0 .cpu. is -0.25, must be finite and not negative'
bad 's/0.25/NaN/' 'bad.json:[0-9]+:[0-9]+'
bad 's/0.25/1e999/' 'bad.json:[0-9]+:[0-9]+'
bad 's/0.25/null/' 'types.0..price_usd_hour'
bad 's/\[2, 1.5\]/[2, -1.5]/' 'oct of layer 0 .emb. on type 1 .gpu. is -1.5'
bad 's/\[2, 1.5\]/[2, Infinity]/' 'bad.json:[0-9]+:[0-9]+'
bad 's/"throughput_limit": 5/"throughput_limit": -5/' 'throughput_limit is -5'
bad 's/"limit": 4/"limit": 0/' 'limit of type 0 .cpu. is 0, must be at least 1'
bad 's/"limit": 4/"limit": -4/' 'limit of type 0 .cpu. is -4'
bad 's/"batch"/"workers": 0, &/' 'workers must be 1 to 1048576'
bad 's/"batch"/"workers": 2.5, &/' 'workers must be a whole number'
bad 's/"batch"/"workers": 5, &/' 'no type has a unit for each worker .5.'
bad 's/"types"/"servers": {"auto": true, "units": 1}, &/' 'servers.units cannot be given where'
bad 's/"types"/"servers": {"auto": true, "type": 2}, &/' 'servers.type must be the index of a type'
bad 's/"types"/"servers": {"auto": true, "type": 1}, &/' 'servers are CPUs, not GPUs of type gpu'
bad 's/"types"/"servers": {"type": 1, "units": 1}, &/' 'servers are CPUs, not GPUs of type gpu'
bad 's/"oct": .2, 1.5./"serve": [-1, 0], &/' 'serve of layer 0 .emb. on type 0 .cpu. is -1'
bad 's/"types"/"servers": {"auto": true}, &/; s/"limit": 4/&, "memory_bytes": 1.9/' \
    'no CPU type has the units for servers that hold 8 bytes of rows'
bad 's/"gpu", "kind"/"cpu", "kind"/' 'types 0 and 1 are both called cpu'
refuse 65 'resources.cpu.limit: 0 is below 1' good.json --set resources.cpu.limit=0
refuse 65 'price_usd_hour' good.json --set resources.cpu.price_usd_hour=-1
refuse 65 'price_usd_hour' good.json --set resources.cpu.price_usd_hour=.nan
refuse 65 'price_usd_hour' good.json --set resources.cpu.price_usd_hour=.inf
refuse 65 'throughput_limit' good.json --set schedule.throughput_limit=-1
refuse 65 'throughput_limit' good.json --set schedule.throughput_limit=.nan
refuse 65 "no entry 'gqu', did you mean 'gpu'" good.json --set resources.gqu.limit=1

echo '-- a throughput that cannot be had'
refuse 65 'no plan reaches 1e\+12 examples/s: the highest .* that can be had is [0-9.]+ .* USD' \
    good.json --set schedule.throughput_limit=1e12
most=$(sed -n 's/.* that can be had is \([0-9.]*\) examples.*/\1/p' err)
expect 0 '' plan good.json --set schedule.throughput_limit="$most"
refuse 65 "no plan reaches" good.json --set schedule.throughput_limit="$(
    awk -v x="$most" 'BEGIN { printf "%.10g", x * 1.0001 }')"

echo '-- plans'
# file SED-EXPRESSION PATTERN: the good plan, changed
file() {
    sed "$1" plan.json >other.json
    cmp -s plan.json other.json && fail "$1 changes nothing"
    refuse 65 "$2" good.json --method file --set schedule.plan=other.json
}
expect 0 '' plan good.json --method file --set schedule.plan=plan.json
file 's/"emb"/"enc"/' 'other.json: the plan is for another network: its layer 0 is enc, here emb'
file 's/"cpu"/"arm"/' 'other.json: the plan is for another pool: its type 0 is arm, here cpu'
file 's/"units": [0-9]*/"units": 0/' 'units, wanted is at least 1'
file 's/"units": [0-9]*/"units": 99/' 'more of type .* than its limit'
file 's/"workers": 1/"workers": 2/' 'the plan is for 2 workers, this run has 1'
file 's/"last": [0-9]*/"last": 9/' 'stage 0 has layers|assignment'
sed 's/"batch"/"workers": 2, &/; s/_limit": 5/_limit": 0/' good.json >two.json
sed 's/"workers": 1/"workers": 2/; s/"units": [0-9]*/"units": 1/' plan.json >odd.json
refuse 65 'odd.json: the 1 units of stage 0 cannot be divided among 2 workers' two.json \
    --method file --set schedule.plan=odd.json
sed 's/"types"/"servers": {"auto": true}, &/' good.json >auto.json
refuse 65 'plan.json: the plan has 0 servers of type 0: wanted is at least 1' auto.json \
    --method file --set schedule.plan=plan.json
cat >empty.json <<'END'
{"format": "heterps-plan-1", "assignment": [0, 0],
 "stages": [{"first": 0, "last": 1, "type": 0, "units": 1},
            {"first": 2, "last": 1, "type": 1, "units": 1}]}
END
refuse 65 'empty.json: stage 1 has layers 2 to 1' good.json --method file \
    --set schedule.plan=empty.json
sed 's/"stages": .*/"stages": [/; s/^ *{"first": 2.*/]}/' empty.json >none.json
refuse 65 'none.json: 0 stages for 2 layers: no stage may be empty' good.json --method file \
    --set schedule.plan=none.json

echo '-- what is read is not written: profile, plan and policy, by any name'
cp "$srcdir/inputs/policy.h5" policy.h5
ln policy.h5 same.h5
ln -s good.json link.json
refuse 64 'good.json is read, it cannot be written too: --json link.json' good.json --json link.json
refuse 64 'plan.json is read, .* too: --pareto plan.json' good.json --method file \
    --set schedule.plan=plan.json --pareto plan.json
refuse 64 'policy.h5 is read, .* too: --json same.h5' good.json --json same.h5 --method rl \
    --set schedule.policy=policy.h5
cmp policy.h5 "$srcdir/inputs/policy.h5" || fail 'the policy was written'
refuse 64 '--pareto x.svg and --json x.svg are one file' good.json --pareto x.svg --json x.svg

echo '-- a deck and a profile or plan of something else'
census
deck=$srcdir/inputs/census.yaml
expect 65 'good.json is of 2 layers and 2 types, the deck has 8 layers' \
    heterps plan "$deck" --set schedule.profile=good.json
expect 65 'plan.json: the plan is for a network of 2 layers, this one has 8' \
    heterps plan "$deck" --method file --set schedule.plan=plan.json
verdict
