/* small_team.h - a plan of one or two stages, whose units are the ranks of a communicator. */
#ifndef HPS_PROFILE_SMALL_TEAM_H
#define HPS_PROFILE_SMALL_TEAM_H

#include "comm/team.h"

struct hps_small_team {
    struct hps_plan *plan;
    struct hps_team *team;
};
/* Of a net of L layers. cut 0: all ranks of comm are units of one stage. Else the first rank is the
 * unit of a stage of the layers before `cut`, and the others are those of a stage of the rest. Free
 * it after a failure too. Collective over comm, which is borrowed. */
enum hps_status hps_small_team_new(struct hps_small_team *small, int L, int cut, MPI_Comm comm);
/* The same of one stage, and of workers of one unit each: all ranks of comm but the first, which is
 * a dedicated server. */
enum hps_status hps_small_team_served(struct hps_small_team *small, int L, MPI_Comm comm);
void hps_small_team_free(struct hps_small_team *small);

#endif
