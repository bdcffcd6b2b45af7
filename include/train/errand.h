/* errand.h - one thing that another thread does behind the training: no MPI and no HDF5 in it. */
#ifndef HPS_TRAIN_ERRAND_H
#define HPS_TRAIN_ERRAND_H

#include "base/say.h"

/* How it ended: `why` is set by who runs it and said by who waits for it. */
struct hps_errand_end {
    enum hps_status status;
    char why[600];
};

struct hps_errand;

/* A thread that hears no signals runs `run`. Local. */
struct hps_errand *hps_errand_new(void (*run)(void *arg, struct hps_errand_end *end), void *arg);
/* Has it ended? Waits for it at most so long. Local. */
bool hps_errand_done(struct hps_errand *errand, double most_s);
/* How, once it is done. Borrowed. Local. */
const struct hps_errand_end *hps_errand_end(const struct hps_errand *errand);
void hps_errand_free(struct hps_errand *errand); /* waits for its end; NULL is fine. Local. */

#endif
