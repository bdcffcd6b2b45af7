#include "plan/pricer_workspace.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "plan/budget.h"

/* Plans priced between two looks at the clock. */
#define LOOK 32

static bool fits(void *with, const long long *units)
{
    const struct hps_pricer_workspace *d = with;

    for (int x = 0; x < d->job.S; x++)
        d->used[d->line_type[x]] = 0;
    for (int x = 0; x < d->job.S; x++) {
        int t = d->line_type[x];
        d->used[t] += units[x];
        if (d->used[t] > d->room[t])
            return false;
    }
    return true;
}

const struct hps_pricer_least *hps_pricer_least(const struct hps_pricer *pr, int i, int j, int t)
{
    return &pr->desk->least[hps_cost_index(pr->L, pr->T, i, j, t)];
}

static void fill_least(struct hps_pricer *pr)
{
    struct hps_pricer_workspace *d = pr->desk;
    const struct hps_profile *p = d->q->profile;

    for (int i = 0; i < pr->L; i++)
        for (int j = i; j < pr->L; j++)
            for (int t = 0; t < pr->T; t++) {
                const struct hps_cost_line *x = hps_cost_line(d->c, i, j, t);
                struct hps_pricer_least *least = &d->least[hps_cost_index(pr->L, pr->T, i, j, t)];
                least->units = hps_cost_line_units(x, pr->tau_most, d->room[t]);
                least->floor = p->type[t].price_usd_hour * (double)least->units *
                               hps_cost_line_et(x, (double)(least->units ? least->units : 1));
            }
}

/* Seconds per example that no plan exceeds which has no limit to keep: all layers one after the
 * other, each on its slowest type; under the engine model every micro-batch alone, with sums over
 * many units, its ways to and fro, and all else. */
static double slowest(const struct hps_pricer *pr)
{
    const struct hps_profile *p = pr->desk->q->profile;
    struct hps_engine_cut cut = pr->desk->cut;
    double tau = 0, micro = 0, step = 0;

    for (int l = 0; l < pr->L; l++) {
        double most = 0;
        for (int t = 0; t < pr->T; t++) {
            size_t a = (size_t)l * (size_t)pr->T + (size_t)t;
            most = fmax(most, p->oct[a] + p->sync[a] + p->recv[a] + p->send[a]);
        }
        tau += most / p->batch;
    }
    if (!pr->desk->engine)
        return tau;
    for (int t = 0; t < pr->T; t++) {
        micro = fmax(micro, p->engine.micro_s[t] + p->engine.read_s[t] * cut.batch / cut.M);
        step = fmax(step, p->engine.step_s[t]);
    }
    return 2 * (cut.M + 3) * tau + pr->L * ((cut.M + 3) * micro + step) / cut.batch;
}

/* More than any feasible plan costs: all units of the pool, at the slowest that is allowed. */
static double ceiling_of(const struct hps_pricer *pr)
{
    const struct hps_pricer_workspace *d = pr->desk;
    const struct hps_profile *p = d->q->profile;
    double rate = d->job.server_price, tau = isinf(pr->tau_most) ? slowest(pr) : pr->tau_most;

    for (int t = 0; t < pr->T; t++)
        rate += d->room[t] > 0 ? p->type[t].price_usd_hour * (double)d->room[t] : 0;
    return rate * tau > 0 ? 2 * rate * tau : 1;
}

/* Room for a plan of L stages. */
static void furnish(struct hps_pricer_workspace *d, size_t L, size_t T)
{
    d->least = hps_mem_new(L * (L + 1) / 2 * T, sizeof *d->least);
    d->room = hps_mem_new(2 * T, sizeof *d->room);
    d->used = d->room + T;
    d->keep = hps_mem_new(10 * L, sizeof *d->keep);
    d->keep_mate = d->keep + L;
    d->first = d->keep + 2 * L;
    d->last = d->keep + 3 * L;
    d->type = d->keep + 4 * L;
    d->mate = d->keep + 5 * L;
    d->line_of = d->keep + 6 * L;
    d->line_type = d->keep + 7 * L;
    d->best_mate = d->keep + 8 * L;
    d->stage_of = d->keep + 9 * L;
    d->line = hps_mem_new(2 * L, sizeof *d->line);
    d->more = d->line + L;
    d->price = hps_mem_new(5 * L, sizeof *d->price);
    d->wish = d->price + 2 * L;
    d->seen_et = d->price + 3 * L;
    d->gain = d->price + 4 * L;
    d->most = hps_mem_new(9 * L, sizeof *d->most);
    d->units = d->most + L;
    d->work = d->most + 2 * L;
    d->trial = d->most + 3 * L;
    d->stage_units = d->most + 4 * L;
    d->keep_units = d->most + 5 * L;
    d->best_units = d->most + 6 * L;
    d->other = d->most + 7 * L;
    d->seen = d->most + 8 * L;
    d->engine_line = hps_mem_new(L, sizeof *d->engine_line);
    d->terms = hps_mem_new(L, sizeof *d->terms);
    d->part = hps_mem_new(L, sizeof *d->part);
    d->job = (struct hps_provision_job){ .line = d->line, .price = d->price, .most = d->most,
                                         .fits = fits, .with = d, .et = d->price + L,
                                         .begun = true };
}

struct hps_pricer *hps_pricer_new(const struct hps_problem *q)
{
    const struct hps_profile *p = q->profile;
    struct hps_pricer *pr = hps_mem_new(1, sizeof *pr);
    struct hps_pricer_workspace *d = hps_mem_new(1, sizeof *d);

    d->q = q;
    d->until_s = q->opt->seconds > 0 ? hps_now_s() + q->opt->seconds : 0;
    d->c = hps_cost_new(p);
    d->engine = hps_sched_engine(q->opt);
    d->cut = hps_engine_cut(p);
    d->share = q->opt->share;
    furnish(d, (size_t)p->L, (size_t)p->T);
    for (int t = 0; t < p->T; t++)
        d->room[t] = hps_cost_room(p, t);
    if (p->server_units > 0)
        d->job.server_price = p->type[p->server_type].price_usd_hour * (double)p->server_units;
    *pr = (struct hps_pricer){ .L = p->L, .T = p->T, .best = INFINITY, .desk = d,
                               .tau_most = hps_cost_tau_most(q->throughput_limit) };
    pr->ceiling = ceiling_of(pr);
    fill_least(pr);
    return pr;
}

void hps_pricer_free(struct hps_pricer *pr)
{
    if (!pr)
        return;
    struct hps_pricer_workspace *d = pr->desk;
    hps_cost_free(d->c);
    hps_mem_free(d->least);
    hps_mem_free(d->room);
    hps_mem_free(d->keep);
    hps_mem_free(d->line);
    hps_mem_free(d->price);
    hps_mem_free(d->most);
    hps_mem_free(d->engine_line);
    hps_mem_free(d->terms);
    hps_mem_free(d->part);
    hps_mem_free(d);
    hps_mem_free(pr);
}

bool hps_pricer_over(const struct hps_pricer *pr)
{
    const struct hps_pricer_workspace *d = pr->desk;
    long long most = d->q->opt->evaluations;

    return d->late || (most > 0 && pr->evaluations >= most);
}

bool hps_pricer_late(struct hps_pricer *pr)
{
    struct hps_pricer_workspace *d = pr->desk;

    if (hps_budget_over(d->until_s))
        d->late = true;
    return hps_pricer_over(pr);
}

/* One more plan; false when the budget has none left. */
static bool spend(struct hps_pricer *pr)
{
    if (pr->evaluations % LOOK == 0 ? hps_pricer_late(pr) : hps_pricer_over(pr))
        return false;
    pr->evaluations++;
    return true;
}

/* Cut into stages, none of which shares. *floor: the plan costs no less, 0 when a stage cannot keep
 * the limit. */
static void cut_into_stages(struct hps_pricer *pr, int n, const int *type, double *floor)
{
    struct hps_pricer_workspace *d = pr->desk;
    bool enough = true;

    *floor = 0;
    d->S = 0;
    for (int i = 0, j; i < n; i = j) {
        j = hps_plan_run_end(type, n, i);
        const struct hps_pricer_least *x = hps_pricer_least(pr, i, j - 1, type[i]);
        *floor += x->floor;
        enough = enough && x->units > 0;
        d->first[d->S] = i;
        d->last[d->S] = j - 1;
        d->mate[d->S] = -1;
        d->type[d->S++] = type[i];
    }
    if (!enough)
        *floor = 0;
}

/* The plan at hand, of all layers, where it is the best. */
static void keep(struct hps_pricer *pr, const int *type, const long long *units, double price)
{
    struct hps_pricer_workspace *d = pr->desk;

    if (!(price < pr->best && price < pr->ceiling))
        return;
    pr->best = price;
    memcpy(d->keep, type, (size_t)pr->L * sizeof *type);
    memcpy(d->keep_mate, d->mate, (size_t)d->S * sizeof *d->mate);
    memcpy(d->keep_units, units, (size_t)d->S * sizeof *units);
}

double hps_pricer_prefix(struct hps_pricer *pr, int n, const int *type, double cutoff)
{
    struct hps_pricer_workspace *d = pr->desk;
    double floor;

    if (!spend(pr))
        return INFINITY;
    cut_into_stages(pr, n, type, &floor);
    if (floor >= cutoff)
        return INFINITY;
    double price = hps_pricer_value(pr, hps_pricer_load(pr), cutoff);
    if (d->share)
        price = hps_pricer_share(pr, price, cutoff);
    if (n == pr->L)
        keep(pr, type, d->stage_units, price);
    return price;
}

double hps_pricer_price(struct hps_pricer *pr, const int *type, double cutoff)
{
    return hps_pricer_prefix(pr, pr->L, type, cutoff);
}

double hps_pricer_given(struct hps_pricer *pr, const int *type, const long long *units,
                        double cutoff)
{
    struct hps_pricer_workspace *d = pr->desk;
    double floor;

    if (!spend(pr))
        return INFINITY;
    cut_into_stages(pr, pr->L, type, &floor);
    d->given = units;
    double price = hps_pricer_value(pr, hps_pricer_load(pr), INFINITY);
    if (d->share)
        price = hps_pricer_share(pr, price, INFINITY);
    d->given = NULL;
    keep(pr, type, d->stage_units, price);
    return price < cutoff ? price : INFINITY;
}

long long hps_pricer_room(const struct hps_pricer *pr, int t)
{
    return pr->desk->room[t];
}

const long long *hps_pricer_rooms(const struct hps_pricer *pr)
{
    return pr->desk->room;
}

const struct hps_cost *hps_pricer_cost(const struct hps_pricer *pr)
{
    return pr->desk->c;
}

double hps_pricer_last_tau(const struct hps_pricer *pr)
{
    const struct hps_pricer_workspace *d = pr->desk;
    double tau = 0;

    for (int s = 0; s < d->S; s++) {
        double k = (double)d->stage_units[s];
        double et = hps_cost_stage(d->c, d->first[s], d->last[s], d->type[s], k).et;
        int with = d->mate[s];
        if (with >= 0)
            et += hps_cost_stage(d->c, d->first[with], d->last[with], d->type[with], k).et;
        tau = fmax(tau, et);
    }
    return tau;
}

static void paint(int *type, int L, int t)
{
    for (int l = 0; l < L; l++)
        type[l] = t;
}

double hps_pricer_singles(struct hps_pricer *pr, int *type)
{
    const struct hps_plan *warm = pr->desk->q->warm;
    double least = INFINITY;
    int best = 0;

    for (int t = 0; t < pr->T; t++) {
        paint(type, pr->L, t);
        double price = hps_pricer_price(pr, type, INFINITY);
        if (price < least) {
            least = price;
            best = t;
        }
    }
    if (warm) hps_plan_assignment(warm, type);
    double price = warm ? hps_pricer_price(pr, type, least) : INFINITY;
    if (price < least)
        return price;
    paint(type, pr->L, best);
    return least;
}

struct hps_plan *hps_pricer_plan(const struct hps_pricer *pr)
{
    const struct hps_pricer_workspace *d = pr->desk;
    int n = 0;

    if (isinf(pr->best))
        return NULL;
    struct hps_plan *plan = hps_plan_of_assignment(pr->L, d->keep);
    for (int s = 0; s < plan->S; s++) {
        plan->stage[s].units = d->keep_units[s];
        n += d->keep_mate[s] > s;
    }
    hps_plan_share(plan, n);
    for (int s = 0, a = 0; a < n; s++)
        if (d->keep_mate[s] > s) {
            plan->share[a][0] = s;
            plan->share[a++][1] = d->keep_mate[s];
        }
    hps_cost_of(plan, d->q->profile);
    plan->evaluations = pr->evaluations;
    return plan;
}
