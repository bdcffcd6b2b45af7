/* watch.h - a watchdog: a thread that ends a run which hangs, with a diagnosis of which rank
 * waits in which region for which others. */
#ifndef HPS_LIFE_WATCH_H
#define HPS_LIFE_WATCH_H

#include "life/rundir.h"

/* The regions of a program. Constant. */
struct hps_watch_regions {
    int n;
    const char *const *name;        /* (n)                                              */
    int (*now)(void);               /* that this rank is in, -1: in none; by any thread */
};

/* Watch this rank: when hps_watch_heartbeat was not called for `stall_seconds` (0: a standstill is
 * never ended), the run ends with HPS_FAIL within some seconds more. All ranks that can, leave a
 * report in the run's directory (life/stall.h), and the lowest of them prints which rank waits
 * where for which others, with hosts. Ranks without a report do not answer, or were killed: then
 * the run ends as they did (hps_quit_with_peers). Where the directory's file system does not
 * answer either, or there is no directory (`dir` NULL), each rank ends the run with what it knows
 * by itself, some 10 s later. Some seconds after the death of a rank on this host the run ends in
 * any case, if its launcher has not ended it. Time in which the whole process was suspended does
 * not count.
 * Collective over world. */
void hps_watch_begin(double stall_seconds, const struct hps_rundir *dir,
                     const struct hps_watch_regions *regions, MPI_Comm world);
/* From here on the watchdog does not use the run's directory, which may belong to another run;
 * it still watches the rest of the program with the end of MPI. Local. */
void hps_watch_leave(void);
void hps_watch_end(void); /* local; also without a begin, and behind hps_end */

/* This rank made progress: `step` steps are done (-1: unchanged). Also to be called during long
 * work, as an evaluation. Local. */
void hps_watch_heartbeat(long long step);
/* Begin a phase `doing` (a static text; NULL: the region's name), which may take allow_s longer
 * than stall_seconds. Counts as a heartbeat. Local. */
void hps_watch_phase(const char *doing, double allow_s);
/* In region `region` this rank waits for these ranks (ascending; n = 0: for none). Local. */
void hps_watch_peers(int region, int n, const int *rank);

#endif
