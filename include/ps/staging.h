/* staging.h - on a device that has not room for all rows: before a step, the rows that it needs are
 * brought to slots, and the step is written anew with slots in place of local row numbers (design
 * 6).
 *
 * Tables of one request have the same rows at this rank, so the same slots serve all of them. What
 * moves is queued on the device behind the step before; nobody waits. */
#ifndef HPS_PS_STAGING_H
#define HPS_PS_STAGING_H

#include "ps/request.h"
#include "ps/table.h"
#include "ps/slots.h"

struct hps_staging;

/* The slots are borrowed, as are the tables that have it (ntable). Local. */
struct hps_staging *hps_staging_new(struct hps_slots *slots, int ntable,
                                    struct hps_table *const *table, struct hps_dev *dev);
void hps_staging_free(struct hps_staging *staging); /* NULL is fine */

/* The step as its tables have it: row and merged are slots. Good until the next but one. A step
 * that needs more rows than there are slots gets more of them, which is said. Local. */
const struct hps_request_step *hps_staging_step(struct hps_staging *staging,
                                                const struct hps_request_step *step);

/* Bytes moved so far, to the device and from it. */
double hps_staging_bytes(const struct hps_staging *staging);

#endif
