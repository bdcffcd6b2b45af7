/* m_team: every rank finds itself at its part of its stages, ranks that a plan leaves out have
 * none, two stages that share have the same ranks, and all ranks hold the same lists; parts follow
 * world ranks. */
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/world.h"
#include "comm/team.h"

enum { MAX_N = 64 };

static struct hps_team *team_of(struct hps_plan *plan, const int *stage_of, MPI_Comm world)
{
    struct hps_team *t;

    if (hps_team_new(&t, plan, stage_of, world) != HPS_OK || t->S != plan->S)
        HPS_DIE("no team of %d stages", plan->S);
    hps_plan_free(plan);
    return t;
}

static void check_lists(const struct hps_team *t, const int *stage_of, int R)
{
    int part[MAX_N] = { 0 };

    for (int r = 0; r < R; r++) {
        int s = stage_of[r];
        if (s >= 0 && t->rank[s][part[s]++] != r)
            HPS_DIE("rank %d is not part %d of stage %d", r, part[s] - 1, s);
    }
    for (int s = 0; s < t->S; s++)
        if (t->nrank[s] != part[s])
            HPS_DIE("stage %d has %d ranks, not %d", s, t->nrank[s], part[s]);
}

static void check(MPI_Comm world, int S, const int *stage_of, int R)
{
    struct hps_team *t = team_of(hps_plan_new(S, S), stage_of, world);
    int me = hps_rank(), sum = 1, mine = t->nmine > 0 ? t->my_stage[0] : -1;

    check_lists(t, stage_of, R);
    if (mine != stage_of[me] || t->nmine > 1 || (t->stage == MPI_COMM_NULL) != (mine < 0))
        HPS_DIE("stage %d, not %d", mine, stage_of[me]);
    for (int s = 0; s < S; s++)
        if (hps_team_has_stage(t, s) != (s == mine) || hps_team_part(t, s) != 0)
            HPS_DIE("stage %d is not only that of its ranks", s);
    if (mine >= 0) {
        HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, t->stage));
        if (sum != t->nreplica || t->nreplica != t->nrank[mine] ||
            t->rank[mine][t->my_replica] != me)
            HPS_DIE("part %d of %d is not rank %d", t->my_replica, t->nreplica, me);
    }
    hps_team_free(t);
}

/* Stages 0 and 2 on the last ranks, stage 1 on `first` of them. */
static void check_shared(MPI_Comm world, int first, int R)
{
    struct hps_plan *plan = hps_plan_new(3, 3);
    int stage_of[MAX_N], me = hps_rank(), other = me < first;

    hps_plan_share(plan, 1);
    plan->share[0][0] = 0;
    plan->share[0][1] = 2;
    for (int r = 0; r < R; r++)
        stage_of[r] = r < first ? 1 : 0;
    struct hps_team *t = team_of(plan, stage_of, world);
    if (t->nmine != 2 - other || t->my_stage[0] != other ||
        (!other && t->my_stage[1] != 2))
        HPS_DIE("%d stages, the first %d", t->nmine, t->my_stage[0]);
    if (t->lead[2] != 0 || t->nrank[2] != t->nrank[0] || t->nrank[0] != R - first)
        HPS_DIE("%d ranks do stage 0, %d stage 2", t->nrank[0], t->nrank[2]);
    for (int p = 0; p < t->nrank[2]; p++)
        if (t->rank[2][p] != first + p || t->rank[0][p] != first + p)
            HPS_DIE("part %d is not the same rank", p);
    if (hps_team_part(t, 0) != 0 || hps_team_part(t, 2) != 1 ||
        hps_team_has_stage(t, 2) == other ||
        hps_team_has_stage(t, 1) != other)
        HPS_DIE("who works for what");
    hps_team_free(t);
}

/* W workers: each has an equal, contiguous part of the ranks of each stage. */
static void check_workers(MPI_Comm world, int S, int W, int R)
{
    struct hps_plan *plan = hps_plan_new(S, S);
    int stage_of[MAX_N], k = R / S, me = hps_rank(), sum = 1;

    plan->workers = W;
    for (int r = 0; r < R; r++)
        stage_of[r] = r % S;
    struct hps_team *t = team_of(plan, stage_of, world);
    if (t->W != W || t->nreplica != k / W || t->worker != me / S / (k / W) ||
        t->my_replica != me / S % (k / W))
        HPS_DIE("replica %d of %d of worker %d", t->my_replica, t->nreplica, t->worker);
    HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, t->replicas));
    if (sum != t->nreplica) HPS_DIE("%d ranks, not %d", sum, t->nreplica);
    for (int w = 0; w < W; w++) {
        MPI_Comm comm = hps_team_of_worker(t, w);
        int size = 0;
        if (comm != MPI_COMM_NULL) HPS_MPI(MPI_Comm_size(comm, &size));
        if (size != (w == t->worker ? R / W : 0)) HPS_DIE("%d ranks of worker %d", size, w);
        if (comm != MPI_COMM_NULL) HPS_MPI(MPI_Comm_free(&comm));
    }
    for (int s = 0; s < S; s++)
        for (int i = 0; i < hps_team_nreplica(t, s); i++)
            if (hps_team_replicas(t, s)[i] != s + S * (t->worker * (k / W) + i))
                HPS_DIE("rank %d is replica %d", hps_team_replicas(t, s)[i], i);
    hps_team_free(t);
}

/* The ranks of every other, and of none but the last. */
static void check_of(MPI_Comm world, int R)
{
    int stage_of[MAX_N] = { 0 };
    struct hps_team *t = team_of(hps_plan_new(1, 1), stage_of, world);

    for (int step = 1; step <= 2; step++) {
        bool member[MAX_N] = { 0 };
        int n = 0, size, rank;
        for (int r = R - 1; r >= 0; r -= step)
            n += member[r] = true;
        MPI_Comm comm = hps_team_of(t, member);
        if ((comm != MPI_COMM_NULL) != member[hps_rank()])
            HPS_DIE("rank %d is in the wrong group", hps_rank());
        if (comm == MPI_COMM_NULL)
            continue;
        HPS_MPI(MPI_Comm_size(comm, &size));
        HPS_MPI(MPI_Comm_rank(comm, &rank));
        if (size != n || rank != n - 1 - (R - 1 - hps_rank()) / step)
            HPS_DIE("member %d of %d", rank, size);
        HPS_MPI(MPI_Comm_free(&comm));
    }
    hps_team_free(t);
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);
    int R = hps_nrank(), stage_of[MAX_N];

    for (int S = 1; S <= R; S++)
        for (int left = 0; left <= R - S; left++) {     /* `left` ranks idle, stages dealt around */
            for (int r = 0; r < R; r++)
                stage_of[r] = r < left ? -1 : (r - left) % S;
            check(world, S, stage_of, R);
            for (int r = 0; r < R; r++)                 /* later stages on earlier ranks */
                stage_of[r] = r >= R - left ? -1 : S - 1 - r % S;
            check(world, S, stage_of, R);
        }
    for (int first = 1; first < R; first++)
        check_shared(world, first, R);
    for (int S = 1; S <= R; S++)
        for (int W = 1; W <= R; W++)
            if (R % (S * W) == 0) check_workers(world, S, W, R);
    check_of(world, R);
    if (hps_mem_held_bytes() != 0)
        HPS_DIE("%zu bytes are still held", hps_mem_held_bytes());
    return hps_end(HPS_OK);
}
