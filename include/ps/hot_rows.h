/* hot_rows.h - the hot rows of a micro-batch, which many of its ids are of: found in a sample of
 * the first ids of each slot, looked up by a hash. They depend on the ids alone, and the result of
 * a step does not depend on them: a hot row may be missed, a rare one be found. */
#ifndef HPS_PS_HOT_ROWS_H
#define HPS_PS_HOT_ROWS_H

#include "ps/csr.h"

enum { HPS_HOT_ROWS_BITS = 13, HPS_HOT_ROWS_MAX = 1 << HPS_HOT_ROWS_BITS };

/* The hot rows of a micro-batch, by owner. */
struct hps_hot_rows {
    int n;
    int *first;     /* (parts + 1) those of owner q are first[q] .. first[q + 1] - 1 */
    uint64_t *key;  /* (n, at most HPS_HOT_ROWS_MAX) as of bags                     */
    int bits;       /* of the hash                                                   */
    uint64_t *word; /* (2^bits) key and number, by hash                              */
    size_t key_cap, word_cap;
};
void hps_hot_rows_init(struct hps_hot_rows *p, int parts);
void hps_hot_rows_done(struct hps_hot_rows *p);

/* Find those of micro-batch m of the listed step. seen (HPS_HOT_ROWS_SEEN): scratch. */
enum { HPS_HOT_ROWS_SEEN_BITS = 15, HPS_HOT_ROWS_SEEN = 1 << HPS_HOT_ROWS_SEEN_BITS };
void hps_hot_rows_find(struct hps_hot_rows *p, const struct hps_csr *s, int m, uint64_t *seen);

/* Replace those of the n keys that are of hot rows by `other` with the number of the hot row in its
 * lower HPS_HOT_ROWS_BITS. */
void hps_hot_rows_mark(const struct hps_hot_rows *p, size_t n, uint64_t *key, uint64_t other);

#endif
