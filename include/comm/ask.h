/* ask.h - what one rank asks for in a step: its distinct rows, their places, their owners, and the
 * bags that point at the places. The local half of a route: no messages. */
#ifndef HPS_COMM_ASK_H
#define HPS_COMM_ASK_H

#include "comm/ints.h"
#include "comm/route.h"

struct hps_ask;
/* As hps_route_new; `parts` owners. Layers and device are borrowed. Local. */
struct hps_ask *hps_ask_new(const struct hps_route_use *use, long long rows, int M, int parts,
                            struct hps_dev *dev);
void hps_ask_free(struct hps_ask *ask);

/* Fill first, nplace, ask and bag of `step` (its arrays are there) from the step's batches (M;
 * NULL: nothing is asked, no bag is made); the bags' numbers lie in index and offset. Local. */
void hps_ask_step(struct hps_ask *ask, const struct hps_batch *batch, struct hps_route_step *step,
                  struct hps_ints *index, struct hps_ints *offset);
/* (nplace) each row's number at its owner, by place; host memory, valid until the next step. */
const int *hps_ask_rows(const struct hps_ask *ask);

#endif
