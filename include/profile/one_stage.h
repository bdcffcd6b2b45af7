/* one_stage.h - a plan of one stage, whose units are all ranks of a communicator. */
#ifndef HPS_PROFILE_ONE_STAGE_H
#define HPS_PROFILE_ONE_STAGE_H

#include "comm/team.h"

struct hps_one_stage {
    struct hps_plan *plan;
    struct hps_team *team;
};
/* Of a net of L layers. Free it after a failure too. Collective over comm, which is borrowed. */
enum hps_status hps_one_stage_new(struct hps_one_stage *stage, int L, MPI_Comm comm);
void hps_one_stage_free(struct hps_one_stage *stage);

#endif
