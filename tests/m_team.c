/* m_team: every rank finds itself at its part of its stage, ranks that a plan leaves out have no
 * stage, and all ranks hold the same lists; parts follow world ranks. */
#include "base/mem.h"
#include "comm/team.h"

enum { MOST = 64 };

static void check_lists(const struct hps_team *t, const int *stage_of, int R)
{
    int part[MOST] = { 0 };

    for (int r = 0; r < R; r++) {
        int s = stage_of[r];
        if (s >= 0 && t->rank[s][part[s]++] != r)
            HPS_DIE("rank %d is not part %d of stage %d", r, part[s] - 1, s);
    }
    for (int s = 0; s < t->S; s++)
        if (t->count[s] != part[s])
            HPS_DIE("stage %d has %d ranks, not %d", s, t->count[s], part[s]);
}

static void check(MPI_Comm world, int S, const int *stage_of, int R)
{
    struct hps_team *t;
    int me = hps_rank(), sum = 1;

    if (hps_team_new(&t, S, stage_of, world) != HPS_OK || t->S != S)
        HPS_DIE("no team of %d stages", S);
    check_lists(t, stage_of, R);
    if (t->my_stage != stage_of[me] || (t->stage == MPI_COMM_NULL) != (stage_of[me] < 0))
        HPS_DIE("stage %d, not %d", t->my_stage, stage_of[me]);
    if (t->my_stage >= 0) {
        HPS_MPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, t->stage));
        if (sum != t->nparts || t->nparts != t->count[t->my_stage] ||
            t->rank[t->my_stage][t->my_part] != me)
            HPS_DIE("part %d of %d is not rank %d", t->my_part, t->nparts, me);
    }
    hps_team_free(t);
}

/* The ranks of every other, and of none but the last. */
static void check_of(MPI_Comm world, int R)
{
    int stage_of[MOST] = { 0 };
    struct hps_team *t;

    if (hps_team_new(&t, 1, stage_of, world) != HPS_OK)
        HPS_DIE("no team");
    for (int step = 1; step <= 2; step++) {
        bool member[MOST] = { 0 };
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
    int R = hps_nrank(), stage_of[MOST];

    for (int S = 1; S <= R; S++)
        for (int left = 0; left <= R - S; left++) {     /* `left` ranks idle, stages dealt around */
            for (int r = 0; r < R; r++)
                stage_of[r] = r < left ? -1 : (r - left) % S;
            check(world, S, stage_of, R);
            for (int r = 0; r < R; r++)                 /* later stages on earlier ranks */
                stage_of[r] = r >= R - left ? -1 : S - 1 - r % S;
            check(world, S, stage_of, R);
        }
    check_of(world, R);
    if (hps_mem_held_bytes() != 0)
        HPS_DIE("%zu bytes are still held", hps_mem_held_bytes());
    return hps_end(HPS_OK);
}
