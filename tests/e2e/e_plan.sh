#!/bin/sh
# A pool on paper is planned by any method, or by all side by side; a second opinion in another
# language agrees with every plan; what cannot be planned is refused.
. "${srcdir:?}/tests/lib/lib.sh"

# embedding layers gain little on a GPU, the others much
awk 'BEGIN {
    printf "{\"format\": \"heterps-profile-1\", \"batch\": 512, \"examples\": 1000000,"
    printf " \"epochs\": 1, \"throughput_limit\": 20000, \"types\": ["
    printf "{\"name\": \"cpu\", \"price_usd_hour\": 0.04, \"limit\": 480},"
    printf "{\"name\": \"old\", \"kind\": \"gpu\", \"price_usd_hour\": 2.42, \"limit\": 32},"
    printf "{\"name\": \"new\", \"kind\": \"gpu\", \"price_usd_hour\": 4.1, \"limit\": 16}],"
    printf " \"layers\": ["
    for (l = 0; l < 6; l++) {
        work = 0.2 + 0.1 * (l * 7 % 5)
        fast = l % 3 ? 40 : 3
        kind = l % 3 ? "fc" : "embedding"
        printf "%s{\"name\": \"l%d\", \"type\": \"%s\",", l ? "," : "", l, kind
        printf " \"input_bytes\": 1, \"weight_bytes\": 1, \"oct\": [%g, %g, %g],", \
               work, work / fast, work / fast / 2.5
        printf " \"alpha\": [0.99, 0.99, 0.98], \"sync\": [0.05, 0.01, 0.01],"
        printf " \"beta\": [0.9, 0.9, 0.9],"
        printf " \"recv\": [0.02, 0.02, 0.02], \"send\": [0, 0.01, 0.01]}"
    }
    print "]}"
}' >profile.json

budget='--set schedule.seconds=0 --set schedule.evaluations=800'
# shellcheck disable=SC2086,SC2317 # the budget is several words; called through expect
plan() { heterps plan --profile profile.json $budget "$@"; }

expect 0 '' plan
shows '^replayed, event by event: '
shows '^runner-up: layers .* USD, .* % more '
shows '^one type alone: '
zero='[0, 0, 0]'
sed "s/\"throughput_limit\": 20000,/& \"engine\": {\"batch\": 2048, \"microbatches\": 4,\
    \"read_s\": $zero, \"micro_s\": $zero, \"step_s\": $zero, \"unsure\": [0.5, 0.5, 0.5]},/" \
    profile.json >unsure.json
# shellcheck disable=SC2086 # the budget is several words
expect 0 '' heterps plan --profile unsure.json $budget
shows '^runner-up: .*; a tie: what was measured is unsure by 100 %'
# shellcheck disable=SC2086 # the budget is several words
expect 0 '' plan
least=$(sed -n 's/^plan by rl: .* s, \([0-9.e-]*\) USD .*/\1/p' out)
expect 0 '' plan --method all --json all.json
cp out table
for method in rl rl-rnn rl-joint exact brute greedy ils genetic bayes heuristic \
    single:cpu single:old single:new; do
    shows "^$method  *([0-9.]+ .* %|no plan)|^no plan: .*$method"
done
for method in rl rl-rnn exact brute ils genetic bayes; do
    close "$least" "$(awk -v m=$method '$1 == m { print $2 }' table)" 1e-5
done
shows '^no plan of at least 20000 examples/s costs less .*proven'
for method in rl rl-rnn rl-joint exact brute greedy ils genetic bayes; do
    expect 0 '' plan --method $method --json $method.json
done
expect 0 '' plan --method all --json -
head -n 2 out | grep -q '"format": "heterps-plans-1"' || fail 'JSON is not alone on the output'
if python3 -c '' 2>/dev/null; then
    for file in all rl rl-rnn rl-joint exact brute greedy ils genetic bayes; do
        expect 0 '' python3 "$srcdir/tests/oracle/plan_oracle.py" profile.json $file.json
    done
fi

# a server, little memory, and what a step costs beside its layers: by all methods, with stages that
# share and for the engine
sed -e 's/"limit"/"memory_bytes": 4, "limit"/g; s/"alpha"/"state_bytes": 1, "reads": true, &/g' \
    -e 's/"alpha"/"forward": [0.05, 0.001, 0.001], "once": [0.01, 0.001, 0.002], &/g' \
    -e 's/"types"/"servers": {"type": 0, "units": 3}, &/' \
    -e 's/"types"/"engine": {"batch": 1536, "microbatches": 3, "read_s": [1e-5, 2e-5, 3e-5], &/' \
    -e 's/"types"/"micro_s": [0.001, 0.002, 0.003], "step_s": [0.002, 0.003, 0.001]}, &/' \
    -e 's/"throughput_limit": 20000/"throughput_limit": 4000/' profile.json >rich.json
set --
for share in false true; do
    for objective in model engine; do
        for method in all best file; do
            [ $method != file ] || file="--set schedule.plan=rich_${share}_${objective}_best.json"
            [ $method = file ] || file=
            # shellcheck disable=SC2086 # two words or none
            expect 0 '' heterps plan --profile rich.json --method $method $file $budget \
                --set schedule.share=$share --set schedule.objective=$objective \
                --json rich_${share}_${objective}_$method.json
            set -- "$@" rich.json rich_${share}_${objective}_$method.json
        done
    done
done
grep -q '"share": *\[' rich_true_*_all.json || fail 'no stages share'
python3 -c '' 2>/dev/null && expect 0 '' python3 "$srcdir/tests/oracle/plan_oracle.py" "$@"

expect 0 '' plan --method best --set schedule.warm=greedy --json best.json
shows '^plan by best \(rl\), begun with the plan of greedy:'
shows '^exact found none cheaper'
close "$least" "$(number best.json cost_usd)" 1e-5
expect 0 '' plan --method single:old
shows '^exact proved a plan that costs .* % less: schedule.method: best takes it'
expect 65 'schedule.warm: names the method itself' plan --method ils --set schedule.warm=ils
expect 65 'schedule.warm: this method does not begin with a plan' \
    plan --method heuristic --set schedule.warm=greedy
expect 65 'schedule.plan: must name the plan' plan --method ils --set schedule.warm=file

expect 65 'brute: 3 types for 6 layers are 729 plans' \
    plan --method brute --set schedule.evaluations=700
expect 65 'schedule.seconds: .* one must be above 0' \
    plan --method ils --set schedule.evaluations=0
expect 65 'no plan reaches 1000000000 examples/s' \
    plan --method all --set schedule.throughput_limit=1e9

# stages that share their units, and plans for the engine: never cheaper than they may be; exact's
# are best under the other model, where sums and waiting cost nothing
for method in exact brute ils; do
    expect 0 '' plan --method $method --set schedule.share=true --json share.json
    [ $method = exact ] ||
        expect 0 '' plan --method $method --set schedule.objective=engine --json engine.json
    if python3 -c '' 2>/dev/null; then
        expect 0 '' python3 "$srcdir/tests/oracle/plan_oracle.py" profile.json share.json
        [ $method = exact ] ||
            expect 0 '' python3 "$srcdir/tests/oracle/plan_oracle.py" profile.json engine.json
    fi
done

# a large and a small dense part between embeddings, few GPUs: one of them does both
awk 'BEGIN {
    printf "{\"format\": \"heterps-profile-1\", \"batch\": 512, \"examples\": 1000000,"
    printf " \"epochs\": 1, \"throughput_limit\": 5000, \"types\": ["
    printf "{\"name\": \"cpu\", \"price_usd_hour\": 0.04, \"limit\": 64}, "
    printf "{\"name\": \"gpu\", \"kind\": \"gpu\", \"price_usd_hour\": 4, \"limit\": 2}],"
    printf " \"layers\": ["
    for (l = 0; l < 5; l++) {
        kind = l % 2 ? "fc" : "embedding"
        gpu = l == 1 ? 0.02 : l == 3 ? 0.005 : 5
        printf "%s{\"name\": \"l%d\", \"type\": \"%s\",", l ? "," : "", l, kind
        printf " \"input_bytes\": 1, \"weight_bytes\": 1,"
        printf " \"oct\": [%g, %g], \"alpha\": [1, 1],", l % 2 ? 20 : 0.05, gpu
        printf " \"sync\": [0, 0], \"beta\": [1, 1],"
        printf " \"recv\": [0.001, 0.001], \"send\": [0.001, 0.001]}"
    }
    print "]}"
}' >tower.json
expect 0 '' heterps plan --profile tower.json $budget --method exact --json plain.json
expect 0 '' heterps plan --profile tower.json $budget --method ils --set schedule.share=true \
    --json share.json
grep -q '"share": *\[' share.json || fail 'no stages share where that is cheaper'
awk -v a="$(number plain.json cost_usd)" -v b="$(number share.json cost_usd)" \
    'BEGIN { exit !(b < 0.7 * a) }' || fail 'to share does not pay'
python3 -c '' 2>/dev/null &&
    expect 0 '' python3 "$srcdir/tests/oracle/plan_oracle.py" tower.json share.json

# workers, each with a part of the units of every stage
for workers in 2 3; do
    sed "s/\"examples\"/\"workers\": $workers, &/" profile.json >many.json
    for objective in model engine; do
        expect 0 '' heterps plan --profile many.json $budget --set schedule.share=true \
            --set schedule.objective=$objective --json many_plan.json
        shows "^$workers workers: each has 1/$workers of the units of every stage"
        python3 -c '' 2>/dev/null &&
            expect 0 '' python3 "$srcdir/tests/oracle/plan_oracle.py" many.json many_plan.json
    done
done

# dedicated servers, which work for every example: of the number and type that the plan chooses, or
# that are given; those are never cheaper
sed 's/"oct"/"serve": [0.4, 0.1, 0.1], &/; s/"types"/"servers": {"auto": true}, &/' \
    profile.json >auto.json
for objective in model engine; do
    expect 0 '' heterps plan --profile auto.json $budget --set schedule.objective=$objective \
        --json auto_$objective.json
    shows '^ *parameter servers +cpu +[0-9]+ '
    python3 -c '' 2>/dev/null &&
        expect 0 '' python3 "$srcdir/tests/oracle/plan_oracle.py" auto.json auto_$objective.json
done
expect 0 '' heterps plan --profile auto.json $budget --method exact --json auto.plan.json
shows '^proven'
for units in 10 60 120; do
    sed "s/{\"auto\": true}/{\"type\": 0, \"units\": $units}/; s/\(_limit\": \)20000/\10/" \
        auto.json >given.json
    expect 0 '' heterps plan --profile given.json $budget --method exact --json given_plan.json
    awk -v a="$(number auto.plan.json cost_usd)" -v b="$(number given_plan.json cost_usd)" \
        -v x="$(number given_plan.json throughput)" 'BEGIN { exit !(a <= b || x < 20000) }' ||
        fail "$units given servers are cheaper than those that were chosen"
    python3 -c '' 2>/dev/null &&
        expect 0 '' python3 "$srcdir/tests/oracle/plan_oracle.py" given.json given_plan.json
done
expect 0 '' heterps plan --profile auto.json --method file --set schedule.plan=auto.plan.json
close "$(number auto.plan.json cost_usd)" \
    "$(sed -n 's/^plan by file: .* s, \([0-9.e-]*\) USD .*/\1/p' out)" 1e-5

# memory: the cheapest plan does not fit, another does; where none does, who needs what is said
sed 's/"limit"/"memory_bytes": 1.5, "limit"/g' profile.json >short.json
expect 0 '' heterps plan --profile short.json $budget --json short_plan.json
if python3 -c '' 2>/dev/null; then
    expect 0 '' python3 "$srcdir/tests/oracle/plan_oracle.py" short.json short_plan.json
    expect 1 '' python3 "$srcdir/tests/oracle/plan_oracle.py" short.json exact.json
    shows 'needs .* bytes on a unit'
fi
expect 65 'exact.json: stage [0-9] needs [0-9.]* bytes on each of [0-9]* units of type' \
    heterps plan --profile short.json --method file --set schedule.plan=exact.json
sed 's/"limit"/"memory_bytes": 0.9, "limit"/g' profile.json >none.json
expect 65 'no plan fits the memory of its units: layer l1 needs 1 bytes on each of' \
    heterps plan --profile none.json $budget
expect 64 "'every' is none of the methods all.rl" plan --method every
verdict
