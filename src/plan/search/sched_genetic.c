/* sched_genetic.c - a population of plans: a child has a block of layers from one parent and the
 * rest from another, is changed by moves of stages, and takes the place of a worse plan. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "plan/moves.h"

#define PLANS 120               /* of the population                                     */
#define PARENTS 3               /* the best of so many drawn is a parent                 */
#define VICTIMS  4               /* the worst of so many drawn is replaced                */
#define PATIENCE 400            /* generations without a gain before all are new       */

struct population {
    struct hps_pricer *pr;
    int *type;                  /* (PLANS, L)        */
    int *child, *scratch;       /* (L)               */
    double price[PLANS], best;  /* of each; since all were new */
    long long idle;             /* children since the best plan became better */
};

static int *member(const struct population *h, int a)
{
    return h->type + (size_t)a * (size_t)h->pr->L;
}

static int draw(uint64_t key, uint64_t index, int n)
{
    return (int)hps_rng_below(key, index, (uint64_t)n);
}

/* The best (worst) of some that are drawn. */
static int drawn(const struct population *h, uint64_t key, int n, bool worst)
{
    int a = draw(key, 0, PLANS);

    for (int b = 1; b < n; b++) {
        int other = draw(key, (uint64_t)b, PLANS);
        if (worst ? h->price[other] > h->price[a] : h->price[other] < h->price[a]) a = other;
    }
    return a;
}

/* New plans, but for the first `survivors` of them. */
static void renew(struct population *h, int survivors, uint64_t key)
{
    h->best = INFINITY;
    h->idle = 0;
    for (int a = 0; a < PLANS; a++) {
        if (a >= survivors) {
            hps_moves_random(member(h, a), h->pr->L, h->pr->T, hps_rng_sub(key, (uint64_t)a));
            h->price[a] = hps_pricer_price(h->pr, member(h, a), INFINITY);
        }
        h->best = fmin(h->best, h->price[a]);
    }
}

static bool is_duplicate(const struct population *h, const int *type, double price)
{
    for (int a = 0; a < PLANS; a++)
        if (h->price[a] == price &&
            memcmp(member(h, a), type, (size_t)h->pr->L * sizeof *type) == 0)
            return true;
    return false;
}

/* A block of one parent inside the other, then no, one or two moves; always one on a copy. */
static void breed(struct population *h, uint64_t key)
{
    int L = h->pr->L;
    size_t bytes = (size_t)L * sizeof *h->child;
    const int *mother = member(h, drawn(h, hps_rng_sub(key, 0), PARENTS, false));
    const int *father = member(h, drawn(h, hps_rng_sub(key, 1), PARENTS, false));
    int from = draw(key, 2, L), n = 1 + draw(key, 3, L - from), moves = draw(key, 4, 3);

    memcpy(h->child, mother, bytes);
    memcpy(h->child + from, father + from, (size_t)n * sizeof *h->child);
    bool same = memcmp(h->child, mother, bytes) == 0 || memcmp(h->child, father, bytes) == 0;
    if (same && moves == 0) moves = 1;
    hps_moves_perturb(h->child, h->scratch, L, h->pr->T, moves, hps_rng_sub(key, 5));
}

static void generation(struct population *h, uint64_t key)
{
    for (uint64_t n = 0; n < PLANS && !hps_pricer_over(h->pr); n++) {
        uint64_t mine = hps_rng_sub(key, n);
        int victim = drawn(h, hps_rng_sub(mine, 0), VICTIMS, true);
        breed(h, hps_rng_sub(mine, 1));
        double price = hps_pricer_price(h->pr, h->child, h->price[victim]);
        h->idle++;
        if (!(price < h->price[victim]) || is_duplicate(h, h->child, price)) continue;
        memcpy(member(h, victim), h->child, (size_t)h->pr->L * sizeof *h->child);
        h->price[victim] = price;
        if (price < h->best) {
            h->best = price;
            h->idle = 0;
        }
    }
}

static enum hps_status run(const struct hps_problem *q, uint64_t key, struct hps_plan **best)
{
    struct population h = { .pr = hps_pricer_new(q) };
    size_t L = (size_t)h.pr->L;

    h.type = hps_mem_new((PLANS + 2) * L, sizeof *h.type);
    h.child = h.type + PLANS * L;
    h.scratch = h.child + L;
    h.price[0] = hps_pricer_single_types(h.pr, h.type);
    renew(&h, 1, hps_rng_sub(key, 0));
    for (uint64_t n = 1; !hps_pricer_over(h.pr); n++) {
        generation(&h, hps_rng_sub(key, n));
        if (h.idle > PATIENCE * PLANS) renew(&h, 0, hps_rng_sub(hps_rng_sub(key, n), PLANS));
    }
    *best = hps_pricer_plan(h.pr);
    hps_mem_free(h.type);
    hps_pricer_free(h.pr);
    return HPS_OK;
}

const struct hps_sched hps_sched_genetic = {
    .name = "genetic",
    .help = "a population of plans, crossed by blocks of layers and changed by moves of stages",
    .endless = true,
    .run = run,
};
