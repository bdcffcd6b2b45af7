#!/bin/sh
# rank.sh [MOVIELENS_DIR] - six problems of two ranks of two types, which are to be as fast as they
# can: every plan is trained, and the one that the engine's model (the paper's) calls fastest, and the
# one that a training takes after a trial of the best (schedule.trial_steps), is held against the one
# that was measured fastest. All plans of both ranks cost the same an hour, so that ratios of steps
# are those of costs. From one recorded profile a problem; each plan runs once, then the four fastest
# and those that were chosen run RUNS (3) times in turn, and their medians count.
# PROBLEMS=REGEX takes some of the problems. MOVIELENS_DIR has ratings.csv; without it there are five.
movielens=${1:+$(cd "$1" && pwd)}
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/emulated.sh
runs=${RUNS:-3}

# DECK|BATCH|MICRO-BATCHES|STEPS|TIMES AS SLOW|LAYERS
problems='
hard|256|4|6000|2|8
ctrdnn|1000|4|40|2|8
dlrm|1024|4|30|2|10
wide|1024|8|60|2|9
din|1024|4|30|2|12
movielens|8192|8|60|4|7
'

# plans_of LAYERS SLOW: every plan of at most one unit of each type, "0-3:x1:1 4-7:x2:1" a line
plans_of() {
    awk -v L="$1" -v slow="x$2" 'BEGIN {
        printf "0-%d:x1:1\n0-%d:%s:1\n", L - 1, L - 1, slow
        for (c = 1; c < L; c++) {
            printf "0-%d:x1:1 %d-%d:%s:1\n", c - 1, c, L - 1, slow
            printf "0-%d:%s:1 %d-%d:x1:1\n", c - 1, slow, c, L - 1
        } }'
}

# go PLAN ARGUMENT...: a run of a plan ('': none) on both ranks
go() {
    [ -z "$1" ] || stages "$1" '' >plan.json
    shift
    rm -rf runs
    quiet mpirun --bind-to none -n 1 taskset -c 1 build/heterps train deck.yaml "$@" \
        : -n 1 taskset -c 0 build/heterps train deck.yaml "$@" </dev/null
}

# step PLAN: its median step in a run, and what the engine's and the paper's model promise of it
step() {
    go "$1" --set run.name=rank --set run.directory=runs/rank --set run.threads=1 \
        --set data.test= --set "data.batch=$batch" --set "data.microbatches=$micro" \
        --set train.epochs=0 --set "train.steps=$steps" --set schedule.method=file \
        --set schedule.plan=plan.json --set schedule.throughput_limit=0 \
        ${profiled:+--set schedule.profile=profile.json}
    echo "$(number runs/rank/report.json step_median_s)" \
        "$(number runs/rank/report.json predicted_step_s)" \
        "$(number runs/rank/report.json model_step_s) $1"
}

# tried: the plan that a training takes after trials
tried() {
    go '' --set run.name=rank --set run.directory=runs/rank --set run.threads=1 --set data.test= \
        --set "data.batch=$batch" --set "data.microbatches=$micro" --set train.epochs=0 \
        --set "train.steps=1" --set schedule.method=exact --set schedule.objective=engine \
        --set schedule.throughput_limit=max --set "schedule.trial_steps=$((steps / 2))" \
        --set schedule.profile=profile.json
    { sed -n 's/.*{name: \(x[0-9]*\),.*/\1/p' resources.yaml; echo --; cat runs/rank/plan.json; } |
        awk '$0 == "--" { read = 1; next }
            !read { name[n++] = $0; next }
            /"(first|last|type|units)":/ { gsub(/[":,]/, ""); at[$1] = $2 }
            $1 == "units" { printf "%s%d-%d:%s:%d", many++ ? " " : "", at["first"], at["last"],
                name[at["type"]], $2; next }
            /"workers":/ { exit }'
}

# run_problem LINE: a row of the table
run_problem() {
    IFS='|' read -r name batch micro steps slow layers <<-END
	$1
	END
    deck_of "$name" "x$slow=0"
    rm -f profile.json rates
    profiled=
    plans_of "$layers" "$slow" >all_plans
    while read -r cut; do
        step "$cut" >>rates
        [ -n "$profiled" ] || cp runs/rank/profile.json profile.json
        profiled=1
    done <all_plans
    by_trial=$(tried)
    grep -qF "$by_trial" all_plans || give_up "no plan of the list was taken: $by_trial"
    {
        sort -g rates | head -n 4
        sort -g -k 2 rates | head -n 1
        sort -g -k 3 rates | head -n 1
        grep -F "$by_trial" rates | awk -v p="$by_trial" '{ x = $0; sub(/^[^ ]* [^ ]* [^ ]* /, "", x)
            if (x == p) print }'
    } | cut -d ' ' -f 4- | sort -u >again
    rm -f more
    for _ in $(seq "$runs"); do
        while read -r cut; do
            step "$cut" >>more
        done <again
    done
    while read -r cut; do
        awk -v p="$cut" '{ x = $0; sub(/^[^ ]* [^ ]* [^ ]* /, "", x); if (x == p) print $1 }' more |
            sort -g | awk -v p="$cut" '{ s[NR] = $1 }
                END { print (s[int((NR + 1) / 2)] + s[int((NR + 2) / 2)]) / 2, p }'
    done <again | sort -g >measured
    promised=$(sort -g -k 2 rates | head -n 1 | cut -d ' ' -f 4-)
    model=$(sort -g -k 3 rates | head -n 1 | cut -d ' ' -f 4-)
    awk -v name="$name" -v batch="$batch / $micro" -v slow="x$slow" -v promised="$promised" \
        -v model="$model" -v tried="$by_trial" -v n="$(awk 'END { print NR }' rates)" '
        { s = $1; sub(/^[^ ]* /, ""); step[$0] = s }
        NR == 1 { best = s; plan = $0 }
        END {
            printf "| %s | %s | %s | %d | %s | %s | %.3f | %s | %.3f | %s | %.3f |\n", name, batch,
                slow, n, plan, tried, step[tried] / best, promised, step[promised] / best, model,
                step[model] / best
            printf "%.6f %.6f %.6f\n", step[tried] / best, step[promised] / best,
                step[model] / best >>"ratios"
        }' measured
}

title 'Every plan of six problems: the fastest by a model, and the fastest measured'
import_census
said build/heterps generate inputs/ctrdnn.yaml --rows 40000 --output data/ctrdnn_train.h5
said build/heterps generate inputs/dlrm.yaml --rows 32768 --output data/dlrm_train.h5
said build/heterps generate inputs/din.yaml --rows 32768 --output data/din_train.h5
if [ -n "$movielens" ]; then
    import_movielens "$movielens"
else
    problems=$(echo "$problems" | grep -v '^movielens')
fi
echo 'A fast rank, x1, and a slow one, which computes 2 or 4 times as long, with a core each; all plans'
echo "of at most one unit of each. Ratios: the median step (of $runs runs) of the plan that was chosen"
echo 'over the fastest measured: by a training after trials of the plans that are nearly as good, by the'
echo "engine's promise alone, by the paper's model alone. \`wide\` is census_mixed, \`hard\` is census."
echo
header deck 'batch / micro-batches' 'slow rank' plans 'fastest, measured' 'after trials' ratio \
    "engine's choice" ratio "paper's model's choice" ratio
echo "$problems" | grep -E "${PROBLEMS:-.}" >todo
while read -r line; do
    [ -z "$line" ] || run_problem "$line"
done <todo
echo
awk '{ for (i = 1; i <= 3; i++) { sum[i] += $i; if ($i > most[i]) most[i] = $i } }
    END { printf "Mean and worst ratio: %.3f and %.3f after trials, %.3f and %.3f by the engine, " \
              "%.3f and %.3f by the paper\047s model.\n\n", sum[1] / NR, most[1], sum[2] / NR,
              most[2], sum[3] / NR, most[3] }' ratios
for who in '1 after trials' '2 by the engine'; do
    mean=$(awk -v c="${who%% *}" '{ e += $c } END { print (e / NR <= 1.03) }' ratios)
    bad=$(awk -v c="${who%% *}" '$c > 1.1 { bad = 1 } END { print bad + 0 }' ratios)
    goal "mean <= 1.03 ${who#* }" [ "$mean" = 1 ]
    goal "worst <= 1.10 ${who#* }" [ "$bad" = 0 ]
done
commands
the_end
