/* tier_time.h - what rows that memory has no room for take of a plan's step: those of a stage's
 * units, or of servers; pure.
 *
 * Each of k units has its part of the rows of every request, and the profile's max_rows_bytes of
 * memory for them (hps_tier_divide). Of rows in a step, means over the run, divided by k:
 *     busy = asked take + made make + read read + written write       seconds of the unit
 *     disk = read / reads_s                          while it computes the step before
 * so that a step lasts at least busy + disk, and `busy` longer than without. Stages that share
 * their units are computed as if each had all of the memory. */
#ifndef HPS_PLAN_TIER_TIME_H
#define HPS_PLAN_TIER_TIME_H

#include "plan/profile.h"

/* All requests of a profile, as functions of their slots. */
struct hps_tier_curves;
/* NULL: memory has all rows, or nothing is known of them. Borrows p; caller frees. O(L). */
struct hps_tier_curves *hps_tier_curves_new(const struct hps_profile *p);
void hps_tier_curves_free(struct hps_tier_curves *curves); /* NULL is fine */

/* Of one unit. */
struct hps_tier_time {
    double busy_s, disk_s;
};
/* Of layers i..j on k units of type t, those of all workers; none of rows that are on servers. Of
 * all layers on k servers. Pure, but for workspace in curves (NULL: 0). */
struct hps_tier_time hps_tier_time(struct hps_tier_curves *curves, int i, int j, int t, double k);
struct hps_tier_time hps_tier_time_served(struct hps_tier_curves *curves, int t, double k);

/* Rows of one request on one unit. */
struct hps_tier_request {
    int layer;                          /* its first                                    */
    double bytes, memory_bytes;         /* of its rows; of those in slots, and of the index */
    struct hps_tier_rows rows;          /* of a step                                    */
    struct hps_tier_time time;
};
/* The requests of layers i..j on k units of type t, or of all on servers where `served`, of which
 * memory has not all rows: to `list` (L). Returns how many. */
int hps_tier_requests(struct hps_tier_curves *curves, int i, int j, int t, double k, bool served,
                      struct hps_tier_request *list);

#endif
