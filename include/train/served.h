/* served.h - what the servers of asynchronous workers did in a start, and the workers' caches of
 * rows, gathered for its report. */
#ifndef HPS_TRAIN_SERVED_H
#define HPS_TRAIN_SERVED_H

#include "step/server.h"

struct hps_served {
    int N;                              /* servers                                         */
    int *rank;                          /* (N)                                             */
    struct hps_server_work *work;       /* (N)                                             */
    struct hps_staleness rows, dense;   /* of the gradients that all of them applied       */
    struct hps_clock_samples samples;   /* of the first server                             */
    struct hps_ps_cached cached;        /* by the caches of rows of all workers' ranks     */
};

/* `server`: on a server, else NULL. To free on rank 0; NULL on the others. Collective over
 * team->world. */
struct hps_served *hps_served_gather(const struct hps_step *step, const struct hps_server *server);
void hps_served_free(struct hps_served *served);        /* NULL is fine. Local */

#endif
