/* bench.h - micro-benchmarks of a rank, in a fraction of a second: GEMM, memory, rows, disk, and
 * links between ranks. */
#ifndef HPS_HW_BENCH_H
#define HPS_HW_BENCH_H

#include "hw/node.h"

/* Measure the device and fill in the rates of `node`; `file`: one to read (the dataset; NULL:
 * none). Sizes depend on the facts in `node`, not on the clock. About 0.1 s. A rate that cannot
 * be measured is 0. The disk's rate is what a reader gets now: a file in the page cache is fast.
 * Local. */
enum hps_status hps_bench_node(struct hps_dev *dev, struct hps_node *node, const char *file);

struct hps_link {
    double latency_s;           /* half a round trip of 8 bytes */
    double bytes_s;             /* one way, 1 MiB at a time     */
};

#define HPS_TAG_BENCH 901       /* of the messages below; no other message of `comm` has it */

/* Ping-pong with `peer`, about 5 ms; `first` on exactly one of the two. Both get the same result.
 * Sleeps until the peer is there. Collective over the two. */
struct hps_link hps_bench_pair(int peer, bool first, MPI_Comm comm);

#endif
