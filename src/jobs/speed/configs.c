#include "jobs/configs.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "plan/cost.h"
#include "plan/promise.h"
#include "plan/sched.h"

#define SEARCH_S 1.0

/* ---- parts ---- */

bool hps_configs_parts(struct hps_config_part_of *part, const struct hps_profile *p,
                       const struct hps_job_pool *pool, const long long *limit)
{
    bool any = false, one = p->T == 1 && pool->T == 1 && !pool->node;
    long long rows = (long long)hps_profile_examples(p);

    for (int t = 0; t < p->T; t++) {
        struct hps_config_part_of *x = &part[t];
        x->type = one ? 0 : hps_job_pool_find(pool, p->type[t].name);
        x->max = x->type >= 0 ? pool->type[x->type].units : 0;
        if (rows >= 1 && x->max > rows) x->max = rows;
        if (limit && limit[t] > 0 && x->max > limit[t]) x->max = limit[t];
        if (x->max == 0) x->type = -1;
        any = any || x->type >= 0;
    }
    return any;
}

/* ---- a part of a profile ---- */

/* Types of a profile, with so many units of each. */
struct choice {
    int n, type[2];
    long long units[2];
};

static void copy_columns(double *to, const double *from, const struct hps_profile *p,
                         const struct choice *c, int rows)
{
    for (int l = 0; l < rows; l++)
        for (int i = 0; i < c->n; i++)
            to[l * c->n + i] = from[l * p->T + c->type[i]];
}

static void copy_tables(struct hps_profile *q, const struct hps_profile *p, const struct choice *c)
{
    double *const to[] = { q->oct, q->alpha, q->sync, q->beta, q->recv, q->send,
                           q->engine.forward_s, q->engine.once_s, q->serve };
    const double *const from[] = { p->oct, p->alpha, p->sync, p->beta, p->recv, p->send,
                                   p->engine.forward_s, p->engine.once_s, p->serve };
    double *const to_type[] = { q->engine.read_s, q->engine.micro_s, q->engine.step_s,
                                q->engine.unsure };
    const double *const from_type[] = { p->engine.read_s, p->engine.micro_s, p->engine.step_s,
                                        p->engine.unsure };

    for (size_t k = 0; k < sizeof to / sizeof *to; k++)
        copy_columns(to[k], from[k], p, c, p->L);
    for (size_t k = 0; k < sizeof to_type / sizeof *to_type; k++)
        copy_columns(to_type[k], from_type[k], p, c, 1);
}

/* The profile as if its pool had these units alone; NULL: its servers are of another type. */
static struct hps_profile *part_of(const struct hps_profile *p, const struct choice *c)
{
    struct hps_profile *q = hps_profile_new(p->L, c->n), own = *q;
    int server = hps_profile_served(p) && p->server_type >= 0 ? -1 : p->server_type;

    *q = *p;
    q->T = c->n;
    q->type = own.type;
    q->layer = own.layer;
    q->oct = own.oct, q->alpha = own.alpha, q->sync = own.sync, q->beta = own.beta;
    q->recv = own.recv, q->send = own.send, q->serve = own.serve;
    q->engine.forward_s = own.engine.forward_s, q->engine.once_s = own.engine.once_s;
    q->engine.read_s = own.engine.read_s, q->engine.micro_s = own.engine.micro_s;
    q->engine.step_s = own.engine.step_s, q->engine.unsure = own.engine.unsure;
    q->throughput_limit = 0;
    memcpy(q->layer, p->layer, (size_t)p->L * sizeof *q->layer);
    copy_tables(q, p, c);
    for (int i = 0; i < c->n; i++) {
        q->type[i] = p->type[c->type[i]];
        q->type[i].limit = c->units[i];
        if (c->type[i] == p->server_type) server = i;
    }
    q->server_type = server;
    if (!hps_profile_served(p) || server >= 0 || p->server_type < 0) return q;
    hps_profile_free(q);
    return NULL;
}

/* ---- a configuration ---- */

/* Seconds of a run in which a unit of the plan sends and receives: of the stage that does so the
 * longest, by the paper's model. */
static double link_seconds(const struct hps_plan *plan, const struct hps_profile *q)
{
    double dt = 0;

    for (int s = 0; s < plan->S; s++)
        dt = fmax(dt, plan->stage[s].dt);
    return dt * q->epochs * q->examples;
}

static struct hps_job_config config_of(const struct hps_plan *plan, const struct hps_profile *q,
                                       const struct choice *c,
                                       const struct hps_config_part_of *part)
{
    struct hps_job_config config = { .seconds = hps_promise_run(plan, q).seconds,
                                     .link_s = link_seconds(plan, q) };

    for (int i = 0; i < c->n; i++) {
        long long units = hps_plan_servers_on(plan, q, i);
        for (int s = 0; s < plan->S; s++)
            if (plan->stage[s].type == i && !hps_plan_is_second(plan, s))
                units += plan->stage[s].units;
        if (units > 0)
            config.part[config.nparts++] = (struct hps_config_part){ part[c->type[i]].type,
                                                                     (int)units };
    }
    if (config.nparts == 2 && config.part[0].type > config.part[1].type) {
        struct hps_config_part first = config.part[0];
        config.part[0] = config.part[1];
        config.part[1] = first;
    }
    return config;
}

struct found {
    int n;
    size_t cap;
    struct hps_job_config *config;
};

static void add(struct found *f, const struct hps_job_config *config)
{
    for (int i = 0; i < f->n; i++)
        if (hps_config_same(&f->config[i], config)) {
            if (config->seconds < f->config[i].seconds) f->config[i] = *config;
            return;
        }
    hps_mem_grow(&f->config, &f->cap, (size_t)f->n + 1, sizeof *f->config);
    f->config[f->n++] = *config;
}

static void try(struct found *f, const struct hps_profile *p, const struct choice *c,
                const struct hps_config_part_of *part)
{
    struct hps_profile *q = part_of(p, c);
    struct hps_plan *plan = NULL;
    bool proven;

    if (q) hps_exact_max_throughput(q, SEARCH_S, &plan, &proven);
    if (plan) {
        hps_cost_of(plan, q);
        struct hps_job_config config = config_of(plan, q, c, part);
        if (config.seconds > 0 && isfinite(config.seconds)) add(f, &config);
    }
    hps_plan_free(plan);
    hps_profile_free(q);
}

/* The next number of units to try behind k, of `max` at most; 0 behind the last. */
static long long next_units(long long k, long long max)
{
    return k == max ? 0 : 2 * k < max ? 2 * k : max;
}

static long long first_units(const struct hps_profile *p, long long max)
{
    return p->workers < max ? p->workers : max;
}

/* Two types, so many units of the first with all numbers of the second; or, where `alike`, with the
 * one that is as many doublings from its first. */
static void try_pairs(struct found *f, const struct hps_profile *p, const struct choice *c,
                      int step, bool alike, const struct hps_config_part_of *part)
{
    struct choice two = *c;

    two.n = 2;
    for (int b = c->type[0] + 1; b < p->T; b++) {
        int at = 0;
        if (part[b].type < 0) continue;
        two.type[1] = b;
        for (long long m = first_units(p, part[b].max); m > 0; m = next_units(m, part[b].max)) {
            two.units[1] = m;
            if (!alike || at == step) try(f, p, &two, part);
            at++;
        }
    }
}

int hps_configs_of(struct hps_job_config **config, const struct hps_profile *p,
                   const struct hps_config_part_of *part)
{
    enum { FEW_TYPES = 6 };     /* all pairs of numbers are tried of so many */
    struct found f = { 0 };

    for (int a = 0; a < p->T; a++) {
        int step = 0;
        if (part[a].type < 0) continue;
        for (long long k = first_units(p, part[a].max); k > 0; k = next_units(k, part[a].max)) {
            struct choice one = { 1, { a }, { k } };
            try(&f, p, &one, part);
            try_pairs(&f, p, &one, step++, p->T > FEW_TYPES, part);
        }
    }
    hps_configs_sort(f.config, f.n);
    *config = f.config;
    return f.n;
}

/* ---- the choice among them ---- */

static int units_on(const struct hps_job_config *c, int type)
{
    for (int i = 0; i < c->nparts; i++)
        if (c->part[i].type == type) return c->part[i].units;
    return 0;
}

/* a has no more units of any type and no more seconds than b. */
static bool beats(const struct hps_job_config *a, const struct hps_job_config *b)
{
    for (int i = 0; i < a->nparts; i++)
        if (a->part[i].units > units_on(b, a->part[i].type)) return false;
    return a->seconds <= b->seconds;
}

int hps_configs_choose(int n, struct hps_job_config *config, int min, int max)
{
    int kept = 0;

    for (int i = 0; i < n; i++) {
        int units = hps_config_units(&config[i]);
        bool good = units >= min && units <= max;
        /* whoever beats it has fewer units, or as many and fewer seconds, and comes before it */
        for (int k = 0; k < kept && good; k++)
            good = !beats(&config[k], &config[i]);
        if (good) config[kept++] = config[i];
    }
    return kept;
}

int hps_configs_asked(int n, const struct hps_job_config *config)
{
    double least = INFINITY;
    int asked = 0;

    for (int i = 0; i < n; i++)
        least = fmin(least, config[i].seconds * hps_config_units(&config[i]));
    for (int i = 0, any = 0; i < n; i++) {
        if (config[i].seconds * hps_config_units(&config[i]) > 2 * least) continue;
        if (!any || config[i].seconds < config[asked].seconds) asked = i;
        any = 1;
    }
    return asked;
}
