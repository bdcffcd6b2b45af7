/* nccl.h - sums and exchanges between the memories of several ranks' GPUs, past their hosts: the
 * second table of heterps-cuda.so, over NCCL.
 *
 * A group has one GPU of each of its n ranks. Its operations are queued on the device's stream
 * PEERS. The caller makes that stream wait for the streams that produce the numbers, and the
 * streams that use the result wait for PEERS; the host does not wait. All members of a group call
 * the same operations in the same order. Where two ranks are together in several groups, the order
 * among the groups is the same on both.
 *
 * Loading: libnccl.so.2 is opened by name when it is first needed, from where the system finds it
 * or from beside CUDA's own libraries. Without it a GPU still computes, and the sums travel through
 * the hosts.
 *
 * Bits: a sum is the same on all members. It is the same in each run on the same GPUs with the same
 * release and environment of NCCL, which chooses rings and trees by size and topology, not by the
 * clock. Sums by a switch (NVLS) have an order of their own and are disabled unless
 * NCCL_NVLS_ENABLE is set (docs.nvidia.com/deeplearning/nccl, environment variables).
 *
 * A call that fails, or an error that NCCL reports later (a peer has died), ends all ranks
 * (HPS_FAIL) with the call, NCCL's own words and the source line. */
#ifndef HPS_HW_NCCL_H
#define HPS_HW_NCCL_H

#include "hw/dev.h"

#define HPS_NCCL_NAME 128       /* bytes of a group's name                            */
#define HPS_NCCL_GPU 64         /* bytes of the text that identifies a GPU of a host  */
#define HPS_NCCL_WHY 256
#define HPS_NCCL_OPEN_S 60      /* that opening a group may take, at most             */

struct hps_nccl_group;

struct hps_nccl_message {       /* a part of what is sent to a peer, or received from it */
    int peer;
    float *at;                  /* device memory */
    size_t n;                   /* floats, not 0 */
};

/* Append a message to the *n there are, unless it is empty. */
static inline void hps_nccl_add(struct hps_nccl_message *message, int *n, int peer, float *at,
                                size_t floats)
{
    if (floats > 0) message[(*n)++] = (struct hps_nccl_message){ peer, at, floats };
}

struct hps_nccl_ops {
    /* The library's release as a number (22809: 2.28.9). 0: there is no usable library, and why.
     * Local. */
    int (*version)(char why[HPS_NCCL_WHY]);
    /* A text that identifies the GPU by its bus address: two ranks of a host with equal texts use
     * the same GPU. Local. */
    void (*gpu)(struct hps_dev *dev, char text[HPS_NCCL_GPU]);
    /* Make the name of a new group. One member calls it and sends the name to the others. Local. */
    void (*name)(char name[HPS_NCCL_NAME]);
    /* Open the group as member `me` of n. All pairs of members are connected here, so that nothing
     * later waits for a peer's host; MPI makes progress in the meantime. close waits for what is
     * queued. Both are collective over the group. */
    struct hps_nccl_group *(*open)(struct hps_dev *dev, const char name[HPS_NCCL_NAME], int n,
                                   int me);
    void (*close)(struct hps_nccl_group *group);

    /* Sum n floats over all members, in place. Does not wait. */
    void (*sum)(struct hps_nccl_group *group, float *at, size_t n);
    /* Send and receive messages. What one member sends to another, the other receives in messages
     * of the same sizes in the same order. Without any message nothing is queued. Does not wait. */
    void (*exchange)(struct hps_nccl_group *group, int nout, const struct hps_nccl_message *out,
                     int nin, const struct hps_nccl_message *in);
    /* End the run if NCCL has reported an error. Never blocks. */
    void (*check_error)(struct hps_nccl_group *group);
};

/* The table of the loaded backend; NULL: none is loaded, or it was built without nccl.h. Local. */
const struct hps_nccl_ops *hps_nccl_loaded(void);

#endif
