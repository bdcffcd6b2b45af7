#!/bin/sh
# overlap.sh [FOLDER] - what ranks do in one step of ctrdnn, as two stages of one rank and as one
# stage of two: the timeline from the Chrome trace, drawn into FOLDER (default perf) as
# overlap_stages.svg and overlap_ranks.svg, and the bubble beside 1F1B's. BATCH (4096),
# MICROBATCHES (8), STEPS (40), CUT (5: the second stage's first layer). Under a minute.
folder=$(cd "${1:-$(dirname "$0")/../records}" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
batch=${BATCH:-4096} micro=${MICROBATCHES:-8} steps=${STEPS:-40} cut=${CUT:-5}
report=runs/ctrdnn/report.json

# run_it RANKS CUTS UNITS: a run with a timeline; its spans as "step rank name begin duration",
# microseconds, without the first steps, are in the file spans
run_it() {
    plan_file 8 "$2" "$3" >plan.json
    rm -rf runs
    said mpirun -n "$1" build/heterps train inputs/ctrdnn.yaml --set train.epochs=0 \
        --set "train.steps=$steps" --set "data.batch=$batch" --set "data.microbatches=$micro" \
        --set run.threads=1 --set schedule.method=file --set schedule.plan=plan.json \
        --set perf.trace=true
    said build/heterps report runs/ctrdnn --trace trace.json
    spans_of trace.json >spans
    step=$(periods | sort -g -k 2,2 | awk '{ s[NR] = $1 } END { print s[int((NR + 1) / 2)] }')
}

# periods: "step microseconds" from its beginning on rank 0 to that of the next
periods() {
    awk '$2 == 0 && !($1 in at) { at[$1] = $4; if ($1 - 1 in at) print $1 - 1, $4 - at[$1 - 1] }' \
        spans | awk '$1 >= 3'
}

# one_step: "rank name begin duration" of the step whose period is the median one
one_step() {
    awk -v step="$step" '$1 == step { print $2, $3, $4, $5 }' spans | sort -g -k 3,3 |
        awk 'NR == 1 { t0 = $3 } { print $1, $2, $3 - t0, $4 }'
}

# drawing TITLE: the spans as SVG, a row a rank; forward and backward have their micro-batch
drawing() {
    one_step | awk -v title="$1" '
    BEGIN { split("forward #4c78a8 backward #f58518 update #54a24b reduce #b279a2 pull #72b7b2 " \
                  "push #9d755d send #bab0ac recv #f2c6c6 wait #d62728 read #eeca3b", c, " ")
            for (i = 1; i in c; i += 2) { of[c[i]] = c[i + 1]; name[++n] = c[i] } }
    { r[NR] = $1; k[NR] = $2; b[NR] = $3 / 1000; d[NR] = $4 / 1000
      if ($2 ~ /ward$/) m[NR] = ++turn[$1 $2]
      if ($1 > last) last = $1
      if (b[NR] + d[NR] > end) end = b[NR] + d[NR] }
    END {
        W = 900 / end; H = 46; low = 30 + H * (last + 1)
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 990 %d\" " \
               "font-family=\"sans-serif\" font-size=\"12\">\n", low + 52
        print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
        printf "<text x=\"70\" y=\"18\">%s, %.1f ms</text>\n", title, end
        for (i = 0; i <= last; i++)
            printf "<text x=\"8\" y=\"%d\">rank %d</text>\n", 30 + H * i + 24, i
        for (i = 1; i <= NR; i++) {
            printf "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"34\" fill=\"%s\">" \
                   "<title>%s %.3f ms</title></rect>\n", 70 + W * b[i], 30 + H * r[i], \
                   (W * d[i] > 0.2 ? W * d[i] : 0.2), of[k[i]], k[i], d[i]
            if (m[i] && W * d[i] > 12)
                printf "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\" fill=\"white\">%d</text>\n", \
                       70 + W * (b[i] + d[i] / 2), 30 + H * r[i] + 22, m[i]
        }
        for (tick = 1; end / tick > 12; tick *= (tick ~ /^2/ ? 2.5 : 2));
        for (x = 0; x <= end; x += tick)
            printf "<path d=\"M%.2f %dv5\" stroke=\"black\"/><text x=\"%.2f\" y=\"%d\" " \
                   "text-anchor=\"middle\" font-size=\"10\">%g%s</text>\n", 70 + W * x, low - 8, \
                   70 + W * x, low + 9, x, (x == 0 ? " ms" : "")
        for (i = 1; i <= n; i++)
            printf "<rect x=\"%d\" y=\"%d\" width=\"10\" height=\"10\" fill=\"%s\"/>" \
                   "<text x=\"%d\" y=\"%d\">%s</text>\n", 70 + 82 * (i - 1), low + 28, \
                   of[name[i]], 84 + 82 * (i - 1), low + 37, name[i]
        print "</svg>" }'
}

# shares: of the ranks' seconds of that step
shares() {
    one_step | awk '{ d[$2] += $4; if ($3 + $4 > end) end = $3 + $4; if ($1 > last) last = $1 }
        END { n = split("forward backward update pull push reduce send recv wait", k, " ")
              for (i = 1; i <= n; i++) printf " %s %.1f %%%s", k[i], 100 * d[k[i]] / end / (last + 1),
                  i < n ? "," : "" }'
}

# in_order: of two stages of one rank, medians over all steps: the bubble of a step measured; that of
# 1F1B with the measured forward and backward and free messages, what is done once behind it; and
# that of as long a pipeline with equal stages
in_order() {
    periods | awk '{ print $2 }' | median >period
    awk -v period="$(cat period)" -v M="$micro" '
    { d[$2, $3] += $5; if (!(($1, $2) in seen)) { seen[$1, $2]; steps[$2]++ } }
    function larger(a, b) { return a > b ? a : b }
    function at(s, what) { return d[s, what] / steps[s] }
    END {
        for (s = 0; s < 2; s++) {
            f[s] = at(s, "forward") / M; b[s] = at(s, "backward") / M
            u = at(s, "update"); busy += M * (f[s] + b[s]) + u
            once = larger(once, u + at(s, "pull") + at(s, "push") + at(s, "read"))
        }
        # rank 0: one forward ahead, then in turn; rank 1: in turn
        t[0] = f[0]; come[1] = t[0]
        for (m = 1; m <= M; m++) {
            t[1] = larger(t[1], come[m]) + f[1] + b[1]
            back = t[1]
            if (m < M) { t[0] += f[0]; come[m + 1] = t[0] }
            t[0] = larger(t[0], back) + b[0]
        }
        printf "%.6g %.6g %.6g\n", 1 - busy / 2 / period, 1 - busy / 2 / (larger(t[0], t[1]) + once),
            1 / (M + 1)
    }' spans
}

percent() { awk -v x="$1" 'BEGIN { if (x == x + 0 && x != "") printf "%.1f %%", 100 * x; else print "-" }'; }

# line TEXT MEASURED 1F1B EQUAL: a row of the table
line() {
    row "$1" "$(digits 4 "$(number $report examples_s)")" \
        "$(digits 4 "$(number $report predicted_examples_s)")" "$(percent "$2")" "$(percent "$3")" \
        "$(percent "$4")" "$(percent "$(number $report predicted_bubble)")"
    printf '%s, step %d:%s.\n' "$1" "$step" "$(shares)" >>told
}

title "Overlap: one step of ctrdnn, batch $batch in $micro micro-batches"
mkdir -p data
said build/heterps generate inputs/ctrdnn.yaml --rows $((batch * 8)) --output data/ctrdnn_train.h5
header layout examples/s promised 'bubble, measured' '1F1B with the measured times' \
    '1F1B, equal stages: (S-1)/(M+S-1)' 'bubble, promised'
run_it 2 "$cut" '1 1'
# shellcheck disable=SC2046 # three words
line "2 stages x 1 rank (0-$((cut - 1)), $cut-7)" $(in_order)
drawing '2 stages of one rank each' >"$folder/overlap_stages.svg"
run_it 2 '' 2
line '1 stage x 2 ranks'
drawing 'One stage of two ranks' >"$folder/overlap_ranks.svg"
cat <<'EOT'

Bubble: the share of the ranks' seconds of a step without forward, backward and update. 1F1B with the
measured times: the mean forward and backward of a micro-batch on each stage, in 1F1B's order with free
messages, then what a rank does once a step (read, pull, push, update). What the measured one has above
that are messages and waiting for a core.

Rank seconds of one step, the one whose length is the median:

EOT
sed 's/^/- /' told
echo
echo 'Drawn: `overlap_stages.svg`, `overlap_ranks.svg`.'
commands
the_end
