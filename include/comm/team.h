/* team.h - who works with whom: the communicators a plan asks for; all message tags. */
#ifndef HPS_COMM_TEAM_H
#define HPS_COMM_TEAM_H

#include "plan/plan.h"

/* All tags of point-to-point messages of the program, one place. Rows and gradients of a table
 * travel on a communicator of their own; a message of rows adds its micro-batch, a pipe message
 * (its micro-batch (mod 4096) * 2 + way) * 2 + turn, see hps_team_turn. */
enum hps_tag {
    HPS_TAG_ROUTE = 2,
    HPS_TAG_REPORT = 3,
    HPS_TAG_PUSH = 4,
    HPS_TAG_SAVE = 5,
    HPS_TAG_ROWS = 8,
    HPS_TAG_PIPE = 16384
};
#define HPS_TAG_SPAN 4096       /* micro-batches that a tag can tell apart */

#define HPS_ROLES 2             /* most stages that a rank works for */

struct hps_team {
    MPI_Comm world;             /* all ranks, borrowed                                    */
    MPI_Comm stage;             /* ranks of my stages, by part; owned; NULL when left out */
    int R, S;                   /* ranks of the world, stages                             */
    int nrole;                  /* stages that I work for; 0: left out by the plan         */
    int role[HPS_ROLES];        /* (nrole) their numbers, 0 is the pipeline's first, in order */
    int my_part, nparts;        /* my place in each of them; 0, 0 when left out            */
    int *home;                  /* (S) the stage that has the ranks: its own number, or that of the
                                   earlier stage that it shares them with                 */
    int *count;                 /* (S) ranks of each stage                                */
    int **rank;                 /* (S) each (count) world ranks by part                    */
};

/* Of a plan and its places: stage_of (R) as hps_plan_place gives it, equal on all ranks. A stage
 * without ranks is a bug. Collective over world. */
enum hps_status hps_team_new(struct hps_team **team, const struct hps_plan *plan,
                             const int *stage_of, MPI_Comm world);
void hps_team_free(struct hps_team *team);

/* Do I work for stage s? Pure. */
bool hps_team_works(const struct hps_team *team, int s);
/* Which of the stages of its ranks is s: 0, 1. Two ranks that share several boundaries of the
 * pipeline know them apart by the turn of the stage before the boundary. Pure. */
int hps_team_turn(const struct hps_team *team, int s);

/* A communicator of the ranks with member[r] != 0, ordered by world rank (for a table read by
 * several stages, for servers). MPI_COMM_NULL on the others. `member` (R) is equal on all ranks.
 * Collective over world. Caller frees with HPS_MPI(MPI_Comm_free). */
MPI_Comm hps_team_of(const struct hps_team *team, const bool *member);

#endif
