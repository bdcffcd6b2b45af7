/* watch.h - a thread that turns a hang into a diagnosis: which rank waits in which region. */
#ifndef HPS_TRAIN_WATCH_H
#define HPS_TRAIN_WATCH_H

/* End the run (HPS_FAIL) when hps_watch_beat was not called for `stall_seconds` (0: never), naming
 * rank, host, step and region. Time in which the whole process was suspended does not count. Local.
 */
void hps_watch_begin(double stall_seconds);
void hps_watch_end(void);
/* This rank makes progress: `step` steps are done (-1: as many as before). Long work that is no
 * stall (a checkpoint, an evaluation) beats too. Local. */
void hps_watch_beat(long long step);

#endif
