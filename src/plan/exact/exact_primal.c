/* exact_primal.c - the primal heuristics that run between the nodes of the tree, with a share of
 * the time of these nodes. */
#include "plan/exact/exact_impl.h"

#include <math.h>

#include "base/mem.h"

/* Steps of the local search for each arc of a node and layer; tries to repair the best plan for
 * each node; where tau is minimised, cycles of annealing for each node, and for the root. */
#define LOCAL       3
#define REPAIR      0.1
#define ANNEAL 0.05
#define ANNEAL_ROOT 2

struct hps_exact_primal {
    const struct hps_exact_model *m;
    struct hps_exact_local *local;
    struct hps_exact_repair *repair;
    struct hps_exact_anneal *anneal;
    double steps, tries, cycles; /* that are due     */
};

struct hps_exact_primal *hps_exact_primal_new(struct hps_exact_leaf *leaf)
{
    struct hps_exact_primal *x = hps_mem_new(1, sizeof *x);

    x->m = leaf->m;
    x->cycles = ANNEAL_ROOT;
    x->local = hps_exact_local_new(leaf);
    if (x->m->min_tau)
        x->anneal = hps_exact_anneal_new(leaf);
    else
        x->repair = hps_exact_repair_new(leaf);
    return x;
}

void hps_exact_primal_free(struct hps_exact_primal *x)
{
    if (!x) return;
    hps_exact_local_free(x->local);
    hps_exact_repair_free(x->repair);
    hps_exact_anneal_free(x->anneal);
    hps_mem_free(x);
}

void hps_exact_primal_begin(struct hps_exact_primal *x)
{
    hps_exact_local_run(x->local, 2LL * x->m->L * (x->m->L + x->m->G));
}

void hps_exact_primal_run(struct hps_exact_primal *x, int n, const struct hps_exact_end *end)
{
    x->steps += LOCAL * n / x->m->L;
    if (x->steps >= 1000) {
        hps_exact_local_run(x->local, (long long)x->steps);
        x->steps = 0;
    }
    if (x->m->min_tau) {
        x->cycles += ANNEAL;
        hps_exact_anneal_run(x->anneal, (int)x->cycles, end);
        x->cycles -= floor(x->cycles);
        return;
    }
    x->tries += REPAIR;
    if (x->tries >= 10) {
        hps_exact_repair_run(x->repair, (long long)x->tries, end);
        x->tries = 0;
    }
}
