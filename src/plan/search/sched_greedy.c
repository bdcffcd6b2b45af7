/* sched_greedy.c - a plan in two passes without backtracking. First each layer in turn takes the
 * type with which the layers so far cost least. Then neighbouring stages are joined, on the type
 * of either, the pair that gains most first, until none gains. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "plan/moves.h"

static double grow(struct hps_pricer *pr, int *type)
{
    double min = INFINITY;

    for (int l = 0; l < pr->L; l++) {
        int best = l > 0 ? type[l - 1] : 0;
        min = INFINITY;
        for (int t = 0; t < pr->T; t++) {
            type[l] = t;
            double price = hps_pricer_prefix(pr, l + 1, type, min);
            if (price < min) {
                min = price;
                best = t;
            }
        }
        type[l] = best;
    }
    return min;
}

/* Take the best join; false when none is below *price. next (L) and scratch (L) are scratch. */
static bool join(struct hps_pricer *pr, int *type, int *next, int *scratch, double *price)
{
    size_t bytes = (size_t)pr->L * sizeof *type;
    bool gained = false;

    for (int l = 1, first = 0; l < pr->L; l++) {
        if (type[l] == type[l - 1]) continue;
        for (int onto = 0; onto < 2; onto++) {
            memcpy(scratch, type, bytes);
            hps_moves_reassign(scratch, type, pr->L, onto ? first : l,
                               onto ? type[l] : type[l - 1]);
            double joined = hps_pricer_price(pr, scratch, *price);
            if (joined < *price) {
                *price = joined;
                memcpy(next, scratch, bytes);
                gained = true;
            }
        }
        first = l;
    }
    if (gained) memcpy(type, next, bytes);
    return gained;
}

static enum hps_status run(const struct hps_problem *q, uint64_t key, struct hps_plan **best)
{
    struct hps_pricer *pr = hps_pricer_new(q);
    size_t L = (size_t)pr->L;
    int *type = hps_mem_new(3 * L, sizeof *type);

    (void)key;
    hps_pricer_single_types(pr, type);
    double price = grow(pr, type);
    while (join(pr, type, type + L, type + 2 * L, &price))
        continue;
    *best = hps_pricer_plan(pr);
    hps_mem_free(type);
    hps_pricer_free(pr);
    return HPS_OK;
}

const struct hps_sched hps_sched_greedy = {
    .name = "greedy",
    .help = "layer by layer, then stages joined while that gains",
    .run = run,
};
