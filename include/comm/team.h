/* team.h - which rank works for which stage of which worker, with the communicators for it; all
 * message tags.
 *
 * There are W workers, each a pipeline of all stages. Of the k ranks of a stage, by world rank,
 * worker w has the k/W from w k/W on; those are its replicas 0 .. k/W-1. */
#ifndef HPS_COMM_TEAM_H
#define HPS_COMM_TEAM_H

#include "plan/plan.h"

/* All tags of point-to-point messages, in one place. Rows and gradients of a table travel on a
 * communicator of their own. A message of rows adds its micro-batch; a message between stages adds
 * (its micro-batch (mod 4096) * 2 + direction) * 2 + hps_team_part of the stage before. */
enum hps_tag {
    HPS_TAG_ROUTE = 2,
    HPS_TAG_REPORT = 3,
    HPS_TAG_PUSH = 4,
    HPS_TAG_SAVE = 5,
    HPS_TAG_RECORD = 6,
    HPS_TAG_ROWS = 8,
    HPS_TAG_PIPE = 16384
};
#define HPS_TAG_SPAN 4096       /* micro-batches that a tag can tell apart */

#define HPS_MY_STAGES 2           /* stages that a rank works for, at most */

struct hps_team {
    MPI_Comm world;             /* all ranks, borrowed                                      */
    MPI_Comm stage;             /* the ranks of this rank's stages, of all workers, by world
                                   rank; owned; NULL on an idle rank and on a server        */
    MPI_Comm replicas;          /* those of this rank's worker; owned, or NULL              */
    int R, S, W;                /* ranks of the world, stages, workers                      */
    int nmine;                /* stages that this rank works for; 0: it is idle or serves */
    int my_stage[HPS_MY_STAGES];      /* (nmine) their numbers, ascending; 0 is the first
                                           stage of the pipeline                            */
    bool serves;                /* this rank is a dedicated server                          */
    int nserver, *server;       /* (nserver) world ranks of the servers                     */
    int worker;                 /* that this rank works for; -1: none                       */
    int my_stage_rank;          /* in `stage`                                               */
    int my_replica, nreplica;   /* this rank among `replicas`; 0, 0: it works for no stage  */
    int *lead;                  /* (S) the first stage that has the same ranks: the stage itself,
                                   or the earlier stage with which it shares them           */
    int *nrank;                 /* (S) ranks of each stage, W times its replicas            */
    int **rank;                 /* (S) each (nrank) world ranks, ascending                  */
};

/* Make the team of a plan. stage_of (R): the stage of each rank as hps_plan_place gives it, equal
 * on all ranks; a stage without ranks, or with ranks that the workers cannot share equally, is a
 * bug. Collective over world. */
enum hps_status hps_team_new(struct hps_team **team, const struct hps_plan *plan,
                             const int *stage_of, MPI_Comm world);
void hps_team_free(struct hps_team *team);

/* Has this rank something to do in a step, for a stage or as a server? Pure. */
bool hps_team_works(const struct hps_team *team);
/* How many replicas of stage s a worker has; the world ranks of those of this rank's worker,
 * borrowed. Pure. */
int hps_team_nreplica(const struct hps_team *team, int s);
const int *hps_team_replicas(const struct hps_team *team, int s);
/* Does this rank work for stage s? Pure. */
bool hps_team_has_stage(const struct hps_team *team, int s);
/* Which of the stages of its ranks is s: 0 or 1. Ranks that share several boundaries of the
 * pipeline tell the messages apart by this number of the stage before the boundary. Pure. */
int hps_team_part(const struct hps_team *team, int s);

/* Mark the ranks of stage s, of one worker or of all; the servers. member (R). Pure. */
enum { HPS_TEAM_ALL_WORKERS = -1 };
void hps_team_mark_stage(const struct hps_team *team, int s, int worker, bool *member);
void hps_team_mark_servers(const struct hps_team *team, bool *member);

/* A communicator of the ranks with member[r] != 0, servers first, then by world rank (for a table
 * read by several stages). MPI_COMM_NULL on the others. `member` (R) is equal on all ranks.
 * Collective over world. Caller frees with HPS_MPI(MPI_Comm_free). */
MPI_Comm hps_team_of(const struct hps_team *team, const bool *member);
/* The same of the servers and the ranks that work for a stage, of one worker or of all. */
MPI_Comm hps_team_of_worker(const struct hps_team *team, int worker);

#endif
