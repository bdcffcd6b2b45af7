#!/bin/sh
# overlap.sh - what ranks do in one step of ctrdnn, as two stages of one rank and as one stage of
# two: the timeline (overlap_stages.svg, overlap_ranks.svg beside this, from the Chrome trace), and
# the bubble beside what is promised. BATCH (4096), MICROBATCHES (8), STEPS (24).
cd "$(dirname "$0")/.." || exit 1
. perf/lib.sh
batch=${BATCH:-4096} micro=${MICROBATCHES:-8} steps=${STEPS:-24}
report=runs/ctrdnn/report.json

# run_it RANKS CUTS UNITS: a run with a timeline
run_it() {
    plan_file 8 "$2" "$3" >plan.json
    rm -rf runs
    said mpirun -n "$1" build/heterps train inputs/ctrdnn.yaml --set train.epochs=0 \
        --set "train.steps=$steps" --set "data.batch=$batch" --set "data.microbatches=$micro" \
        --set run.threads=1 --set schedule.method=file --set schedule.plan=plan.json \
        --set perf.trace=true
    quiet build/heterps report runs/ctrdnn --trace trace.json
}

# spans STEP: "rank name begin duration" of that step, microseconds from its first
spans() {
    grep "\"step\":$1}" trace.json | tr -d '"{}' | awk -F '[:,]' '{
        print field("tid"), field("name"), field("ts"), field("dur") }
        function field(key,    i) { for (i = 1; i < NF; i++) if ($i == key) return $(i + 1) }' |
        sort -g -k 3,3 | awk 'NR == 1 { t0 = $3 } { print $1, $2, $3 - t0, $4 }'
}

# drawing TITLE: the spans as SVG, a row a rank
drawing() {
    awk -v title="$1" '
    BEGIN { split("forward #4c78a8 backward #f58518 update #54a24b reduce #b279a2 pull #72b7b2 " \
                  "push #9d755d send #bab0ac recv #e45756 wait #d62728 read #eeca3b", c, " ")
            for (i = 1; i in c; i += 2) { of[c[i]] = c[i + 1]; name[++n] = c[i] } }
    { r[NR] = $1; k[NR] = $2; b[NR] = $3; d[NR] = $4
      if ($1 > last) last = $1
      if ($3 + $4 > end) end = $3 + $4 }
    END {
        W = 900; H = 46
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" " \
               "font-family=\"sans-serif\" font-size=\"12\">\n", W + 80, 70 + H * (last + 1)
        print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
        printf "<text x=\"70\" y=\"18\">%s, %.1f ms</text>\n", title, end / 1000
        for (i = 0; i <= last; i++)
            printf "<text x=\"8\" y=\"%d\">rank %d</text>\n", 30 + H * i + 24, i
        for (i = 1; i <= NR; i++)
            printf "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"34\" fill=\"%s\">" \
                   "<title>%s %.3f ms</title></rect>\n", 70 + W * b[i] / end, 30 + H * r[i], \
                   (W * d[i] / end > 0.2 ? W * d[i] / end : 0.2), of[k[i]], k[i], d[i] / 1000
        for (i = 1; i <= n; i++)
            printf "<rect x=\"%d\" y=\"%d\" width=\"10\" height=\"10\" fill=\"%s\"/>" \
                   "<text x=\"%d\" y=\"%d\">%s</text>\n", 70 + 82 * (i - 1), 40 + H * (last + 1), \
                   of[name[i]], 84 + 82 * (i - 1), 49 + H * (last + 1), name[i]
        print "</svg>" }'
}

# share REGION: of the rank seconds of one step
shares() {
    spans $((steps / 2)) | awk '{ d[$2] += $4; if ($3 + $4 > end) end = $3 + $4
            if ($1 > last) last = $1 }
        END { n = split("forward backward update pull push reduce send recv wait", k, " ")
              for (i = 1; i <= n; i++) printf " %s %.1f %%%s", k[i], 100 * d[k[i]] / end / (last + 1),
                  i < n ? "," : "" }'
}

percent() { awk -v x="$1" 'BEGIN { if (x == x + 0 && x != "") printf "%.1f %%", 100 * x; else print "-" }'; }

# line TEXT: a row of the table
line() {
    row "$1" "$(digits 4 "$(number $report examples_s)")" \
        "$(digits 4 "$(number $report predicted_examples_s)")" \
        "$(percent "$(number $report bubble)")" "$(percent "$(number $report predicted_bubble)")" \
        "$(percent "$(number $report bubble_1f1b)")"
    printf '%s, step %d:%s.\n' "$1" $((steps / 2)) "$(shares)" >>told
}

title "Overlap: one step of ctrdnn, batch $batch in $micro micro-batches"
mkdir -p data
said build/heterps generate inputs/ctrdnn.yaml --rows $((batch * 8)) --output data/ctrdnn_train.h5
header layout examples/s promised bubble promised '1F1B, equal stages: (S-1)/(M+S-1)'
run_it 2 4 '1 1'
line '2 stages x 1 rank (0-3, 4-7)'
spans $((steps / 2)) | drawing '2 stages of one rank each' >"$srcdir/perf/overlap_stages.svg"
run_it 2 '' 2
line '1 stage x 2 ranks'
spans $((steps / 2)) | drawing 'one stage of two ranks' >"$srcdir/perf/overlap_ranks.svg"
echo
echo 'Rank seconds of one step:'
echo
sed 's/^/- /' told
commands
the_end
