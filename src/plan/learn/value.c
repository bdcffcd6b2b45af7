#include "plan/value.h"

#include <math.h>

#include "base/mem.h"

struct hps_value *hps_value_new(int L, int T)
{
    struct hps_value *v = hps_mem_new(1, sizeof *v);
    size_t stages = (size_t)L * ((size_t)L + 1) / 2;

    *v = (struct hps_value){ .L = L, .T = T };
    v->rest = hps_mem_new((size_t)L + 1, sizeof *v->rest);
    v->w = hps_mem_new(2 * stages * (size_t)T, sizeof *v->w);
    v->best = v->w + stages * (size_t)T;
    return v;
}

void hps_value_free(struct hps_value *v)
{
    if (!v) return;
    hps_mem_free(v->rest);
    hps_mem_free(v->w);
    hps_mem_free(v);
}

/* Like hps_cost_line_units but for tau's last bits, which values do not need. INFINITY: none. */
static double units(const struct hps_cost_line *x, double tau, double capacity)
{
    double c = tau - x->ct0, d = tau - x->dt0, k;

    if (!(c > 0 && d > 0)) return INFINITY;
    k = fmax(ceil(fmax(x->ct1 / c, x->dt1 / d) - 1e-9), fmax((double)x->min_units, 1));
    return k > capacity ? INFINITY : k;
}

static void fill_stage(struct hps_value *v, const struct hps_profile *p, const struct hps_cost *c,
                       const long long *capacity, int i, int j)
{
    const struct hps_cost_line *line = hps_cost_line(c, i, j, 0);
    double *w = v->w + hps_value_at(v, i, j, 0), *best = v->best + hps_value_at(v, i, j, 0);

    for (int t = 0; t < v->T; t++) {
        double k = capacity[t] > 0 ? units(line + t, v->tau, (double)capacity[t]) : INFINITY;
        w[t] = isinf(k) ? INFINITY : hps_cost_price(p, t) * k;  /* it may cost nothing */
        best[t] = w[t] + v->rest[j + 1];
        if (j + 1 < v->L) best[t] = fmin(best[t], best[t + v->T]);
    }
}

/* Stages of the best path. */
static int count_stages(const struct hps_value *v)
{
    int n = 0;

    for (int i = 0; i < v->L; n++) {
        int next = v->L;
        for (int j = i; j < v->L && next == v->L; j++)
            for (int t = 0; t < v->T; t++)
                if (v->w[hps_value_at(v, i, j, t)] + v->rest[j + 1] <= v->rest[i]) next = j + 1;
        i = next;
    }
    return n;
}

void hps_value_fill(struct hps_value *v, const struct hps_profile *p, const struct hps_cost *c,
                    const long long *capacity, double tau)
{
    v->tau = tau;
    v->rest[v->L] = 0;
    for (int i = v->L - 1; i >= 0; i--) {
        for (int j = v->L - 1; j >= i; j--)
            fill_stage(v, p, c, capacity, i, j);
        v->rest[i] = INFINITY;
        for (int t = 0; t < v->T; t++)
            v->rest[i] = fmin(v->rest[i], v->best[hps_value_at(v, i, i, t)]);
    }
    v->unit = isfinite(v->rest[0]) ? v->rest[0] / count_stages(v) : 1;
    if (!(v->unit > 0)) v->unit = 1;
}
