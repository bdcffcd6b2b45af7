/* dict.h - categories get ids 1, 2, ... in the order in which they are first seen; 0: unknown. */
#ifndef HPS_DATA_DICT_H
#define HPS_DATA_DICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hps_dict {
    long long max, n;               /* categories that it can hold, and holds            */
    char *text;                     /* those known, each ended by a zero                 */
    size_t bytes, cap, bytes_max;
    size_t *start;                  /* (n) where each begins in text                     */
    size_t start_cap;
    int *place, mask;               /* hash table: id, 0: free                            */
};

/* At most `max` texts, of at most bytes_max bytes together: all further ones are unknown. */
void hps_dict_init(struct hps_dict *d, long long max, size_t bytes_max);
void hps_dict_done(struct hps_dict *d);

/* The id of s[0..n). A new text gets one with `learn`, as long as the limits allow; else the answer
 * is 0, as for a text with a zero byte. Local. */
long long hps_dict_id(struct hps_dict *d, const char *s, size_t n, bool learn);

/* Learn texts that each end with a zero. */
void hps_dict_load(struct hps_dict *d, const char *texts, size_t bytes);

#endif
