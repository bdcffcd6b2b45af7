#include "plan/moves.h"

#include <string.h>

static void copy(int *to, const int *from, int L)
{
    memcpy(to, from, (size_t)L * sizeof *to);
}

uint64_t hps_moves_count(int L, int T)
{
    return 3 * (uint64_t)L * (uint64_t)T + (uint64_t)L * (uint64_t)(L - 1) / 2;
}

void hps_moves_reassign(int *next, const int *now, int L, int l, int t)
{
    for (int a = l; a >= 0 && now[a] == now[l]; a--)
        next[a] = t;
    for (int a = l; a < L && now[a] == now[l]; a++)
        next[a] = t;
}

/* The n-th pair a < b: by b, then by a. */
static bool exchange(int *next, const int *now, int L, uint64_t n)
{
    int b = 1;

    while (n >= (uint64_t)b)
        n -= (uint64_t)b++;
    int a = (int)n;
    /* only the first layers of both stages count, so each pair has one number */
    if (now[a] == now[b] || now[b - 1] == now[b] || (a > 0 && now[a - 1] == now[a])) return false;
    copy(next, now, L);
    hps_moves_reassign(next, now, L, a, now[b]);
    hps_moves_reassign(next, now, L, b, now[a]);
    return true;
}

/* One layer inside a stage, at neither of its ends, to another type. */
static bool split(int *next, const int *now, int L, uint64_t n)
{
    int l = (int)(n % (uint64_t)L), t = (int)(n / (uint64_t)L);

    if (l == 0 || l == L - 1 || now[l - 1] != now[l] || now[l + 1] != now[l] || t == now[l])
        return false;
    copy(next, now, L);
    next[l] = t;
    return true;
}

bool hps_moves_apply(int *next, const int *now, int L, int T, uint64_t n)
{
    uint64_t cells = (uint64_t)L * (uint64_t)T;

    if (n >= 3 * cells) return exchange(next, now, L, n - 3 * cells);
    if (n >= 2 * cells) return split(next, now, L, n - 2 * cells);
    int l = (int)(n / 2 % (uint64_t)L), t = (int)(n / 2 / (uint64_t)L), step = n % 2 ? 1 : -1;
    int was = now[l];
    /* a whole stage is reached from both of its ends: one of them counts */
    if (was == t || (step > 0 && (l == 0 || now[l - 1] != was))) return false;
    copy(next, now, L);
    for (; l >= 0 && l < L && now[l] == was; l += step)
        next[l] = t;
    return true;
}

void hps_moves_perturb(int *type, int *scratch, int L, int T, int moves, uint64_t key)
{
    uint64_t draw = 0;

    for (int m = 0; m < moves; m++) {
        if (hps_rng_below(key, draw++, 4) > 0) {
            for (int tries = 0; tries < 20; tries++)
                if (hps_moves_apply(scratch, type, L, T,
                                    hps_rng_below(key, draw++, hps_moves_count(L, T)))) {
                    copy(type, scratch, L);
                    break;
                }
            continue;
        }
        int from = (int)hps_rng_below(key, draw, (uint64_t)L);
        int t = (int)hps_rng_below(key, draw + 1, (uint64_t)T);
        int n = 1 + (int)hps_rng_below(key, draw + 2, (uint64_t)(L - from));
        for (int l = from; l < from + n; l++)
            type[l] = t;
        draw += 3;
    }
}

void hps_moves_random(int *type, int L, int T, uint64_t key)
{
    uint64_t draw = 0;
    int runs = 2 + (int)hps_rng_below(key, draw++, 7);

    for (int l = 0, t = 0; l < L; l++) {
        if (l == 0 || hps_rng_below(key, draw++, (uint64_t)L) < (uint64_t)(runs - 1))
            t = (int)hps_rng_below(key, draw++, (uint64_t)T);
        type[l] = t;
    }
}

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

double hps_moves_local_search(struct hps_pricer *pr, int *type, int *scratch, double price,
                              uint64_t key)
{
    int L = pr->L, T = pr->T;
    uint64_t all = hps_moves_count(L, T), at = hps_rng_below(key, 0, all);
    uint64_t step = 1 + hps_rng_below(key, 1, all);

    while (divisor(step, all) != 1)     /* steps of this length meet every move */
        step++;
    for (uint64_t idle = 0; idle < all && !hps_pricer_over(pr); idle++, at = (at + step) % all) {
        if (!hps_moves_apply(scratch, type, L, T, at)) continue;
        double gain = hps_pricer_price(pr, scratch, price);
        if (gain < price) {
            price = gain;
            copy(type, scratch, L);
            idle = 0;
        }
    }
    return price;
}

/* ---- the neighbourhood of one plan ---- */

#define PLANS 50000             /* priced at most */
#define SECONDS 0.3

struct hps_sched_opt hps_moves_budget(const struct hps_sched_opt *opt)
{
    struct hps_sched_opt o = *opt;

    o.seconds = SECONDS;
    o.evaluations = PLANS;
    return o;
}

void hps_moves_walk(struct hps_pricer *pr, const int *now, int *next,
                    void (*visit)(void *arg, struct hps_pricer *pr, const int *type), void *arg)
{
    uint64_t all = hps_moves_count(pr->L, pr->T), step = 1 + all / PLANS;

    for (uint64_t n = 0; n < all && !hps_pricer_over(pr); n += step)
        if (hps_moves_apply(next, now, pr->L, pr->T, n)) visit(arg, pr, next);
}
