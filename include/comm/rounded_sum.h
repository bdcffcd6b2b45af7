/* rounded_sum.h - sums over ranks whose numbers travel encoded (hw/codec.h): half the bytes, fp32
 * sums.
 *
 * Each rank rounds its summands and sends the q-th piece of them to rank q, which adds the pieces
 * up in fp32 in the order of the ranks, rounds the sum and sends it to all. So all have the same
 * bits, each time. A rounding changes a number by codec->share of it at most (near 0 by
 * codec->tiny): a sum is off by no more than share (sum of |summands| + |sum|), beside fp32's own
 * roundings; with bf16 2^-8 of these, with fp16 2^-11, unless a number is above 65504. */
#ifndef HPS_COMM_ROUNDED_SUM_H
#define HPS_COMM_ROUNDED_SUM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "comm/messages.h"

struct hps_rounded_sum;
/* Sums over the ranks of comm, at most `nsum` at a time, of numbers that travel in an encoding that
 * converts; `count`, borrowed, gets its errors. Collective over comm. */
struct hps_rounded_sum *hps_rounded_sum_new(MPI_Comm comm, int nsum,
                                            const struct hps_codec_ops *codec,
                                            struct hps_message_count *count);
/* None may be under way. Collective over comm; NULL is fine. */
void hps_rounded_sum_free(struct hps_rounded_sum *sum);

/* Start the next sum, of x (n), which is read at once; `to` (n), which may be x, is written when
 * the sum is done. Does not wait. All ranks start the same sums in the same order. */
void hps_rounded_sum_start(struct hps_rounded_sum *sum, const float *x, float *to, size_t n);
/* Let sums make progress. Are the first n of those started since the last reset done? `blocking`:
 * yes, after waiting. */
bool hps_rounded_sum_done(struct hps_rounded_sum *sum, int n, bool blocking);
/* Forget the sums started, which are all done. Local. */
void hps_rounded_sum_reset(struct hps_rounded_sum *sum);

#endif
