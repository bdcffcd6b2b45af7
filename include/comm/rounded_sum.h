/* rounded_sum.h - sums over ranks whose numbers travel as bf16: half the bytes, fp32 sums.
 *
 * Each rank rounds its summands and sends the q-th piece of them to rank q, which adds the pieces
 * up in fp32 in the order of the ranks, rounds the sum and sends it to all. So all have the same
 * bits, each time. bf16 has 8 digits, and roundings are to the nearest, so that each changes a
 * number by 2^-8 of it at most (near 0 by 2^-134): a sum is off by no more than
 * 2^-8 (sum of |summands| + |sum|), beside fp32's own roundings. */
#ifndef HPS_COMM_ROUNDED_SUM_H
#define HPS_COMM_ROUNDED_SUM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct hps_rounded_sum;
/* Sums over the ranks of comm, at most `nsum` at a time. Collective over comm. */
struct hps_rounded_sum *hps_rounded_sum_new(MPI_Comm comm, int nsum);
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
