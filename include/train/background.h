/* background.h - one thing that another thread does behind the training: no MPI and no HDF5 in it.
 */
#ifndef HPS_TRAIN_BACKGROUND_H
#define HPS_TRAIN_BACKGROUND_H

#include <stdbool.h>

#include "base/status.h"

/* How it ended: `why` is set by who runs it and said by who waits for it. */
struct hps_background_end {
    enum hps_status status;
    char why[600];
};

struct hps_background;

/* A thread that hears no signals runs `run`. Local. */
struct hps_background *hps_background_new(void (*run)(void *arg, struct hps_background_end *end),
                                          void *arg);
/* Has it ended? Waits for it at most so long. Local. */
bool hps_background_done(struct hps_background *errand, double most_s);
/* How, once it is done. Borrowed. Local. */
const struct hps_background_end *hps_background_end(const struct hps_background *errand);
void hps_background_free(
    struct hps_background *errand); /* waits for its end; NULL is fine. Local. */

#endif
