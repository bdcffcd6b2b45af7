#!/bin/sh
# rank.sh [MOVIELENS_DIR] - six problems of two ranks of two types, which are to be as fast as they
# can: every plan is trained, and the one that the engine's model (the paper's) calls fastest is held
# against the one that was measured fastest. All plans of both ranks cost the same an hour, so that
# ratios of steps are those of costs. Medians over RUNS (3) runs of each plan, from one recorded
# profile a problem; PROBLEMS=REGEX takes some of them. MOVIELENS_DIR has ratings.csv; without it
# there are five.
movielens=${1:+$(cd "$1" && pwd)}
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/emulated.sh
runs=${RUNS:-3}

# DECK|BATCH|MICRO-BATCHES|STEPS|TIMES AS SLOW|LAYERS
problems='
hard|256|4|1500|2|8
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

# go PLAN ARGUMENT...: a run of a plan on both ranks
go() {
    stages "$1" '' >plan.json
    shift
    rm -rf runs
    quiet mpirun --bind-to none -n 1 taskset -c 1 build/heterps train deck.yaml "$@" \
        : -n 1 taskset -c 0 build/heterps train deck.yaml "$@" </dev/null
}

# run_problem LINE: a row of the table
run_problem() {
    IFS='|' read -r name batch micro steps slow layers <<-END
	$1
	END
    deck_of "$name" "x$slow=0"
    rm -f profile.json rates
    plans_of "$layers" "$slow" >all_plans
    while read -r cut; do
        rm -f of_run
        for _ in $(seq "$runs"); do
            go "$cut" --set run.name=rank --set run.directory=runs/rank --set run.threads=1 \
                --set data.test= --set "data.batch=$batch" --set "data.microbatches=$micro" \
                --set train.epochs=0 --set "train.steps=$steps" --set schedule.method=file \
                --set schedule.plan=plan.json --set schedule.throughput_limit=0 \
                ${profiled:+--set schedule.profile=profile.json}
            number runs/rank/report.json step_median_s >>of_run
            [ -n "$profiled" ] || cp runs/rank/profile.json profile.json
            profiled=1
        done
        echo "$(median <of_run) $(number runs/rank/report.json predicted_step_s)" \
            "$(number runs/rank/report.json model_step_s) $cut" >>rates
    done <all_plans
    profiled=
    sort -g rates >sorted
    awk -v name="$name" -v batch="$batch / $micro" -v slow="x$slow" '
        NR == 1 { best = $1; plan = $4 " " $5 }
        { n++ }
        NR == 1 || $2 < said { said = $2; got = $1; by = $4 " " $5 }
        NR == 1 || $3 < model { model = $3; model_got = $1; model_by = $4 " " $5 }
        END {
            printf "| %s | %s | %s | %d | %s | %s | %.3f | %s | %.3f |\n", name, batch, slow, n,
                plan, by, got / best, model_by, model_got / best
            printf "%.6f %.6f %s\n", got / best, model_got / best, name >>"ratios"
        }' sorted
}

title 'Every plan of six problems: the fastest by a model, and the fastest measured'
import_census
said build/heterps generate inputs/ctrdnn.yaml --rows 40000 --output data/ctrdnn_train.h5
said build/heterps generate inputs/dlrm.yaml --rows 32768 --output data/dlrm_train.h5
said build/heterps generate inputs/din.yaml --rows 32768 --output data/din_train.h5
if [ -n "$movielens" ]; then
    said build/heterps import csv --schema inputs/movielens.schema.yaml \
        --output data/movielens_train.h5 --test-output data/movielens_test.h5 \
        "$movielens/ratings.csv"
else
    problems=$(echo "$problems" | grep -v '^movielens')
fi
echo 'A fast rank, x1, and a slow one, which computes 2 or 4 times as long, with a core each; all plans'
echo "of at most one unit of each. Ratios: the median step (of $runs runs) of the plan that a model calls"
echo 'fastest over the fastest measured. `wide` is census_mixed, `hard` is census.'
echo
header deck 'batch / micro-batches' 'slow rank' plans 'fastest, measured' "engine's choice" ratio \
    "paper's model's choice" ratio
profiled=
echo "$problems" | grep -E "${PROBLEMS:-.}" >todo
while read -r line; do
    [ -z "$line" ] || run_problem "$line"
done <todo
echo
awk '{ e += $1; m += $2; n++; if ($1 > we) we = $1; if ($2 > wm) wm = $2 }
    END { printf "Mean and worst ratio: %.3f and %.3f by the engine, %.3f and %.3f by the paper'"'"'s model.\n\n",
              e / n, we, m / n, wm }' ratios
goal 'mean <= 1.03 by the engine' [ "$(awk '{ e += $1 } END { print (e / NR <= 1.03) }' ratios)" = 1 ]
goal 'worst <= 1.10 by the engine' [ "$(awk '$1 > 1.1 { bad = 1 } END { print bad + 0 }' ratios)" = 0 ]
commands
the_end
