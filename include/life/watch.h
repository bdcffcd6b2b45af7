/* watch.h - a thread that turns a hang into a diagnosis: which rank waits in which region for whom.
 */
#ifndef HPS_LIFE_WATCH_H
#define HPS_LIFE_WATCH_H

#include "life/rundir.h"

/* What a rank may be inside of. Constant: it outlives the program's ranks. */
struct hps_watch_regions {
    int n;
    const char *const *name;        /* (n)                                            */
    int (*now)(void);               /* the one that it is in, -1: in none; any thread */
};

/* End the run (HPS_FAIL) when hps_watch_beat was not called for `stall_seconds` (0: a standstill is
 * never ended), within some seconds more: all ranks that can leave a word in the run's directory,
 * and the lowest of them says which rank waits where for which others, with hosts; ranks that left
 * none do not answer, or were killed: then the run ends as they did (hps_follow). Where the
 * directory's file system does not answer either, or where there is none (`dir` NULL), each ends
 * the run with what it knows by itself, some 10 s later. Some seconds after the death of a rank on
 * this host the run ends in any case, where its launcher did not end it. Time in which the whole
 * process was suspended does not count. Collective over world. */
void hps_watch_begin(double stall_seconds, const struct hps_rundir *dir,
                     const struct hps_watch_regions *regions, MPI_Comm world);
/* The run's directory is another's from here on, and nothing of it is used; what is left to do,
 * MPI's own end with it, is watched. Local. */
void hps_watch_leave(void);
void hps_watch_end(void); /* local; also without a begin, and behind hps_end */

/* This rank makes progress: `step` steps are done (-1: as many as before). Long work that is no
 * stall (an evaluation) beats too. Local. */
void hps_watch_beat(long long step);
/* From now on this rank does that (a static text; NULL: its region's name), which may take so
 * much longer than stall_seconds. It beats. Local. */
void hps_watch_phase(const char *doing, double allow_s);
/* In that one of the regions this rank waits for these others (rising; none: it works by itself).
 * Local. */
void hps_watch_whom(int region, int n, const int *rank);

#endif
