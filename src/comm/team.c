/* team.c - which rank works for which stage. */
#include "comm/team.h"

#include <assert.h>

#include "base/mem.h"
#include "base/mpi_check.h"

static MPI_Comm split(MPI_Comm world, int key, bool in, int color)
{
    MPI_Comm comm;

    HPS_MPI(MPI_Comm_split(world, in ? color : MPI_UNDEFINED, key, &comm));
    return comm;
}

/* Ranks are in the order of world ranks, as MPI_Comm_split numbers them. */
static void list_ranks(struct hps_team *t, const int *stage_of)
{
    t->server = hps_mem_new((size_t)t->R, sizeof *t->server);
    for (int r = 0; r < t->R; r++)
        if (stage_of[r] == HPS_PLAN_SERVER) t->server[t->nserver++] = r;
    for (int s = 0; s < t->S; s++) {
        t->rank[s] = hps_mem_new((size_t)t->R, sizeof *t->rank[s]);
        for (int r = 0; r < t->R; r++)
            if (stage_of[r] == t->lead[s]) t->rank[s][t->nrank[s]++] = r;
        assert(t->nrank[s] > 0 && t->nrank[s] % t->W == 0);
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
    t->W = plan->workers;
    t->worker = -1;
    t->nrank = hps_mem_new((size_t)S, sizeof *t->nrank);
    t->rank = hps_mem_new((size_t)S, sizeof *t->rank);
    t->lead = hps_mem_new((size_t)S, sizeof *t->lead);
    for (int s = 0; s < S; s++) {
        t->lead[s] = hps_plan_is_second(plan, s) ? hps_plan_partner(plan, s) : s;
        if (t->lead[s] == stage_of[me]) t->my_stage[t->nmine++] = s;
    }
    list_ranks(t, stage_of);
    t->serves = stage_of[me] == HPS_PLAN_SERVER;
    t->stage = split(world, me, t->nmine > 0, stage_of[me]);
    if (t->nmine > 0) {
        HPS_MPI(MPI_Comm_rank(t->stage, &t->my_stage_rank));
        assert(t->rank[t->my_stage[0]][t->my_stage_rank] == me);
        t->nreplica = hps_team_nreplica(t, t->my_stage[0]);
        t->worker = t->my_stage_rank / t->nreplica;
        t->my_replica = t->my_stage_rank % t->nreplica;
    }
    t->replicas = t->stage == MPI_COMM_NULL ? MPI_COMM_NULL
                                            : split(t->stage, me, true, t->worker);
    *team = t;
    return HPS_OK;
}

void hps_team_free(struct hps_team *t)
{
    if (!t) return;
    if (t->stage != MPI_COMM_NULL) HPS_MPI(MPI_Comm_free(&t->stage));
    if (t->replicas != MPI_COMM_NULL) HPS_MPI(MPI_Comm_free(&t->replicas));
    for (int s = 0; s < t->S; s++)
        hps_mem_free(t->rank[s]);
    hps_mem_free(t->rank);
    hps_mem_free(t->server);
    hps_mem_free(t->nrank);
    hps_mem_free(t->lead);
    hps_mem_free(t);
}

bool hps_team_works(const struct hps_team *t)
{
    return t->nmine > 0 || t->serves;
}

int hps_team_nreplica(const struct hps_team *t, int s)
{
    return t->nrank[s] / t->W;
}

const int *hps_team_replicas(const struct hps_team *t, int s)
{
    return t->rank[s] + t->worker * hps_team_nreplica(t, s);
}

bool hps_team_has_stage(const struct hps_team *t, int s)
{
    return t->nmine > 0 && t->lead[s] == t->my_stage[0];
}

int hps_team_part(const struct hps_team *t, int s)
{
    return t->lead[s] != s;
}

void hps_team_mark_stage(const struct hps_team *t, int s, int worker, bool *member)
{
    int k = hps_team_nreplica(t, s), first = worker == HPS_TEAM_ALL_WORKERS ? 0 : worker * k;
    int end = worker == HPS_TEAM_ALL_WORKERS ? t->nrank[s] : first + k;

    for (int p = first; p < end; p++)
        member[t->rank[s][p]] = true;
}

void hps_team_mark_servers(const struct hps_team *t, bool *member)
{
    for (int i = 0; i < t->nserver; i++)
        member[t->server[i]] = true;
}

MPI_Comm hps_team_of_worker(const struct hps_team *t, int worker)
{
    bool *member = hps_mem_new((size_t)t->R, sizeof *member);

    for (int s = 0; s < t->S; s++)
        hps_team_mark_stage(t, s, worker, member);
    hps_team_mark_servers(t, member);
    MPI_Comm comm = hps_team_of(t, member);
    hps_mem_free(member);
    return comm;
}

MPI_Comm hps_team_of(const struct hps_team *team, const bool *member)
{
    int me;

    HPS_MPI(MPI_Comm_rank(team->world, &me));
    return split(team->world, team->serves ? me : me + team->R, member[me], 0);
}
