/* wait_for.c - the neighbours in the pipeline, the ranks of my stage, the ranks that share a table,
 * and all. */
#include "step/wait_for.h"

#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/world.h"
#include "hw/count.h"

const struct hps_watch_regions hps_wait_for_regions = { HPS_REGIONS, hps_region_name,
                                                        hps_region_now };

/* Ranks as marks (R), without me. */
static void tell(enum hps_region region, const bool *mark)
{
    int *rank = hps_mem_new((size_t)hps_nrank(), sizeof *rank), n = 0;

    for (int r = 0; r < hps_nrank(); r++)
        if (mark[r] && r != hps_rank()) rank[n++] = r;
    hps_watch_peers(region, n, rank);
    hps_mem_free(rank);
}

static void mark_stage(const struct hps_team *t, int stage, bool *mark)
{
    if (0 <= stage && stage < t->S) hps_team_mark_stage(t, stage, HPS_TEAM_ALL_WORKERS, mark);
}

static void mark_members(MPI_Comm comm, MPI_Comm world, bool *mark)
{
    MPI_Group some, all;
    int n;

    HPS_MPI(MPI_Comm_group(comm, &some));
    HPS_MPI(MPI_Comm_group(world, &all));
    HPS_MPI(MPI_Group_size(some, &n));
    for (int i = 0, r; i < n; i++) {
        HPS_MPI(MPI_Group_translate_ranks(some, 1, &i, all, &r));
        mark[r] = true;
    }
    HPS_MPI(MPI_Group_free(&some));
    HPS_MPI(MPI_Group_free(&all));
}

/* The servers, or on one of them all ranks that train. */
static void mark_servers(const struct hps_team *t, bool *mark)
{
    for (int s = 0; s < t->S && t->serves; s++)
        mark_stage(t, s, mark);
    if (!t->serves) hps_team_mark_servers(t, mark);
}

void hps_wait_for_announce(const struct hps_step *s)
{
    const struct hps_team *t = s->team;
    size_t R = (size_t)hps_nrank();
    bool *stage = hps_mem_new(R, 1), *beside = hps_mem_new(R, 1), *table = hps_mem_new(R, 1);
    bool *all = hps_mem_new(R, 1);
    struct hps_shard shard;

    memset(all, true, R);
    for (int i = 0; i < t->nmine; i++) {
        mark_stage(t, t->my_stage[i], stage);
        mark_stage(t, t->my_stage[i] - 1, beside);
        mark_stage(t, t->my_stage[i] + 1, beside);
    }
    for (int i = 0; i < s->net->ntable; i++)
        if (hps_ps_shard(s->ps, i, &shard)) mark_members(hps_ps_owners(s->ps, i), t->world, table);
    if (hps_team_works(t)) mark_servers(t, table);
    tell(HPS_REGION_REDUCE, stage);
    tell(HPS_REGION_SEND, beside);
    tell(HPS_REGION_RECV, beside);
    tell(HPS_REGION_PULL, table);
    tell(HPS_REGION_PUSH, table);
    tell(HPS_REGION_WAIT, all);
    tell(HPS_REGION_CHECKPOINT, all);
    hps_mem_free(stage);
    hps_mem_free(beside);
    hps_mem_free(table);
    hps_mem_free(all);
}
