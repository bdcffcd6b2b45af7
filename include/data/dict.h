/* dict.h - a dictionary of categories: ids 1, 2, .. in order of first occurrence; 0: unknown. */
#ifndef HPS_DATA_DICT_H
#define HPS_DATA_DICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hps_dict {
    long long max, n;               /* capacity and number of categories                 */
    char *text;                     /* of all categories, zero-terminated                */
    size_t bytes, cap, bytes_max;
    size_t *start;                  /* (n) where each begins in text                     */
    size_t start_cap;
    int *table, mask;               /* hash table of ids, 0: free                        */
};

/* At most `max` categories of at most bytes_max bytes in all; further ones are unknown. */
void hps_dict_init(struct hps_dict *d, long long max, size_t bytes_max);
void hps_dict_done(struct hps_dict *d);

/* The id of s[0..n). With `learn`, a new text gets an id within the limits; else the result is
 * 0, as for a text with a zero byte. Local. */
long long hps_dict_id(struct hps_dict *d, const char *s, size_t n, bool learn);

/* Add zero-terminated texts. */
void hps_dict_load(struct hps_dict *d, const char *texts, size_t bytes);

#endif
