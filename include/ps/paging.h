/* paging.h - on a host whose memory has not room for all rows: before a step, the rows that it
 * needs are brought to slots (ps/row_store.h), and the step is written anew with slots in place of
 * local row numbers (design 6).
 *
 * The rows of the next step begin to be read while a step is computed, as soon as its requests have
 * come; the rows that leave for them are those that neither of both needs. Where there are too few
 * slots for both, they are read when the next step begins. An evaluation goes the same way between
 * the steps of a training, and is not counted. */
#ifndef HPS_PS_PAGING_H
#define HPS_PS_PAGING_H

#include "ps/request.h"
#include "ps/row_store.h"

struct hps_paging;
/* The store is borrowed; what: its table, for a message, copied. Local. */
struct hps_paging *hps_paging_new(struct hps_row_store *store, struct hps_dev *dev,
                                  const char *what);
void hps_paging_free(struct hps_paging *paging); /* NULL is fine */

/* A sequence of steps, of a training that `learns` or an evaluation; nlayer: of its requests. */
struct hps_paging_steps;
struct hps_paging_steps *hps_paging_steps_new(struct hps_paging *paging, bool learns,
                                              size_t nlayer);
void hps_paging_steps_free(struct hps_paging_steps *steps); /* NULL is fine */
/* The step that hps_paging_take is to give next: its rows begin to be read, where they do not yet
 * and there is room. Local, by the main thread. */
void hps_paging_prepare(struct hps_paging_steps *steps, const struct hps_request_step *step);
/* The step as its tables have it: row, merged, the rows of sums and of lookups are slots. It ends
 * the step before. Good until the next but one. A step that needs more rows than there are slots is
 * refused, which is said: its rows are wrong, and hps_paging_status is HPS_DECK. Waits for rows.
 * Local. */
const struct hps_request_step *hps_paging_take(struct hps_paging_steps *steps,
                                               const struct hps_request_step *step);

/* What has gone wrong so far, here or in the store. Local. */
enum hps_status hps_paging_status(const struct hps_paging *paging);

#endif
