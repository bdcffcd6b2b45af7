# scale.awk - a step on many nodes on paper; see scale.sh for the letters. Reads lines
#   NET B ONE_S TWO_BYTES ROWS_S      measured: B examples a core, seconds of a step on one core, bytes
#                                     that two ranks send in a step of 2 B, rows a core gathers a second
# and prints a table of bytes (what=bytes) or of steps (what=steps).
function log2(x) { return log(x) / log(2) }
function at_least(x, y) { return x > y ? x : y }
# ids of one slot that differ among n: Zipf's law cut into ranks, as `heterps generate` draws it
function differ(n, buckets,    a, all, k, next_k, p, sum) {
    a = -0.05; all = 1 - exp(a * log(buckets + 1)); sum = 0
    for (k = 1; k <= buckets; k = next_k) {
        next_k = k < 1000 ? k + 1 : k * 1.02
        if (next_k > buckets + 1) next_k = buckets + 1
        p = (exp(a * log(k)) - exp(a * log(next_k))) / all / (next_k - k)
        sum += (next_k - k) * (1 - exp(n * log(1 - p)))
    }
    return sum
}
# rows of the table that B examples ask for. Slots that share it fall on each other by chance, or
# (alike) have the same frequent ones
function rows_of(B,    u) {
    if (alike) return differ(B * ids * slots, buckets)
    u = differ(B * ids, buckets)
    return shared ? buckets * (1 - exp(slots * log(1 - u / buckets))) : slots * u
}
function network(name) {
    slots = 26; ids = 1; shared = alike = 0; example = 4 * 14 + 8 * 26
    if (name == "ctrdnn") { dim = 10; buckets = 1000001; shared = 1; weights = 430801 }
    if (name == "dlrm") { dim = 16; buckets = 100000; weights = 462609 }
    if (name == "bags") {
        dim = 16; buckets = 10000000; ids = 50; alike = 1; weights = 107009
        example = 4 + 8 * 26 * 51
    }
}
# bytes that a rank of R with B examples sends: rows given and gradients pushed, row numbers asked
function row_bytes(B, R) { return rows_of(B) * (R - 1) / R * (2 * 4 * dim + 4) }
function dense_bytes(R) { return 2 * 4 * weights * (R - 1) / R }
# messages that a rank sends: counts to all; row numbers, rows, gradients to those that have any
function messages(B, R,    others) {
    if (R == 1) return 0
    others = (R - 1) * (1 - exp(-rows_of(B) / R))
    return R - 1 + 3 * others
}
function bytes_table() {
    printf "| %s | %d | %d | %.3f | %.3f | %.3f | %.3f |\n", $1, $2, rows_of($2),
        2 * row_bytes($2, 2) / 1e6, 2 * dense_bytes(2) / 1e6,
        2 * (row_bytes($2, 2) + dense_bytes(2)) / 1e6, $4 / 1e6
}
# dense sums: shares inside a node, in its memory; each share over the nodes, on the node's one link
function dense_s(per, nodes,    s) {
    s = nodes > 1 ? dense_bytes(nodes) / link + 2 * (nodes - 1) * latency : 0
    return s + (per > 1 ? 2 * 4 * weights * per / memory + 2 * log2(per) * latency : 0)
}
# a step of R ranks of `threads` cores on nodes of `cores`; levels 2: a node's ranks ask as one
function step(text, R, threads, levels,    B, nodes, per, U, net, msg, dense, agree, extra, all, best,
              name, bound) {
    nodes = R * threads / cores; if (nodes < 1) nodes = 1
    per = R / nodes
    B = $2 * threads
    U = rows_of(B)
    extra = R > 1 ? 3 * U / threads / $5 : 0            # rows given, gradients laid down, merged
    if (levels == 2 && nodes > 1) {                     # what a node's ranks want is wanted once
        net = row_bytes(B * per, nodes)
        msg = (2 * messages(B * per, nodes) / per + 8 * log2(per)) * message_s
    } else {
        net = per * row_bytes(B, R) * (nodes > 1 ? (R - per) / at_least(R - 1, 1) : 0)
        msg = 2 * messages(B, R) * message_s
    }
    net /= link
    dense = dense_s(per, nodes)
    agree = R > 1 ? 2 * log2(R) * latency : 0
    all = $3 + extra + msg + net + dense + agree
    best = at_least($3 + extra + msg, net + dense)
    bound = $3 + extra; name = "compute"
    if (msg > bound) { bound = msg; name = "messages" }
    if (net > bound) { bound = net; name = "rows on the link" }
    if (dense > bound) { bound = dense; name = "dense sums" }
    printf "| %s | %s | %.3g | %.3g | %.3g | %.3g | %.3g | %.3g | %.0f %% | %.0f %% | %s |\n",
        $1 ", " $2, text, 1e3 * ($3 + extra), 1e3 * net, 1e3 * msg, 1e3 * dense,
        R * threads * $2 / all / 1e6, R * threads * $2 / all * example / 1e9, 100 * $3 / all,
        100 * $3 / best, name
}
{ network($1) }
what == "bytes" { bytes_table() }
what == "steps" {
    step("1 x 1", 1, 1, 1)
    step(cores " x 1, one node", cores, 1, 1)
    step(nodes_all * cores " x 1", nodes_all * cores, 1, 1)
    step(nodes_all * cores " x 1, by nodes", nodes_all * cores, 1, 2)
    step(nodes_all " x " cores, nodes_all, cores, 1)
    step(4096 / cores * cores " x 1", 4096, 1, 1)
    step(4096 / cores * cores " x 1, by nodes", 4096, 1, 2)
}
