/* row_store_impl.h - the state of a store of rows; for src/ps/tier/row_store*.c only. */
#ifndef HPS_PS_TIER_ROW_STORE_IMPL_H
#define HPS_PS_TIER_ROW_STORE_IMPL_H

#include <pthread.h>
#include <string.h>

#include "ps/row_log.h"
#include "ps/row_store.h"

/* Where the only copy of a slot's row is, beside the place of one in the file. */
#define HPS_ROW_CHANGED UINT32_C(0xffffffff)    /* in the slot                    */
#define HPS_ROW_MADE HPS_SLOTS_NEVER            /* nowhere: the seed gives it     */

/* Rows that are read: the record of row i comes to data + i * row_bytes, for its slot. */
struct hps_row_reads {
    size_t n, cap, place_cap, data_cap;
    int *slot;
    uint32_t *place;
    unsigned char *data;
};

struct hps_row_store {
    int ntable;
    struct hps_table **table;           /* (ntable)                                               */
    size_t *at, row_bytes;              /* (ntable) where each begins in a record; of a record    */
    size_t max_stride;                  /* floats of a decoded row of any of them                 */
    struct hps_slots *slots;
    struct hps_row_log *log;
    pthread_mutex_t lock;               /* of all that follows, and of the slots                  */
    uint32_t *copy;                     /* (slots) CHANGED, MADE, or AWAY and a place             */
    struct hps_row_reads reads;         /* that are under way; n 0: none are                      */
    struct {
        size_t n, row_cap, slot_cap, place_cap;
        int *row, *slot;
        uint32_t *place;
    } list;                             /* scratch: rows to write or make                         */
    unsigned char *record;              /* (CHUNK bytes) scratch                                  */
    size_t chunk;                       /* records in it                                          */
    enum hps_status status;
    double made, waited_s;
};

static inline unsigned char *hps_row_store_slot(const struct hps_table *t, int slot)
{
    return hps_table_memory(t) + (size_t)slot * t->format.bytes;
}

/* The reads under way end, their rows are in their slots. With the lock. */
void hps_row_store_end_reads(struct hps_row_store *s);
/* From a slot to a record, or back. With the lock. */
void hps_row_store_get(const struct hps_row_store *s, int slot, unsigned char *record);
void hps_row_store_put(const struct hps_row_store *s, int slot, const unsigned char *record);
/* Keep the first status that is none of HPS_OK. With the lock. */
void hps_row_store_note(struct hps_row_store *s, enum hps_status st);

#endif
