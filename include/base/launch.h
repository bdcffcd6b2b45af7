/* launch.h - mistakes at the start: a launcher of another MPI starts many runs of one rank instead
 * of one run of many ranks; or the start never ends. */
#ifndef HPS_BASE_LAUNCH_H
#define HPS_BASE_LAUNCH_H

#include <stdbool.h>

#include "base/status.h"

/* A launcher says in the environment how many processes it started, and which of them this is. */
struct hps_launcher {
    const char *name, *size_key;
    int size, number;
};

/* The launcher that started more than one process where the MPI library sees a world of one: it is
 * of another MPI, or none. False: they agree, or nobody started several. An allocation alone (the
 * shell of a batch job) does not count, nor does a single process in it. `get` is getenv. Pure. */
bool hps_launch_split(int world, char *(*get)(const char *key), struct hps_launcher *launcher);

/* Is this one of several processes that srun started and tells nothing of each other (no PMIx)? MPI
 * must not even begin then: Open MPI ends such a process with a page of its own. Pure. */
bool hps_launch_bare(char *(*get)(const char *key));

/* HPS_USAGE where a launcher has split the run, said once, by the first of them, with launcher and
 * library. Of a parallel program, also before MPI has begun. Local. */
enum hps_status hps_launch_check(void);

/* From here to hps_launch_end no more than HETERPS_START_SECONDS (default 600, 0: no limit) may
 * pass, in which the process was not suspended; else it ends with HPS_FAIL and one line that says
 * host, launcher and which of its processes this is; the first of them some seconds before the
 * others. For MPI's own start, in which all wait for all, and what comes before the run's own
 * watchdog knows its time. Local. */
void hps_launch_begin(void);
void hps_launch_met(void); /* MPI has started: what is still to come is the run's begin */
void hps_launch_end(void); /* also without a begin, and again */

#endif
