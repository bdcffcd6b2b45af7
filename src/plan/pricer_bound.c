/* pricer_bound.c - a lower bound on the price of the loaded lines under the engine-faithful model,
 * whatever their units are: it rejects most plans of a search early.
 *
 * Seconds of a step are at least each of these, whose terms never rise with k (plan/engine.h; of
 * o_s the least over k), n = n_s - 1, c = 1 where M > n_s and else 1/2, or 0 where that is more:
 *     P_s = o_s + (M - c n) e_s + 2 c A_s              since first + last >= 2 A_s - n e_s
 *     Q_s = o_a + o_b + M (e_a + e_b)                   of two stages on the same units
 *     D_x = batch * DT of line x
 * and a wait for servers with P and Q.
 * Any mean of them, weights w, is const + sum of g/k, and rate * seconds is convex in log k: its
 * tangent at any k is a bound. Weights go to what is largest, k to where the tangent is level. */
#include "plan/pricer_impl.h"

#include <math.h>

#define ROUNDS 12

struct bound {
    struct hps_pricer_workspace *w;
    double batch, M;
    double max;  /* of a step, to keep the limit                */
    double wait; /* for as many servers as there can be, a step */
};

/* n: the passes of stage s while a micro-batch makes its round trip. */
static double meanwhile(const struct bound *b, int s)
{
    return hps_plan_in_flight(b->w->stages.S, s, (int)b->M) - 1;
}

static double max_idle(const struct bound *b, int s)
{
    return s == b->w->stages.S - 1 ? 0 : b->M > meanwhile(b, s) + 1 ? 1 : 0.5;
}

static void load(const struct bound *b, int s)
{
    const struct hps_pricer_workspace *w = b->w;
    const struct hps_engine_line *y = &w->engine.line[s];
    int x = w->stages.line[s];
    const struct hps_cost_line *c = s == w->stage_of[x] ? &w->job.line[x] : &w->job.more[x];
    double pass = y->rows * (1 - y->once_share), once = y->M * y->rows * y->once_share;

    w->engine.bound[s] = (struct hps_pricer_bound_stage){
        .e0 = pass * c->ct0 + y->extra,
        .e1 = pass * c->ct1 + y->move,
        .o0 = once * c->ct0 + y->step +
              fmin(hps_engine_sums(y, (double)w->low[x]),
                   hps_engine_sums(y, (double)w->job.max[x])),
        .o1 = once * c->ct1,
        .d0 = b->batch * c->dt0,
        .d1 = b->batch * c->dt1,
        .w = 1,
        .q = w->stages.mate[s] > s,
        .z = 1,
        .c = max_idle(b, s),
    };
}

static double own_weight(const struct bound *b, int s)
{
    return b->M - b->w->engine.bound[s].c * meanwhile(b, s);
}

/* Evaluate all stages at the units in w->engine.real: the largest term, and the weighted mean. */
static double look(const struct bound *b, double *mean)
{
    struct hps_pricer_workspace *w = b->w;
    double ahead = 0, max = 0;

    *mean = 0;
    for (int s = w->stages.S - 1; s >= 0; s--) {
        struct hps_pricer_bound_stage *y = &w->engine.bound[s];
        double k = w->engine.real[w->stages.line[s]], e = y->e0 + y->e1 / k, o = y->o0 + y->o1 / k;
        y->p = b->wait + o + own_weight(b, s) * e + 2 * y->c * ahead;
        y->waits = 2 * ahead > meanwhile(b, s) * e;
        y->d_s = y->d0 + y->d1 / k;
        y->q_s = o + b->M * e;
        ahead += e + w->engine.line[s].hop;
    }
    for (int s = 0; s < w->stages.S; s++) {
        struct hps_pricer_bound_stage *y = &w->engine.bound[s];
        int partner = w->stages.mate[s];
        y->q_s = partner > s ? b->wait + y->q_s + w->engine.bound[partner].q_s : 0;
        *mean += y->w * y->p + y->q * y->q_s + y->z * y->d_s;
        max = fmax(max, fmax(y->p, fmax(y->q_s, y->d_s)));
    }
    return max;
}

/* The weight of a large term: its sixth power. */
static double eager(double x)
{
    double y = x * x;

    return y * y * y;
}

/* Shift weights to large terms; they sum to 1. A stage that would wait for less than nothing does
 * not wait. */
static void weigh(const struct bound *b, double max)
{
    struct hps_pricer_workspace *w = b->w;
    double sum = 0;

    for (int s = 0; s < w->stages.S; s++) {
        struct hps_pricer_bound_stage *y = &w->engine.bound[s];
        y->w *= eager(y->p / max);
        y->q *= eager(y->q_s / max);
        y->z *= eager(y->d_s / max);
        y->c = y->waits ? max_idle(b, s) : 0;
        sum += y->w + y->q + y->z;
    }
    for (int s = 0; s < w->stages.S; s++) {
        w->engine.bound[s].w /= sum;
        w->engine.bound[s].q /= sum;
        w->engine.bound[s].z /= sum;
    }
}

/* The mean as a function of units: g of each line to w->engine.gain. */
static void gains(const struct bound *b)
{
    struct hps_pricer_workspace *w = b->w;
    double behind = 0;

    for (int x = 0; x < w->job.S; x++)
        w->engine.gain[x] = 0;
    for (int s = 0; s < w->stages.S; s++) {
        const struct hps_pricer_bound_stage *y = &w->engine.bound[s];
        double pair = w->stages.mate[s] < 0   ? 0
                      : w->stages.mate[s] > s ? y->q
                                              : w->engine.bound[w->stages.mate[s]].q;
        w->engine.gain[w->stages.line[s]] +=
            y->e1 * (y->w * own_weight(b, s) + behind + b->M * pair) + y->o1 * (y->w + pair) +
            y->d1 * y->z;
        behind += 2 * y->c * y->w;
    }
}

/* log of rate * mean * (mean / most)^more at the units at hand, at least over all units. */
static double tangent(const struct bound *b, double rate, double mean, double more)
{
    const struct hps_pricer_workspace *w = b->w;
    double f = log(rate * mean) + (more > 0 ? more * log(mean / b->max) : 0);

    for (int x = 0; x < w->job.S; x++) {
        double k = w->engine.real[x];
        double slope = w->job.price[x] * k / rate - (1 + more) * w->engine.gain[x] / (k * mean);
        double end = (double)(slope > 0 ? w->low[x] : w->job.max[x]);
        if (fabs(slope) > 1e-12) f += slope * log(end / k);
    }
    return f;
}

/* There are no fewer of them. */
static double servers_price(const struct hps_pricer_workspace *w)
{
    return w->job.servers.can.price * (double)w->job.servers.can.min;
}

/* Units for a given worth of a second of the step; their price per hour. */
static double move(struct hps_pricer_workspace *w, double worth)
{
    double rate = servers_price(w);

    for (int x = 0; x < w->job.S; x++) {
        double k = w->job.price[x] > 0 ? sqrt(worth * w->engine.gain[x] / w->job.price[x])
                                       : (double)w->job.max[x];
        k = fmax((double)w->low[x], fmin(k, (double)w->job.max[x]));
        w->engine.real[x] = k;
        rate += w->job.price[x] * k;
    }
    return rate;
}

double hps_pricer_bound(struct hps_pricer *pr, double cutoff)
{
    struct hps_pricer_workspace *w = pr->workspace;
    double batch = w->engine.cut.batch;
    struct bound b = { w, batch, w->engine.cut.M, batch * pr->tau_max,
                       batch * hps_provision_least_wait(&w->job.servers) };
    double rate = servers_price(w), mean, best = -INFINITY, enough = log(cutoff * b.batch);

    for (int s = 0; s < w->stages.S; s++)
        load(&b, s);
    for (int x = 0; x < w->job.S; x++) {
        w->engine.real[x] = (double)w->low[x];
        rate += w->job.price[x] * w->engine.real[x];
    }
    if (!(rate > 0)) return 0;
    weigh(&b, look(&b, &mean));
    look(&b, &mean);
    double worth = rate / mean;
    for (int n = 0; n < ROUNDS && best < enough; n++) {
        gains(&b);
        rate = move(w, worth);
        double max = look(&b, &mean), more = fmax(0, worth * mean / rate - 1);
        best = fmax(best, tangent(&b, rate, mean, isinf(b.max) ? 0 : more));
        weigh(&b, max);
        look(&b, &mean);
        worth = rate / mean;
        if (mean > b.max) worth *= (mean / b.max) * (mean / b.max);
    }
    return exp(best) / b.batch;
}
