#include "random_profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "plan/cost.h"
#include "plan/sched.h"

#define SEARCH_S 2.0            /* of a search for a feasible plan, or for the best */

const char *const random_words[] = {
    [RANDOM_TIGHT] = "tight",
    [RANDOM_LOOSE] = "loose",
    [RANDOM_CUT] = "cut",
    [RANDOM_TIGHT_CUT] = "tight-cut",
};

bool random_limits_of(const char *word, enum random_limits *limits)
{
    for (size_t a = 0; a < sizeof random_words / sizeof *random_words; a++)
        if (strcmp(word, random_words[a]) == 0) {
            *limits = (enum random_limits)a;
            return true;
        }
    return false;
}

static void fill_layers(struct hps_profile *p)
{
    for (int l = 0; l < p->L; l++) {
        snprintf(p->layer[l].name, HPS_NAME, "l%d", l);
        snprintf(p->layer[l].type, HPS_NAME, l % 3 == 0 ? "embedding" : "fc");
        p->layer[l].input_bytes = p->layer[l].weight_bytes = 1024;
    }
}

/* A type's times around work / speed. */
static void fill_times(struct hps_profile *p, int t, double speed, uint64_t key)
{
    for (int l = 0; l < p->L; l++) {
        size_t a = (size_t)l * (size_t)p->T + (size_t)t;
        uint64_t mine = hps_rng_sub(key, (uint64_t)l);
        p->oct[a] = exp2(3 * hps_rng_real(mine, 0) - 1.5) / speed;
        p->alpha[a] = 0.7 + 0.3 * hps_rng_real(mine, 1);
        p->sync[a] = 0.3 * hps_rng_real(mine, 2) / speed;
        p->beta[a] = 0.5 * hps_rng_real(mine, 3);
        p->recv[a] = 0.1 * hps_rng_real(mine, 4) / speed;
        p->send[a] = 0.1 * hps_rng_real(mine, 5) / speed;
    }
}

static void scale_layer(struct hps_profile *p, int l, double work)
{
    for (size_t a = (size_t)l * (size_t)p->T; a < (size_t)(l + 1) * (size_t)p->T; a++) {
        p->oct[a] *= work;
        p->sync[a] *= work;
        p->recv[a] *= work;
        p->send[a] *= work;
    }
}

static void fill_type(struct hps_profile *p, int t, const struct random_wish *w, uint64_t seed)
{
    struct hps_profile_type *y = &p->type[t];
    bool tight = w->limits == RANDOM_TIGHT || w->limits == RANDOM_TIGHT_CUT;
    int like = w->groups > 0 ? t % w->groups : t;
    uint64_t key = hps_rng_sub(seed, (uint64_t)like);
    double speed = exp2(6 * hps_rng_real(key, 0)), most = tight ? 16 : 480, least = tight ? 1 : 4;

    snprintf(y->name, HPS_NAME, "t%d", t);
    y->gpu = like % 2 == 1;
    y->price_usd_hour = 0.04 * speed * (0.6 + 0.8 * hps_rng_real(key, 1));
    y->limit = (long long)(least + hps_rng_real(hps_rng_sub(seed, (uint64_t)t), 2) *
                                       (most - least + 1));
    fill_times(p, t, speed, hps_rng_sub(key, 1));
}

/* What a step costs beside its layers, in parts of their mean time on one unit of a type. */
static void fill_engine(struct hps_profile *p, uint64_t key)
{
    struct hps_profile_engine *e = &p->engine;

    e->microbatches = 1 + (long long)(8 * hps_rng_real(key, 0));
    e->batch = p->batch * (double)e->microbatches;
    for (int t = 0; t < p->T; t++) {
        uint64_t mine = hps_rng_sub(key, (uint64_t)t);
        double mean = 0;
        for (int l = 0; l < p->L; l++) {
            size_t a = (size_t)l * (size_t)p->T + (size_t)t;
            e->forward_s[a] = p->oct[a] * (0.25 + 0.15 * hps_rng_real(mine, 10 + (uint64_t)l));
            e->once_s[a] = p->oct[a] * 0.2 * hps_rng_real(mine, 1000 + (uint64_t)l);
            mean += p->oct[a] / p->L;
        }
        e->read_s[t] = 0.1 * mean / p->batch * hps_rng_real(mine, 0);
        e->micro_s[t] = 0.02 * mean * hps_rng_real(mine, 1);
        e->step_s[t] = 0.05 * mean * hps_rng_real(mine, 2);
    }
    for (int l = 0; l < p->L; l++)
        p->layer[l].reads = l % 3 == 0;
}

/* Layers of unlike weight; half of the types hold one to eight times the mean layer. */
static void fill_memory(struct hps_profile *p, uint64_t key)
{
    double mean = 0;

    for (int l = 0; l < p->L; l++) {
        struct hps_profile_layer *y = &p->layer[l];
        y->weight_bytes = 1e6 * exp2(8 * hps_rng_real(key, (uint64_t)l));
        y->state_bytes = y->weight_bytes;
        mean += 2 * y->weight_bytes / p->L;
    }
    for (int t = 0; t < p->T; t++)
        if (hps_rng_real(hps_rng_sub(key, (uint64_t)t), 0) < 0.5)
            p->type[t].memory_bytes =
                mean * exp2(3 * hps_rng_real(hps_rng_sub(key, (uint64_t)t), 1));
}

static void add_server(struct hps_profile *p, uint64_t key)
{
    int t = (int)(hps_rng_real(key, 0) * p->T);

    p->server_type = t;
    p->server_units = p->type[t].limit > 1 ? 1 : 0;
}

static double most_of_singles(const struct hps_profile *p)
{
    struct hps_cost *c = hps_cost_new(p);
    double least = INFINITY;

    for (int t = 0; t < p->T; t++)
        least = fmin(least, hps_cost_stage(c, 0, p->L - 1, t, (double)p->type[t].limit).et);
    hps_cost_free(c);
    return 1 / least;
}

/* The most throughput that is found. */
static double most_of(const struct hps_profile *p)
{
    bool proven;

    return hps_exact_max_throughput(p, SEARCH_S, NULL, &proven);
}

/* Every limit that the optimum uses, to a share of what it uses: the least of these shares that
 * leaves a feasible plan. */
static void cut(struct hps_profile *p)
{
    long long *limit = hps_mem_new((size_t)p->T, sizeof *limit);
    struct hps_plan *plan;
    bool proven, good = false;

    hps_exact_bound(p, p->throughput_limit, SEARCH_S, 0, &plan, &proven);
    for (int t = 0; t < p->T; t++)
        limit[t] = p->type[t].limit;
    for (double share = 0.5; plan && !good && share < 1; share += 0.1) {
        for (int s = 0; s < plan->S; s++)
            p->type[plan->stage[s].type].limit = 0;
        for (int s = 0; s < plan->S; s++)
            p->type[plan->stage[s].type].limit += plan->stage[s].units;
        for (int t = 0; t < p->T; t++)
            if (p->type[t].limit != limit[t])
                p->type[t].limit = (long long)fmax(1, floor(share * (double)p->type[t].limit));
        good = most_of(p) >= p->throughput_limit;
    }
    for (int t = 0; !good && t < p->T; t++)
        p->type[t].limit = limit[t];
    hps_plan_free(plan);
    hps_mem_free(limit);
}

struct hps_profile *random_profile(const struct random_wish *w)
{
    struct hps_profile *p = hps_profile_new(w->L, w->T);
    uint64_t key = hps_rng_key(w->seed, "random profile");
    bool cuts = w->limits == RANDOM_CUT || w->limits == RANDOM_TIGHT_CUT;

    p->batch = 512;
    p->examples = 1e6;
    p->epochs = 1;
    fill_layers(p);
    for (int t = 0; t < p->T; t++)
        fill_type(p, t, w, hps_rng_sub(key, 0));
    for (int l = 0; l < p->L; l++)
        scale_layer(p, l, 0.05 * exp2(4 * hps_rng_real(hps_rng_sub(key, 1), (uint64_t)l)));
    p->throughput_limit = (0.5 + 0.75 * hps_rng_real(key, 2)) * most_of_singles(p);
    if (w->feasible || cuts)
        p->throughput_limit = fmin(p->throughput_limit, 0.98 * most_of(p));
    for (int n = 0; cuts && n < 2; n++)
        cut(p);
    if (w->engine)
        fill_engine(p, hps_rng_sub(key, 3));
    if (w->memory)
        fill_memory(p, hps_rng_sub(key, 4));
    if (w->servers)
        add_server(p, hps_rng_sub(key, 5));
    return p;
}
