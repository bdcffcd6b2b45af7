/* rundir.h - the run's directory: locked, with the deck as run, the log, and a status that others
 * can watch. */
#ifndef HPS_LIFE_RUNDIR_H
#define HPS_LIFE_RUNDIR_H

#include <stdbool.h>

#include "base/deck.h"
#include "base/say.h"
#include "life/lock.h"

struct hps_run_opt {
    const char *name, *directory; /* directory "": runs/NAME                                 */
    int seed, ranks_per_gpu;
    int threads;                  /* threads of a rank; 0: its share of the host's cores      */
    double max_seconds;           /* of this start; 0: no limit                               */
    double stall_seconds;         /* without progress of a rank, then the run ends; 0: never  */
    bool rank_logs;               /* each rank has a log                                      */
};
extern const struct hps_field hps_run_fields[];

struct hps_rundir {
    char *path;            /* of the directory; equal on all ranks           */
    struct hps_lock *lock; /* on rank 0; NULL elsewhere                      */
};

/* The directory's name, to free with hps_mem_free. Pure. */
char *hps_rundir_path(const struct hps_run_opt *opt);
/* Make the directory and lock it (held by another run: HPS_OUTPUT), start the logs. Rank 0 acts,
 * all ranks get its status. From now on an end in disorder is written into status.json by the rank
 * that ends the run (not after SIGTERM: life/stop.h). Collective over world. */
enum hps_status hps_rundir_open(struct hps_rundir *dir, const struct hps_run_opt *opt,
                                MPI_Comm world);
void hps_rundir_close(struct hps_rundir *dir);

/* PATH/name, to free with hps_mem_free. */
char *hps_rundir_file(const struct hps_rundir *dir, const char *name);
/* Write a small text file by replacing it whole. Local. HPS_OUTPUT. */
enum hps_status hps_rundir_put(const struct hps_rundir *dir, const char *name, const char *text);

/* status.json, replaced atomically, on a full disk written over (status_file.h); rank 0 only,
 * elsewhere nothing. HPS_OUTPUT where it cannot be written, said at `level`. */
struct hps_rundir_state {
    const char *state; /* starting, running, finished, stopped, failed             */
    long long step, steps;
    double loss, examples_s, left_s;
    long long checkpoint, checkpoint_time_s; /* step of the newest, epoch seconds; -1: none known */
    int exit_code;     /* -1: not ended                                            */
};
enum hps_status hps_rundir_status(const struct hps_rundir *dir,
                                  const struct hps_rundir_state *state, enum hps_level level);

#endif
