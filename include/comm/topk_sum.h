/* topk_sum.h - sums over ranks of which each sends the largest of its numbers alone, with error
 * feedback: what a rank does not send it keeps, in its residual, and adds to what it sums next.
 *
 * Each rank adds its summands to its residual, takes the k largest of these out of it
 * (comm/topk.h) and sends them to all, as fp32. Each rank adds what all have sent in the order of
 * the ranks, so all have the same bits. Over many sums nothing is lost: what was sent and what the
 * residuals have is the sum of all summands, to fp32's roundings. A sum alone may be off by
 * everything that was not among the largest. */
#ifndef HPS_COMM_TOPK_SUM_H
#define HPS_COMM_TOPK_SUM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "comm/messages.h"

struct hps_topk_sum;
/* Sums over the ranks of comm, at most `nsum` at a time, of which that share of the numbers
 * travels. `count`, borrowed, gets the bytes that this rank sends, and as plain_bytes those of a
 * ring of fp32; its error is what was not sent of residuals and summands. Collective over comm. */
struct hps_topk_sum *hps_topk_sum_new(MPI_Comm comm, int nsum, double share,
                                      struct hps_message_count *count);
/* None may be under way. Collective over comm; NULL is fine. */
void hps_topk_sum_free(struct hps_topk_sum *sum);

/* Start the next sum, of x (n), which is read at once; `to` (n), which may be x, is written when
 * the sum is done; `residual` (n) is this rank's own, read and changed at once. Does not wait. All
 * ranks start the same sums in the same order. */
void hps_topk_sum_start(struct hps_topk_sum *sum, const float *x, float *to, size_t n,
                        float *residual);
/* As those of comm/rounded_sum.h. */
bool hps_topk_sum_done(struct hps_topk_sum *sum, int n, bool blocking);
void hps_topk_sum_reset(struct hps_topk_sum *sum);

#endif
