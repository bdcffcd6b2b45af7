/* node.h - what this rank runs on: hwloc, /proc, the device backends. Plain data that travels as
 * bytes. */
#ifndef HPS_HW_NODE_H
#define HPS_HW_NODE_H

#include "hw/dev.h"
#include "hw/nvml.h"

#define HPS_NODE_TEXT 64
#define HPS_NODE_MASK 512       /* bytes: 4096 processors of one host */

struct hps_node {
    char host[HPS_NODE_TEXT], cpu[HPS_NODE_TEXT], gpu[HPS_NODE_TEXT];   /* gpu "": none */
    int cores;                  /* this rank may use (its mask)                         */
    int threads;                /* cores / sharing, at least 1; filled by hps_node_share */
    int sharing;                /* ranks of the host whose masks overlap mine, me included */
    bool on_gpu;                /* it computes on that GPU; else the GPU is only known */
    int numa, gpu_sm;
    int gpu_index, gpu_ranks;   /* of the GPU: which of those that are visible, its ranks */
    double cache_bytes[3];      /* L1d, L2, L3 (of one core; L3 shared)                 */
    double memory_bytes;        /* of the host (/proc/meminfo; a cgroup's limit when smaller) */
    unsigned char gpu_uuid[16];
    double gpu_memory_bytes;    /* this rank's share of it */
    struct hps_nvml_facts nvml; /* more of that GPU */
    bool rows_at_home;          /* it has some rows of its tables there, the host has all */
    unsigned char mask[HPS_NODE_MASK];  /* processors of the host, bit by bit, in whole cores */
    /* measured (hw/bench.h); 0: not yet */
    double sgemm_flops_s;       /* fp32, this rank's threads                            */
    double memory_bytes_s;      /* y += x over arrays beyond the caches                 */
    double gather_rows_s;       /* random 64-byte rows of a table beyond the caches     */
    double bring_bytes_s, fetch_bytes_s;        /* pinned memory to its GPU, and back; 0: none */
    double disk_bytes_s;        /* reading a file given by the caller                   */
};

/* Local. Facts that cannot be found are "" or 0 (cores: at least 1), with one HPS_DEBUG line.
 * Zeroes *node first; threads and sharing are as if the rank were alone. */
enum hps_status hps_node_probe(struct hps_node *node);

/* The ranks of world that are on this host, to free with MPI_Comm_free; MPI_COMM_NULL where world
 * is. Collective over world. */
MPI_Comm hps_node_host(MPI_Comm world);

/* Threads: compares masks of the ranks on the same host. `wanted` > 0 overrides (run.threads).
 * Collective over host, hps_node_host's (MPI_COMM_NULL: alone). */
void hps_node_share(struct hps_node *node, int wanted, MPI_Comm host);

/* CPU seconds this process has used (for tests of quiet waiting), peak resident bytes. Local. */
double hps_node_cpu_s(void);
double hps_node_peak_bytes(void);

#endif
