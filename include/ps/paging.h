/* paging.h - on a host whose memory has not room for all rows: before a step, the rows that it
 * needs are brought to slots (ps/row_store.h), and the step is written anew with slots in place of
 * local row numbers (design 6).
 *
 * The rows of the next step begin to be read while a step is computed, as soon as its requests have
 * come; the rows that leave for them are those that neither of both needs. Where there are too few
 * slots for both, they are read when the next step begins. An evaluation goes the same way between
 * the steps of a training, and is not counted.
 *
 * At a server of asynchronous workers several steps are under way at once, one of each worker. A
 * step needs its rows in slots twice: when it begins and they are sent, and when its gradients are
 * applied. In between they stay pinned while there is room, and may leave; hps_paging_bring and
 * bring_again say, without waiting, whether they are there. No step is ever in need of what another
 * one has pinned: one that may begin to read takes the slots of all others. So if the caller lets
 * one worker at a time do so, until its rows are there, that worker waits for the disk alone, and
 * no order of requests, here or at other servers, makes workers wait for each other's slots. */
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
/* The step that was prepared is dropped. Local. */
void hps_paging_unprepare(struct hps_paging_steps *steps);
/* The step as its tables have it: row, merged, the rows of sums and of lookups are slots. It ends
 * the step before. Good until the next but one. A step that needs more rows than there are slots is
 * refused, which is said: its rows are wrong, and hps_paging_status is HPS_DECK. Waits for rows.
 * Local. */
const struct hps_request_step *hps_paging_take(struct hps_paging_steps *steps,
                                               const struct hps_request_step *step);
/* The rows of the step that was taken last are to be changed: before its first update; again, it
 * does nothing. Rows that have left are brought, which waits, and merged has their slots. Local. */
void hps_paging_change(struct hps_paging_steps *steps);

/* Are the rows of the step that take is to give next in slots, or of the one that it gave last, so
 * that take or change does not wait? `may_begin`: if they are not, they begin to be read, and rows
 * of all other steps may leave for them; else another step's come first. One batch of reads is
 * under way at a time. The step before has ended; it never blocks. Local. */
bool hps_paging_bring(struct hps_paging_steps *steps, const struct hps_request_step *step,
                      bool may_begin);
bool hps_paging_bring_again(struct hps_paging_steps *steps, bool may_begin);
/* For how long steps that had their turn were brought so. Pure. */
double hps_paging_waited_s(const struct hps_paging *paging);

/* Slots of n distinct rows, of whichever steps, that are to be changed next; at most so many as
 * there are slots. Waits for rows. One such loan at a time; give_back waits for the device. The
 * slots are borrowed until then. Local. */
const int *hps_paging_lend(struct hps_paging *paging, size_t n, const int *row);
void hps_paging_give_back(struct hps_paging *paging);
size_t hps_paging_slots(const struct hps_paging *paging);

/* What has gone wrong so far, here or in the store. Local. */
enum hps_status hps_paging_status(const struct hps_paging *paging);

#endif
