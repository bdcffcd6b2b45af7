/* rundir.h - the directory of a run: its lock, the deck as run, logs, and status.json. */
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
    bool emulate_bf16;            /* CPUs multiply bf16 through fp32                          */
};
extern const struct hps_field hps_run_fields[];

struct hps_rundir {
    char *path;            /* of the directory; equal on all ranks           */
    struct hps_lock *lock; /* on rank 0; NULL elsewhere                      */
};

/* The directory's name, to free with hps_mem_free. Pure. */
char *hps_rundir_path(const struct hps_run_opt *opt);
/* Make the directory, lock it (held by another run: HPS_OUTPUT), start the logs. Rank 0 acts,
 * all ranks get its status. From now on a rank that aborts the run writes that into status.json
 * (not after SIGTERM, see life/stop.h). Collective over world. */
enum hps_status hps_rundir_open(struct hps_rundir *dir, const struct hps_run_opt *opt,
                                MPI_Comm world);
void hps_rundir_close(struct hps_rundir *dir);

/* PATH/name, to free with hps_mem_free. */
char *hps_rundir_file(const struct hps_rundir *dir, const char *name);
/* Write a small text file atomically. HPS_OUTPUT. Local. */
enum hps_status hps_rundir_put(const struct hps_rundir *dir, const char *name, const char *text);

/* Write status.json (status_file.h) on rank 0; nothing on other ranks. HPS_OUTPUT, with a
 * message of `level`, where that fails. */
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
