/* clock_samples.c - samples at equal distances of time. */
#include "step/clock_samples.h"

#include <string.h>

#include "base/mem.h"
#include "base/sort.h"

void hps_clock_samples_init(struct hps_clock_samples *t, int W)
{
    memset(t, 0, sizeof *t);
    t->W = W;
    t->ncurve = W > HPS_CLOCK_CURVES ? 3 : W;
    t->every_s = 1e-3;
}

/* Every other one is dropped; the first stays. */
static void thin(struct hps_clock_samples *t)
{
    t->n = (t->n + 1) / 2;
    for (int i = 1; i < t->n; i++) {
        t->s[i] = t->s[2 * i];
        memcpy(t->clock[i], t->clock[2 * i], sizeof t->clock[i]);
    }
    t->every_s *= 2;
}

/* The slowest, the median and the fastest. */
static void summarise(long long *to, int W, const long long *finished)
{
    double *sorted = hps_mem_new((size_t)W, sizeof *sorted);

    for (int w = 0; w < W; w++)
        sorted[w] = (double)finished[w];
    hps_sort_ascending(sorted, (size_t)W);
    to[0] = (long long)sorted[0];
    to[1] = (long long)sorted[W / 2];
    to[2] = (long long)sorted[W - 1];
    hps_mem_free(sorted);
}

void hps_clock_samples_take(struct hps_clock_samples *t, double s, const long long *finished,
                            bool always)
{
    double last = t->n > 0 ? t->s[t->n - 1] : -1;

    if (s <= last || (!always && t->n > 0 && s < last + t->every_s)) return;
    if (t->n == HPS_CLOCK_SAMPLES) thin(t);
    t->s[t->n] = s;
    if (t->W > HPS_CLOCK_CURVES)
        summarise(t->clock[t->n], t->W, finished);
    else
        memcpy(t->clock[t->n], finished, (size_t)t->W * sizeof *finished);
    t->n++;
}
