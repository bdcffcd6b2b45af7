/* policy_gittins.c - the job with the largest Gittins index first, in what it asked for: the chance
 * that it ends within a while, over the service that it takes until then, at best over all whiles,
 * given the service that it has had (Gittins 1979), by the services of jobs that ran before.
 *
 * Of n ascending services S, with i the first above a, and j the first above a + D:
 *     P = (j - i) / (n - i),   E = (sum of S_k - a for k in i .. j-1, + D (n - j)) / (n - i)
 * index = P / E; D is one of S - a at best. Jobs that outlived all others come last. */
#include <math.h>

#include "base/mem.h"
#include "base/sort.h"
#include "jobs/policy.h"

#define CLOSE 1e-9              /* a service that was reached but for rounding */

struct samples {
    int n;
    const double *s;            /* (n) ascending                */
    double *sum;                /* (n + 1) of those before each */
    double delta;
};

static struct samples samples_of(const struct hps_policy_facts *facts)
{
    struct samples x = { facts->nsample, facts->sample, NULL, facts->opt.gittins_delta };

    x.sum = hps_mem_new((size_t)x.n + 1, sizeof *x.sum);
    for (int i = 0; i < x.n; i++)
        x.sum[i + 1] = x.sum[i] + x.s[i];
    return x;
}

static int first_above(const struct samples *x, double a)
{
    return (int)hps_sort_first_above(x->s, (size_t)x->n, a * (1 + CLOSE));
}

/* P / E of looking D ahead, where j is the first above a + D. */
static double ratio(const struct samples *x, double a, int i, int j, double delta)
{
    return (j - i) / (x->sum[j] - x->sum[i] - a * (j - i) + delta * (x->n - j));
}

static double index_of(const struct samples *x, double a)
{
    int i = first_above(x, a);
    double best = 0;

    if (i == x->n) return 0;
    if (x->delta > 0) return ratio(x, a, i, first_above(x, a + x->delta), x->delta);
    for (int j = i + 1; j <= x->n; j++)
        if (j == x->n || x->s[j] > x->s[j - 1])
            best = fmax(best, ratio(x, a, i, j, x->s[j - 1] - a));
    return best;
}

static void decide(struct hps_job_view *view, const struct hps_policy_facts *facts,
                   struct hps_job_decision *d)
{
    struct samples x = samples_of(facts);
    double *key = hps_mem_new((size_t)view->n, sizeof *key);

    for (int i = 0; i < view->n; i++)
        key[i] = -index_of(&x, view->job[i].unit_s);
    hps_job_give_asked(view, key, true, d);
    for (int i = 0; i < view->n; i++)
        if (d->config[i] < 0) d->wake_s = view->now_s + facts->opt.quantum_s;
    hps_mem_free(key);
    hps_mem_free(x.sum);
}

const struct hps_policy hps_policy_gittins = { .name = "gittins",
                                               .help = "the largest Gittins index first",
                                               .needs_samples = true,
                                               .decide = decide };
