/* pricer_share.c - which stages of one type should share their units: all ways where there are few,
 * else pair by pair. */
#include "plan/pricer_impl.h"

#include <math.h>
#include <string.h>

/* Pairs of stages up to which all ways to share are priced. */
#define FEW 6

static bool may_share(const struct hps_pricer_workspace *w, int a, int b)
{
    return w->stages.type[a] == w->stages.type[b] && w->stages.mate[a] < 0 && w->stages.mate[b] < 0;
}

static void marry(struct hps_pricer_workspace *w, int a, int b)
{
    w->stages.mate[a] = b;
    w->stages.mate[b] = a;
}

static void part(struct hps_pricer_workspace *w, int a, int b)
{
    w->stages.mate[a] = w->stages.mate[b] = -1;
}

/* Price the pairs at hand; they are the best of all where they are below *best. */
static bool try_pairs(struct hps_pricer *pr, double *best)
{
    struct hps_pricer_workspace *w = pr->workspace;
    double price = hps_pricer_value(pr, hps_pricer_load(pr), *best);

    if (!(price < *best)) return false;
    *best = price;
    memcpy(w->pairing.mate, w->stages.mate, (size_t)w->stages.S * sizeof *w->stages.mate);
    memcpy(w->pairing.units, w->stages.units, (size_t)w->stages.S * sizeof *w->stages.units);
    return true;
}

/* Every way to pair the stages from s on. */
static void all_ways(struct hps_pricer *pr, int s, double *best)
{
    struct hps_pricer_workspace *w = pr->workspace;

    if (s == w->stages.S) {
        try_pairs(pr, best);
        return;
    }
    all_ways(pr, s + 1, best);
    for (int b = s + 1; b < w->stages.S; b++)
        if (may_share(w, s, b)) {
            marry(w, s, b);
            all_ways(pr, s + 1, best);
            part(w, s, b);
        }
}

/* The pair that gains most beside those there are. False when none gains. */
static bool best_pair(struct hps_pricer *pr, double *best)
{
    struct hps_pricer_workspace *w = pr->workspace;
    bool found = false;

    for (int a = 0; a < w->stages.S; a++)
        for (int b = a + 1; b < w->stages.S; b++)
            if (may_share(w, a, b)) {
                marry(w, a, b);
                found = try_pairs(pr, best) || found;
                part(w, a, b);
            }
    memcpy(w->stages.mate, w->pairing.mate, (size_t)w->stages.S * sizeof *w->stages.mate);
    return found;
}

double hps_pricer_share(struct hps_pricer *pr, double price, double cutoff)
{
    struct hps_pricer_workspace *w = pr->workspace;
    double best = fmin(price, cutoff);
    int pairs = 0;

    for (int a = 0; a < w->stages.S; a++)
        for (int b = a + 1; b < w->stages.S; b++)
            pairs += may_share(w, a, b);
    if (pairs == 0) return price;
    memcpy(w->pairing.mate, w->stages.mate, (size_t)w->stages.S * sizeof *w->stages.mate);
    memcpy(w->pairing.units, w->stages.units, (size_t)w->stages.S * sizeof *w->stages.units);
    if (pairs <= FEW)
        all_ways(pr, 0, &best);
    else
        while (best_pair(pr, &best))
            continue;
    memcpy(w->stages.mate, w->pairing.mate, (size_t)w->stages.S * sizeof *w->stages.mate);
    memcpy(w->stages.units, w->pairing.units, (size_t)w->stages.S * sizeof *w->stages.units);
    return best < cutoff ? best : INFINITY;
}
