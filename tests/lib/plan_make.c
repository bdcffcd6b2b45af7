#include "plan_make.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/rng.h"

static void twin(struct hps_profile *p, int t, int of)
{
    p->type[t].price_usd_hour = p->type[of].price_usd_hour;
    for (int l = 0; l < p->L; l++) {
        size_t a = (size_t)(l * p->T + t), b = (size_t)(l * p->T + of);
        p->oct[a] = p->oct[b];
        p->alpha[a] = p->alpha[b];
        p->sync[a] = p->sync[b];
        p->beta[a] = p->beta[b];
        p->recv[a] = p->recv[b];
        p->send[a] = p->send[b];
    }
}

struct hps_profile *make_profile(uint64_t seed, int L, int T, long long limit, int groups)
{
    struct hps_profile *p = hps_profile_new(L, T);
    uint64_t key = hps_rng_key(seed, "profile"), n = 0;

    p->batch = 512;
    p->examples = 1e6;
    p->epochs = 1;
    for (int l = 0; l < L; l++) {
        snprintf(p->layer[l].name, HPS_NAME, "l%d", l);
        snprintf(p->layer[l].type, HPS_NAME, l % 3 == 0 ? "embedding" : "fc");
        p->layer[l].input_bytes = p->layer[l].weight_bytes = 1024;
    }
    for (int t = 0; t < T; t++) {
        double speed = exp2(6 * hps_rng_real(key, n++));
        snprintf(p->type[t].name, HPS_NAME, "t%d", t);
        p->type[t].gpu = t % 2 == 1;
        p->type[t].price_usd_hour = 0.04 * speed * (0.6 + 0.8 * hps_rng_real(key, n++));
        p->type[t].limit = 1 + (long long)(hps_rng_real(key, n++) * (double)limit);
        for (int l = 0; l < L; l++) {
            size_t a = (size_t)(l * T + t);
            double work = 0.05 * exp2(4 * hps_rng_real(key, 1000000 + (uint64_t)l));
            p->oct[a] = work / speed * exp2(3 * hps_rng_real(key, n++) - 1.5);
            p->alpha[a] = 0.7 + 0.3 * hps_rng_real(key, n++);
            p->sync[a] = 0.3 * work / speed * hps_rng_real(key, n++);
            p->beta[a] = 0.5 * hps_rng_real(key, n++);
            p->recv[a] = 0.1 * work / speed * hps_rng_real(key, n++);
            p->send[a] = 0.1 * work / speed * hps_rng_real(key, n++);
        }
    }
    for (int t = groups; groups > 0 && t < T; t++)
        twin(p, t, t % groups);
    return p;
}

double make_et(const struct hps_profile *p, int i, int j, int t, long long units)
{
    double ct = 0, dt = 0, k = (double)units / p->workers;

    for (int l = i; l <= j; l++) {
        int a = l * p->T + t;
        ct += p->oct[a] / p->batch * (1 - p->alpha[a] + p->alpha[a] / k);
        dt += p->sync[a] / p->batch * (1 - p->beta[a] + p->beta[a] / k);
    }
    double ends = (i > 0 ? p->recv[i * p->T + t] : 0) + (j < p->L - 1 ? p->send[j * p->T + t] : 0);
    return fmax(ct, dt + ends / (p->batch * k)) / p->workers;
}

/* How many servers there are, and of which type. */
static long long servers_of(const struct hps_profile *p, const struct hps_plan *plan, int *type)
{
    *type = p->server_auto ? plan->server_type : p->server_type;
    return p->server_auto ? plan->server_units : p->server_units;
}

/* Seconds for an example of all layers. */
static double serve_et(const struct hps_profile *p, int type, long long servers)
{
    double sum = 0;

    for (int l = 0; l < p->L; l++)
        sum += p->serve[l * p->T + type];
    return sum / (p->batch * (double)servers);
}

double make_cost(const struct hps_profile *p, const struct hps_plan *plan, double *tau)
{
    double rate = 0;
    int type;
    long long servers = servers_of(p, plan, &type);

    *tau = servers > 0 ? serve_et(p, type, servers) : 0;
    for (int s = 0; s < plan->S; s++) {
        const struct hps_plan_stage *g = &plan->stage[s], *a;
        double et = make_et(p, g->first, g->last, g->type, g->units);
        bool paid = false;
        for (int n = 0; n < plan->nshare; n++) {
            if (plan->share[n][1] != s)
                continue;
            a = &plan->stage[plan->share[n][0]];
            et += make_et(p, a->first, a->last, a->type, a->units);
            paid = true;
        }
        *tau = fmax(*tau, et);
        if (!paid)
            rate += p->type[g->type].price_usd_hour * (double)g->units;
    }
    if (servers > 0)
        rate += p->type[type].price_usd_hour * (double)servers;
    return p->epochs * p->examples * *tau / 3600 * rate;
}

/* Do the servers that a plan chose hold all rows? */
static bool servers_fit(const struct hps_profile *p, const struct hps_plan *plan)
{
    double rows = 0, has = p->type[plan->server_type].memory_bytes;

    for (int l = 0; l < p->L; l++)
        if (p->layer[l].type[0] == 'e')
            rows += p->layer[l].weight_bytes + p->layer[l].state_bytes;
    return !(has > 0) || rows / (double)plan->server_units <= has * (1 + 1e-9);
}

bool make_fits(const struct hps_profile *p, const struct hps_plan *plan)
{
    if (p->server_auto && !servers_fit(p, plan))
        return false;
    for (int s = 0; s < plan->S; s++) {
        const struct hps_plan_stage *g = &plan->stage[s];
        double need = 0, has = p->type[g->type].memory_bytes;
        for (int l = 0; l < p->L; l++) {
            const struct hps_profile_layer *y = &p->layer[l];
            bool mine = g->first <= l && l <= g->last;
            for (int n = 0; n < plan->nshare; n++)
                for (int a = 0; a < 2; a++) {
                    const struct hps_plan_stage *h = &plan->stage[plan->share[n][1 - a]];
                    mine = mine || (plan->share[n][a] == s && h->first <= l && l <= h->last);
                }
            bool table = y->type[0] == 'e';
            if (mine && !(table && hps_profile_served(p)))
                need += (y->weight_bytes + y->state_bytes) / (table ? (double)g->units : 1);
        }
        if (has > 0 && need > has * (1 + 1e-9))
            return false;
    }
    return true;
}

void make_memory(struct hps_profile *p, uint64_t seed)
{
    uint64_t key = hps_rng_key(seed, "memory");

    for (int l = 0; l < p->L; l++) {
        p->layer[l].weight_bytes = 1e6 * exp2(8 * hps_rng_real(key, (uint64_t)l));
        p->layer[l].state_bytes = p->layer[l].weight_bytes * floor(3 * hps_rng_real(key, 99));
    }
    for (int t = 0; t < p->T; t++)
        if (hps_rng_real(key, 1000 + (uint64_t)t) < 0.8)
            p->type[t].memory_bytes = 4e7 * exp2(4 * hps_rng_real(key, 2000 + (uint64_t)t));
}

/* A walk over all units of fixed stages; what it saw at best. */
struct walk {
    const struct hps_profile *p;
    struct hps_plan *plan;
    double limit, best;
    bool min_tau;
    long long left[16];
    long long keep[64], servers;
    int server_type;
};

static void judge(struct walk *w)
{
    double tau, cost = make_cost(w->p, w->plan, &tau);

    if (tau * w->limit > 1 + 1e-9 || !make_fits(w->p, w->plan))
        return;
    if ((w->min_tau ? tau : cost) < w->best) {
        w->best = w->min_tau ? tau : cost;
        for (int s = 0; s < w->plan->S; s++)
            w->keep[s] = w->plan->stage[s].units;
        w->server_type = w->plan->server_type;
        w->servers = w->plan->server_units;
    }
}

static void all_units(struct walk *w, int s)
{
    if (s == w->plan->S) {
        judge(w);
        return;
    }
    struct hps_plan_stage *g = &w->plan->stage[s];
    long long room = w->left[g->type];
    for (long long k = w->p->workers; k <= room; k += w->p->workers) {
        g->units = k;
        w->left[g->type] = room - k;
        all_units(w, s + 1);
    }
    w->left[g->type] = room;
}

static void with_servers(struct walk *w, int type, long long servers)
{
    for (int t = 0; t < w->p->T; t++)
        w->left[t] = w->p->type[t].limit - (t == type ? servers : 0);
    w->plan->server_type = type;
    w->plan->server_units = servers;
    all_units(w, 0);
}

/* Of every CPU type that may serve, every number. */
static void all_servers(struct walk *w)
{
    for (int t = 0; t < w->p->T; t++)
        for (long long n = 1; n <= w->p->type[t].limit; n++)
            if (!w->p->type[t].gpu && (w->p->server_type < 0 || w->p->server_type == t))
                with_servers(w, t, n);
}

double make_best_units(const struct hps_profile *p, struct hps_plan *plan, double throughput_limit,
                       bool min_tau)
{
    struct walk w = { p, plan, throughput_limit, INFINITY, min_tau, { 0 }, { 0 }, 0, 0 };

    plan->workers = p->workers;
    if (p->server_auto)
        all_servers(&w);
    else
        with_servers(&w, p->server_type, p->server_units);
    plan->server_type = w.server_type;
    plan->server_units = w.servers;
    for (int s = 0; s < plan->S; s++)
        plan->stage[s].units = w.keep[s];
    return w.best;
}

/* All stages from layer `first` on; a stage on the type before it only when `cuts`. */
static void all_stages(const struct hps_profile *p, struct hps_plan *plan, int first, double limit,
                       bool min_tau, bool cuts, double *best)
{
    if (first == p->L) {
        *best = fmin(*best, make_best_units(p, plan, limit, min_tau));
        return;
    }
    int s = plan->S++;
    for (int last = first; last < p->L; last++)
        for (int t = 0; t < p->T; t++) {
            if (!cuts && s > 0 && plan->stage[s - 1].type == t)
                continue;
            plan->stage[s] = (struct hps_plan_stage){ .first = first, .last = last, .type = t };
            all_stages(p, plan, last + 1, limit, min_tau, cuts, best);
        }
    plan->S--;
}

static double best_of(const struct hps_profile *p, double limit, bool min_tau, bool cuts)
{
    struct hps_plan *plan = hps_plan_new(p->L, p->L);
    double best = INFINITY;

    plan->S = 0;
    all_stages(p, plan, 0, limit, min_tau, cuts, &best);
    hps_plan_free(plan);
    return best;
}

double make_best(const struct hps_profile *p, double throughput_limit, bool min_tau)
{
    return best_of(p, throughput_limit, min_tau, false);
}

double make_best_cuts(const struct hps_profile *p, double throughput_limit)
{
    return best_of(p, throughput_limit, false, true);
}
