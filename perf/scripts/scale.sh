#!/bin/sh
# scale.sh [FILE] - a step of ctrdnn, dlrm and bags on 64 nodes of 48 cores and 100 Gbit/s, on paper:
# what a core computes is measured here (FILE: lines that scale.awk reads, from an earlier run), bytes
# and messages follow from shapes and are checked against two ranks. NODES, CORES, LINK (bytes/s of a
# node, each way), LATENCY (s), MESSAGE (s of a core for a message sent or received), MEMORY (bytes/s
# of a node); BATCHES: examples of a core. About a minute.
measured=${1:+$(readlink -f "$1")}
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
nodes=${NODES:-64} cores=${CORES:-48} link=${LINK:-12.5e9} latency=${LATENCY:-2e-6}
message=${MESSAGE:-1e-6} memory=${MEMORY:-100e9} batches=${BATCHES:-32 256} steps=${STEPS:-30}

# measure NAME B: a line for scale.awk
measure() {
    batch=$2
    train_network 1 1 "$steps"
    one=$(number runs/it/report.json step_median_s)
    rows=$(number runs/it/pool.json gather_rows_s)
    batch=$((2 * $2)) way=
    [ "$1" != bags ] || way='--set model.ids.exchange=rows'     # of them scale.awk tells
    # shellcheck disable=SC2086 # none or two words
    train_network 2 1 "$steps" $way
    bytes=$(awk -v n="$(number runs/it/report.json net_bytes)" -v s="$steps" 'BEGIN { print n / s }')
    echo "$1 $2 $one $bytes $rows"
}

# table WHAT: of all that was measured
table() {
    awk -v what="$1" -v nodes_all="$nodes" -v cores="$cores" -v link="$link" -v latency="$latency" \
        -v message_s="$message" -v memory="$memory" -f perf/scripts/scale.awk measured
}

title "Scale, on paper: $nodes nodes of $cores cores, $(awk -v l="$link" 'BEGIN { print 8e-9 * l }') Gbit/s"
if [ -n "$measured" ]; then
    cp "$measured" measured
else
    for name in ctrdnn dlrm bags; do
        BATCH=512 network $name
        data_network
        for b in $batches; do
            measure $name "$b" >>measured
        done
    done
fi
cat <<EOT
Measured, one core: \`NETWORK B SECONDS BYTES ROWS\`, a step of B examples, the bytes that two ranks send
in a step of 2 B, rows gathered a second:

$(sed 's/^/    /' measured)

Stated: $link bytes/s a node and direction, $latency s of latency, $message s of a core for every message
that it sends or receives, $memory bytes/s of a node's memory.

Letters: R ranks, B examples of a rank, U(B) rows of the table that they ask for and that differ (Zipf's
law as \`heterps generate\` draws it), dim floats of a row, W dense weights.

- rows: a rank asks for U(B) row numbers of 4 bytes, gets rows and sends gradients of 4 dim bytes, all but
  1/R of them to and from others: U(B) (R-1)/R (8 dim + 4) bytes. A node's link carries those of its ranks
  that go to other nodes.
- messages: counts to R-1 others; row numbers, rows and gradients to (R-1)(1 - e^(-U/R)) of them.
- dense: each rank of a node adds up its share in the node's memory, 8 W bytes of each rank, with two
  barriers; a share goes round a ring over the n nodes: 8 W (n-1)/n bytes of a node, 2 (n-1) latencies. Nodes
  need not have as many ranks.
- compute: the measured step of one core, and what a lone rank has not: rows given, gradients laid down and
  merged, 3 U(B) at the measured rate.
- agreement of a step: 2 log2(R) latencies; it is begun with the step and can be hidden.
- by nodes (not built): a node's ranks bring their rows together in shared memory and ask other nodes as one.

The bytes against those of two ranks here:

EOT
header network 'examples of a core' 'rows that differ' 'rows, MB' 'dense, MB' 'both, MB' 'measured, MB'
table bytes
cat <<'EOT'

Steps. `rows`, `messages`, `dense` in ms; data: what all ranks read from files; efficiency: the lone core's
step over this one, with nothing hidden (examples/s are those), and with all transfers hidden behind
computation and the handling of messages (more than can be had: a step begins with the rows of its first
micro-batch and ends with the gradients of its last one); bound: the largest part.

EOT
header 'network, examples of a core' 'ranks x threads' 'compute ms' rows messages dense \
    'million examples/s' 'data GB/s' 'efficiency, nothing hidden' 'all hidden' bound
table steps
awk -v R=$((nodes * cores)) -v lat="$latency" -v msg="$message" -v n="$nodes" 'BEGIN {
    printf "\nA rank a core: counts to all others alone are %d messages of a rank and as many to it, %.1f ms\n",
        R - 1, 2e3 * (R - 1) * msg
    printf "of a step; a ring of all ranks would have %.1f ms of latency, that of %d nodes has %.2f. Neither depends on\n",
        2e3 * (R - 1) * lat, n, 2e3 * (n - 1) * lat
    print "the batch: with few examples a core counts are more than the computation."
}'
cat <<'EOT'

How to read it:

- Start one rank a node (or a socket) with its cores as threads (`run.threads`): that is built, and takes
  both away. Then dense networks are bound by computation, as long as a core has some dozens of examples.
- Bags move the most rows, and a rank a core moves them twice over: all ranks ask for the same
  frequent ones. One rank a node asks once.
- At 4,096 ranks and above with a rank a core, two things must change: counts must go only where rows are
  asked (or through one rank of a node), and rows must be brought once a node. That is `by nodes`. Dense sums
  are made so already.
- What is held for each pair of ranks (counts, requests) is some dozens of bytes a rank and micro-batch:
  no bound at 4,096.
- The data are read by all nodes together; where `data GB/s` is above what the file system gives, that is
  the bound, and no other figure counts.

Not in it: the memory of a node feeds 48 cores (here two share it), which slows rows and elementwise work;
48 threads of a rank compute as well as 48 ranks; ranks that are late (all wait for the last one, each
step); contention in the network beyond a node's own link; whether a network still learns from steps of
many thousand examples.
EOT
commands
the_end
