#!/bin/sh
# reading.sh - ctrdnn: how long a step waits for its data, from the page cache and from disk; and the
# reader alone, as fast as it gives batches, beside dd on the same file. ROWS (1048576; 277 MB),
# STEPS (60), ROUNDS (3). About two minutes.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
network ctrdnn
rows=${ROWS:-1048576} steps=${STEPS:-60} rounds=${ROUNDS:-3} file=data/ctrdnn_train.h5

# put_out: the file leaves the page cache; put_in: it comes back
put_out() { dd of=$file oflag=nocache conv=notrunc,fdatasync count=0 2>err || give_up 'dd failed'; }
put_in() { cat $file >/dev/null; }

# waited: of the last run, "share worst": waiting for data, of all seconds of steps from the fourth
# to the last but one, and of the step with the largest share; the mean over ranks
waited() {
    quiet build/heterps report runs/it --trace trace.json
    spans_of trace.json | awk '
    !(($1, $2) in at) { at[$1, $2] = $4; if ($1 > last) last = $1; if ($2 > ranks) ranks = $2 }
    $3 == "read" { d[$1, $2] += $5 }
    END {
        for (s = 3; s < last; s++) {
            read = all = 0
            for (r = 0; r <= ranks; r++) {
                read += d[s, r]; all += at[s + 1, r] - at[s, r]
            }
            sum += read; time += all
            if (read / all > worst) worst = read / all
        }
        printf "%.4g %.4g\n", 100 * sum / time, 100 * worst }'
}

# train TEXT RANKS THREADS: a row of the table
train() {
    train_network "$2" "$3" "$steps" --set perf.trace=true
    ms=$(awk -v s="$(number runs/it/report.json step_median_s)" 'BEGIN { printf "%.1f", 1000 * s }')
    waited >wait.out
    read -r share worst <wait.out
    row "$1" "$ms" "$(awk -v n="$(wc -c <$file)" -v rows="$rows" -v b="$batch" -v ms="$ms" \
        'BEGIN { printf "%.1f\n", n / rows * b / ms / 1000 }')" "$share %" "$worst %"
    most=$(larger "${most:-0}" "$share")
}

# alone ORDER FROM: MB/s and processor seconds of a GB, into files
alone() {
    quiet build/reads $file "$batch" "$1" "$2"
    awk '{ print $1 / $2 }' out >>"rate.$1.$2"
    awk '{ print 1000 * $3 / $1 }' out >>"cpu.$1.$2"
}

# copied FROM: MB/s of dd
copied() {
    note "dd if=$file of=/dev/null bs=1M ($1)"
    LC_ALL=C dd if=$file of=/dev/null bs=1M 2>err
    sed -n 's/^\([0-9]*\) bytes.* copied, \([0-9.e+-]*\) s.*/\1 \2/p' err |
        awk '{ print $1 / $2 / 1e6 }' >>"rate.dd.$1"
}

# line TEXT ORDER: a row of the second table
line() {
    warm=$(median <"rate.$2.warm") cold=$(median <"rate.$2.cold")
    cpu=-
    [ ! -s "cpu.$2.warm" ] || cpu=$(digits 3 "$(median <"cpu.$2.warm")")
    row "$1" "$(digits 3 "$warm")" "$cpu" "$(digits 3 "$cold")" \
        "$(awk -v x="$cold" -v y="$(median <rate.dd.cold)" 'BEGIN { printf "%.2f\n", x / y }')"
}

build_tool reads
title "Reading: ctrdnn, batch $batch"
mkdir -p data
said build/heterps generate inputs/ctrdnn.yaml --rows "$rows" --output $file
header layout 'ms of a step, median' 'MB/s that it reads' 'waits for data' 'step that waits most'
put_in
train '2 ranks x 1 thread, page cache' 2 1
put_in
train '1 rank x 2 threads, page cache' 1 2
cached=$most
put_out
train '2 ranks x 1 thread, disk' 2 1
put_out
train '1 rank x 2 threads, disk' 1 2
for _ in $(seq "$rounds"); do
    put_in
    copied warm
    alone in_order warm
    alone shuffled warm
    put_out
    copied cold
    alone in_order cold
    alone shuffled cold
done
cat <<'EOT'

The reader alone, one epoch, medians. Shuffled: the order of training, blocks of 256 examples in any
order, examples mixed over 65,536. From disk: the file was put out of the page cache before.

EOT
header reader 'MB/s, page cache' 'processor s of a GB' 'MB/s, disk' "of dd's from disk"
line 'dd, 1 MiB at a time' dd
line 'all columns, in order' in_order
line 'all columns, shuffled' shuffled
echo
goal 'at most 1 % of the time waits for data, from the page cache' at_most "$cached" 1
commands
the_end
