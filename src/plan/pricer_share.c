/* pricer_share.c - choose which stages of one type share their units: by trying all pairings where
 * there are few, else pair by pair. */
#include "plan/pricer_impl.h"

#include <math.h>
#include <string.h>

/* Number of possible pairs up to which all pairings are priced. */
#define FEW 6

static bool may_share(const struct hps_pricer_workspace *w, int a, int b)
{
    return w->stages.type[a] == w->stages.type[b] && w->stages.mate[a] < 0 && w->stages.mate[b] < 0;
}

static void pair(struct hps_pricer_workspace *w, int a, int b)
{
    w->stages.mate[a] = b;
    w->stages.mate[b] = a;
}

static void unpair(struct hps_pricer_workspace *w, int a, int b)
{
    w->stages.mate[a] = w->stages.mate[b] = -1;
}

/* Price the current pairing; store it where it is below *best. */
static bool try_pairs(struct hps_pricer *pr, double *best)
{
    struct hps_pricer_workspace *w = pr->workspace;
    double price = hps_pricer_value(pr, hps_pricer_load(pr), *best);

    if (!(price < *best)) return false;
    *best = price;
    memcpy(w->pairing.mate, w->stages.mate, (size_t)w->stages.S * sizeof *w->stages.mate);
    memcpy(w->pairing.units, w->stages.units, (size_t)w->stages.S * sizeof *w->stages.units);
    w->pairing.servers = w->stages.servers;
    return true;
}

/* Price every pairing of the stages from s on. */
static void all_pairings(struct hps_pricer *pr, int s, double *best)
{
    struct hps_pricer_workspace *w = pr->workspace;

    if (s == w->stages.S) {
        try_pairs(pr, best);
        return;
    }
    all_pairings(pr, s + 1, best);
    for (int b = s + 1; b < w->stages.S; b++)
        if (may_share(w, s, b)) {
            pair(w, s, b);
            all_pairings(pr, s + 1, best);
            unpair(w, s, b);
        }
}

/* Add the pair that gains most to the current ones. False when none gains. */
static bool best_pair(struct hps_pricer *pr, double *best)
{
    struct hps_pricer_workspace *w = pr->workspace;
    bool found = false;

    for (int a = 0; a < w->stages.S; a++)
        for (int b = a + 1; b < w->stages.S; b++)
            if (may_share(w, a, b)) {
                pair(w, a, b);
                found = try_pairs(pr, best) || found;
                unpair(w, a, b);
            }
    memcpy(w->stages.mate, w->pairing.mate, (size_t)w->stages.S * sizeof *w->stages.mate);
    return found;
}

double hps_pricer_share(struct hps_pricer *pr, double price, double cutoff)
{
    struct hps_pricer_workspace *w = pr->workspace;
    double best = fmin(price, cutoff);
    int npair = 0;

    for (int a = 0; a < w->stages.S; a++)
        for (int b = a + 1; b < w->stages.S; b++)
            npair += may_share(w, a, b);
    if (npair == 0) return price;
    memcpy(w->pairing.mate, w->stages.mate, (size_t)w->stages.S * sizeof *w->stages.mate);
    memcpy(w->pairing.units, w->stages.units, (size_t)w->stages.S * sizeof *w->stages.units);
    w->pairing.servers = w->stages.servers;
    if (npair <= FEW)
        all_pairings(pr, 0, &best);
    else
        while (best_pair(pr, &best))
            continue;
    memcpy(w->stages.mate, w->pairing.mate, (size_t)w->stages.S * sizeof *w->stages.mate);
    memcpy(w->stages.units, w->pairing.units, (size_t)w->stages.S * sizeof *w->stages.units);
    w->stages.servers = w->pairing.servers;
    return best < cutoff ? best : INFINITY;
}
