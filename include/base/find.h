/* find.h - the distinct ones among many numbers, in the order of their first sight.
 *
 * An open hash table that is never cleared: what was put before the last hps_find_begin is only
 * out of date. It grows with the most distinct numbers seen and is then silent. */
#ifndef HPS_BASE_FIND_H
#define HPS_BASE_FIND_H

#include <stddef.h>

struct hps_find;
struct hps_find *hps_find_new(void);
void hps_find_free(struct hps_find *find);

/* Start anew: nothing has been seen. Local, O(1). */
void hps_find_begin(struct hps_find *find);
/* place[i] = how many distinct numbers were seen before key[i]'s first sight (key, place: (n)).
 * Numbers >= 0. More than 2^31 - 1 distinct ones end the run. Local. */
void hps_find_put(struct hps_find *find, size_t n, const long long *key, int *place);
/* Distinct numbers seen since begin, and their list by place; valid until the next put. */
int hps_find_count(const struct hps_find *find);
const long long *hps_find_keys(const struct hps_find *find);

#endif
