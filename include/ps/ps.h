/* ps.h - the parameter store: rows to the ranks that read them, gradients back to their owners,
 * applied once a step. Where the route says so, partial sums of rows (ps/pooled.h) take the
 * rows' place, and gradients are those of the sums.
 *
 * A step is pull_begin, pull_end of each micro-batch, and where one learns: push_begin, push_end,
 * apply. Without a push the rows stay as they are, and the next pull may follow at once. All
 * members make the same calls in the same order, but for rows and grad. */
#ifndef HPS_PS_PS_H
#define HPS_PS_PS_H

#include "ps/request.h"
#include "ps/table.h"

enum { HPS_PS_BUFFERS = 3 };    /* of rows, which one table has in `near` */

struct hps_ps;
/* One table, sharded over the members of comm (the route's; MPI_COMM_NULL: alone), owner `part` of
 * the table is member `part`. near: the route's, whose buffers from index * HPS_PS_BUFFERS on are
 * this table's; or NULL. Borrows it, the table and the device. Collective over comm. */
enum hps_status hps_ps_new(struct hps_ps **ps, struct hps_table *table, struct hps_dev *dev,
                           struct hps_shm *near, int index, MPI_Comm comm);
/* Nothing may be pushed and not ended. Waits until the rows last sent have left. */
void hps_ps_free(struct hps_ps *ps);

/* Step begin: owners send the rows that step `r` needs, micro-batch by micro-batch; receives are
 * posted. `r` is borrowed until the push has ended or the next pull_begin. Rows are as the last
 * apply left them. Does not wait for others (but for those that have not yet begun to pull the step
 * before). */
void hps_ps_pull_begin(struct hps_ps *ps, const struct hps_request_step *r);
/* Rows first needed by micro-batch m have arrived. Call for m = 0..M-1 in order, before apply. */
void hps_ps_pull_end(struct hps_ps *ps, int m);
/* Rows by place (nplace, dim) and their gradients, device memory; valid until the next pull_begin.
 * Gradients are not set while *written is false: the first writer in a step overwrites them all and
 * sets it, the others add. Who only reads never asks for gradients. */
const float *hps_ps_rows(const struct hps_ps *ps);
/* From now on, on a host: own rows are not gathered but read where they lie, which only bags that
 * say so can do; not for sums. hps_ps_rows is then the table. hps_ps_place sets that in a bag of
 * the step, whose rows are those of its places in their order: after pull_begin, good until the
 * next one. Elsewhere both do nothing. */
void hps_ps_stay(struct hps_ps *ps);
void hps_ps_place(const struct hps_ps *ps, struct hps_bag *bag);
float *hps_ps_grad(struct hps_ps *ps);
bool *hps_ps_written(struct hps_ps *ps);
/* Where one reader, if it is the only one of the step and has one micro-batch, may say instead of
 * what rows each gradient is the sum, in the order of places: they and the lists stay until apply.
 * NULL where gradients travel, are those of sums or are not in host memory. Valid until the next
 * pull_begin. */
struct hps_row_sums *hps_ps_owed(struct hps_ps *ps);

/* After the last backward: gradients travel to the owners and are summed there in member order (so
 * bits do not depend on arrival). Begin does not wait for others; end does. */
void hps_ps_push_begin(struct hps_ps *ps);
void hps_ps_push_end(struct hps_ps *ps);
/* Sum of squares of the merged gradients of my rows, between push_end and apply. Local. */
double hps_ps_norm2(struct hps_ps *ps);
/* The rule on my rows that somebody read in this step. Local. */
void hps_ps_apply(struct hps_ps *ps, const struct hps_rule *rule);
/* Let rows and gradients make progress. Never blocks. */
void hps_ps_poll(struct hps_ps *ps);
double hps_ps_bytes(const struct hps_ps *ps);    /* sent by this rank so far */

#endif
