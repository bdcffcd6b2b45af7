/* node.h - facts of the hardware that a rank runs on, from hwloc, /proc and the device backends.
 * Plain data that ranks send as bytes. */
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
    int sharing;                /* ranks of the host with overlapping masks, this one included */
    bool on_gpu;                /* the rank computes on its GPU                         */
    bool bf16;                  /* what it computes on multiplies bf16                  */
    int numa, gpu_sm;
    int gpu_index, gpu_ranks;   /* the GPU's number among the visible ones; its ranks   */
    double cache_bytes[3];      /* L1d, L2, L3 (of one core; L3 shared)                 */
    double memory_bytes;        /* of the host (/proc/meminfo; a cgroup's limit when smaller) */
    unsigned char gpu_uuid[16];
    double gpu_memory_bytes;    /* this rank's share of it                              */
    struct hps_nvml_facts nvml; /* more facts of that GPU                               */
    bool rows_on_host;          /* tables are in host memory, some of their rows on the GPU */
    unsigned char mask[HPS_NODE_MASK];  /* processors of the host, bit by bit, in whole cores */
    /* measured (hw/bench.h); 0: not yet */
    double sgemm_flops_s;       /* at the precision of the run, this rank's threads     */
    double memory_bytes_s;      /* y += x over arrays beyond the caches                 */
    double gather_rows_s;       /* random 64-byte rows of a table beyond the caches     */
    double copy_to_device_bytes_s, copy_to_host_bytes_s;    /* of pinned memory; 0: no GPU */
    double disk_bytes_s;        /* reading a file given by the caller                   */
    double reads_s;             /* from a directory for rows (hw/disk.h), 4 KiB each    */
};

/* Fill in *node. Facts that cannot be found are "" or 0 (cores: at least 1), with one HPS_DEBUG
 * line; threads and sharing are as if the rank were alone. Local. */
enum hps_status hps_node_probe(struct hps_node *node);

/* The communicator of the ranks of world on this host, to free with MPI_Comm_free; MPI_COMM_NULL
 * where world is. Collective over world. */
MPI_Comm hps_node_host(MPI_Comm world);

/* Set threads and sharing by comparing the masks of the ranks on the host. `requested` > 0
 * (run.threads) overrides. Collective over host, hps_node_host's (MPI_COMM_NULL: alone). */
void hps_node_share(struct hps_node *node, int requested, MPI_Comm host);

/* Bytes of memory that the host and this process's memory groups (cgroups, version 1 and 2) have
 * left now: pages of files that can be dropped count as left. 0: unknown. Local. */
double hps_node_free_bytes(void);

/* CPU seconds that this process has used, and its peak resident bytes. Local. */
double hps_node_cpu_s(void);
double hps_node_peak_bytes(void);

#endif
