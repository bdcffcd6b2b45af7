/* reduce.h - sum dense gradients inside a stage, in buckets, while the backward pass goes on. */
#ifndef HPS_COMM_REDUCE_H
#define HPS_COMM_REDUCE_H

#include "comm/messages.h"
#include "comm/team.h"
#include "hw/gpu_group.h"

/* GPUs that form a group (hw/gpu_group.h) sum by NCCL, beside the backward pass. All other ranks
 * sum on the host: CPU ranks of one host in shared memory (comm/shm.h), hosts by MPI.
 *
 * Layers' gradients lie one behind the other in hps_reduce_grad (n); the backward pass completes
 * them from the end to the front, and so the buckets are cut from the end. On a stage of one rank
 * (or MPI_COMM_NULL) nothing is done. All calls come in the same order, with the same arguments, on
 * all ranks of the stage. */
struct hps_reduce;
struct hps_reduce_opt {
    size_t n;                           /* floats of all gradients                      */
    size_t bucket_bytes;
    bool by_share;                      /* sums may be distributed, see below           */
    const struct hps_codec_ops *codec;  /* in which what travels by MPI does, with fp32 sums:
                                           comm/rounded_sum.h                           */
    double share;                       /* of the numbers, that travels by MPI as fp32, with error
                                           feedback: comm/topk_sum.h; 0: all, in `codec` */
};
/* `grad` (n): device memory, borrowed where hps_reduce_grad is that, else not used. HPS_DECK, said:
 * a share is asked of GPUs that sum by NCCL; the same on all ranks, which free it nevertheless.
 * Collective over the stage (a communicator of its own is made). */
enum hps_status hps_reduce_new(struct hps_reduce **reduce, struct hps_dev *dev, float *grad,
                               const struct hps_reduce_opt *opt, MPI_Comm stage);
/* Collective over the stage where it has several ranks; NULL is fine. */
void hps_reduce_free(struct hps_reduce *reduce);

/* Where the backward pass writes gradients and the caller finds sums: the `grad` passed to new, or
 * zeroed memory shared with ranks of this host, which lives as long as the reduce. Pure. */
float *hps_reduce_grad(const struct hps_reduce *reduce);
/* The name of the operations that sum; "none" on a stage of one rank. Pure. */
const char *hps_reduce_name(const struct hps_reduce *reduce);

/* Everything from `offset` (floats) to the end is complete: full buckets start to travel and are
 * not the caller's until hps_reduce_end. Does not wait for others. */
void hps_reduce_ready(struct hps_reduce *reduce, size_t offset);
/* Let started buckets make progress, for which a host may add some up. Never waits for others. */
void hps_reduce_poll(struct hps_reduce *reduce);
/* Has a bucket of this step started? Pure. */
bool hps_reduce_busy(const struct hps_reduce *reduce);
/* Start the rest; what the device does next finds the sums in grad (the host waits for them only
 * where it makes them). Resets for the next step. Collective over the stage. Deterministic for the
 * same layout on the same hosts, whose ranks share memory or not as before (hw/nccl.h says what of
 * NCCL that relies on), and the same bits on all ranks of the stage unless sums are distributed. */
void hps_reduce_end(struct hps_reduce *reduce);
/* Bytes this rank has sent so far, as a ring would: 2 (k-1)/k of what it summed, half of it where
 * numbers travel as bf16 or fp16; where a share of them does, to each other host what it chose. */
double hps_reduce_bytes(const struct hps_reduce *reduce);
/* What of it was encoded; borrowed. */
const struct hps_message_count *hps_reduce_count(const struct hps_reduce *reduce);

/* ---- shares ----
 * Where ranks of a host share memory, each can use the sums of its shares of the gradients alone,
 * and so update the weights of these; the others' come by a gather. */

/* Are sums distributed so? Then hps_reduce_end leaves in grad the sums of this rank's shares and
 * zeros elsewhere. Equal on all ranks of the stage. Pure. */
bool hps_reduce_by_share(const struct hps_reduce *reduce);
/* Share i of this rank, [*first, *end) of the gradients, from 0 on; false: there are no more.
 * Together the ranks of a host have each number once, always the same ones. Pure. */
bool hps_reduce_share(const struct hps_reduce *reduce, int i, size_t *first, size_t *end);
/* Gather the shares of x (n; a host's memory) from the ranks of the host: begin takes mine, end
 * waits for the others and stores theirs in x. Collective over the stage. */
void hps_reduce_gather_begin(struct hps_reduce *reduce, const float *x);
void hps_reduce_gather_end(struct hps_reduce *reduce, float *x);

/* ---- residuals ----
 * Where a share of the numbers travels, each host keeps what it has not sent: each of its ranks
 * that of the numbers which it sums. */

/* The ranks of this host, and which of n hosts of the stage it is, in the order of their first
 * ranks. */
struct hps_reduce_host {
    MPI_Comm ranks;             /* MPI_COMM_NULL: this rank is alone; owned by the reduce */
    int index, n;
};
/* Are there residuals? *host [out]: this rank's; n = 0: there are none. The answer is equal on all
 * ranks of the stage. Pure. */
bool hps_reduce_has_residual(const struct hps_reduce *reduce, struct hps_reduce_host *host);
/* x (n) = the residual of this host, on its first rank; true there. Collective over the stage, when
 * no sum is under way. */
bool hps_reduce_get_residual(struct hps_reduce *reduce, float *x);
/* Add x (n) to that of this host, from number `first` on; all its ranks pass the same. Local, when
 * no sum is under way. */
void hps_reduce_add_residual(struct hps_reduce *reduce, size_t first, size_t n, const float *x);
/* The sum of squares of what this rank has of it. Local. */
double hps_reduce_residual2(const struct hps_reduce *reduce);

/* What reduce operations are opened with; all borrowed. */
struct hps_reduce_need {
    const struct hps_gpu_group *gpus; /* whether GPUs form a group, and its NCCL     */
    const struct hps_dev *dev;
    size_t n, bucket;                   /* floats of all gradients, of a bucket        */
    int nbucket;                        /* sums under way at once, at most             */
    bool by_share;                      /* sums may be distributed                     */
    const struct hps_codec_ops *codec;  /* in which numbers travel                     */
    double share;                       /* of the numbers that travel; 0: all          */
    float *residual;                    /* (n) what did not travel; NULL: all did      */
    struct hps_message_count *count;    /* of what is encoded                          */
};
/* Bucket b is [first, *end), the b-th from the end. Returns first. Pure. */
static inline size_t hps_reduce_bucket(size_t n, size_t bucket, int b, size_t *end)
{
    *end = n - (size_t)b * bucket;
    return *end > bucket ? *end - bucket : 0;
}

/* Operations of one way to sum; reduce.c lists them. A state serves one hps_reduce. */
struct hps_reduce_ops {
    const char *name;
    bool device;                /* takes device memory, on the stream PEERS; else a host's */
    /* NULL: these operations cannot sum for these ranks, and the next of the list are tried; the
     * answer is the same on all ranks. Borrows comm. Collective over comm. */
    void *(*open)(const struct hps_reduce_need *need, MPI_Comm comm);
    void (*close)(void *state);
    float *(*memory)(void *state);        /* where it sums; NULL: anywhere */
    void (*start)(void *state, float *at, size_t n);    /* in place; does not wait for others */
    void (*poll)(void *state);
    /* For all started since the last wait; what takes device memory leaves that to its stream. */
    void (*wait)(void *state);
    bool (*encodes)(void *state);       /* do numbers travel encoded? NULL: never */
    void (*host)(void *state, struct hps_reduce_host *host);    /* NULL: never encoded */
    /* As hps_reduce_share, also where sums are not distributed: what this rank sums for its host.
     */
    bool (*share)(void *state, int i, size_t *first, size_t *end);
    /* As hps_reduce_gather, of sums that are distributed; NULL: these never are. */
    void (*gather_begin)(void *state, const float *x);
    void (*gather_end)(void *state, float *x);
};
extern const struct hps_reduce_ops hps_reduce_nccl, hps_reduce_shm, hps_reduce_mpi;

#endif
