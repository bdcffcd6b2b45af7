#!/bin/sh
# regions.sh NAME - the regions of a step of ctrdnn, dlrm or bags: what bounds each, measured on the
# same rows and ids in the same minute (perf/bin/limits.c, perf/bin/gemms.c), what it takes, and the
# ratio.
# For 2 ranks of one thread and 1 rank of two. STEPS (40), BATCH=N: another batch, MICROBATCHES (1),
# PRECISION=bf16: products in bf16.
# A minute or two.
name=${1:-ctrdnn}
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
network "$name"
steps=${STEPS:-40}

# trained RANKS THREADS: a run with a timeline; region times go to the file RANKS
trained() {
    train_network "$1" "$2" "$steps" --set perf.trace=true
    quiet build/heterps report runs/it --trace trace.json
    spans_of trace.json | awk -v steps="$steps" -v ranks="$1" '
        # a span inside another one is not the outer one'\''s time
        { key = $1 " " $2
          if (key != was) { was = key; deep = 0 }
          while (deep > 0 && end[deep] <= $4) deep--
          if (deep > 0) d[$1, of[deep], $2] -= $5
          d[$1, $3, $2] += $5
          of[++deep] = $3; end[deep] = $4 + $5 }
        # where ranks meet, the one that came last did not wait
        END { n = split("read pull forward backward push reduce send recv wait update", r, " ")
              for (s = 4; s < steps; s++) {
                  late = 0
                  for (i = 1; i <= n; i++) {
                      mean = 0; least = d[s, r[i], 0] + 0
                      for (k = 0; k < ranks; k++) {
                          mean += d[s, r[i], k] / ranks
                          if (d[s, r[i], k] + 0 < least) least = d[s, r[i], k] + 0
                      }
                      meets = r[i] ~ /^(pull|push|reduce|wait)$/
                      print r[i], meets ? least : mean
                      if (meets) late += mean - least
                  }
                  print "late", late
              } }' |
        sort -k 1,1 -k 2,2g | awk '
        function put() { if (n) print name, (x[int((n + 1) / 2)] + x[int(n / 2) + 1]) / 2e6 }
        $1 != name { put(); name = $1; n = 0 }
        { x[++n] = $2 }
        END { put() }' >"region.$1"
    echo "step $(number runs/it/report.json step_median_s)" >>"region.$1"
}

# limits HOW: "NAME SECONDS AMOUNT" of all that bounds a step; of two times the shorter one
limits() {
    # shellcheck disable=SC2086 # several words
    $1 env OPENBLAS_NUM_THREADS=1 mpirun -n 2 build/gemms "$batch" $(((steps + 1) / 2)) $rounded $gemms
    awk 'NR == 1 { print "gemm_y", $3, 0; print "gemm_dx_dw", $4, 0 }' out >>every
    $1 mpirun -n 2 build/limits "data/${name}_train.h5" "$batch" "$steps" "$rows" "$own" "$dim" \
        "$row" "$weights" "$streams" "$widths"
    cat out >>every
    awk '!($1 in s) { name[++n] = $1 } !($1 in s) || $2 < s[$1] { s[$1] = $2; line[$1] = $0 }
        END { for (i = 1; i <= n; i++) print line[name[i]] }' every >limits
}

# table: limits and times side by side
table() {
    awk -v batch="$batch" -v gemms="$gemms" -v dots="$dots" -v sums="$sums" '
    FILENAME == "limits" { l[$1] = $2; n[$1] = $3; next }
    FILENAME == "region.2" { two[$1] = $2; next }
    { one[$1] = $2 }
    function ms(x) { return sprintf(x < 0.00995 ? "%.2f" : "%.1f", 1000 * x) }
    function ratio(x, y) { return y > 0 && x > 0 ? sprintf("%.2f", x / y) : "-" }
    function line(region, a, b) {
        printf "| %s | %s | %s | %s | %s | %s | %s |\n", region, ms(a), ms(two[region]),
            ratio(a, two[region]), ms(b), ms(one[region]), ratio(b, one[region])
        sum_a += a; sum_b += b; sum_two += two[region]; sum_one += one[region]
    }
    END {
        k = split(gemms, shape, " ")
        for (i = 1; i <= k; i++) { split(shape[i], s, ":"); flops += 2 * batch * s[1] * s[2] }
        y = l["gemm_y"]; d = l["gemm_dx_dw"]
        forward = y + batch * dots * y / flops + l["bags"] + l["pass"]
        backward = d + batch * 2 * dots * y / flops + l["spread"] + l["pass"]
        line("read", 0, 0)
        exchange = sums ? l["exchange"] * 4 * batch * sums / n["exchange"] : l["exchange"]
        # of sums the bags come with the pull, and rows get their gradients in the update
        ready = sums ? l["bags"] : 0
        later = sums ? l["spread"] : 0
        line("pull", l["find"] + l["gather"] + exchange + ready, l["find"] + l["gather"] + ready)
        line("forward", forward - ready, forward - ready)
        line("backward", backward - later, backward - later)
        line("push", exchange, 0)
        line("reduce", l["reduce"], 0)
        update = l["modify"] + l["update"] / 2 + later
        line("update", update, update)
        line("wait", 0, 0)
        line("late", 0, 0)
        a = two["step"] - sum_two; b = one["step"] - sum_one
        printf "| between them | 0 | %s | - | 0 | %s | - |\n", ms(a > 0 ? a : 0), ms(b > 0 ? b : 0)
        two["the step"] = two["step"]; one["the step"] = one["step"]
        line("the step", sum_a, sum_b)
    }' limits region.2 region.1
}

# facts: what the limits were made of
facts() {
    awk -v row="$row" -v dim="$dim" '
    { s[$1] = $2; n[$1] = $3 }
    END {
        printf "- find: %d ids of a step, one word of a table as long as the rows each: %.0f million ids/s\n",
            n["find"], n["find"] / s["find"] / 1e6
        printf "- gather: %d rows that differ, %d bytes of each read at random: %.0f million rows/s\n",
            n["gather"], 4 * dim, n["gather"] / s["gather"] / 1e6
        printf "- modify: the same rows with their states, %d bytes, read and written at random, out of no cache: %.0f million rows/s\n",
            4 * row, n["modify"] / s["modify"] / 1e6
        printf "- bags, spread: a row of the pulled ones added for each id, a gradient for each id: %.0f and %.0f million ids/s\n",
            n["bags"] / s["bags"] / 1e6, n["spread"] / s["spread"] / 1e6
        printf "- exchange: the half of the rows that the other rank has, both ways at once: %.2f MB, %.1f GB/s\n",
            n["exchange"] / 1e6, n["exchange"] / s["exchange"] / 1e9
        printf "- all-reduce (MPI_Allreduce) of the dense gradients: %.2f MB a rank, %.2f ms\n",
            n["reduce"] / 2e6, 1000 * s["reduce"]
        printf "- pass: the dense layers'\'' outputs copied once (memcpy), %.1f MB: %.1f GB/s\n",
            n["pass"] / 1e6, n["pass"] / s["pass"] / 1e9
        printf "- dense update: the weights with their states read and written once (memcpy), %.1f MB: %.1f GB/s\n",
            n["update"] / 1e6, n["update"] / s["update"] / 1e9
        printf "- read: %.2f MB of a step from the page cache: %.1f GB/s, %.2f ms, behind the step by a thread of its own\n",
            n["read"] / 1e6, n["read"] / s["read"] / 1e9, 1000 * s["read"]
    }' limits
}

# rate TEXT RANKS: rows of the table a second beside the random read-modify-write
rate() {
    awk -v text="$1" '
    FILENAME == "limits" { s[$1] = $2; n[$1] = $3; next }
    { r[$1] = $2 }
    END {
        rmw = n["modify"] / s["modify"]
        printf "| %s | %.3g | %.3g | %.3g | %.3g | %.2f |\n", text, n["find"] / r["step"],
            n["modify"] / r["step"], n["modify"] / r["update"], rmw, n["modify"] / r["update"] / rmw
    }' limits "region.$2"
}

build_tool gemms limits
title "$name, batch $batch: the regions of a step"
data_network
limits said
trained 2 1
trained 1 2
limits quiet
cat <<'EOT'
Milliseconds of a step, medians; of two ranks the mean, where they meet (pull, push, reduce, wait) the
shorter one; what the other waited there is `late`. `ratio`: limit over time, 1 is at the limit.

EOT
header region 'limit, 2 ranks' 'ms, 2 ranks x 1 thread' ratio 'limit, 1 rank' \
    'ms, 1 rank x 2 threads' ratio
table
cat <<'EOT'

Limits, measured by two processes on two cores, of what both do at once, before and after the runs, the
better of both:

- read: none; a thread of its own reads ahead (below), the region is the wait for it
- pull = find + gather + exchange
- forward = GEMMs y + dot products (their operations at the GEMMs' rate) + bags + one pass over the dense layers' outputs
- backward = GEMMs dx, dw + twice the dot products + spread + one pass
- push = exchange; reduce = all-reduce; neither where there is one rank
- update = modify + dense update, of which each rank and each thread does a half
EOT
[ "$sums" -eq 0 ] ||
    echo '- owners give sums of bags: these come with the pull, rows get their gradients in the update, and of two ranks the sums and their gradients are exchanged'
echo
facts
cat <<'EOT'

Rows of tables:

EOT
header layout 'ids/s, whole step' 'rows/s, whole step' 'rows/s in update' \
    'random read-modify-write rows/s' ratio
rate '2 ranks x 1 thread' 2
rate '1 rank x 2 threads' 1
commands
the_end
