/* row_store_impl.h - the state of a store of rows; for src/ps/tier/row_store*.c only. */
#ifndef HPS_PS_TIER_ROW_STORE_IMPL_H
#define HPS_PS_TIER_ROW_STORE_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "ps/row_log.h"
#include "ps/row_store.h"

/* Where the only copy of a slot's row is, beside the place of one in the file. */
#define HPS_ROW_CHANGED UINT32_C(0xffffffff)    /* in the slot                    */
#define HPS_ROW_MADE HPS_SLOTS_NEVER            /* nowhere: the seed gives it     */

/* Rows that move between slots and the file. */
struct hps_row_moves {
    size_t n, row_cap, slot_cap, place_cap;
    int *row, *slot;            /* (n)                     */
    uint32_t *place;            /* (n) of them in the file */
};

/* How far the thread is with the rows of a step: nothing is to be done; rows that leave are in
 * slots still; they are not, so that rows that come can be made there. */
enum hps_row_state { HPS_ROWS_SETTLED, HPS_ROWS_LEAVING, HPS_ROWS_COMING };

struct hps_row_store {
    int ntable;
    struct hps_table **table;           /* (ntable)                                               */
    size_t *at, row_bytes;              /* (ntable) where each begins in a record; of a record    */
    size_t max_stride;                  /* floats of a decoded row of any of them                 */
    pthread_mutex_t lock;               /* of all that follows, and of the slots. While rows are  */
                                        /* not settled, the log, copies, places and lists are the */
                                        /* thread's, which needs no lock for them                 */
    struct hps_slots *slots;
    struct hps_row_log *log;
    uint32_t *copy;                     /* (slots) CHANGED, MADE, or AWAY and a place             */
    enum hps_row_state state;
    int nhelp;                          /* threads that help to make rows                         */
    pthread_cond_t moved;               /* the state has changed, or nhelp                        */
    struct hps_row_moves leave, read, make;
    unsigned char *record;              /* (leave.n) of those that leave                          */
    size_t record_cap;
    atomic_size_t made_to;              /* of the list of rows to make, those before it are taken */
    bool reading;                       /* reads are under way                                    */
    struct hps_row_store *next;         /* in the queue of the thread                             */
    enum hps_status status;
    double made, read_rows, waited_s;   /* for steps                                              */
};

static inline unsigned char *hps_row_store_slot(const struct hps_table *t, int slot)
{
    return hps_table_memory(t) + (size_t)slot * t->format.bytes;
}

/* Wait until the thread has done its part of the step to come, and its reads have ended: its rows
 * are in their slots. With the lock. */
void hps_row_store_end_moves(struct hps_row_store *s);
/* From a slot to a record, or back. */
void hps_row_store_get(const struct hps_row_store *s, int slot, unsigned char *record);
void hps_row_store_put(const struct hps_row_store *s, int slot, const unsigned char *record);
/* Keep the first status that is none of HPS_OK. With the lock. */
void hps_row_store_note(struct hps_row_store *s, enum hps_status st);

/* ---- rows move, row_store_move.c ---- */

/* The lists of leave, read and make are done, from LEAVING to SETTLED but for the reads, which are
 * under way. By the thread, without the lock. */
void hps_row_store_move(struct hps_row_store *s);
/* Make rows of the list until none is left. By any threads, while rows are COMING. */
void hps_row_store_make(struct hps_row_store *s);

/* ---- the thread, row_store_thread.c ---- */

/* The one thread of this process that moves rows, for all stores in turn. Each get, which may give
 * the errno of a thread that does not start, needs a put. */
int hps_row_thread_get(void);
void hps_row_thread_put(void);
/* It is to call hps_row_store_move. The store is settled, LEAVING from here on. With the lock. */
void hps_row_thread_give(struct hps_row_store *s);

#endif
