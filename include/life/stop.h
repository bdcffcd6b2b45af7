/* stop.h - requests to end the run early: signals, the file `stop`, the time limit of the run or of
 * the batch system. */
#ifndef HPS_LIFE_STOP_H
#define HPS_LIFE_STOP_H

#include "life/rundir.h"

/* Catch SIGTERM, SIGINT, SIGUSR1 from now on: each only sets a flag, which the run obeys when there
 * is one; a second signal changes nothing. Signals go to a thread of their own, so neither the
 * calling thread nor those that it starts are interrupted. Launchers also send SIGTERM to the ranks
 * that are left when one was killed: after it, an end in disorder is not written into status.json,
 * and the launcher's code is the run's. Local. */
void hps_stop_catch(void);
/* The other requests to a run come by its options and its directory. Local. */
void hps_stop_begin(const struct hps_run_opt *opt, const struct hps_rundir *dir);
/* The run is over; signals stay caught, so that one more while the program ends changes nothing.
 * Also without a begin. Local. */
void hps_stop_end(void);
/* Set signals back to what they were before hps_stop_catch; also without it. Local. */
void hps_stop_release(void);

/* Is this rank requested to stop? By a signal on any rank; on rank 0 also by the file `stop`
 * (tested at most twice a second), by run.max_seconds, and by the batch system's end time
 * (HETERPS_END_TIME, else SLURM_JOB_END_TIME, epoch seconds) less twice the time that a checkpoint
 * took (three times while one is under way) and 5 s. Returns the reason, NULL: go on. Local. */
const char *hps_stop_requested(void);
/* Was it SIGTERM or SIGINT, whose sender does not wait for long? Local. */
bool hps_stop_urgent(void);
/* Is stopping requested, and was this first asked more than patience_s ago? Local. */
bool hps_stop_overdue(double patience_s);
/* How long the last checkpoint took, or the first is expected to take, and whether one is under
 * way: so that the request by the end time comes early enough. */
void hps_stop_checkpoint_s(double seconds);
void hps_stop_saving(bool under_way);
/* The run has stopped: remove the stop file. Rank 0. */
void hps_stop_done(void);

#endif
