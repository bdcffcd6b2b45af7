/* pricer_share.c - which stages of one type should share their units: all ways where there are few,
 * else pair by pair. */
#include "plan/pricer_workspace.h"

#include <math.h>
#include <string.h>

/* Pairs of stages up to which all ways to share are priced. */
#define FEW 6

static bool may_share(const struct hps_pricer_workspace *d, int a, int b)
{
    return d->type[a] == d->type[b] && d->mate[a] < 0 && d->mate[b] < 0;
}

static void marry(struct hps_pricer_workspace *d, int a, int b)
{
    d->mate[a] = b;
    d->mate[b] = a;
}

static void part(struct hps_pricer_workspace *d, int a, int b)
{
    d->mate[a] = d->mate[b] = -1;
}

/* Price the pairs at hand; they are the best of all where they are below *best. */
static bool try_pairs(struct hps_pricer *pr, double *best)
{
    struct hps_pricer_workspace *d = pr->desk;
    double price = hps_pricer_value(pr, hps_pricer_load(pr), *best);

    if (!(price < *best))
        return false;
    *best = price;
    memcpy(d->best_mate, d->mate, (size_t)d->S * sizeof *d->mate);
    memcpy(d->best_units, d->stage_units, (size_t)d->S * sizeof *d->stage_units);
    return true;
}

/* Every way to pair the stages from s on. */
static void all_ways(struct hps_pricer *pr, int s, double *best)
{
    struct hps_pricer_workspace *d = pr->desk;

    if (s == d->S) {
        try_pairs(pr, best);
        return;
    }
    all_ways(pr, s + 1, best);
    for (int b = s + 1; b < d->S; b++)
        if (may_share(d, s, b)) {
            marry(d, s, b);
            all_ways(pr, s + 1, best);
            part(d, s, b);
        }
}

/* The pair that gains most beside those there are. False when none gains. */
static bool best_pair(struct hps_pricer *pr, double *best)
{
    struct hps_pricer_workspace *d = pr->desk;
    bool found = false;

    for (int a = 0; a < d->S; a++)
        for (int b = a + 1; b < d->S; b++)
            if (may_share(d, a, b)) {
                marry(d, a, b);
                found = try_pairs(pr, best) || found;
                part(d, a, b);
            }
    memcpy(d->mate, d->best_mate, (size_t)d->S * sizeof *d->mate);
    return found;
}

double hps_pricer_share(struct hps_pricer *pr, double price, double cutoff)
{
    struct hps_pricer_workspace *d = pr->desk;
    double best = fmin(price, cutoff);
    int pairs = 0;

    for (int a = 0; a < d->S; a++)
        for (int b = a + 1; b < d->S; b++)
            pairs += may_share(d, a, b);
    if (pairs == 0)
        return price;
    memcpy(d->best_mate, d->mate, (size_t)d->S * sizeof *d->mate);
    memcpy(d->best_units, d->stage_units, (size_t)d->S * sizeof *d->stage_units);
    if (pairs <= FEW)
        all_ways(pr, 0, &best);
    else
        while (best_pair(pr, &best))
            continue;
    memcpy(d->mate, d->best_mate, (size_t)d->S * sizeof *d->mate);
    memcpy(d->stage_units, d->best_units, (size_t)d->S * sizeof *d->stage_units);
    return best < cutoff ? best : INFINITY;
}
