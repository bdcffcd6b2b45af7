/* nccl.h - GPUs of several ranks sum and exchange what lies in their memory, past their hosts: the
 * second table of heterps-cuda.so, over NCCL.
 *
 * A group is one GPU of each of n ranks. What it is told is queued on the device's stream PEERS:
 * the caller has that stream wait for what made the numbers, and the streams that use them wait for
 * it; the host does not wait. All members of a group are told the same things in the same order;
 * where a rank is in several groups, their order is the same wherever they meet.
 *
 * Loading: libnccl.so.2 is opened by name at the first need, as the system finds it or from beside
 * CUDA's own libraries; where it is not, a GPU still computes and the host carries the sums.
 *
 * Bits: a sum is the same on all members, and the same for the same GPUs, release of NCCL and its
 * environment: rings and trees are chosen by size and topology, not by the clock. A switch that
 * sums (NVLS) does so in an order of its own: it is left out unless NCCL_NVLS_ENABLE says otherwise
 * (docs.nvidia.com/deeplearning/nccl, environment variables).
 *
 * A call that fails, or an error that NCCL hears of later (a peer that is gone), ends all ranks
 * (HPS_FAIL) with the call, NCCL's own words and the place. */
#ifndef HPS_HW_NCCL_H
#define HPS_HW_NCCL_H

#include "hw/dev.h"

#define HPS_NCCL_NAME 128       /* bytes of a group's name                    */
#define HPS_NCCL_CARD 64        /* of the text that says which GPU of a host  */
#define HPS_NCCL_WHY 256
#define HPS_NCCL_OPEN_S 60      /* making a group may take so long            */

struct hps_nccl_group;

struct hps_nccl_piece {         /* of what goes to a peer, or comes from it */
    int peer;
    float *at;                  /* device memory */
    size_t n;                   /* floats, not 0 */
};

/* One more behind the *n pieces, where there is anything. */
static inline void hps_nccl_add(struct hps_nccl_piece *piece, int *n, int peer, float *at,
                                size_t floats)
{
    if (floats > 0) piece[(*n)++] = (struct hps_nccl_piece){ peer, at, floats };
}

struct hps_nccl_ops {
    /* The library's release, as it counts them (22809: 2.28.9). 0: it cannot be had, and why.
     * Local. */
    int (*version)(char why[HPS_NCCL_WHY]);
    /* The GPU by its place on the bus: two ranks of a host with equal texts are on one. Local. */
    void (*card)(struct hps_dev *dev, char text[HPS_NCCL_CARD]);
    /* The name of a group to be. One member makes it and tells it to the others. Local. */
    void (*name)(char name[HPS_NCCL_NAME]);
    /* All members open it, member `me` of n. Connects all with all, once, so that nothing later
     * waits for a peer's host. MPI goes on meanwhile. Collective over the group, as is close, which
     * waits for what is queued. */
    struct hps_nccl_group *(*open)(struct hps_dev *dev, const char name[HPS_NCCL_NAME], int n,
                                   int me);
    void (*close)(struct hps_nccl_group *group);

    /* Neither waits for others. sum: over all members, in place. exchange: what goes to a member it
     * takes in pieces of the same sizes, in the same order; none at all: nothing is queued. */
    void (*sum)(struct hps_nccl_group *group, float *at, size_t n);
    void (*exchange)(struct hps_nccl_group *group, int nout, const struct hps_nccl_piece *out,
                     int nin, const struct hps_nccl_piece *in);
    /* Has NCCL heard of an error? Never blocks. */
    void (*look)(struct hps_nccl_group *group);
};

/* The table of the loaded backend; NULL: none is loaded, or it was built without nccl.h. Local. */
const struct hps_nccl_ops *hps_nccl_loaded(void);

#endif
