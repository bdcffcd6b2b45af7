/* small_team.c - the types of the ranks do not matter: nothing is priced by this plan. */
#include "profile/small_team.h"

#include "base/mem.h"
#include "base/mpi_check.h"

enum hps_status hps_small_team_new(struct hps_small_team *s, int L, int cut, MPI_Comm comm)
{
    int n;

    HPS_MPI(MPI_Comm_size(comm, &n));
    int *stage_of = hps_mem_new((size_t)n, sizeof *stage_of);
    s->plan = hps_plan_new(L, cut > 0 ? 2 : 1);
    s->plan->stage[0] = (struct hps_plan_stage){ .last = cut > 0 ? cut - 1 : L - 1,
                                                 .units = cut > 0 ? 1 : n };
    if (cut > 0)
        s->plan->stage[1] = (struct hps_plan_stage){ .first = cut, .last = L - 1, .units = n - 1 };
    for (int r = 1; cut > 0 && r < n; r++)
        stage_of[r] = 1;
    enum hps_status st = hps_team_new(&s->team, s->plan, stage_of, comm);
    hps_mem_free(stage_of);
    return st;
}

enum hps_status hps_small_team_served(struct hps_small_team *s, int L, MPI_Comm comm)
{
    int n;

    HPS_MPI(MPI_Comm_size(comm, &n));
    int *stage_of = hps_mem_new((size_t)n, sizeof *stage_of);
    stage_of[0] = HPS_PLAN_SERVER;
    s->plan = hps_plan_new(L, 1);
    s->plan->stage[0] = (struct hps_plan_stage){ .last = L - 1, .units = n - 1 };
    s->plan->workers = n - 1;
    s->plan->server_units = 1;
    enum hps_status st = hps_team_new(&s->team, s->plan, stage_of, comm);
    hps_mem_free(stage_of);
    return st;
}

void hps_small_team_free(struct hps_small_team *s)
{
    hps_team_free(s->team);
    hps_plan_free(s->plan);
}
