/* exchange.h - the rows of one table travel to the ranks that read them, and gradients back to the
 * owners, who apply them once a step. Where requests are for partial pooled sums (ps/pooled.h),
 * these travel instead of rows, and the gradients are those of the sums.
 *
 * A step is pull_begin, pull_end of each micro-batch, and where one learns: push_begin, push_end,
 * apply. Without a push the rows stay as they are, and the next pull may follow at once. All
 * members make the same calls in the same order, but for rows and grad.
 *
 * Messages may be encoded (hw/codec.h): those to members that share no memory with the sender. A
 * member's own rows, and those of members that share memory, are read as they are. So a row that is
 * read is off by codec->share of it at most, and the gradient of a row by that share of what each
 * member adds to it; what is kept, and summed, is fp32. */
#ifndef HPS_PS_EXCHANGE_H
#define HPS_PS_EXCHANGE_H

#include "comm/messages.h"
#include "hw/lookup.h"
#include "ps/request.h"
#include "ps/table.h"

enum { HPS_EXCHANGE_BUFFERS = 3 }; /* of rows, which one table has in `near` */

struct hps_exchange;
/* In which encoding messages travel. */
struct hps_exchange_opt {
    const struct hps_codec_ops *rows, *gradients;
};
/* One table, whose owners are the first members of comm (the request's; MPI_COMM_NULL: alone):
 * owner `part` is member `part`, the others have an empty one. shm: the request's, whose buffers
 * from index * HPS_EXCHANGE_BUFFERS on are this table's; or NULL. Borrows it, the table and the
 * device. HPS_DECK, on all members: they are GPUs that exchange by NCCL, which sends fp32, and opt
 * wants another encoding; the caller says so, and frees it. Collective over comm. */
enum hps_status hps_exchange_new(struct hps_exchange **ps, struct hps_table *table,
                                 struct hps_dev *dev, struct hps_shm *shm, int index,
                                 const struct hps_exchange_opt *opt, MPI_Comm comm);
/* Nothing may be pushed and not ended. Waits until the rows last sent have left. */
void hps_exchange_free(struct hps_exchange *ps);

/* Step begin: owners send the rows that step `r` needs, micro-batch by micro-batch; receives are
 * posted. `r` is borrowed until the push has ended or the next pull_begin. Rows are as the last
 * apply left them. Does not wait for others (but for those that have not yet begun to pull the step
 * before). */
void hps_exchange_pull_begin(struct hps_exchange *ps, const struct hps_request_step *r);
/* Rows first needed by micro-batch m have arrived. Call for m = 0..M-1 in order, before apply. */
void hps_exchange_pull_end(struct hps_exchange *ps, int m);
/* From now on, on a host: own rows are not gathered but read where they are in the table; not for
 * sums. Elsewhere it does nothing. */
void hps_exchange_read_in_place(struct hps_exchange *ps);
/* Set in a lookup of the step where its rows are: after pull_begin, good until the next one. */
void hps_exchange_locate(const struct hps_exchange *ps, struct hps_lookup *lookup);
/* Where the gradients of these rows go; borrowed until the next pull_begin. `alone`: one layer and
 * one micro-batch read them; it may then defer them (hps_row_grad) unless they travel, are those of
 * sums or are not in host memory. What it names stays until apply. */
struct hps_row_grad *hps_exchange_grad(struct hps_exchange *ps, bool alone);

/* After the last backward: gradients travel to the owners and are summed there in member order (so
 * bits do not depend on arrival). Begin does not wait for others; end does. */
void hps_exchange_push_begin(struct hps_exchange *ps);
void hps_exchange_push_end(struct hps_exchange *ps);
/* Sum of squares of the merged gradients of my rows, between push_end and apply. Local. */
double hps_exchange_norm2(struct hps_exchange *ps);
/* The rule on my rows that somebody read in this step. Local. */
void hps_exchange_apply(struct hps_exchange *ps, const struct hps_rule *rule);
/* The rule on some of them: the i-th, in the order of r->merged, for the n numbers i; on a host. */
void hps_exchange_apply_some(struct hps_exchange *ps, const struct hps_rule *rule, size_t n,
                             const int *number);
/* The merged gradients of my rows (nmerge, dim), in the order of r->merged, between push_end and
 * apply; device memory, borrowed until the next pull_begin. Local. */
const float *hps_exchange_merged(struct hps_exchange *ps);
/* Have the rows, and after push_begin the gradients, all come to me? Never blocks. */
bool hps_exchange_arrived(struct hps_exchange *ps);
/* Let rows and gradients make progress. Never blocks. */
void hps_exchange_poll(struct hps_exchange *ps);
double hps_exchange_bytes(const struct hps_exchange *ps); /* sent by this rank so far */
/* Add what of it was encoded to counts by kind. */
void hps_exchange_count(const struct hps_exchange *ps,
                        struct hps_message_count count[HPS_MESSAGES]);

#endif
