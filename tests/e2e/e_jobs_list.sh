#!/bin/sh
# Lists of jobs and pools as decks: the reference and its manual page that ship are what the program
# prints; a pool of a deck is the same pool as its short form; charts are whole XML that shows each
# job's stretches, the accounting has a line for each, and both agree with the figures.
. "${srcdir:?}/tests/lib/lib.sh"
HETERPS_DATADIR=$srcdir
export HETERPS_DATADIR
trace=$srcdir/inputs/jobs/tiresias_60.csv

# refuse CODE PATTERN ARGUMENT...: one line
refuse() {
    hps_code=$1 hps_pattern=$2
    shift 2
    expect "$hps_code" "$hps_pattern" heterps "$@"
    [ "$(grep -c 'error: ' err)" -eq 1 ] || { fail 'not one error'; cat err; }
}

echo '-- the reference'
expect 0 '' heterps deck --jobs
cmp out "$srcdir/inputs/jobs/reference.yaml" ||
    fail 'inputs/jobs/reference.yaml is not what heterps deck --jobs prints'
expect 0 '' heterps deck --jobs --man
cmp out "$srcdir/src/man/heterps-jobs.5" ||
    fail 'src/man/heterps-jobs.5 is not what heterps deck --jobs --man prints'
refuse 64 'jobs is of no deck' deck "$srcdir/inputs/census.yaml" --jobs

echo '-- pools as decks'
cat >pool.yaml <<'END'
types: [{name: gpu, price_usd_hour: 3}]
nodes: [{name: "n[0-1]", units: {gpu: 4}}]
END
for policy in srtf tiresias.dlas; do
    expect 0 '' heterps jobs simulate "$trace" --pool 2x4 --policy $policy --json short.json
    expect 0 '' heterps jobs simulate "$trace" --pool pool.yaml --policy $policy --json deck.json
    grep -v usd short.json >short && grep -v usd deck.json >deck
    cmp short deck || fail "$policy: the pool of a deck is another one"
    differ "$(number deck.json usd)" 0
done
refuse 66 'nosuch.yaml' jobs simulate "$trace" --pool nosuch.yaml
echo 'types: [{name: gpu}]' >bad.yaml
refuse 65 'bad.yaml:.*nodes: there is not one unit' jobs simulate "$trace" --pool bad.yaml

echo '-- charts and accounts'
expect 0 '' heterps jobs simulate "$trace" --pool pool.yaml --policy las --restart 10 \
    --gantt chart.svg --csv accounts.csv --json las.json
expect 0 '' heterps jobs simulate "$trace" --pool pool.yaml --policy las --restart 10 \
    --gantt chart.html
if command -v xmllint >/dev/null; then
    xmllint --noout chart.svg || fail 'the chart is no XML'
fi
equal "$(head -n 1 accounts.csv)" "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,\
start_time,end_time,duration,queue,units,usd"
spans=$(($(wc -l <accounts.csv) - 1))
differ "$spans" 0
equal "$(grep -c '<g><title>' chart.svg)" "$spans"
if command -v chromium >/dev/null; then     # the page as a browser has read it
    timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/browser" \
        --dump-dom "file://$PWD/chart.html" >dom.html 2>browser.err || fail "chromium ended with $?"
    equal "$(grep -o '<g><title>' dom.html | wc -l)" "$spans"
else
    echo 'no chromium: the page is opened in no browser'
fi
equal "$(grep -c ',COMPLETED,' accounts.csv)" 60
# the bars of a job end where the job does, do not overlap, and cost what the table says
close "$(awk -F , 'NR > 1 { usd += $14 } END { printf "%.12g", usd }' accounts.csv)" \
    "$(awk '/"usd"/ { gsub(/[^0-9.e+-]/, "", $2); sum = $2 } END { print sum }' las.json)" 1e-9
awk -F , 'NR > 1 {
    if ($9 < $8 || $10 < $9 || ($1 in last && $9 < last[$1])) bad++
    last[$1] = $10 }
    END { exit bad > 0 }' accounts.csv || fail 'stretches of a job overlap'
# never more units than the pool has
awk -F , 'NR > 1 { print $9, 1, $4; print $10, 0, -$4 }' accounts.csv | sort -k1,1g -k2,2n |
    awk '{ n += $3; if (n > 8) bad++ } END { exit bad > 0 || n != 0 }' ||
    fail 'more units at once than there are'
# what the browser is for: a page that it can open, with a bar for each stretch
browser=
for b in chromium chromium-browser google-chrome; do
    command -v $b >/dev/null && browser=$b && break
done
if [ -n "$browser" ]; then
    "$browser" --headless --no-sandbox --disable-gpu --dump-dom "file://$PWD/chart.html" \
        >dom.html 2>browser.err || fail "$browser cannot open the page"
    equal "$(grep -c '<g><title>' dom.html)" "$spans"
    grep -q 'id="figures"' dom.html || fail 'the page has no figures'
else
    echo 'no browser here: the page is not opened in one'
    equal "$(grep -c '<g><title>' chart.html)" "$spans"
fi
refuse 64 'gantt is of one policy' jobs simulate "$trace" --pool 2x4 --policy all --gantt a.svg
refuse 64 'csv is of one policy' jobs simulate "$trace" --pool 2x4 --policy all --csv a.csv
refuse 73 'nosuch' jobs simulate "$trace" --pool 2x4 --gantt nosuch/a.svg
verdict
