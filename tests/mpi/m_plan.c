/* m_plan: the profile and the plan that rank 0 has are the same on every rank after, what rank 0
 * finds infeasible is heard by all, and every rank places the ranks alike. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/world.h"
#include "plan/sched.h"
#include "tests/lib/plan_make.h"

static const struct hps_sched_opt preset = {
    .method = "exact", .objective = "model", .profile = "", .plan = "", .policy = "", .warm = "",
    .polish = true, .throughput_limit = INFINITY, .seconds = 10, .replan_margin = 0.1, .seed = 1,
};

/* Every rank made the text from its own; it must be rank 0's. Frees it. */
static void same_as_root(const char *what, char *text, MPI_Comm world)
{
    int n = (int)strlen(text) + 1, root = n;

    HPS_MPI(MPI_Bcast(&root, 1, MPI_INT, 0, world));
    if (root != n)
        HPS_DIE("%s has %d bytes, on rank 0 it has %d", what, n, root);
    char *copy = hps_mem_text(text);
    HPS_MPI(MPI_Bcast(copy, n, MPI_BYTE, 0, world));
    if (strcmp(copy, text) != 0)
        HPS_DIE("%s differs from rank 0's", what);
    hps_mem_free(copy);
    hps_mem_free(text);
}

static struct hps_profile *told(uint64_t seed, MPI_Comm world)
{
    struct hps_profile *p = NULL;

    if (hps_rank() == 0) {
        p = make_profile(seed, 3 + (int)(seed % 9), 1 + (int)(seed % 5), 9, 0);
        p->server_units = seed % 2 && p->type[0].limit > 2;
        p->throughput_limit = seed % 3 ? 12.5 : INFINITY;
    }
    hps_profile_bcast(&p, world);
    same_as_root("the profile", hps_profile_text(p), world);
    return p;
}

static void placed_alike(const struct hps_plan *plan, const struct hps_profile *p, MPI_Comm world)
{
    int type[64], stage[64], n = 0, root[64];

    for (int t = 0; t < p->T; t++)
        for (int k = 0; k < p->type[t].limit && n < 64; k++)
            type[n++] = t;
    if (hps_plan_place(plan, n, type, stage) != HPS_OK)
        HPS_DIE("a plan within the limits has no place");
    memcpy(root, stage, sizeof stage);
    HPS_MPI(MPI_Bcast(root, n, MPI_INT, 0, world));
    if (memcmp(root, stage, (size_t)n * sizeof *root) != 0)
        HPS_DIE("ranks are placed unlike rank 0's");
}

int main(int argc, char **argv)
{
    MPI_Comm world = hps_begin(&argc, &argv, true);

    for (uint64_t seed = 0; seed < 20; seed++) {
        struct hps_profile *p = told(seed, world);
        struct hps_sched_opt opt = preset;
        struct hps_plan *plan, *copy = NULL;

        if (hps_sched_plan(&plan, p, &opt, world) != HPS_OK)
            HPS_DIE("no plan for profile %d", (int)seed);
        same_as_root("the plan", hps_plan_text(plan), world);
        placed_alike(plan, p, world);
        if (hps_rank() == 0)
            copy = hps_plan_new(1, 1);          /* without names */
        hps_plan_bcast(&copy, world);
        same_as_root("a plan without names", hps_plan_text(copy), world);
        hps_plan_free(copy);
        opt.throughput_limit = 2 * plan->throughput;
        hps_plan_free(plan);
        if (hps_sched_plan(&plan, p, &opt, world) != HPS_DECK || plan)
            HPS_DIE("twice the most was promised");
        hps_profile_free(p);
    }
    return hps_end(hps_mem_held_bytes() == 0 ? HPS_OK : HPS_FAIL);
}
