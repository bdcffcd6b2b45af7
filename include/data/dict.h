/* dict.h - categories to ids 1.. in the order in which they are first seen; 0: not known. */
#ifndef HPS_DATA_DICT_H
#define HPS_DATA_DICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hps_dict {
    long long most, n;              /* categories at most, and known                     */
    char *text;                     /* those known, each ended by a zero                 */
    size_t bytes, cap, bytes_most;
    size_t *start;                  /* (n) where each begins in text                     */
    size_t start_cap;
    int *place, mask;               /* hash table: id, 0: free                            */
};

/* At most that many texts, of that many bytes together: what comes then is not known. */
void hps_dict_init(struct hps_dict *d, long long most, size_t bytes_most);
void hps_dict_done(struct hps_dict *d);

/* The id of s[0..n); when it is new it gets one if `learn` and there is room, else 0. 0 too for a
 * text with a zero byte. Local. */
long long hps_dict_id(struct hps_dict *d, const char *s, size_t n, bool learn);

/* Learn texts that each end with a zero. */
void hps_dict_load(struct hps_dict *d, const char *texts, size_t bytes);

#endif
