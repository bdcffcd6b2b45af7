/* trial_samples.c - which steps of a trial count, and when they are enough. */
#include <assert.h>
#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/thread.h"
#include "profile/trial_impl.h"

/* Steps that do not count, since they touch new memory, until so many in a row are no faster than
 * the fastest before them by FASTER; fewer where steps are long. After MAX_SHORT in a row that are
 * of no whole batch, there will be none. */
enum { WARM_UP = 3, MIN_SURE = 8, FEW = 2, MAX_SHORT = 200 };
#define FASTER 0.03
#define WARM_UP_S 0.02
#define AGAIN_S 0.01            /* after a pause: caches are cold, processors were idle */
#define MAX_WARM_UP_S 0.4

void hps_trial_samples_init(struct hps_trial_samples *x, const struct hps_trial_opt *o)
{
    assert(1 <= o->nwindow && o->nwindow <= HPS_TRIAL_WINDOWS);
    assert(o->min_steps >= o->nwindow && o->max_steps >= o->min_steps);
    *x = (struct hps_trial_samples){ .o = o, .min_s = INFINITY, .began_s = hps_now_s() };
    x->took_s = hps_mem_new((size_t)o->max_steps, sizeof *x->took_s);
}

void hps_trial_samples_done(struct hps_trial_samples *x)
{
    hps_mem_free(x->took_s);
}

/* The median step of those that counted, and how sure it is. took_s (n) is sorted. */
static void read_times(struct hps_trial *t, double *took_s, int n)
{
    hps_sort_ascending(took_s, (size_t)n);
    t->n = n;
    t->step_s = (took_s[(n - 1) / 2] + took_s[n / 2]) / 2;
    t->low_s = took_s[n / 4];
    t->high_s = took_s[n - 1 - n / 4];
    t->unsure = fmin((t->high_s - t->low_s) / (sqrt(n) * t->step_s), 0.99);
}

/* Is the median sure enough? Looked at now and then, since it sorts. */
static bool is_sure(const struct hps_trial_samples *x)
{
    struct hps_trial t;

    if (!(x->o->sure > 0) || x->n < MIN_SURE || (x->n & (x->n - 1)) != 0) return false;
    read_times(&t, x->took_s, x->n);
    return t.unsure <= x->o->sure;
}

/* The window's share of so many steps. */
static int share_of(const struct hps_trial_samples *x, int steps)
{
    long long w = x->w, nwindow = x->o->nwindow;

    return (int)(steps * (w + 1) / nwindow - steps * w / nwindow);
}

static bool is_late(const struct hps_trial_samples *x, double share)
{
    return x->o->max_seconds > 0 && hps_now_s() - x->began_s > share * x->o->max_seconds;
}

bool hps_trial_samples_enough(const struct hps_trial_samples *x, bool more)
{
    const struct hps_trial_opt *o = x->o;
    int n = x->n + more;
    double s = hps_now_s() - x->window_s;

    if (!x->warm) return false;
    return x->nshort >= MAX_SHORT || n >= share_of(x, o->max_steps) ||
           (n >= FEW && is_late(x, 1)) ||
           (n >= share_of(x, o->min_steps) && (s > o->seconds / o->nwindow || is_sure(x)));
}

bool hps_trial_samples_last(const struct hps_trial_samples *x)
{
    const double half = 0.5;

    return x->w + 1 == x->o->nwindow || x->nshort >= MAX_SHORT || is_late(x, half);
}

bool hps_trial_samples_settled(const struct hps_trial_samples *x)
{
    double s = hps_now_s() - (x->w > 0 ? x->window_s : x->began_s);

    if (x->w > 0) return !x->warm && s > AGAIN_S;
    bool settled = x->no_faster >= WARM_UP && s > WARM_UP_S;

    return !x->warm && (settled || s > MAX_WARM_UP_S);
}

void hps_trial_samples_pause(struct hps_trial_samples *x)
{
    hps_sleep_s(HPS_TRIAL_PAUSE_S);
    x->window_s = hps_now_s();
    x->warm = false;
}

void hps_trial_samples_begin(struct hps_trial_samples *x)
{
    x->window_s = hps_now_s();
    if (x->w == 0) x->began_s = x->window_s;
    x->warm = true;
}

struct hps_trial *hps_trial_samples_end(struct hps_trial_samples *x)
{
    struct hps_trial *t = &x->window[x->w];

    if (x->n == 0) return NULL;
    read_times(t, x->took_s, x->n);
    x->sum_s = 0;
    x->n = 0;
    x->w++;
    return t;
}

bool hps_trial_samples_add(struct hps_trial_samples *x, double took_s, bool whole)
{
    bool counts = x->warm && whole && x->n < x->o->max_steps;

    x->no_faster = took_s > (1 - FASTER) * x->min_s ? x->no_faster + 1 : 0;
    x->min_s = fmin(x->min_s, took_s);
    x->nshort = whole ? 0 : x->nshort + 1;
    if (!counts) return false;
    x->took_s[x->n++] = took_s;
    x->sum_s += took_s;
    return true;
}

void hps_trial_samples_median(const struct hps_trial_samples *x, struct hps_trial *t)
{
    int n = 0;

    for (int w = 0; w < x->w; w++)
        n += x->window[w].n;
    for (int w = 0; w < x->w; w++) {
        int faster = 0;
        for (int v = 0; v < x->w; v++)
            faster += x->window[v].step_s < x->window[w].step_s ||
                      (x->window[v].step_s <= x->window[w].step_s && v < w);
        if (faster == (x->w - 1) / 2) *t = x->window[w];
    }
    t->n = n;
}
