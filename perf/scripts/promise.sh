#!/bin/sh
# promise.sh [MOVIELENS_DIR] - emulated heterogeneity on one machine: types of 1x, 2x and 4x the
# time; what the paper's model and the engine-faithful one promise of a plan beside the median step
# of a run of some seconds. Medians over RUNS (3) runs of each plan; PLANS=REGEX takes some of them,
# DECKS=REGEX some of the decks as they ship. DRAWN=SEED: instead of the list, ten plans that a seed
# draws.
# MOVIELENS_DIR has ratings.csv and movies.csv; without it its plans are left out.
# TRIAL=N: each run tries its plan before it (schedule.trial_steps), which corrects what is promised
# of it, for an eighth of the list's steps, N at least, and has 20 times as many.
# Ranks have one thread each and are tied to two cores by what they need of them: a rank of x1 has
# one alone, two of x2 share one.
movielens=${1:+$(cd "$1" && pwd)}
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/emulated.sh
runs=${RUNS:-3}

# DECK|BATCH|MICRO-BATCHES|STEPS|WHICH RANKS ARE SLOW|STAGES: layers:type:units|TWO OF THEM ON
# THE SAME UNITS
plans='
ctrdnn|8192|32|10||0-7:x1:1
ctrdnn|8192|32|16||0-7:x1:2
ctrdnn|8192|32|6|x2=0|0-7:x2:1
ctrdnn|8192|32|10|x2=0-1|0-7:x2:2
ctrdnn|8192|32|6|x4=0-1|0-7:x4:2
ctrdnn|8192|32|8|x4=0-3|0-7:x4:4
ctrdnn|8192|32|4|x4=1|0-3:x1:1 4-7:x4:1
ctrdnn|8192|32|6|x2=0|0-5:x2:1 6-7:x1:1
ctrdnn|8192|32|12|x2=0|0-3:x2:1 4-7:x1:1
ctrdnn|8192|32|12|x2=0|0-4:x1:1 5-7:x2:1
ctrdnn|8192|32|12|x4=0-1|0-4:x1:1 5-7:x4:2
ctrdnn|8192|32|12|x4=0-1|0-3:x4:2 4-7:x1:1
ctrdnn|8192|32|8|x2=1 x4=2|0-3:x1:1 4-4:x2:1 5-7:x4:1
ctrdnn|8192|32|10|x2=1 x4=2|0-3:x2:1 4-6:x1:1 7-7:x4:1
ctrdnn|8192|32|10|x2=0-1 x4=2-3|0-3:x4:2 4-7:x2:2
ctrdnn|8192|32|4|x4=0|0-7:x4:1
ctrdnn|1000|4|90||0-7:x1:1
ctrdnn|1000|4|90|x2=0|0-4:x1:1 5-7:x2:1
ctrdnn|1000|4|80|x4=0-1|0-4:x1:1 5-7:x4:2
dlrm|8192|16|8||0-9:x1:1
dlrm|8192|16|12||0-9:x1:2
dlrm|8192|16|6|x2=0|0-9:x2:1
dlrm|8192|16|10|x2=0|0-5:x2:1 6-9:x1:1
wide|8192|32|30||0-8:x1:1
wide|8192|32|30|x2=0|0-3:x1:1 4-8:x2:1
wide|8192|32|30|x4=0-1|0-3:x4:2 4-8:x1:1
movielens|8192|8|200||0-6:x1:1
movielens|8192|8|120|x2=0|0-6:x2:1
movielens|8192|8|150|x4=0-1|0-1:x1:1 2-6:x4:2
hard|256|4|4000||0-7:x1:1
hard|256|4|2000|x2=0|0-3:x1:1 4-7:x2:1
dlrm|4096|8|20|x2=0|0-6:x2:1 7-9:x1:1
dlrm|4096|8|20|x4=0-1|0-3:x1:1 4-9:x4:2
dlrm|8192|16|10|x2=2|0-5:x1:2 6-9:x2:1
dlrm|8192|16|10|x4=0-2|0-9:x4:3
dlrm|1024|4|60||0-9:x1:2
dlrm|1024|4|60|x2=0|0-5:x1:1 6-9:x2:1
bags|1024|2|30||0-3:x1:1
bags|1024|2|30||0-3:x1:2
bags|1024|2|20|x2=0|0-3:x2:1
bags|2048|8|20|x2=1|0-0:x1:1 1-3:x2:1
bags|2048|8|20|x4=0-1|0-3:x4:2
din|1024|4|100||0-11:x1:1
din|1024|4|100||0-11:x1:2
din|4096|8|30|x2=0|0-4:x2:1 5-11:x1:1
din|4096|8|30|x4=0-1|0-11:x4:2
din|4096|8|30|x4=1-2|0-5:x1:1 6-11:x4:2
movielens|1024|4|1000||0-6:x1:2
movielens|8192|8|150|x4=0-3|0-6:x4:4
ctrdnn|8192|32|8|x2=1|0-3:x1:1 4-6:x2:1 7-7:x1:1|0+2
dlrm|8192|16|8|x4=1|0-3:x1:1 4-5:x4:1 6-9:x1:1|0+2
'

# DECK RANKS ARGUMENT...
decks='
census 2
census_mixed 3
ctrdnn 2 --set data.batch=1024 --set train.steps=100
dlrm 2 --set data.batch=1024 --set train.steps=100
'

# drawn SEED: ten more lines for the list; at most three ranks, which need two cores or less
drawn() {
    awk -F '|' -v seed="$1" '
        function draw(n) { return int(rand() * n) }
        BEGIN { srand(seed) }
        { deck[NR - 1] = $0 }
        END {
            while (lines < 10) {
                split(deck[draw(NR)], d, "|")
                S = 1 + draw(3); slow = 2 * (1 + draw(2)); cut = 0; plan = ""; ranks = nslow = 0
                for (s = 0; s < S; s++) {
                    last = s == S - 1 ? d[5] - 1 : cut + draw(d[5] - cut - (S - 1 - s))
                    k = S == 3 ? 1 : 1 + draw(2)
                    slower[s] = draw(2)
                    plan = plan (s ? " " : "") cut "-" last ":x" (slower[s] ? slow : 1) ":" k
                    cut = last + 1; ranks += k; nslow += slower[s] ? k : 0
                    merged = s && slower[s] == slower[s - 1]
                    if (merged) break
                }
                if (merged || ranks > 3 || ranks - nslow + nslow / slow > 2) continue
                which = nslow == 0 ? "" : "x" slow "=0" (nslow > 1 ? "-" nslow - 1 : "")
                print d[1] "|" d[2] "|" d[3] "|" d[4] "|" which "|" plan "|"
                lines++
            } }' <<-END
		ctrdnn|1000|4|90|8
		ctrdnn|8192|32|16|8
		dlrm|1024|4|60|10
		dlrm|4096|8|20|10
		wide|2048|8|60|9
		hard|256|4|3000|8
		bags|1024|2|30|4
		din|1024|4|80|12
	END
}

# units STAGES "A+B": the stages without B, whose units are those of A
units() { echo "$1" | awk -v b="${2#*+}" '{ if (b != "") $(b + 1) = ""; print }'; }

# launch STAGES SLOW COMMAND...: a rank for each unit, dear ones first to a core, the emptier one
launch() {
    of=$(printf '%s\n' "$1" "$2" | awk '
        NR == 1 { for (i = 1; i <= NF; i++) { split($i, p, ":"); n += p[3] } }
        NR == 2 { for (r = 0; r < n; r++) slow[r] = 1
            for (i = 1; i <= NF; i++) {
                split($i, p, "="); c = split(p[2], q, "-")
                for (r = q[1]; r <= q[c]; r++) slow[r] = substr(p[1], 2) } }
        END { for (f = 1; f <= 4; f++)
                  for (r = 0; r < n; r++)
                      if (slow[r] == f) { core[r] = load[1] < load[0]; load[core[r]] += 1 / f }
              for (r = 0; r < n; r++) printf "%s ", core[r] }')
    shift 2
    command=$*
    set --
    for core in $of; do
        # shellcheck disable=SC2086 # the command is several words
        set -- "$@" ${1:+:} -n 1 taskset -c "$core" $command
    done
    quiet mpirun --bind-to none "$@" </dev/null
}

# rate BATCH KEY: examples/s of steps of these seconds in the report; of the run's median step,
# without what a checkpoint or a pause takes
rate() {
    awk -v n="$1" -v s="$(number runs/promise/report.json "$2")" \
        'BEGIN { printf "%.6g\n", n / s }'
}

# off PROMISED MEASURED: in per cent, with its sign
off() { awk -v p="$1" -v m="$2" 'BEGIN { printf "%+.1f\n", 100 * (p / m - 1) }'; }
size() { echo "${1#[-+]}"; }

# run_plan LINE: a row of the table
run_plan() {
    IFS='|' read -r name batch micro steps slow cut share <<-END
	$1
	END
    deck_of "$name" "$slow"
    stages "$cut" "$share" >plan.json
    [ "$steps" -ge 20 ] || steps=20 # below 16 times the batch no whole steps are measured
    trial=0
    if [ "${TRIAL:-0}" -gt 0 ]; then
        trial=$((steps / 8 > TRIAL ? steps / 8 : TRIAL))
        steps=$((20 * trial))
    fi
    rm -f rates model engine off_p off_e
    for _ in $(seq "$runs"); do
        rm -rf runs
        launch "$(units "$cut" "$share")" "$slow" build/heterps train deck.yaml --set run.name=promise \
            --set run.directory=runs/promise --set run.threads=1 --set data.test= \
            --set "data.batch=$batch" --set "data.microbatches=$micro" --set train.epochs=0 \
            --set "train.steps=$steps" --set schedule.method=file --set schedule.plan=plan.json \
            --set schedule.throughput_limit=0 --set "schedule.trial_steps=$trial"
        m=$(rate "$batch" step_median_s)
        p=$(rate "$batch" model_step_s)
        e=$(rate "$batch" predicted_step_s)
        echo "$m" >>rates
        echo "$p" >>model
        echo "$e" >>engine
        off "$p" "$m" >>off_p
        off "$e" "$m" >>off_e
    done
    m=$(median <rates) p=$(median <model) e=$(median <engine)
    off_p=$(printf '%+.1f' "$(median <off_p)") off_e=$(printf '%+.1f' "$(median <off_e)")
    echo "$(size "$off_p") $(size "$off_e") $name $batch $cut" >>"$(list_of "$(units "$cut" "$share")")"
    row "$name" "$batch / $micro" "$cut${share:+, $share together}" "$(digits 4 "$m")" "$(digits 4 "$p")" "$off_p %" \
        "$(digits 4 "$e")" "$off_e %"
}

# run_deck NAME RANKS ARGUMENT...: a row of the second table: three runs of a deck as it ships
run_deck() {
    name=$1 n=$2
    shift 2
    rm -f rates promises offs_deck
    for _ in 1 2 3; do
        rm -rf runs
        quiet mpirun --oversubscribe -n "$n" build/heterps train "inputs/$name.yaml" \
            --set run.directory=runs/promise --set data.test= "$@" </dev/null
        m=$(number runs/promise/report.json examples_s)
        p=$(number runs/promise/report.json predicted_examples_s)
        echo "$m" >>rates
        echo "$p" >>promises
        off "$p" "$m" >>offs_deck
    done
    o=$(printf '%+.1f' "$(median <offs_deck)")
    echo "$(size "$o") $name" >>deck_offs
    row "$name" "$n" "$*" "$(digits 4 "$(median <rates)")" "$(digits 4 "$(median <promises)")" "$o %"
}

# list_of STAGES: of the plans of at most three ranks, or of the others
list_of() {
    ranks=$(echo "$1" | awk '{ for (i = 1; i <= NF; i++) { split($i, p, ":"); n += p[3] } print n }')
    [ "$ranks" -lt 4 ] && echo offs || echo offs_oversubscribed
}

# within COLUMN LIMIT: plans whose promise is that near
within() { awk -v c="$1" -v x="$2" '$c <= x { n++ } END { print n + 0 }' offs; }
worst() { sort -g -k "$1,$1" "${2:-offs}" | tail -n 1 | awk -v c="$1" '{ printf "%s %% (", $c
    $1 = $2 = ""; sub(/^ */, ""); print $0 ")" }'; }

# load: of the machine now; what others do on it adds to every time, and not to all alike
load() { cut -d ' ' -f 1 /proc/loadavg; }

before=$(load)
: >offs
: >offs_oversubscribed
: >deck_offs
title 'Emulated heterogeneity: promised and measured'
import_census
said build/heterps generate inputs/ctrdnn.yaml --rows 120000 --output data/ctrdnn_train.h5
said build/heterps generate inputs/dlrm.yaml --rows 100000 --output data/dlrm_train.h5
said build/heterps generate inputs/din.yaml --rows 100000 --output data/din_train.h5
said build/heterps generate inputs/bags.yaml --rows 16384 --output data/bags_train.h5
if [ -n "$movielens" ]; then
    import_movielens "$movielens"
else
    plans=$(echo "$plans" | grep -v '^movielens')
fi
[ -z "${DRAWN:-}" ] || plans=$(drawn "$DRAWN")
echo "Types x1, x2, x4 compute 1, 2 and 4 times as long as this machine does; medians of $runs runs"
echo 'of some seconds each; measured is the median step of a run, and off is beside what that run'
echo 'promised from the profile that it measured itself, moments before. Stages are'
echo "layers:type:units; \`wide\` is census_mixed's network, \`hard\` is census itself, whose step is"
echo 'shorter than a millisecond.'
[ "${TRIAL:-0}" -eq 0 ] ||
    echo "The engine's promise is corrected by a trial of the plan, of a 20th of the run's steps."
echo
header deck 'batch / micro-batches' stages 'measured, examples/s' "paper's model" off engine off
echo "$plans" | grep -E "${PLANS:-.}" | while read -r line; do
    run_plan "$line"
done
echo
echo 'Decks as they ship, the whole run with its checkpoint; medians of three runs:'
echo
header deck ranks changes 'measured, examples/s' promised off
echo "$decks" | grep -E "${DECKS:-.}" | while read -r line; do
    # shellcheck disable=SC2086 # the line is several words
    [ -z "$line" ] || run_deck $line
done
echo
echo "Load of the machine: $before before, $(load) after; the runs' own is at most 2, the rest disturbs"
echo 'them: a profile is measured in a fraction of a second, a run lasts some seconds.'
echo
echo "Worst of the paper's model: $(worst 1); of the engine-faithful one: $(worst 2)."
echo "Within 10 %: the paper's model $(within 1 10) of $(wc -l <offs) plans, the engine-faithful one"
echo "$(within 2 10); within 5 %: $(within 1 5) and $(within 2 5). Plans of four ranks are apart: worst"
echo "of them $(worst 1 offs_oversubscribed) and $(worst 2 offs_oversubscribed)."
echo
# share COLUMN LIMIT PERCENT: as many plans are within the limit
share() { [ $((100 * $(within "$1" "$2"))) -ge $(($3 * $(wc -l <offs))) ]; }
goal 'engine within 5 % on 80 % of the plans' share 2 5 80
goal 'engine within 10 % on 95 % of the plans' share 2 10 95
if [ "${TRIAL:-0}" -gt 0 ]; then
    goal 'with a trial: worst at most 8 %' share 2 8 100
else
    goal 'engine: worst at most 20 %' share 2 20 100
fi
goal 'engine, four ranks on two cores: worst at most 20 %' \
    [ "$(awk '$2 > 20' offs_oversubscribed | wc -l)" -eq 0 ]
[ ! -s deck_offs ] || goal 'the decks within 10 %' [ "$(awk '$1 > 10' deck_offs | wc -l)" -eq 0 ]
commands
the_end
