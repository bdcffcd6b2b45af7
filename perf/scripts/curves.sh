#!/bin/sh
# curves.sh - training speed over the steps of a run; against the number of workers at one server;
# against the number of servers at WORKERS (6) workers; each of a fast and of a slow type, measured
# and as the plan promises. Runs of ctrdnn of SECONDS_EACH (25) seconds with their start, asp; workers
# are emulated ranks that compute 16 times as long as this machine, or 32, servers update 100 times as
# long, or 200, so that a core has hardly anything to do. The first curve is also of bsp on both cores
# of the machine. Drawn into curves_steps.svg, curves_workers.svg, curves_servers.svg in FOLDER=DIR
# (perf/records). WORKER_COUNTS, SERVER_COUNTS: the points. Twenty minutes.
folder=$(cd "${FOLDER:-$(dirname "$0")/../records}" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
seconds=${SECONDS_EACH:-25} many=${WORKERS:-6}
worker_counts=${WORKER_COUNTS:-1 2 3 4 6 8} server_counts=${SERVER_COUNTS:-1 2 3 4}

# train_for RANKS ARGUMENT...: until its seconds are over
train_for() {
    nrank=$1
    shift
    rm -rf runs
    note "$nrank ranks: $*"
    mpirun --oversubscribe -n "$nrank" build/heterps train inputs/ctrdnn.yaml --set train.epochs=100000 \
        --set data.microbatches=1 --set run.threads=1 --set "run.max_seconds=$seconds" \
        --set checkpoint.interval_seconds=0 --set run.directory=runs/it "$@" >out 2>err
    status=$?
    [ $status = 75 ] || { tail -n 20 err >&2; give_up "the run ended with $status"; }
}

# asp WORKERS SLOW SERVERS SLOW ARGUMENT...: on such emulated ranks
asp() {
    plan_file 8 '' "$1" '[]' "$1" >plan.json
    workers=$1 servers=$3
    pool="[{name: worker, match: \"*\", price_usd_hour: 1, price_per: unit,
            emulate: {ranks: \"0-$(($1 - 1))\", slow: $2}},
        {name: server, match: \"*\", price_usd_hour: 1, price_per: unit,
            emulate: {ranks: \"$1-$(($1 + $3 - 1))\", slow: $4}}]"
    shift 4
    train_for $((workers + servers)) --set "resources=$pool" --set "train.workers=$workers" \
        --set "storage.servers=$servers" --set storage.server_type=server --set data.batch=512 \
        --set schedule.method=file --set schedule.plan=plan.json --set train.synchronization=asp "$@"
}

# emulated WORKERS SLOW SERVERS SLOW: $got examples/s of the steps, without the last checkpoint, and
# $said, what the plan promised. A profile is of types: that of one worker and one server, measured
# once, serves all numbers of them.
emulated() {
    profile=profile_$1_$2_$4.json
    if [ ! -f "$profile" ]; then
        (seconds=1 && asp "$1" "$2" 1 "$4") || exit 1
        cp runs/it/profile.json "$profile"
    fi
    asp "$@" --set "schedule.profile=$profile"
    got=$(awk -v n="$(number runs/it/report.json examples)" -v s="$(number runs/it/report.json seconds)" \
        -v c="$(awk '/^checkpoint/ { print $4 }' out)" 'BEGIN { printf "%.4g", n / (s - c) }')
    said=$(digits 4 "$(number runs/it/report.json predicted_examples_s)")
}

# windows: of twenty equal parts of "STEPS SECONDS" so far, the speed of each over their mean, without
# the first part; and their coefficient of variation in the file varied, in per cent
windows() {
    : >varied
    awk '{ step[NR] = $1; second[NR] = $2 }
        END {
            last = step[NR]; part = 1; from = 1
            for (i = 2; i <= NR; i++)
                if (step[i] >= last * part / 20) {
                    if (part > 1 && second[i] > second[from]) {
                        x[++k] = (step[i] - step[from]) / (second[i] - second[from])
                        at[k] = second[i]
                    }
                    while (step[i] >= last * part / 20) part++
                    from = i
                }
            for (i = 1; i <= k; i++) { sum += x[i]; squares += x[i] * x[i] }
            for (i = 1; i <= k; i++) printf "%.3f %.4f\n", at[i], x[i] / (sum / k)
            if (k < 2) exit             # too short a run
            v = (squares - sum * sum / k) / (k - 1)
            printf "%.2f\n", 100 * sqrt(v > 0 ? v : 0) / (sum / k) >"varied"
        }'
}

# of_clocks: "CLOCKS SECONDS" of all workers, of the last run; of_steps: of rank 0's steps
of_clocks() {
    tr -d ' \n' <runs/it/report.json | sed 's/.*"worker_clocks":{\([^}]*\)}.*/\1/' | awk '{
        s = $0; sub(/.*"seconds":\[/, "", s); sub(/\].*/, "", s); n = split(s, at, ",")
        c = $0; sub(/.*"clocks":\[\[/, "", c); sub(/\]\].*/, "", c); w = split(c, curve, /\],\[/)
        for (k = 1; k <= w; k++) { split(curve[k], x, ","); for (i = 1; i <= n; i++) all[i] += x[i] }
        for (i = 1; i <= n; i++) print all[i], at[i] }'
}
of_steps() {
    for what in rank step seconds; do
        h5dump -y -w 1 -d "/windows/$what" runs/it/perf.h5 |
            sed -n '/DATA {/,/}/s/^ *\([0-9][0-9.e+-]*\),\{0,1\}$/\1/p' >"windows.$what"
    done
    paste -d ' ' windows.rank windows.step windows.seconds |
        awk '$1 == 0 { s += $3; print $2 + 1, s }'
}

# over_steps: the first curve; $bsp_varied, $asp_varied: its variations
over_steps() {
    : >steps
    set -- 2 --set data.batch=1024 --set schedule.method=single:cpu
    (seconds=1 && train_for "$@") || exit 1
    cp runs/it/profile.json profile_bsp.json
    train_for "$@" --set schedule.profile=profile_bsp.json
    promise=$(number runs/it/report.json predicted_step_s)
    took=$(number runs/it/report.json step_median_s)
    of_steps | windows | awk -v p="$(awk -v a="$took" -v b="$promise" 'BEGIN { print a / b }')" \
        '{ print "bsp,_two_ranks", $1, $2, p }' >>steps
    bsp_varied=$(cat varied)
    emulated 4 16 1 100
    of_clocks | windows | awk -v p="$(awk -v a="$got" -v b="$said" 'BEGIN { print b / a }')" \
        '{ print "asp,_four_workers", $1, $2, p }' >>steps
    asp_varied=$(cat varied)
    draw steps 'ctrdnn: speed over the seconds of a run, 1: the mean' seconds
}

draw() { # NAME TITLE UNDER
    awk -v title="$2" -v under="$3" -v svg="$folder/curves_$1.svg" -f perf/scripts/curves.awk "$1"
}

# rows_of FILE: a row a number, of both lines measured and promised
rows_of() {
    awk '{ if (!($2 in known)) { known[$2]; x[++n] = $2 }; if (!($1 in row)) row[$1] = ++k
           got[row[$1], $2] = $3; said[row[$1], $2] = $4 }
        END { for (i = 1; i <= n; i++) print x[i], got[1, x[i]], said[1, x[i]], got[2, x[i]], said[2, x[i]] }' "$1" |
        while read -r x a b c d; do row "$x" "$a" "$b" "$c" "$d"; done
}

# gain FILE LINE: the fastest over what the first number has
gain() {
    awk -v line="$2" '$1 == line { if (!first) first = $3; if ($3 > most) most = $3 }
        END { printf "%.2f\n", most / first }' "$1"
}
# last_gain FILE LINE: what the last number has over the one before, for each unit that it adds of what
# the first one has
last_gain() {
    awk -v line="$2" '$1 == line { if (!n++) { first = $3; step = $2 }; added = $2 - x; more = $3 - y; x = $2; y = $3 }
        END { printf "%.2f\n", more / added * step / first }' "$1"
}

title 'Speed over steps, against workers, against servers'
mkdir -p data
quiet build/heterps generate inputs/ctrdnn.yaml --rows 200000 --output data/ctrdnn_train.h5
echo "Load of the machine at the begin: $(cut -d ' ' -f 1 /proc/loadavg)."
echo
over_steps
: >workers
: >servers
for n in $worker_counts; do
    emulated "$n" 16 1 100
    echo "fast_workers $n $got $said" >>workers
    emulated "$n" 32 1 100
    echo "slow_workers $n $got $said" >>workers
done
for n in $server_counts; do
    emulated "$many" 16 "$n" 100
    echo "fast_servers $n $got $said" >>servers
    emulated "$many" 16 "$n" 200
    echo "slow_servers $n $got $said" >>servers
done
draw workers 'ctrdnn: examples/s against workers, one server' workers
draw servers "ctrdnn: examples/s against servers, $many workers" servers
echo "Over the steps the speed of a twentieth of a run varies by $bsp_varied % (bsp, two ranks, batch 1024) and"
echo "$asp_varied % (asp, four workers and a server), the first twentieth left out. Drawn: \`curves_steps.svg\`."
echo
echo 'Examples/s of asp with one server (`curves_workers.svg`):'
echo
header workers 'fast, measured' promised 'twice as slow, measured' promised
rows_of workers
echo
echo "Examples/s of asp with $many fast workers (\`curves_servers.svg\`):"
echo
header servers 'fast, measured' promised 'twice as slow, measured' promised
rows_of servers
echo
goal "windows vary by at most 2 %, bsp ($bsp_varied %)" at_most "$bsp_varied" 2
goal "the same, asp ($asp_varied %)" at_most "$asp_varied" 2
for one in workers:fast_workers workers:slow_workers servers:fast_servers servers:slow_servers; do
    file=${one%:*} line=${one#*:}
    goal "$(echo "$line" | tr _ ' '): the speed rises (to $(gain "$file" "$line") of the first)" \
        at_most 1.2 "$(gain "$file" "$line")"
done
goal "more workers than one server can serve: the last brings $(last_gain workers fast_workers) of the first" \
    at_most "$(last_gain workers fast_workers)" 0.3
goal "more servers than the workers can use: the last brings $(last_gain servers fast_servers) of the first" \
    at_most "$(last_gain servers fast_servers)" 0.3
the_end
