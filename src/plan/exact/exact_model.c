/* exact_model.c - the scheduling problem as arcs over layers, equal types merged. */
#include "plan/exact/exact_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

static bool same_column(const struct hps_profile *p, const double *x, int t, int u)
{
    for (int l = 0; l < p->L; l++)
        if (x[(size_t)l * (size_t)p->T + (size_t)t] != x[(size_t)l * (size_t)p->T + (size_t)u])
            return false;
    return true;
}

/* May types t and u take each other's place but for the limit? */
static bool equal_types(const struct hps_profile *p, int t, int u)
{
    return p->type[t].price_usd_hour == p->type[u].price_usd_hour &&
           p->type[t].memory_bytes == p->type[u].memory_bytes &&
           same_column(p, p->oct, t, u) && same_column(p, p->alpha, t, u) &&
           same_column(p, p->sync, t, u) && same_column(p, p->beta, t, u) &&
           same_column(p, p->recv, t, u) && same_column(p, p->send, t, u);
}

/* Types without a unit left are in no group. */
static void merge(struct hps_exact_model *m)
{
    const struct hps_profile *p = m->p;
    bool *done = hps_mem_new((size_t)p->T, sizeof *done);
    int n = 0;

    for (int t = 0; t < p->T; t++) {
        if (done[t] || hps_cost_capacity(p, t) < 1) continue;
        int g = m->G++;
        m->begin[g] = n;
        m->price[g] = m->min_tau ? 0 : hps_cost_price(p, t);
        for (int u = t; u < p->T; u++) {
            long long capacity = hps_cost_capacity(p, u);
            if (done[u] || capacity < 1 || !equal_types(p, t, u)) continue;
            done[u] = true;
            m->member[n++] = u;
            m->sum[g] += capacity;
            m->max[g] = capacity > m->max[g] ? capacity : m->max[g];
        }
        m->again[g] = m->cuts || n - m->begin[g] > 1;
    }
    m->begin[m->G] = n;
    hps_mem_free(done);
}

static int list_arcs(struct hps_exact_model *m, const struct hps_cost *c, bool count_only)
{
    int n = 0;

    for (int i = 0; i < m->L; i++)
        for (int j = i; j < m->L; j++)
            for (int g = 0; g < m->G; g++) {
                const struct hps_cost_line *x = hps_cost_line(c, i, j, m->member[m->begin[g]]);
                if (hps_cost_line_units(x, m->tau_max, m->max[g]) == 0) continue;
                if (!count_only) {
                    m->arc[n] = (struct hps_exact_arc){ *x, i, j, g };
                    m->index[hps_cost_index(m->L, m->G, i, j, g)] = n;
                }
                n++;
            }
    return n;
}

struct hps_exact_model *hps_exact_model_new(const struct hps_profile *p, const struct hps_cost *c,
                                            double tau_max, bool min_tau, bool cuts)
{
    struct hps_exact_model *m = hps_mem_new(1, sizeof *m);
    size_t T = (size_t)p->T;

    assert(p->L < 32768 && p->T < 32768);
    *m = (struct hps_exact_model){
        .L = p->L, .p = p, .min_tau = min_tau, .cuts = cuts, .tau_max = tau_max
    };
    m->price = hps_mem_new(T, sizeof *m->price);
    m->max = hps_mem_new(T, sizeof *m->max);
    m->sum = hps_mem_new(T, sizeof *m->sum);
    m->again = hps_mem_new(T, sizeof *m->again);
    m->begin = hps_mem_new(T + 1, sizeof *m->begin);
    m->member = hps_mem_new(T, sizeof *m->member);
    m->dual = hps_mem_new(T + 1, sizeof *m->dual);
    merge(m);
    m->servers = hps_provision_servers(p);
    if (m->servers.can.max > 0) m->servers.type = hps_exact_model_group(m, m->servers.can.type);
    if (m->servers.type < 0) m->servers.type = 0; /* they are all of it, and take no more */
    for (int g = 0; g < m->G; g++)
        m->dual[g + 1] = m->dual[g] + (m->max[g] <= HPS_EXACT_TABLE ? (int)m->max[g] : 1);
    m->narc = list_arcs(m, c, true);
    m->arc = hps_mem_new((size_t)m->narc, sizeof *m->arc);
    size_t n = (size_t)m->L * ((size_t)m->L + 1) / 2 * (size_t)m->G;
    m->index = hps_mem_new(n, sizeof *m->index);
    memset(m->index, -1, n * sizeof *m->index);
    list_arcs(m, c, false);
    return m;
}

void hps_exact_model_free(struct hps_exact_model *m)
{
    if (!m) return;
    hps_mem_free(m->price);
    hps_mem_free(m->max);
    hps_mem_free(m->sum);
    hps_mem_free(m->again);
    hps_mem_free(m->begin);
    hps_mem_free(m->dual);
    hps_mem_free(m->member);
    hps_mem_free(m->arc);
    hps_mem_free(m->index);
    hps_mem_free(m);
}

int hps_exact_model_arc(const struct hps_exact_model *m, int i, int j, int g)
{
    return m->index[hps_cost_index(m->L, m->G, i, j, g)];
}

int hps_exact_model_group(const struct hps_exact_model *m, int type)
{
    for (int g = 0; g < m->G; g++)
        for (int a = m->begin[g]; a < m->begin[g + 1]; a++)
            if (m->member[a] == type) return g;
    return -1;
}

double hps_exact_model_served(const struct hps_exact_model *m, double t1, double t2)
{
    const struct hps_cost_servers *can = &m->servers.can;
    long long units = hps_cost_server_units(can, t2);

    if (m->min_tau) return t1;
    if (units > can->max) return INFINITY;
    return can->price * fmax((double)units * t1, can->work);
}

double hps_exact_min_tau(const struct hps_exact_model *m)
{
    double *tau = hps_mem_new((size_t)m->L + 1, sizeof *tau);

    for (int b = 1; b <= m->L; b++)
        tau[b] = INFINITY;
    for (int a = 0; a < m->narc; a++) {
        const struct hps_exact_arc *x = &m->arc[a];
        double et = fmax(tau[x->i], hps_cost_line_et(&x->line, (double)m->max[x->g]));
        tau[x->j + 1] = fmin(tau[x->j + 1], et);
    }
    double min = tau[m->L], work = m->servers.can.work;
    hps_mem_free(tau);
    return work > 0 ? fmax(min, work / (double)m->servers.can.max) : min;
}
