#include "plan/tier.h"

#include <math.h>

/* ---- distinct rows ---- */

/* Steps up to point i of the sample; behind the last one: 1. */
static double steps_at(const struct hps_tier_sample *x, int i)
{
    return i < HPS_TIER_POINTS ? fmax(floor(ldexp(x->steps, -i)), 1) : 1;
}

/* y(n) at point i. */
static double grown_at(const struct hps_tier_sample *x, int i)
{
    const double all = 1 - 1e-12;
    double seen = i < HPS_TIER_POINTS ? x->distinct[i] : x->asked;

    return -log1p(-fmin(seen / x->rows, all));
}

/* The exponent of y between point i and the one before it in the run. */
static double exponent(const struct hps_tier_sample *x, int i)
{
    double before = steps_at(x, i + 1), n = steps_at(x, i);
    double from = grown_at(x, i + 1), to = grown_at(x, i);

    return n > before && from > 0 && to > 0 ? log(to / from) / log(n / before) : 1;
}

double hps_tier_distinct(const struct hps_tier_sample *x, double n)
{
    int i = 0;

    if (!(n > 0)) return 0;
    if (n <= 1) return n * x->asked;
    while (i < HPS_TIER_POINTS && steps_at(x, i) > n)
        i++;
    if (i > 0) i--;             /* the point behind n */
    double power = exponent(x, i), behind = fmin(fmax(power, 0), 1);
    double y = grown_at(x, i) * pow(n / steps_at(x, i), n > x->steps ? behind : power);
    return fmin(-x->rows * expm1(-y), n * x->asked);
}

/* ---- hits ---- */

double hps_tier_hit_share(const double share[HPS_TIER_SHARES], double slots)
{
    if (slots >= 1) return 1;
    if (!(slots > 0)) return 0;
    double at = -log2(slots);
    int i = (int)fmin(floor(at), HPS_TIER_SHARES - 2);

    return fmin(fmax(share[i] + (at - i) * (share[i + 1] - share[i]), 0), 1);
}

/* Of the first n steps of the first epoch, in pieces that grow with them. */
static double hits_of_first(const struct hps_tier_sample *x, double slots, double n)
{
    const double longer = 1.125;
    double hits = 0, from = 1, before = hps_tier_distinct(x, 1);

    while (from < n) {
        double to = fmin(fmax(from + 1, from * longer), n);
        double seen = hps_tier_distinct(x, to);
        double again = fmax(x->asked * (to - from) - (seen - before), 0);
        hits += again * hps_tier_hit_share(x->hits, 2 * slots / (before + seen));
        before = seen;
        from = to;
    }
    return hits;
}

/* Of n steps of later epochs of `pass`, which have `all` rows. */
static double hits_of_later(const struct hps_tier_sample *x, double slots, double n, double pass,
                            double all)
{
    double first = all / pass, again = fmax(x->asked - first, 0);

    return n * (again * hps_tier_hit_share(x->later_hits, slots / all) +
                first * hps_tier_hit_share(x->first_hits, slots / all));
}

struct hps_tier_rows hps_tier_rows(const struct hps_tier_sample *x, double slots, double n,
                                   double pass)
{
    if (!(x->rows > 0) || !(n > 0)) return (struct hps_tier_rows){ 0, 0, 0, 0, 0 };
    double made = hps_tier_distinct(x, fmin(n, pass));
    double hits = hits_of_first(x, slots, fmin(n, pass));
    if (n > pass) hits += hits_of_later(x, slots, n - pass, pass, made);
    double read = fmax(n * x->asked - made - hits, 0);

    return (struct hps_tier_rows){ x->asked, hits / n, made / n, read / n,
                                   fmax(made + read - slots, 0) / n };
}

/* ---- memory ---- */

/* Those that need no more than an equal part of what the others leave have all of their rows in
 * memory. Returns the bytes that are left to the rest. */
static double place_small(int n, struct hps_tier_part *part, double bytes)
{
    for (int left = n, before = 0; left > 0 && left != before;) {
        double equal = bytes / left;
        before = left;
        for (int i = 0; i < n; i++) {
            double need = part[i].rows * part[i].row_bytes;
            if (part[i].all || need > equal) continue;
            part[i].all = true;
            part[i].slots = part[i].rows;
            bytes -= need;
            left--;
        }
    }
    return bytes;
}

bool hps_tier_divide(int n, struct hps_tier_part *part, double bytes)
{
    double index = 0, slots = 0;

    for (int i = 0; i < n; i++)
        part[i].all = false;
    bytes = place_small(n, part, bytes);
    for (int i = 0; i < n; i++) {
        if (part[i].all) continue;
        index += part[i].rows * HPS_TIER_ROW_BYTES;
        slots += part[i].rows * (part[i].row_bytes + HPS_TIER_SLOT_BYTES);
    }
    double share = slots > 0 ? (bytes - index) / slots : 1;
    for (int i = 0; i < n; i++)
        if (!part[i].all) part[i].slots = fmax(floor(fmin(share, 1) * part[i].rows), 0);
    return share > 0;
}
