#include "plan/propose.h"

#include <string.h>

#include "base/rng.h"
#include "plan/moves.h"

static int below(uint64_t key, uint64_t index, int n)
{
    return (int)hps_rng_below(key, index, (uint64_t)n);
}

/* 1, 2, 3, ... each half as likely as the one before. */
static int some(uint64_t key, uint64_t index)
{
    int n = 1;

    for (uint64_t bits = hps_rng_bits(key, index); bits & 1; bits >>= 1)
        n++;
    return n;
}

static void paint(int *type, int from, int to, int t)
{
    for (int l = from; l < to; l++)
        type[l] = t;
}

/* The stage on one side of a boundary takes some layers of the other. */
static void shift(const int *now, int *next, int L, uint64_t key)
{
    int l = below(key, 1, L), n = some(key, 3);
    bool left = below(key, 2, 2);
    int edge = left ? hps_markov_begin(now, l + 1) : hps_plan_run_end(now, L, l);

    if (edge == 0 || edge == L) return;
    if (below(key, 4, 2))
        paint(next, edge, edge + n < L ? edge + n : L, now[edge - 1]);
    else
        paint(next, edge - n > 0 ? edge - n : 0, edge, now[edge]);
}

/* A stage, its beginning, its end or a piece in it to another type. */
static void reassign(const struct hps_markov *c, const int *now, int *next, bool copy, uint64_t key)
{
    int l = below(key, 1, c->L), a = hps_markov_begin(now, l + 1),
        b = hps_plan_run_end(now, c->L, l);
    int n = some(key, 3) * (1 + c->L / 16);
    int kind = below(key, 2, 8);

    if (kind >= 4 && kind < 6)
        b = l + 1;
    else if (kind == 6)
        a = l;
    else if (kind == 7) {
        a = l;
        b = l + n < c->L ? l + n : c->L;
    }
    paint(next, a, b,
          copy ? now[below(key, 4, c->L)]
               : hps_markov_type(c, a + below(key, 5, b - a), hps_rng_sub(key, 6)));
}

static void exchange(const int *now, int *next, int L, uint64_t key)
{
    int l = below(key, 1, L), m = below(key, 2, L);

    hps_moves_reassign(next, now, L, l, now[m]);
    if (now[l] != now[m]) hps_moves_reassign(next, now, L, m, now[l]);
}

bool hps_propose_move(const struct hps_markov *c, const int *now, int *next, uint64_t key)
{
    int kind = below(key, 0, 16);

    memcpy(next, now, (size_t)c->L * sizeof *next);
    if (kind < 6)
        shift(now, next, c->L, key);
    else if (kind < 13)
        reassign(c, now, next, false, key);
    else if (kind < 15)
        reassign(c, now, next, true, key);
    else
        exchange(now, next, c->L, key);
    return memcmp(next, now, (size_t)c->L * sizeof *next) != 0;
}

double hps_propose_local_search(const struct hps_markov *c, struct hps_pricer *pr, int *type,
                                int *scratch, double price, int patience, uint64_t key)
{
    uint64_t n = 0;

    for (int idle = 0; idle < patience && !hps_pricer_over(pr); idle++) {
        if (!hps_propose_move(c, type, scratch, hps_rng_sub(key, n++))) continue;
        double gain = hps_pricer_price(pr, scratch, price);
        if (gain < price) {
            price = gain;
            memcpy(type, scratch, (size_t)c->L * sizeof *type);
            idle = 0;
        }
    }
    return price;
}
