#include "plan/pricer_impl.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "plan/budget.h"

/* Plans priced between two looks at the clock. */
#define LOOK 32

long long hps_pricer_min_units(const struct hps_pricer *pr, int i, int j, int t)
{
    return pr->workspace->floor[hps_cost_index(pr->L, pr->T, i, j, t)].units;
}

static void fill_floor(struct hps_pricer *pr)
{
    struct hps_pricer_workspace *w = pr->workspace;
    const struct hps_profile *p = w->q->profile;

    for (int i = 0; i < pr->L; i++)
        for (int j = i; j < pr->L; j++)
            for (int t = 0; t < pr->T; t++) {
                const struct hps_cost_line *x = hps_cost_line(w->c, i, j, t);
                long long k = hps_cost_line_units(x, pr->tau_max, w->capacity[t]);
                w->floor[hps_cost_index(pr->L, pr->T, i, j, t)] =
                    (struct hps_pricer_floor){ k, hps_cost_price(p, t) * (double)k *
                                                      hps_cost_line_et(x, k ? (double)k : 1) };
            }
}

/* The most that the fewest servers take for an example. */
static double slowest_servers(const struct hps_pricer_workspace *w)
{
    double et = 0;

    for (int n = 0; n < w->nchoice; n++)
        if (w->choice[n].can.min > 0)
            et = fmax(et, w->choice[n].can.work / (double)w->choice[n].can.min);
    return et;
}

/* An upper bound on the seconds per example of any plan without a limit: all layers and the servers
 * one after the other, each on its slowest type; under the engine model every micro-batch alone,
 * with gradient sums over many units and both directions of every hop. */
static double slowest(const struct hps_pricer *pr)
{
    const struct hps_profile *p = pr->workspace->q->profile;
    struct hps_engine_cut cut = pr->workspace->engine.cut;
    double tau = 0, micro = 0, step = 0;

    for (int l = 0; l < pr->L; l++) {
        double max = 0;
        for (int t = 0; t < pr->T; t++) {
            size_t a = (size_t)l * (size_t)pr->T + (size_t)t;
            max = fmax(max, p->oct[a] + p->sync[a] + p->recv[a] + p->send[a]);
        }
        tau += max / hps_profile_examples(p);
    }
    tau += slowest_servers(pr->workspace);
    if (!pr->workspace->engine.on) return tau;
    for (int t = 0; t < pr->T; t++) {
        micro = fmax(micro, p->engine.micro_s[t] +
                                p->engine.read_s[t] * cut.batch / (cut.M * p->workers));
        step = fmax(step, p->engine.step_s[t]);
    }
    return 2 * (cut.M + 3) * tau + pr->L * ((cut.M + 3) * micro + step) / cut.batch;
}

/* More than any feasible plan costs: all units of the pool and all servers, at the slowest that is
 * allowed. */
static double ceiling_of(const struct hps_pricer *pr)
{
    const struct hps_pricer_workspace *w = pr->workspace;
    const struct hps_profile *p = w->q->profile;
    double rate = 0, tau = isinf(pr->tau_max) ? slowest(pr) : pr->tau_max;

    for (int n = 0; n < w->nchoice; n++)
        rate = fmax(rate, w->choice[n].can.price * (double)w->choice[n].can.max);
    for (int t = 0; t < pr->T; t++)
        rate += w->capacity[t] > 0 ? hps_cost_price(p, t) * (double)w->capacity[t] : 0;
    return rate * tau > 0 ? 2 * rate * tau : 1;
}

/* Memory for a plan of L stages. */
static void init_workspace(struct hps_pricer_workspace *w, size_t L, size_t T)
{
    w->floor = hps_mem_new(L * (L + 1) / 2 * T, sizeof *w->floor);
    w->capacity = hps_mem_new(T, sizeof *w->capacity);
    w->choice = hps_mem_new(T, sizeof *w->choice);
    w->stages.first = hps_mem_new(L, sizeof(int));
    w->stages.last = hps_mem_new(L, sizeof(int));
    w->stages.type = hps_mem_new(L, sizeof(int));
    w->stages.mate = hps_mem_new(L, sizeof(int));
    w->stages.line = hps_mem_new(L, sizeof(int));
    w->stages.units = hps_mem_new(L, sizeof(long long));
    w->pairing.mate = hps_mem_new(L, sizeof(int));
    w->pairing.units = hps_mem_new(L, sizeof(long long));
    hps_provision_job_init(&w->job, (int)L, (int)T);
    w->job.begun = true;
    w->stage_of = hps_mem_new(L, sizeof(int));
    w->units = hps_mem_new(L, sizeof(long long));
    w->low = hps_mem_new(L, sizeof(long long));
    w->start = hps_mem_new(L, sizeof(long long));
    w->memo.units = hps_mem_new(L, sizeof(long long));
    w->memo.et = hps_mem_new(L, sizeof(double));
    w->best.type = hps_mem_new(L, sizeof(int));
    w->best.mate = hps_mem_new(L, sizeof(int));
    w->best.units = hps_mem_new(L, sizeof(long long));
}

static void init_engine(struct hps_pricer_engine *e, const struct hps_problem *q)
{
    size_t L = (size_t)q->profile->L;

    e->on = hps_sched_engine(q->opt);
    e->cut = hps_engine_cut(q->profile);
    if (e->on) e->tier = hps_tier_curves_new(q->profile);
    e->line = hps_mem_new(L, sizeof *e->line);
    e->terms = hps_mem_new(L, sizeof *e->terms);
    e->bound = hps_mem_new(L, sizeof *e->bound);
    e->real = hps_mem_new(L, sizeof(double));
    e->gain = hps_mem_new(L, sizeof(double));
    e->trial = hps_mem_new(L, sizeof(long long));
    e->next = hps_mem_new(L, sizeof(long long));
}

/* Types that may serve, each with the fewest servers at tau_max: no plan that keeps the limit has
 * fewer. Where no type may, nothing is left for stages. */
static void init_servers(struct hps_pricer_workspace *w, double tau_max)
{
    const struct hps_profile *p = w->q->profile;
    struct hps_profile of;

    for (int t = -1; hps_cost_next_servers(p, &t, &of);) {
        struct hps_provision_servers *x = &w->choice[w->nchoice++];
        *x = hps_provision_servers(&of);
        if (w->engine.on) x->wait = hps_engine_wait(p);
        long long min = hps_cost_server_units(&x->can, tau_max);
        if (min <= x->can.max) x->can.min = min;
    }
    for (int t = 0; t < p->T; t++) {
        w->capacity[t] = hps_cost_capacity(p, t);
        if (w->nchoice == 1 && w->choice[0].can.max > 0 && w->choice[0].type == t)
            w->capacity[t] = (w->choice[0].limit - w->choice[0].can.min) / p->workers;
        if (w->nchoice == 0) w->capacity[t] = 0;
        w->job.capacity[t] = w->capacity[t];
    }
    if (w->nchoice == 0) w->choice[w->nchoice++] = (struct hps_provision_servers){ .workers = 1 };
}

struct hps_pricer *hps_pricer_new(const struct hps_problem *q)
{
    const struct hps_profile *p = q->profile;
    struct hps_pricer *pr = hps_mem_new(1, sizeof *pr);
    struct hps_pricer_workspace *w = hps_mem_new(1, sizeof *w);

    w->q = q;
    w->until_s = q->opt->seconds > 0 ? hps_now_s() + q->opt->seconds : 0;
    w->c = hps_cost_new(p);
    init_workspace(w, (size_t)p->L, (size_t)p->T);
    init_engine(&w->engine, q);
    *pr = (struct hps_pricer){ .L = p->L,
                               .T = p->T,
                               .best = INFINITY,
                               .workspace = w,
                               .tau_max = hps_cost_tau_max(q->throughput_limit) };
    init_servers(w, pr->tau_max);
    pr->ceiling = ceiling_of(pr);
    fill_floor(pr);
    return pr;
}

static void free_workspace(struct hps_pricer_workspace *w)
{
    struct hps_pricer_engine *e = &w->engine;
    void *all[] = { w->floor,         w->stages.first, w->stages.last,  w->stages.type,
                    w->stages.mate,   w->stages.line,  w->stages.units, w->pairing.mate,
                    w->pairing.units, w->stage_of,     w->units,        w->low,
                    w->memo.units,    w->memo.et,      w->best.type,    w->best.mate,
                    w->best.units,    e->line,         e->terms,        e->bound,
                    e->real,          e->gain,         e->trial,        e->next,
                    w->capacity,      w->choice,       w->start };

    hps_cost_free(w->c);
    hps_tier_curves_free(e->tier);
    hps_provision_job_done(&w->job);
    for (size_t a = 0; a < sizeof all / sizeof *all; a++)
        hps_mem_free(all[a]);
    hps_mem_free(w);
}

void hps_pricer_free(struct hps_pricer *pr)
{
    if (!pr) return;
    free_workspace(pr->workspace);
    hps_mem_free(pr);
}

bool hps_pricer_over(const struct hps_pricer *pr)
{
    const struct hps_pricer_workspace *w = pr->workspace;
    long long max = w->q->opt->evaluations;

    return w->late || (max > 0 && pr->evaluations >= max);
}

bool hps_pricer_late(struct hps_pricer *pr)
{
    struct hps_pricer_workspace *w = pr->workspace;

    if (hps_budget_over(w->until_s)) w->late = true;
    return hps_pricer_over(pr);
}

/* One more plan; false when the budget has none left. */
static bool spend(struct hps_pricer *pr)
{
    if (pr->evaluations % LOOK == 0 ? hps_pricer_late(pr) : hps_pricer_over(pr)) return false;
    pr->evaluations++;
    return true;
}

/* Cut into stages, none of which shares. *floor: the plan costs no less, 0 when a stage cannot keep
 * the limit. */
static void cut_into_stages(struct hps_pricer *pr, int n, const int *type, double *floor)
{
    struct hps_pricer_workspace *w = pr->workspace;
    bool enough = true;

    *floor = 0;
    w->stages.S = 0;
    for (int i = 0, j; i < n; i = j) {
        j = hps_plan_run_end(type, n, i);
        const struct hps_pricer_floor *x =
            &w->floor[hps_cost_index(pr->L, pr->T, i, j - 1, type[i])];
        *floor += x->usd;
        enough = enough && x->units > 0;
        w->stages.first[w->stages.S] = i;
        w->stages.last[w->stages.S] = j - 1;
        w->stages.mate[w->stages.S] = -1;
        w->stages.type[w->stages.S++] = type[i];
    }
    if (!enough) *floor = 0;
}

/* The plan at hand, of all layers, where it is the best. */
static void keep(struct hps_pricer *pr, const int *type, const long long *units, double price)
{
    struct hps_pricer_workspace *w = pr->workspace;

    if (!(price < pr->best && price < pr->ceiling)) return;
    pr->best = price;
    memcpy(w->best.type, type, (size_t)pr->L * sizeof *type);
    memcpy(w->best.mate, w->stages.mate, (size_t)w->stages.S * sizeof *w->stages.mate);
    memcpy(w->best.units, units, (size_t)w->stages.S * sizeof *units);
    w->best.servers = w->stages.servers;
}

double hps_pricer_prefix(struct hps_pricer *pr, int n, const int *type, double cutoff)
{
    struct hps_pricer_workspace *w = pr->workspace;
    double floor;

    if (!spend(pr)) return INFINITY;
    cut_into_stages(pr, n, type, &floor);
    if (floor >= cutoff) return INFINITY;
    double price = hps_pricer_value(pr, hps_pricer_load(pr), cutoff);
    if (w->q->opt->share) price = hps_pricer_share(pr, price, cutoff);
    if (n == pr->L) keep(pr, type, w->stages.units, price);
    return price;
}

double hps_pricer_price(struct hps_pricer *pr, const int *type, double cutoff)
{
    return hps_pricer_prefix(pr, pr->L, type, cutoff);
}

double hps_pricer_given(struct hps_pricer *pr, const int *type, const long long *units,
                        double cutoff)
{
    struct hps_pricer_workspace *w = pr->workspace;
    double floor;

    if (!spend(pr)) return INFINITY;
    cut_into_stages(pr, pr->L, type, &floor);
    w->given = units;
    double price = hps_pricer_value(pr, hps_pricer_load(pr), INFINITY);
    if (w->q->opt->share) price = hps_pricer_share(pr, price, INFINITY);
    w->given = NULL;
    keep(pr, type, w->stages.units, price);
    return price < cutoff ? price : INFINITY;
}

long long hps_pricer_capacity(const struct hps_pricer *pr, int t)
{
    return pr->workspace->capacity[t];
}

const long long *hps_pricer_capacities(const struct hps_pricer *pr)
{
    return pr->workspace->capacity;
}

double hps_pricer_servers_tau(const struct hps_pricer *pr)
{
    const struct hps_pricer_workspace *w = pr->workspace;
    double min = INFINITY;

    for (int n = 0; n < w->nchoice; n++) {
        const struct hps_cost_servers *can = &w->choice[n].can;
        min = fmin(min, can->max > 0 ? can->work / (double)can->max : 0);
    }
    return min;
}

const struct hps_cost *hps_pricer_cost(const struct hps_pricer *pr)
{
    return pr->workspace->c;
}

double hps_pricer_last_tau(const struct hps_pricer *pr)
{
    const struct hps_pricer_workspace *w = pr->workspace;
    double tau = w->stages.servers.et;

    for (int s = 0; s < w->stages.S; s++) {
        double k = (double)w->stages.units[s];
        double et =
            hps_cost_stage(w->c, w->stages.first[s], w->stages.last[s], w->stages.type[s], k).et;
        int partner = w->stages.mate[s];
        if (partner >= 0)
            et += hps_cost_stage(w->c, w->stages.first[partner], w->stages.last[partner],
                                 w->stages.type[partner], k)
                      .et;
        tau = fmax(tau, et);
    }
    return tau;
}

static void paint(int *type, int L, int t)
{
    for (int l = 0; l < L; l++)
        type[l] = t;
}

double hps_pricer_single_types(struct hps_pricer *pr, int *type)
{
    const struct hps_plan *warm = pr->workspace->q->warm;
    double min = INFINITY;
    int best = 0;

    for (int t = 0; t < pr->T; t++) {
        paint(type, pr->L, t);
        double price = hps_pricer_price(pr, type, INFINITY);
        if (price < min) {
            min = price;
            best = t;
        }
    }
    if (warm) hps_plan_assignment(warm, type);
    double price = warm ? hps_pricer_price(pr, type, min) : INFINITY;
    if (price < min) return price;
    paint(type, pr->L, best);
    return min;
}

struct hps_plan *hps_pricer_plan(const struct hps_pricer *pr)
{
    const struct hps_pricer_workspace *w = pr->workspace;
    int n = 0;

    if (isinf(pr->best)) return NULL;
    struct hps_plan *plan = hps_plan_of_assignment(pr->L, w->best.type);
    for (int s = 0; s < plan->S; s++) {
        plan->stage[s].units = w->best.units[s] * w->q->profile->workers;
        n += w->best.mate[s] > s;
    }
    hps_plan_share(plan, n);
    for (int s = 0, a = 0; a < n; s++)
        if (w->best.mate[s] > s) {
            plan->share[a][0] = s;
            plan->share[a++][1] = w->best.mate[s];
        }
    plan->server_type = w->best.servers.type;
    plan->server_units = w->best.servers.units;
    hps_cost_of(plan, w->q->profile);
    plan->evaluations = pr->evaluations;
    return plan;
}
