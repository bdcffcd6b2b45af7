#include "plan/memory.h"

#include <math.h>

#define SLACK 1e-9              /* relative, as of every limit */

void hps_memory_add(struct hps_memory *m, const struct hps_profile_layer *y)
{
    if (hps_profile_has_table(y))
        m->rows += y->weight_bytes + y->state_bytes;
    else
        m->whole += y->weight_bytes + y->state_bytes;
}

struct hps_memory hps_memory_of(const struct hps_profile *p, int i, int j)
{
    struct hps_memory m = { 0, 0 };

    for (int l = i; l <= j; l++)
        hps_memory_add(&m, &p->layer[l]);
    return m;
}

long long hps_memory_least(const struct hps_profile *p, int t, struct hps_memory m)
{
    double most = p->type[t].memory_bytes * (1 + SLACK);

    if (!(p->type[t].memory_bytes > 0) || hps_memory_need(m, 1) <= most)
        return 1;
    if (!(m.rows < (most - m.whole) * 1e15))
        return HPS_MEMORY_NEVER;
    double k = ceil(m.rows / (most - m.whole));
    while (hps_memory_need(m, k) > most)    /* rounding: by one at most */
        k++;
    return (long long)k;
}

double hps_memory_keep(const struct hps_profile *p, int t, struct hps_memory m, double k)
{
    double rows = m.rows / k, left = p->type[t].memory_bytes - hps_memory_need(m, k);

    if (p->type[t].gpu) return rows;
    if (!(p->type[t].memory_bytes > 0)) return rows / 2;
    return fmin(rows, fmax(left, 0)) / 2;
}
