/* exact_local.c - good plans early: an iterated local search, which perturbs its optimum and
 * descends again. */
#include "plan/exact/exact_impl.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/moves.h"

struct hps_exact_local {
    struct hps_exact_leaf *leaf;
    int *home, *now, *next;         /* (L) groups: the optimum that was left, here, a neighbour */
    int *arc;                       /* (L) of the neighbour                                     */
    double home_value, value;
    uint64_t key, draws;
    long long steps;                /* left until it pauses                                     */
    uint64_t at, idle, pass;        /* moves tried in this pass, since the last gain; passes    */
    bool begun;
};

struct hps_exact_local *hps_exact_local_new(struct hps_exact_leaf *leaf)
{
    struct hps_exact_local *c = hps_mem_new(1, sizeof *c);
    size_t L = (size_t)leaf->m->L;

    c->leaf = leaf;
    c->home = hps_mem_new(4 * L, sizeof *c->home);
    c->now = c->home + L;
    c->next = c->home + 2 * L;
    c->arc = c->home + 3 * L;
    c->key = hps_rng_key(1, "climb");
    return c;
}

void hps_exact_local_free(struct hps_exact_local *c)
{
    if (!c) return;
    hps_mem_free(c->home);
    hps_mem_free(c);
}

static void copy(const struct hps_exact_local *c, int *to, const int *from)
{
    memcpy(to, from, (size_t)c->leaf->m->L * sizeof *to);
}

/* The value of `next`: stages are its maximal runs. */
static double value(struct hps_exact_local *c, double cutoff)
{
    const struct hps_exact_model *m = c->leaf->m;
    int S = 0;

    for (int i = 0, j; i < m->L; i = j) {
        j = hps_plan_run_end(c->next, m->L, i);
        c->arc[S] = hps_exact_model_arc(m, i, j - 1, c->next[i]);
        if (c->arc[S++] < 0) return INFINITY;
    }
    return hps_exact_leaf_price(c->leaf, S, c->arc, cutoff);
}

/* Moves: from a layer to its stage's beginning, or to its end, to any group; the groups of the
 * stages around two layers exchanged. */
static uint64_t moves(const struct hps_exact_model *m)
{
    return 2 * (uint64_t)m->L * (uint64_t)m->G + (uint64_t)m->L * (uint64_t)m->L;
}

/* `next` is `now` after move n; false when that changes nothing. */
static bool move(struct hps_exact_local *c, uint64_t n)
{
    const struct hps_exact_model *m = c->leaf->m;
    uint64_t L = (uint64_t)m->L, ranges = 2 * L * (uint64_t)m->G;
    int l = (int)(n / 2 % L), other = (int)(n / 2 / L), step = n % 2 ? 1 : -1;

    if (n >= ranges) {
        l = (int)((n - ranges) % L);
        other = (int)((n - ranges) / L);
        if (l >= other || c->now[l] == c->now[other]) return false;
        copy(c, c->next, c->now);
        hps_moves_reassign(c->next, c->now, m->L, l, c->now[other]);
        hps_moves_reassign(c->next, c->now, m->L, other, c->now[l]);
        return true;
    }
    int was = c->now[l];
    if (was == other) return false;
    copy(c, c->next, c->now);
    for (; l >= 0 && l < m->L && c->now[l] == was; l += step)
        c->next[l] = other;
    return true;
}

/* Descend until no move gains. False when the steps were used up before. */
static bool descend(struct hps_exact_local *c)
{
    uint64_t all = moves(c->leaf->m);

    for (; c->idle < all; c->idle++) {
        if (c->steps-- <= 0) return false;
        uint64_t n = hps_rng_permute(hps_rng_sub(c->key, c->pass), c->at++, all);
        if (c->at == all) {
            c->at = 0;
            c->pass++;
        }
        if (!move(c, n)) continue;
        double v = value(c, c->value);
        if (v < c->value) {
            c->value = v;
            copy(c, c->now, c->next);
            c->idle = 0;
        }
    }
    return true;
}

/* A few random moves from home, fewer where that keeps no limit. */
static void perturb(struct hps_exact_local *c)
{
    c->value = INFINITY;
    for (int tries = 0; tries < 30 && !isfinite(c->value); tries++) {
        copy(c, c->now, c->home);
        for (int n = tries < 10 ? 3 : tries < 20 ? 2 : 1; n > 0; n--)
            if (move(c, hps_rng_below(c->key, c->draws++, moves(c->leaf->m))))
                copy(c, c->now, c->next);
        copy(c, c->next, c->now);
        c->value = value(c, INFINITY);
    }
    c->idle = 0;
}

static void begin(struct hps_exact_local *c)
{
    const struct hps_exact_leaf *leaf = c->leaf;

    for (int s = 0; s < leaf->S; s++) {
        const struct hps_exact_arc *x = &leaf->m->arc[leaf->arc[s]];
        for (int l = x->i; l <= x->j; l++)
            c->now[l] = x->g;
    }
    c->value = leaf->best;
    c->home_value = INFINITY;
    c->idle = 0;
    c->begun = true;
}

void hps_exact_local_run(struct hps_exact_local *c, long long steps)
{
    if (c->leaf->S == 0) return;
    c->steps = steps;
    if (!c->begun || c->leaf->best < c->home_value * (1 - HPS_EXACT_SAME)) begin(c);
    while (descend(c)) {
        if (c->value <= c->home_value * 1.002) {
            c->home_value = c->value;
            copy(c, c->home, c->now);
        }
        perturb(c);
    }
}
