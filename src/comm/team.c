/* team.c - who works with whom. */
#include "comm/team.h"

#include <assert.h>

#include "base/mem.h"
#include "base/mpi_check.h"

static MPI_Comm split(MPI_Comm world, int me, bool in, int color)
{
    MPI_Comm comm;

    HPS_MPI(MPI_Comm_split(world, in ? color : MPI_UNDEFINED, me, &comm));
    return comm;
}

/* Parts follow world ranks, as MPI_Comm_split numbers them. */
static void list_ranks(struct hps_team *t, const int *stage_of)
{
    for (int s = 0; s < t->S; s++) {
        t->rank[s] = hps_mem_new((size_t)t->R, sizeof *t->rank[s]);
        for (int r = 0; r < t->R; r++)
            if (stage_of[r] == t->home[s]) t->rank[s][t->count[s]++] = r;
        assert(t->count[s] > 0);
    }
}

enum hps_status hps_team_new(struct hps_team **team, const struct hps_plan *plan,
                             const int *stage_of, MPI_Comm world)
{
    struct hps_team *t = hps_mem_new(1, sizeof *t);
    int S = plan->S, R, me;

    HPS_MPI(MPI_Comm_size(world, &R));
    HPS_MPI(MPI_Comm_rank(world, &me));
    t->world = world;
    t->R = R;
    t->S = S;
    t->count = hps_mem_new((size_t)S, sizeof *t->count);
    t->rank = hps_mem_new((size_t)S, sizeof *t->rank);
    t->home = hps_mem_new((size_t)S, sizeof *t->home);
    for (int s = 0; s < S; s++) {
        t->home[s] = hps_plan_is_second(plan, s) ? hps_plan_partner(plan, s) : s;
        if (t->home[s] == stage_of[me]) t->role[t->nrole++] = s;
    }
    list_ranks(t, stage_of);
    t->stage = split(world, me, t->nrole > 0, stage_of[me]);
    if (t->nrole > 0) {
        HPS_MPI(MPI_Comm_rank(t->stage, &t->my_part));
        HPS_MPI(MPI_Comm_size(t->stage, &t->nparts));
        assert(t->rank[t->role[0]][t->my_part] == me);
    }
    *team = t;
    return HPS_OK;
}

void hps_team_free(struct hps_team *t)
{
    if (!t) return;
    if (t->stage != MPI_COMM_NULL) HPS_MPI(MPI_Comm_free(&t->stage));
    for (int s = 0; s < t->S; s++)
        hps_mem_free(t->rank[s]);
    hps_mem_free(t->rank);
    hps_mem_free(t->count);
    hps_mem_free(t->home);
    hps_mem_free(t);
}

bool hps_team_works(const struct hps_team *t, int s)
{
    return t->nrole > 0 && t->home[s] == t->role[0];
}

int hps_team_turn(const struct hps_team *t, int s)
{
    return t->home[s] != s;
}

MPI_Comm hps_team_of(const struct hps_team *team, const bool *member)
{
    int me;

    HPS_MPI(MPI_Comm_rank(team->world, &me));
    return split(team->world, me, member[me], 0);
}
