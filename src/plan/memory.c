#include "plan/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plan/cost.h"

#define SLACK 1e-9              /* relative, as of every limit */

void hps_memory_add(struct hps_memory *m, const struct hps_profile *p, int l)
{
    const struct hps_profile_layer *y = &p->layer[l];

    if (!hps_profile_has_table(y))
        m->whole += y->weight_bytes + y->state_bytes;
    else if (!hps_profile_served(p))
        m->rows += y->weight_bytes + y->state_bytes;
}

struct hps_memory hps_memory_served(const struct hps_profile *p)
{
    struct hps_memory m = { 0, 0, p->max_rows_bytes };

    for (int l = 0; l < p->L && hps_profile_served(p); l++) {
        const struct hps_profile_layer *y = &p->layer[l];
        bool rows = hps_profile_has_table(y), dense = !rows && p->server_dense;
        if (rows) m.rows += y->weight_bytes + y->state_bytes;
        if (dense) m.whole += y->weight_bytes + y->state_bytes;
        if (dense) m.rows += 2 * y->weight_bytes * p->workers;
    }
    return m;
}

long long hps_memory_min_servers(const struct hps_profile *p, int t)
{
    return hps_memory_min_units(p, t, hps_memory_served(p));
}

bool hps_memory_servers_lack(const struct hps_profile *p, char *text, size_t size)
{
    const struct hps_profile_type *t = &p->type[p->server_type < 0 ? 0 : p->server_type];
    struct hps_profile of;

    if (p->server_auto) {
        if (hps_cost_next_servers(p, &(int){ -1 }, &of)) return false;
        snprintf(text, size, "no CPU type has the units for servers that hold %.10g bytes of rows",
                 hps_memory_served(p).rows);
        return true;
    }
    if (p->server_units == 0 || p->server_units >= hps_memory_min_servers(p, p->server_type))
        return false;
    snprintf(text, size, "each of %lld servers needs %.10g bytes for its rows, a unit of type %s "
             "has %.10g", p->server_units,
             hps_memory_need(hps_memory_served(p), (double)p->server_units), t->name,
             t->memory_bytes);
    return true;
}

struct hps_memory hps_memory_of(const struct hps_profile *p, int i, int j)
{
    struct hps_memory m = { 0, 0, p->max_rows_bytes };

    for (int l = i; l <= j; l++)
        hps_memory_add(&m, p, l);
    return m;
}

/* Files are for CPUs. */
static bool is_barred(const struct hps_profile *p, int t, struct hps_memory m)
{
    return p->type[t].gpu && m.max > 0 && m.rows > 0;
}

long long hps_memory_min_units(const struct hps_profile *p, int t, struct hps_memory m)
{
    if (is_barred(p, t, m)) return HPS_MEMORY_NEVER;
    double max = p->type[t].memory_bytes * (1 + SLACK);

    if (!(p->type[t].memory_bytes > 0) || hps_memory_need(m, 1) <= max) return 1;
    if (!(m.rows < (max - m.whole) * 1e15)) return HPS_MEMORY_NEVER;
    double k = ceil(m.rows / (max - m.whole));
    while (hps_memory_need(m, k) > max) /* rounding: by one at most */
        k++;
    return (long long)k;
}

double hps_memory_snapshot(const struct hps_profile *p, int t, struct hps_memory m, double k)
{
    double need = hps_memory_need(m, k), rows = need - m.whole;
    double left = p->type[t].memory_bytes - need;

    if (p->type[t].gpu) return rows;
    if (!(p->type[t].memory_bytes > 0)) return rows / 2;
    return fmin(rows, fmax(left, 0)) / 2;
}

/* Layers i..j on so many units of t: how many times what a unit has it needs. */
static double times(const struct hps_profile *p, int i, int j, int t, long long units)
{
    struct hps_memory m = hps_memory_of(p, i, j);
    double need = hps_memory_need(m, (double)units);

    if (is_barred(p, t, m)) return INFINITY;
    return p->type[t].memory_bytes > 0 ? need / p->type[t].memory_bytes : 0;
}

static void say_need(char *text, size_t size, const struct hps_profile *p, int i, int j, int t,
                     long long units)
{
    double need = hps_memory_need(hps_memory_of(p, i, j), (double)units);

    if (i == j)
        snprintf(text, size, "layer %s", p->layer[i].name);
    else
        snprintf(text, size, "a stage of layers %s to %s", p->layer[i].name, p->layer[j].name);
    size_t n = strlen(text);
    snprintf(text + n, size - n,
             " needs %.10g bytes on each of %lld units of type %s, which has %.10g", need, units,
             p->type[t].name, p->type[t].memory_bytes);
}

bool hps_memory_lacks(const struct hps_profile *p, int i, int j, int t, long long units,
                      char *text, size_t size)
{
    if (times(p, i, j, t, units) <= 1 + SLACK) return false;
    if (is_barred(p, t, hps_memory_of(p, i, j))) {
        snprintf(text, size, "layer %s has rows in files (storage.file), which are for CPUs; type "
                 "%s is a GPU", p->layer[i].name, p->type[t].name);
        return true;
    }
    say_need(text, size, p, i, j, t, units);
    return true;
}

/* Units of type t that stages can have together, of all workers. */
static long long all_units(const struct hps_profile *p, int t)
{
    return hps_cost_capacity(p, t) * p->workers;
}

/* The type that comes nearest to holding layer l with all its units, -1: none has a unit. */
static int nearest_type(const struct hps_profile *p, int l)
{
    double min = INFINITY;
    int nearest = -1;           /* a GPU where there is nothing else */

    for (int t = 0; t < p->T; t++) {
        if (all_units(p, t) < 1) continue;
        if (nearest >= 0 && !(times(p, l, l, t, all_units(p, t)) < min)) continue;
        min = times(p, l, l, t, all_units(p, t));
        nearest = t;
    }
    return nearest;
}

bool hps_memory_unplaceable(const struct hps_profile *p, char *text, size_t size)
{
    if (hps_memory_servers_lack(p, text, size)) return true;
    for (int l = 0; l < p->L; l++) {
        int t = nearest_type(p, l);
        if (t >= 0 && hps_memory_lacks(p, l, l, t, all_units(p, t), text, size)) return true;
    }
    return false;
}
