/* exact_split.c - where to divide a node: what it gave elsewhere to divide by a layer and a group
 * tells what it gives here (pseudo-costs: Benichou et al. 1971). */
#include "plan/exact/exact_cover_impl.h"

#include <math.h>

/* Shares of a layer below this are rounding; below LITTLE the sets leave the layer out. */
#define NONE 1e-9
#define LITTLE 0.1

static double all_of(const struct hps_exact_cover *x, int l)
{
    double sum = 0;

    for (int g = 0; g < x->m->G; g++)
        sum += x->mean[l * x->m->G + g];
    return sum;
}

double hps_exact_cover_share(const struct hps_exact_cover *x, int l, int g)
{
    double all = all_of(x, l);

    return all >= LITTLE ? x->mean[l * x->m->G + g] / all : 0.5;
}

/* What the bound rose by for a whole layer, in the mean: where little is known as everywhere. */
static double rise_of(const struct hps_exact_cover *x, int a, bool on)
{
    int all = x->m->L * x->m->G;
    const double *times = x->times + on, *rises = x->rises + on;
    double mean = times[2 * all] > 0 ? rises[2 * all] / times[2 * all] : 1;

    return (rises[2 * a] + mean) / (times[2 * a] + 1);
}

bool hps_exact_cover_split(const struct hps_exact_cover *x, int *l, int *g)
{
    int G = x->m->G;
    double best = 0;

    for (int a = 0; a < x->m->L * G; a++) {
        double all = x->mean[a] > 0 ? all_of(x, a / G) : 0;
        double share = all >= LITTLE ? x->mean[a] / all : 0;
        if (share < NONE || share > 1 - NONE) continue;
        double score = rise_of(x, a, true) * (1 - share) * rise_of(x, a, false) * share;
        if (score > best) {
            best = score;
            *l = a / G;
            *g = a % G;
        }
    }
    return best > 0;
}

void hps_exact_cover_learn(struct hps_exact_cover *x, int l, int g, bool on, double share,
                           double rise)
{
    int all = x->m->L * x->m->G;
    double whole = fmax(rise, 0) / fmax(on ? 1 - share : share, 0.01);

    for (int n = 0; n < 2; n++) {
        int a = 2 * (n ? all : l * x->m->G + g) + on;
        x->times[a]++;
        x->rises[a] += whole;
    }
}
