/* hot_rows.h - rows that many ids of a micro-batch name: found by a look at the first ids of each
 * slot, told from all others by a hash. Which rows these are depends on the ids alone, and is a
 * matter of speed alone: a row may be hot and missed, or named but twice. */
#ifndef HPS_PS_HOT_ROWS_H
#define HPS_PS_HOT_ROWS_H

#include "ps/csr.h"

enum { HPS_HOT_ROWS_BITS = 13, HPS_HOT_ROWS_MOST = 1 << HPS_HOT_ROWS_BITS };

/* The hot rows of a micro-batch, by owner. */
struct hps_hot_rows {
    int n;
    int *first;     /* (parts + 1) those of owner q are first[q] .. first[q + 1] - 1 */
    uint64_t *key;  /* (n, at most HPS_HOT_ROWS_MOST) as of bags                     */
    int bits;       /* of a hash                                                     */
    uint64_t *word; /* (2^bits) key and number, by hash                              */
    size_t key_cap, word_cap;
};
void hps_hot_rows_init(struct hps_hot_rows *p, int parts);
void hps_hot_rows_done(struct hps_hot_rows *p);

/* Those of micro-batch m of the step that the bags list. seen (HPS_HOT_ROWS_SEEN): scratch. */
enum { HPS_HOT_ROWS_SEEN_BITS = 15, HPS_HOT_ROWS_SEEN = 1 << HPS_HOT_ROWS_SEEN_BITS };
void hps_hot_rows_find(struct hps_hot_rows *p, const struct hps_csr *s, int m, uint64_t *seen);

/* Of n keys those of hot rows become `other` and, in its lower HPS_HOT_ROWS_BITS, the row's
 * number. */
void hps_hot_rows_mark(const struct hps_hot_rows *p, size_t n, uint64_t *key, uint64_t other);

#endif
