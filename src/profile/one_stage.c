/* one_stage.c - the layers are all of type 0, and so are the ranks. */
#include "profile/one_stage.h"

#include "base/mem.h"
#include "base/mpi_check.h"

enum hps_status hps_one_stage_new(struct hps_one_stage *s, int L, MPI_Comm comm)
{
    int n;

    HPS_MPI(MPI_Comm_size(comm, &n));
    int *assignment = hps_mem_new((size_t)L, sizeof *assignment);
    int *stage_of = hps_mem_new((size_t)n, sizeof *stage_of);
    s->plan = hps_plan_of_assignment(L, assignment);
    s->plan->stage[0].units = n;
    enum hps_status st = hps_team_new(&s->team, s->plan, stage_of, comm);
    hps_mem_free(stage_of);
    hps_mem_free(assignment);
    return st;
}

void hps_one_stage_free(struct hps_one_stage *s)
{
    hps_team_free(s->team);
    hps_plan_free(s->plan);
}
