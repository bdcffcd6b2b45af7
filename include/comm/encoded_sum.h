/* encoded_sum.h - sums over ranks whose numbers travel in fewer bytes: rounded ones, or the largest
 * alone. What both have in common. */
#ifndef HPS_COMM_ENCODED_SUM_H
#define HPS_COMM_ENCODED_SUM_H

#include "comm/reduce.h"

struct hps_encoded_sum;
/* As need->share and need->codec say (comm/topk_sum.h, comm/rounded_sum.h); NULL: all numbers
 * travel as fp32. Collective over comm. */
struct hps_encoded_sum *hps_encoded_sum_new(MPI_Comm comm, int nsum,
                                            const struct hps_reduce_need *need);
/* As those of comm/topk_sum.h. Rounded sums need no residual. */
void hps_encoded_sum_free(struct hps_encoded_sum *sum);
void hps_encoded_sum_start(struct hps_encoded_sum *sum, const float *x, float *to, size_t n,
                           float *residual);
bool hps_encoded_sum_done(struct hps_encoded_sum *sum, int n, bool blocking);
void hps_encoded_sum_reset(struct hps_encoded_sum *sum);

#endif
