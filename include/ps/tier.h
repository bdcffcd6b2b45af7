/* tier.h - where the rows of a table shard are kept: a table of operations for each place, and one
 * list of them. Another place is one file and one line in the list.
 *
 * The rows that a step reads and updates are always in device memory (table->row, or on a host
 * table->encoded where they are kept in fewer bytes: hw/row_format.h). Where all rows
 * of a shard are there, their numbers are the local row numbers. Where they are not, the device has
 * slots for some of them (ps/slots.h), the rest lie in the backing store, and before a step its
 * rows are fetched to slots (ps/staging.h; of a host ps/paging.h). What a lookup gives does not
 * depend on the place. */
#ifndef HPS_PS_TIER_H
#define HPS_PS_TIER_H

#include <stddef.h>

#include "base/status.h"

struct hps_table;

struct hps_tier_ops {
    const char *name;
    /* Memory for the shard's rows, not initialised; and its end. Local. */
    void (*alloc)(struct hps_table *table);
    void (*free)(struct hps_table *table);
    /* Where all rows (nrow, stride) lie in host memory, to be read and written; NULL: nowhere, or
     * encoded. What is in slots is newer. Pure. */
    float *(*host)(const struct hps_table *table);
    /* Rows are copied from the backing store to slots, or from slots to it: (n) local row numbers
     * and slots in device memory. Queued on the device; does not wait. All three are NULL where
     * the device has all rows, or others do that. */
    void (*fetch)(struct hps_table *table, size_t n, const int *row, const int *slot);
    void (*evict)(struct hps_table *table, size_t n, const int *row, const int *slot);
    /* n whole rows as they are now, from the local row `first` on, to x (n, stride). NULL: copy. On
     * a host; by any thread, while nobody changes rows. HPS_OUTPUT where they cannot be read,
     * which was said. */
    enum hps_status (*read)(struct hps_table *table, long long first, long long n, float *x);
    /* There are so many slots from now on, empty ones. */
    void (*resize)(struct hps_table *table, int slots);
    /* All rows as they are now are copied to (nrow, stride) in host memory; waits for the device.
     * NULL: read. And the other way, some rows: n from the local number `first` on become x
     * (n, stride). */
    void (*copy)(struct hps_table *table, float *to);
    void (*set)(struct hps_table *table, long long first, long long n, const float *x);
};

extern const struct hps_tier_ops hps_tier_device; /* all rows in device memory                  */
extern const struct hps_tier_ops hps_tier_host;   /* in mapped host memory, hot ones in slots   */
extern const struct hps_tier_ops hps_tier_file;   /* in a file, hot ones in slots of the host's */

/* The place of that name: "device", "host" or "file"; NULL: there is none. Pure. */
const struct hps_tier_ops *hps_tier_find(const char *name);

#endif
