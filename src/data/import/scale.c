/* scale.c - dense features brought to a common size, and the constants that do it. */
#include "data/scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"

static const char *const words[] = { "none", "minmax", "zscore", "log1p", "log1p+minmax",
                                     "log1p+zscore" };

bool hps_scale_parse(const char *text, struct hps_scale *scale)
{
    for (int i = 0; i < 6; i++)
        if (strcmp(text, words[i]) == 0) {
            *scale = (struct hps_scale){ .log1p = i >= 3, .range = (enum hps_range)(i % 3),
                                         .scale = 1 };
            return true;
        }
    return false;
}

const char *hps_scale_word(const struct hps_scale *scale)
{
    return words[(scale->log1p ? 3 : 0) + (int)scale->range];
}

const char *hps_scale_differs(const struct hps_scale *a, const struct hps_scale *b)
{
    static char why[128];

    if (a->log1p != b->log1p || a->range != b->range)
        snprintf(why, sizeof why, "scaling %s and %s", hps_scale_word(a), hps_scale_word(b));
    else if (fabs(a->since - b->since) > 0)
        snprintf(why, sizeof why, "seconds since %.17g and %.17g (of 1970)", a->since, b->since);
    else
        return NULL;
    return why;
}

/* Counts are small whole numbers more often than not: their logarithms are looked up. */
static void logs(int D, long long n, float *x)
{
    enum { TABLE = 2048 };
    static float table[TABLE];
    static bool made;

    for (int i = 0; !made && i < TABLE; i++)
        table[i] = (float)log1p(i);
    made = true;
    for (long long i = 0; i < n; i++, x += D) {
        float v = *x;
        int whole = v >= 0 && v < TABLE ? (int)v : 0;
        if (v != v) continue;
        if (v <= 0)
            *x = 0;
        else if ((float)whole == v)
            *x = table[whole];
        else
            *x = v < 1 ? log1pf(v) : logf(1 + v);
    }
}

/* What is learned of a block's columns, side by side so that they are one vector's work. */
enum { WIDE = 32 };
struct learned {
    double seen[WIDE], sum[WIDE], min[WIDE], max[WIDE], m2[WIDE];
};

static void add_rows(struct learned *l, int n, int D, long long rows, const float *x)
{
    for (int d = 0; d < n; d++) {
        l->seen[d] = l->sum[d] = l->m2[d] = 0;
        l->min[d] = INFINITY;
        l->max[d] = -INFINITY;
    }
    for (long long i = 0; i < rows; i++, x += D)
        for (int d = 0; d < n; d++) {
            double v = (double)x[d];
            l->seen[d] += v == v ? 1 : 0;
            l->sum[d] += v == v ? v : 0;
            l->min[d] = v < l->min[d] ? v : l->min[d];
            l->max[d] = v > l->max[d] ? v : l->max[d];
        }
}

static void add_squares(struct learned *l, int n, int D, long long rows, const float *x)
{
    double mean[WIDE];

    for (int d = 0; d < n; d++)
        mean[d] = l->seen[d] > 0 ? l->sum[d] / l->seen[d] : 0;
    for (long long i = 0; i < rows; i++, x += D)
        for (int d = 0; d < n; d++) {
            double v = (double)x[d] - mean[d];
            l->m2[d] += v == v ? v * v : 0;
        }
}

/* Merged into what was seen so far without loss (Chan, Golub, LeVeque 1979). */
static void merge(struct hps_scale *s, const struct learned *l, int d, long long rows)
{
    double seen = l->seen[d], mean = l->sum[d] / seen, step = mean - s->mean;
    double total = s->seen + seen;

    s->missing += (double)rows - seen;
    if (seen == 0) return;
    s->m2 += l->m2[d] + step * step * s->seen * seen / total;
    s->mean += step * seen / total;
    s->min = s->seen == 0 || l->min[d] < s->min ? l->min[d] : s->min;
    s->max = s->seen == 0 || l->max[d] > s->max ? l->max[d] : s->max;
    s->seen = total;
}

/* Statistics of a block, column by column. */
static void learn(struct hps_scale *scale, int D, long long rows, const float *x)
{
    struct learned l;

    for (int first = 0; first < D; first += WIDE) {
        int n = D - first < WIDE ? D - first : WIDE;
        add_rows(&l, n, D, rows, x + first);
        add_squares(&l, n, D, rows, x + first);
        for (int d = 0; d < n; d++)
            merge(&scale[first + d], &l, d, rows);
    }
}

void hps_scale_collect(struct hps_scale *scale, int D, long long n, float *x)
{
    enum { TILE = 512 };                                /* rows that stay in the nearest cache */

    for (long long first = 0; first < n; first += TILE, x += (long long)TILE * D) {
        long long rows = n - first < TILE ? n - first : TILE;
        for (int d = 0; d < D; d++)
            if (scale[d].log1p) logs(D, rows, x + d);
        learn(scale, D, rows, x);
    }
}

void hps_scale_compute(struct hps_scale *scale, int D)
{
    for (int d = 0; d < D; d++) {
        struct hps_scale *s = &scale[d];
        double span = s->max - s->min, std = s->seen > 0 ? sqrt(s->m2 / s->seen) : 0;
        s->shift = 0;
        s->scale = 1;                                   /* a constant column: all 0 */
        if (s->range == HPS_RANGE_MINMAX) {
            s->shift = s->min;
            s->scale = span > 0 ? 1 / span : 1;
        } else if (s->range == HPS_RANGE_ZSCORE) {
            s->shift = s->mean;
            s->scale = std > 0 ? 1 / std : 1;
        }
    }
}

void hps_scale_apply(const struct hps_scale *scale, int D, long long n, float *x)
{
    for (int d = 0; d < D; d++) {
        double shift = scale[d].shift, factor = scale[d].scale;
        for (long long i = 0; i < n; i++) {
            float v = x[i * D + d];
            x[i * D + d] = v == v ? (float)(((double)v - shift) * factor) : 0;
        }
    }
}

bool hps_scale_needs_pass(const struct hps_scale *scale, int D)
{
    for (int d = 0; d < D; d++)
        if (scale[d].range != HPS_RANGE_NONE) return true;
    return false;
}

/* The numbers of a column that are kept, in one place: name and where. */
static double *number(struct hps_scale *s, int i)
{
    double *const at[] = { &s->shift, &s->scale, &s->min, &s->max, &s->mean, &s->m2, &s->seen,
                           &s->missing, &s->since };
    return at[i];
}

static const char *const names[] = { "shift", "scale", "min", "max", "mean", "std", "seen",
                                     "missing", "since" };
enum { SHIFT, SCALE, STD = 5, SEEN, MISSING, SINCE, NUMBERS };

/* Not every dataset has dates. */
static bool is_told(const struct hps_scale *scale, int D, int i)
{
    bool told = i != SINCE;

    for (int d = 0; d < D && !told; d++)
        told = fabs(scale[d].since) > 0;
    return told;
}

/* Is a number one that an import writes? */
static bool can_be(int i, double x)
{
    if (i == SCALE) return isfinite(x) && x > 0;
    return isfinite(x) && (x >= 0 || (i != STD && i != SEEN && i != MISSING));
}

enum hps_status hps_scale_save(const struct hps_scale *scale, int D, struct hps_h5 *h)
{
    double *x = hps_mem_new((size_t)D, sizeof *x);
    char *text = hps_mem_new((size_t)D * 16 + 1, 1);
    enum hps_status s = HPS_OK;

    for (int i = 0; i < NUMBERS && !s && D && is_told(scale, D, i); i++) {
        for (int d = 0; d < D; d++) {
            struct hps_scale one = scale[d];
            x[d] = *number(&one, i);
            if (i == STD) x[d] = one.seen > 0 ? sqrt(one.m2 / one.seen) : 0;
        }
        s = hps_h5_put_real(h, "dense", names[i], D, x);
    }
    for (int d = 0, at = 0; d < D; d++)
        at += snprintf(text + at, 16, "%s%s", d ? "," : "",
                       hps_scale_word(&scale[d]));
    if (!s && D) s = hps_h5_put_text(h, "dense", "scaling", text);
    hps_mem_free(text);
    hps_mem_free(x);
    return s;
}

static enum hps_status load_kinds(struct hps_scale *scale, int D, struct hps_h5 *h)
{
    char *text, *rest;
    bool good = true;
    enum hps_status s = hps_h5_get_text(h, "dense", "scaling", &text, false);

    if (s) return s;
    rest = text;
    for (int d = 0; d < D && good; d++) {
        size_t n = strcspn(rest, ",");
        bool last = !rest[n];
        rest[n] = 0;
        good = hps_scale_parse(rest, &scale[d]) && last == (d == D - 1);
        rest += n + !last;
    }
    hps_mem_free(text);
    if (good) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s: attribute scaling of dense is not %d known words", h->path, D);
    return HPS_DECK;
}

static enum hps_status load_numbers(struct hps_scale *scale, int D, struct hps_h5 *h, int i,
                                    double *x)
{
    enum hps_status s = hps_h5_get_real(h, "dense", names[i], D, x, i == SINCE);

    if (s && i == SINCE) return HPS_OK;
    for (int d = 0; d < D && !s; d++) {
        *number(&scale[d], i) = x[d];
        if (can_be(i, x[d])) continue;
        HPS_SAY(HPS_ERROR, "%s: attribute %s of dense is %g, which no import writes", h->path,
                names[i], x[d]);
        s = HPS_DECK;
    }
    return s;
}

enum hps_status hps_scale_load(struct hps_scale *scale, int D, struct hps_h5 *h)
{
    double *x = hps_mem_new((size_t)D, sizeof *x);
    enum hps_status s = D ? load_kinds(scale, D, h) : HPS_OK;

    for (int i = 0; i < NUMBERS && !s && D; i++)
        s = load_numbers(scale, D, h, i, x);
    for (int d = 0; d < D && !s; d++)                   /* kept as the deviation */
        scale[d].m2 *= scale[d].m2 * scale[d].seen;
    hps_mem_free(x);
    return s;
}
