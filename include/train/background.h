/* background.h - a task in a thread beside the training; it calls neither MPI nor HDF5. */
#ifndef HPS_TRAIN_BACKGROUND_H
#define HPS_TRAIN_BACKGROUND_H

#include <stdbool.h>

#include "base/status.h"

/* The result of the task; the waiting caller prints `why`. */
struct hps_background_end {
    enum hps_status status;
    char why[600];
};

struct hps_background;

/* Start a thread that runs run(arg, end); signals are not delivered to it. Local. */
struct hps_background *hps_background_new(void (*run)(void *arg, struct hps_background_end *end),
                                          void *arg);
/* Has the task ended? Waits for at most max_s. Local. */
bool hps_background_done(struct hps_background *task, double max_s);
/* The result, once it has ended. Borrowed. Local. */
const struct hps_background_end *hps_background_end(const struct hps_background *task);
void hps_background_free(struct hps_background *task); /* waits for its end; NULL is fine. Local. */

#endif
