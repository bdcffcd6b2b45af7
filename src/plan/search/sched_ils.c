/* sched_ils.c - iterated local search: descend by moves of stages, perturb the optimum a little,
 * descend again; where that has not gained for long, restart. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "plan/moves.h"

#define WORSE 1.005             /* a plan that costs so much more is still a place to go on from */
/* Descents without a gain before a restart, and one more per layer. */
#define PATIENCE 60

struct search {
    struct hps_pricer *pr;
    int *best, *optimum, *current, *scratch;    /* (L) of all; of this climb; a plan; scratch */
    double best_price, run_price;               /* of all; since the restart                  */
    long long idle, restarts;
};

static void copy(const struct search *x, int *to, const int *from)
{
    memcpy(to, from, (size_t)x->pr->L * sizeof *to);
}

/* The plan to descend from next, and its price. */
static double perturb(struct search *x, uint64_t key)
{
    int L = x->pr->L, T = x->pr->T;

    if (x->idle <= PATIENCE + L) {
        copy(x, x->current, x->optimum);
        hps_moves_perturb(x->current, x->scratch, L, T, 1 + (int)(3 * hps_rng_real(key, 0)),
                          hps_rng_sub(key, 1));
    } else {
        x->idle = 0;
        x->run_price = INFINITY;
        if (x->restarts++ % 2 == 0) {
            hps_moves_random(x->current, L, T, hps_rng_sub(key, 2));
        } else {
            copy(x, x->current, x->best);
            hps_moves_perturb(x->current, x->scratch, L, T, 8, hps_rng_sub(key, 3));
        }
    }
    return hps_pricer_price(x->pr, x->current, INFINITY);
}

static void accept(struct search *x, double price)
{
    x->idle++;
    if (price < x->run_price) {
        x->run_price = price;
        x->idle = 0;
    }
    if (price < x->best_price) {
        x->best_price = price;
        copy(x, x->best, x->current);
    }
    if (price <= x->run_price * (price < x->pr->ceiling ? WORSE : 1))
        copy(x, x->optimum, x->current);
}

static enum hps_status run(const struct hps_problem *q, uint64_t key, struct hps_plan **best)
{
    struct hps_pricer *pr = hps_pricer_new(q);
    size_t L = (size_t)pr->L;
    struct search x = { .pr = pr, .best = hps_mem_new(4 * L, sizeof(int)), .best_price = INFINITY,
                        .run_price = INFINITY };

    x.optimum = x.best + L;
    x.current = x.best + 2 * L;
    x.scratch = x.best + 3 * L;
    double price = hps_pricer_single_types(pr, x.current);
    for (uint64_t round = 0; !hps_pricer_over(pr); round++) {
        uint64_t mine = hps_rng_sub(key, round);
        price = hps_moves_local_search(pr, x.current, x.scratch, price, hps_rng_sub(mine, 0));
        accept(&x, price);
        price = perturb(&x, hps_rng_sub(mine, 1));
    }
    *best = hps_pricer_plan(pr);
    hps_mem_free(x.best);
    hps_pricer_free(pr);
    return HPS_OK;
}

const struct hps_sched hps_sched_ils = {
    .name = "ils",
    .help = "restarted local search by moves of stages",
    .endless = true,
    .run = run,
};
