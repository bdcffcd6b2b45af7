#include "jobs/authors/gittins_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/say.h"
#include "base/sort.h"

#define DELTA 3250.0

struct hps_gittins {
    int n;
    const double *sample;       /* (n) ascending             */
    double *index;              /* (n) a little below each   */
};

/* The first sample above a; n: none is. */
static int first_above(const struct hps_gittins *g, double a)
{
    return (int)hps_sort_first_above(g->sample, (size_t)g->n, a);
}

/* As decimal text is rounded. */
static double rounded(double x, int digits)
{
    char text[64];

    snprintf(text, sizeof text, "%.*f", digits, x);
    return strtod(text, NULL);
}

static double index_of(const struct hps_gittins *g, double a)
{
    double last = g->sample[g->n - 1] - 1, sum = 0;

    if (a > last) return 0;
    int i = first_above(g, a), j = a + DELTA > last ? g->n - 1 : first_above(g, a + DELTA);
    double p = rounded((double)(j - i) / (g->n - i), 5);
    for (int k = i; k < j; k++)
        sum += g->sample[k];
    double e = rounded((sum + DELTA * (g->n - j)) / (g->n - i), 5);
    return rounded(p * 1000000 / e, 4);
}

enum hps_status hps_gittins_new(struct hps_gittins **out, const char *policy,
                                const struct hps_policy_facts *facts)
{
    *out = NULL;
    if (!facts || facts->nsample == 0) {
        HPS_SAY(HPS_ERROR, "policy %s needs a distribution of jobs that ran before", policy);
        return HPS_DECK;
    }
    struct hps_gittins *g = hps_mem_new(1, sizeof *g);
    g->n = facts->nsample;
    g->sample = facts->sample;
    g->index = hps_mem_new((size_t)g->n, sizeof *g->index);
    for (int i = 0; i < g->n; i++)
        g->index[i] = i > 0 && g->sample[i] == g->sample[i - 1] ? g->index[i - 1]
                                                                : index_of(g, g->sample[i] - 1);
    *out = g;
    return HPS_OK;
}

void hps_gittins_free(struct hps_gittins *g)
{
    if (!g) return;
    hps_mem_free(g->index);
    hps_mem_free(g);
}

double hps_gittins_rank(const struct hps_gittins *g, double attained)
{
    int i = first_above(g, attained);

    return i < g->n ? g->index[i] : 0;
}
