#include "plan/engine.h"

#include <math.h>

#include "base/mem.h"
#include "plan/cost.h"

struct hps_engine_cut hps_engine_cut(const struct hps_profile *p)
{
    const struct hps_profile_engine *e = &p->engine;

    return e->batch > 0
               ? (struct hps_engine_cut){ e->batch * p->workers, (double)e->microbatches }
               : (struct hps_engine_cut){ 4 * hps_profile_examples(p), 4 };
}

/* The first layer that reads the dataset: its oct has the reading of the step's rows already. */
static bool reads_more(const struct hps_profile *p, int i, int j)
{
    int first = 0;

    while (first < p->L && !p->layer[first].reads)
        first++;
    for (int l = i; l <= j && i > first; l++)
        if (p->layer[l].reads) return true;
    return false;
}

struct hps_engine_line hps_engine_line(const struct hps_profile *p, struct hps_engine_cut cut,
                                       int i, int j, int t)
{
    double oct = 0, forward = 0, once = 0, rows = cut.batch / (cut.M * p->workers);
    double sum = 2 * cut.M * rows / p->batch;     /* of the syncs, between k of k units */
    struct hps_engine_line x = { .workers = p->workers,
                                 .rows = cut.batch / cut.M,
                                 .M = cut.M,
                                 .served = hps_profile_served(p),
                                 .dense_served = p->server_dense,
                                 .step = p->engine.step_s[t],
                                 .first = i,
                                 .last = j,
                                 .type = t,
                                 .extra = p->engine.micro_s[t],
                                 .forward_share = 1.0 / 3 };

    for (int l = i; l <= j; l++) {
        size_t a = (size_t)l * (size_t)p->T + (size_t)t;
        oct += p->oct[a];
        forward += p->engine.forward_s[a];
        once += p->engine.once_s[a];
        x.sync0 += sum * p->sync[a] * (1 - p->beta[a]);
        x.sync1 += sum * p->sync[a] * p->beta[a];
    }
    if (oct > 0) x.once_share = fmin(once / oct, 1);
    if (forward > 0 && oct > once) x.forward_share = fmin(forward / (oct - once), 1);
    if (reads_more(p, i, j)) x.extra += p->engine.read_s[t] * rows;
    double recv = i > 0 ? p->recv[(size_t)i * (size_t)p->T + (size_t)t] : 0;
    double send = j < p->L - 1 ? p->send[(size_t)j * (size_t)p->T + (size_t)t] : 0;
    x.hop = recv / p->batch * rows;
    if (!p->type[t].gpu) x.move = p->engine.move * (recv + send) / p->batch * rows;
    return x;
}

struct hps_engine_terms hps_engine_terms(const struct hps_engine_line *x, double ct, double k)
{
    double micro = ct * x->rows, once = x->once_share * micro, pass = micro - once;
    double extra = x->extra + x->move / k;
    struct hps_tier_time tier =
        hps_tier_time(x->tier, x->first, x->last, x->type, k * x->workers);

    return (struct hps_engine_terms){
        .forward = x->forward_share * pass + extra / 2,
        .backward = (1 - x->forward_share) * pass + extra / 2,
        .once = x->M * once + hps_engine_sums(x, k) + x->step + tier.busy_s,
        .hop = x->hop,
        .paging = tier.busy_s + tier.disk_s,
    };
}

/* fmax is a call, and there are very many. */
static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Seconds for which a stage, with n of M micro-batches in flight, waits inside a step: for its
 * first gradient, and for its last. `ahead` is the round trip of a micro-batch from here to the end
 * of the pipeline. */
static inline double idle_s(const struct hps_engine_terms *y, double ahead, double n, double M)
{
    double first = larger(0, ahead - (n - 1) * y->forward);
    double last = larger(0, ahead - (n - 1) * y->backward);

    return M > n ? first + last : larger(first, last);
}

double hps_engine_step(int S, const struct hps_engine_terms *x, const int *mate, double M,
                       double max)
{
    double round_trip = 0, begin = 0, step = 0, micro = 0;

    for (int s = 0; s < S; s++)
        round_trip += x[s].hop + x[s].forward + x[s].backward;
    for (int s = 0; s < S && step <= max; s++) {
        const struct hps_engine_terms *y = &x[s];
        int partner = mate ? mate[s] : -1;
        begin = s > 0 ? larger(y->once, begin + micro + y->hop) : y->once;
        micro = y->forward + y->backward;
        round_trip -= y->hop + micro;
        int n = hps_plan_in_flight(S, s, (int)M);
        double mine = M * micro + (s < S - 1 ? idle_s(y, round_trip, n, M) : 0);
        mine = larger(mine, (double)((int)M / n) * (micro + round_trip));
        if (partner > s)
            mine = larger(mine,
                          M * (micro + x[partner].forward + x[partner].backward) + x[partner].once);
        step = larger(step, larger(begin + mine, y->paging));
    }
    return step;
}

void hps_engine_stages(const struct hps_plan *plan, const struct hps_profile *p,
                       struct hps_engine_terms *x, int *mate)
{
    struct hps_engine_cut cut = hps_engine_cut(p);
    struct hps_tier_curves *tier = hps_tier_curves_new(p);

    for (int s = 0; s < plan->S; s++) {
        const struct hps_plan_stage *g = &plan->stage[s];
        struct hps_engine_line line = hps_engine_line(p, cut, g->first, g->last, g->type);
        line.tier = tier;
        x[s] = hps_engine_terms(&line, g->ct, (double)(g->units / p->workers));
        mate[s] = hps_plan_partner(plan, s);
    }
    hps_tier_curves_free(tier);
}

double hps_engine_served_s(const struct hps_plan *plan, const struct hps_profile *p, double step_s)
{
    struct hps_tier_curves *tier = hps_tier_curves_new(p);
    struct hps_tier_time x =
        hps_tier_time_served(tier, plan->server_type, (double)plan->server_units);

    hps_tier_curves_free(tier);
    return x.busy_s + fmax(x.disk_s - step_s, 0);
}

double hps_engine_wait(const struct hps_profile *p)
{
    return p->server_dense ? 1.0 / p->workers : 1;
}

double hps_engine_wait_s(const struct hps_plan *plan, const struct hps_profile *p)
{
    return hps_engine_cut(p).batch * hps_engine_wait(p) * hps_cost_server_et(plan, p);
}

double hps_engine_with_servers(const struct hps_plan *plan, const struct hps_profile *p,
                               double step_s)
{
    double step = fmax(step_s + hps_engine_wait_s(plan, p),
                       hps_engine_cut(p).batch * hps_cost_tau(plan, p));

    return step + hps_engine_served_s(plan, p, step);
}

struct hps_engine_result hps_engine_result(const struct hps_plan *plan,
                                           const struct hps_profile *p, double step_s)
{
    double batch = hps_engine_cut(p).batch, seconds = p->epochs * p->examples / batch * step_s;

    return (struct hps_engine_result){ step_s, batch / step_s, seconds,
                                       seconds / 3600 * hps_cost_usd_hour(plan, p) };
}

struct hps_engine_result hps_engine_of(const struct hps_plan *plan, const struct hps_profile *p)
{
    struct hps_engine_terms *x = hps_mem_new((size_t)plan->S, sizeof *x);
    int *mate = hps_mem_new((size_t)plan->S, sizeof *mate);
    hps_engine_stages(plan, p, x, mate);
    double step = hps_engine_step(plan->S, x, mate, hps_engine_cut(p).M, INFINITY);

    hps_mem_free(x);
    hps_mem_free(mate);
    return hps_engine_result(plan, p, hps_engine_with_servers(plan, p, step));
}
