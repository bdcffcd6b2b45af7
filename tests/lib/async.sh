# shellcheck shell=sh
# async.sh - what the e_async scripts share: runs of census by workers and servers, and what their
# reports say. Sourced behind lib.sh and data.sh; it imports census.

census
layers=8 profile=
# go RANKS ARGUMENT...: trains in runs/census
go() {
    n=$1
    shift
    ranks "$n" train "$srcdir/inputs/census.yaml" --set train.epochs=2 \
        --set run.threads=1 "$@"
}
# run RANKS WORKERS SERVERS "CUTS" "UNITS" [ARGUMENT...]
run() {
    plan_file "$layers" "$4" "$5" '[]' "$2" >plan.json
    n=$1 workers=$2 servers=$3
    shift 5
    go "$n" --set schedule.method=file --set schedule.plan=plan.json \
        --set "schedule.profile=$profile" --set "train.workers=$workers" \
        --set "storage.servers=$servers" "$@" >out 2>err
    code=$?
    # measured once: what is measured changes no bit
    [ -s profile.json ] || cp runs/census/profile.json profile.json
    profile=profile.json
    loss=$(number runs/census/report.json train_loss)
    auc=$(number runs/census/report.json test_auc)
}
# whole: the run ended well, and each example was trained in each epoch
whole() {
    [ "$code" = 0 ] || {
        fail "it ended with $code"
        tail -n 20 err
    }
    [ "$(number runs/census/report.json examples)" = 52098 ] ||
        fail "$(number runs/census/report.json examples) examples were trained"
}
# good: and it learned as much as bsp
good() {
    whole
    close "$auc" "$one_auc" 3e-3
}
report=runs/census/report.json
# stale KIND: what the report has of the staleness of gradients of rows, or of dense weights
stale() { sed -n '/^ "staleness": {/,/^ }/p' $report | sed -n "/^  \"$1\": {/,/^  }/p"; }
stalest() { stale "$1" | sed -n 's/.*"max": \([0-9]*\).*/\1/p'; }
# applied KIND: gradients in its histogram
applied() {
    stale "$1" | awk '/"n": \[/ { on = 1; next } /\]/ { on = 0 } on { n += $1 } END { print n + 0 }'
}
# served KEY: a number of each server, summed
served() {
    sed -n '/^ "servers": \[/,/^ \]/p' $report |
        awk -v key="\"$1\":" '$1 == key { n += $2 } END { print n + 0 }'
}
# seen [MOST]: the report says of the last run, of 204 steps, what its servers did: each gradient is
# in a histogram, none was staler than MOST
seen() {
    most=${1:-1000000}
    [ "$(served clocks)" = $((204 * servers)) ] || fail "$(served clocks) clocks were served"
    [ "$(served rows_pushed)" -gt 0 ] || fail 'no rows were pushed'
    [ "$(applied rows)" = "$(served rows_pushed)" ] || fail "$(applied rows) gradients of rows"
    [ "$(stalest rows)" -le "$most" ] || fail "a row's gradient was $(stalest rows) updates old"
    if grep -q '^  "dense": {' $report; then
        [ "$(applied dense)" = $((204 * servers)) ] || fail "$(applied dense) dense gradients"
        [ "$(stalest dense)" -le "$most" ] || fail "a dense one was $(stalest dense) updates old"
    fi
    grep -q "^servers: $servers, busy [0-9.]* %" out || fail 'the table lacks the servers'
    grep -q '^mean staleness: rows [0-9.]*, at most [0-9]*' out || fail 'and the staleness'
    grep -q 'promised [0-9]*  clocks [0-9]*-[0-9]*  ' err || fail 'progress lacks the clocks'
}
fresh() {
    echo "-- $1"
    rm -rf runs
}
change() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.9g", (b - a) * 1e4 }'; }
# as_bsp: the run of one worker that others are compared with; its figures are $one_auc and $bsp
as_bsp() {
    fresh 'one worker by bsp'
    run 2 1 1 '' 1
    whole
    one_auc=$auc bsp=$loss
}
