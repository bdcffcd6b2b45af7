/* stop.h - who may wish the run to end early: signals, the file `stop`, the time limit of the run
 * or of the batch system. */
#ifndef HPS_LIFE_STOP_H
#define HPS_LIFE_STOP_H

#include "life/rundir.h"

/* Catch SIGTERM, SIGINT, SIGUSR1 from now on: each only sets a flag, which the run obeys when there
 * is one; a second signal changes nothing. They reach a thread of their own: the calling one and
 * those that it starts are not interrupted. After SIGTERM, with which launchers also end the ranks
 * that are left when one was killed, an end in disorder is not told in status.json: the launcher's
 * code is the run's. Local. */
void hps_stop_catch(void);
/* The other wishes, of a run: its options, its directory. Local. */
void hps_stop_begin(const struct hps_run_opt *opt, const struct hps_rundir *dir);
/* The run is over; signals stay caught, since one more as the program ends is to change nothing.
 * Also without a begin. Local. */
void hps_stop_end(void);
/* It was none: signals are what they were before. Also without a catch. Local. */
void hps_stop_uncatch(void);

/* Does this rank wish to stop? Signals on any rank; on rank 0 also the file `stop` (looked for at
 * most twice a second), run.max_seconds, and the batch system's end time (HETERPS_END_TIME, else
 * SLURM_JOB_END_TIME, epoch seconds) less twice the time a checkpoint took (three times while one
 * is under way) and 5 s. Gives the reason, NULL: go on. Local. */
const char *hps_stop_wish(void);
/* Is it SIGTERM or SIGINT, after which whoever sent it will not wait for long? Local. */
bool hps_stop_hurries(void);
/* Does it, and since more than so long as this was first asked? Local. */
bool hps_stop_urges(double patience_s);
/* How long the last checkpoint took, or the first is expected to, and whether one is under way: so
 * that the wish comes early enough. */
void hps_stop_checkpoint_s(double seconds);
void hps_stop_saving(bool under_way);
/* The wish was obeyed: the stop file is removed. Rank 0. */
void hps_stop_obeyed(void);

#endif
