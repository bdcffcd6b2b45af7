#include "jobs/price_ascent.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

#define MOMENTUM 0.7
/* The target's lead becomes so much of what it was, after steps without a better bound. */
#define LOWER 0.6
enum { PATIENCE = 8 };

static double seconds_of(const struct hps_prices *p, int i)
{
    return p->edge[i + 1] - p->edge[i];
}

double hps_price_bound(const struct hps_prices *p, const struct hps_price_market *m,
                       struct hps_price_work *w, double *mu, double *use)
{
    double sum = 0;

    if (use) memset(use, 0, (size_t)p->I * (size_t)p->T * sizeof *use);
    for (int j = 0; j < m->n; j++) {
        struct hps_price_choice c = hps_price_choose(p, m->job[j], w, use);
        sum += c.value;
        if (mu) mu[j] = c.mu;
    }
    for (int i = 0; i < p->I; i++)
        for (int t = 0; t < p->T; t++) {
            size_t k = (size_t)i * (size_t)p->T + (size_t)t;
            sum -= p->price[k] * m->units[k] * seconds_of(p, i);
        }
    return sum;
}

struct ascent {
    struct hps_prices *p;
    const struct hps_price_market *m;
    struct hps_price_work *work;
    size_t n;                   /* I * T                                                       */
    double *use, *way;          /* (n) asked for; the direction, units                         */
    double best, lead;
    double *best_price;         /* (n)                                                         */
    int waited;                 /* steps since it was found                                    */
};

/* The bound is better, or the target comes nearer and the search begins anew at the best. */
static void judge(struct ascent *a, double bound)
{
    if (bound > a->best) {
        a->best = bound;
        a->waited = 0;
        memcpy(a->best_price, a->p->price, a->n * sizeof *a->best_price);
        return;
    }
    if (++a->waited <= PATIENCE) return;
    a->lead *= LOWER;
    a->waited = 0;
    memcpy(a->p->price, a->best_price, a->n * sizeof *a->best_price);
    memset(a->way, 0, a->n * sizeof *a->way);
}

/* One step towards the target; false: no unit is asked for beyond those that there are. */
static bool step(struct ascent *a, double bound)
{
    double square = 0, toward = a->lead * fabs(a->best) + fmax(0, a->best - bound);

    for (int i = 0; i < a->p->I; i++)
        for (int t = 0; t < a->p->T; t++) {
            size_t k = (size_t)i * (size_t)a->p->T + (size_t)t;
            double beyond = a->use[k] / seconds_of(a->p, i) - a->m->units[k];
            if (a->p->price[k] <= 0 && beyond < 0) beyond = 0;
            a->way[k] = beyond + MOMENTUM * a->way[k];
            square += a->way[k] * a->way[k] * seconds_of(a->p, i);
        }
    if (square <= 0) return false;
    for (size_t k = 0; k < a->n; k++)
        a->p->price[k] = fmax(0, a->p->price[k] + toward / square * a->way[k]);
    return true;
}

static void average(double *mean, const double *mu, int n, double weight)
{
    for (int j = 0; j < n; j++)
        mean[j] += weight * (mu[j] - mean[j]);
}

static int most_configs(const struct hps_price_market *m)
{
    int n = 1;

    for (int j = 0; j < m->n; j++)
        if (m->job[j]->n > n) n = m->job[j]->n;
    return n;
}

double hps_price_ascend(struct hps_prices *p, const struct hps_price_market *m,
                        const struct hps_price_ascent *opt, double *mu)
{
    struct ascent a = { .p = p, .m = m, .n = (size_t)p->I * (size_t)p->T, .best = -INFINITY,
                        .lead = opt->lead };
    double *worth = hps_mem_new((size_t)m->n, sizeof *worth), began = hps_now_s();
    bool more = true;

    a.work = hps_price_work_new(p, most_configs(m));
    a.use = hps_mem_new(a.n, sizeof *a.use);
    a.way = hps_mem_new(a.n, sizeof *a.way);
    a.best_price = hps_mem_new(a.n, sizeof *a.best_price);
    for (int k = 0; k < opt->steps && more; k++) {
        double bound = hps_price_bound(p, m, a.work, worth, a.use);
        if (mu) average(mu, worth, m->n, k > 0 ? opt->smooth : 1);
        judge(&a, bound);
        more = step(&a, bound) && !(opt->seconds > 0 && hps_now_s() - began > opt->seconds) &&
               !(opt->enough > 0 && a.best > opt->enough);
    }
    memcpy(p->price, a.best_price, a.n * sizeof *a.best_price);
    hps_price_work_free(a.work);
    hps_mem_free(a.use);
    hps_mem_free(a.way);
    hps_mem_free(a.best_price);
    hps_mem_free(worth);
    return a.best;
}
