/* team.h - who works with whom: the communicators a plan asks for; all message tags. */
#ifndef HPS_COMM_TEAM_H
#define HPS_COMM_TEAM_H

#include "plan/plan.h"

/* All tags of point-to-point messages of the program, one place. Rows and gradients of a table
 * travel on a communicator of their own; a message of rows adds its micro-batch, a pipe message
 * its micro-batch (mod 4096) * 2 + way. */
enum hps_tag {
    HPS_TAG_ROUTE = 2,
    HPS_TAG_REPORT = 3,
    HPS_TAG_PUSH = 4,
    HPS_TAG_ROWS = 8,
    HPS_TAG_PIPE = 16384
};
#define HPS_TAG_SPAN 4096       /* micro-batches that a tag can tell apart */

struct hps_team {
    MPI_Comm world;             /* all ranks, borrowed                                    */
    MPI_Comm stage;             /* ranks of my stage, by part; owned; MPI_COMM_NULL when left out */
    int R, S;                   /* ranks of the world, stages                             */
    int my_stage;               /* 0 is first; -1: this rank is left out by the plan       */
    int my_part, nparts;        /* my place in the stage; 0, 0 when left out               */
    int *count;                 /* (S) ranks of each stage                                */
    int **rank;                 /* (S) each (count) world ranks by part                    */
};

/* stage_of (R) as hps_plan_place gives it: equal on all ranks. A stage without ranks is a bug.
 * Collective over world. */
enum hps_status hps_team_new(struct hps_team **team, int S, const int *stage_of, MPI_Comm world);
void hps_team_free(struct hps_team *team);

/* A communicator of the ranks with member[r] != 0, ordered by world rank (for a table read by
 * several stages, for servers). MPI_COMM_NULL on the others. `member` (R) is equal on all ranks.
 * Collective over world. Caller frees with HPS_MPI(MPI_Comm_free). */
MPI_Comm hps_team_of(const struct hps_team *team, const bool *member);

#endif
