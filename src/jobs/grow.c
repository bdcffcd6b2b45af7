#include "jobs/grow.h"

#include <math.h>

#include "base/mem.h"
#include "jobs/settle.h"

/* The best step of a job. */
struct step {
    int job, to;
    double worth, share;
};

/* A heap of them, the best on top. */
struct heap {
    int n;
    struct step *step;
};

double hps_job_growth_share(const struct hps_job_growth *g, int job, int config)
{
    return config < 0 ? 0 : hps_job_share(g->view->pool, &g->view->job[job].job->config[config]);
}

double hps_job_marginal_gain(const struct hps_job_growth *g, int job, int from, int to)
{
    const struct hps_job_state *j = &g->view->job[job];

    if (from < 0) return INFINITY;
    double gain = j->left * (j->job->config[from].seconds - j->job->config[to].seconds);
    double more = hps_job_growth_share(g, job, to) - hps_job_growth_share(g, job, from);
    return gain > 0 && more > 0 ? gain / more : NAN;
}

static bool better_step(const struct hps_pool_job *job, const struct step *x, const struct step *y)
{
    if (y->to < 0 || x->worth != y->worth) return y->to < 0 || x->worth > y->worth;
    if (x->share != y->share) return x->share < y->share;
    return job->config[x->to].seconds < job->config[y->to].seconds;
}

/* The best step of a job that there is room for; to -1: none. */
static struct step best_step(const struct hps_job_growth *g, struct hps_job_room *room, int i,
                             int from)
{
    const struct hps_job_state *j = &g->view->job[i];
    const struct hps_job_config *has = hps_job_config_of(j, from);
    double share = hps_job_growth_share(g, i, from);
    struct step best = { i, -1, 0, 0 };

    if (has) hps_job_room_give(room, has);
    for (int c = 0; c < j->job->nconfig; c++) {
        if (!hps_job_room_fits(room, &j->job->config[c])) continue;
        struct step s = { i, c, 0, hps_job_growth_share(g, i, c) };
        if (s.share <= share) continue;
        s.worth = g->worth(g, i, from, c);
        if (!isnan(s.worth) && better_step(j->job, &s, &best)) best = s;
    }
    if (has) hps_job_room_take(room, has);
    return best;
}

static bool above(const struct step *x, const struct step *y)
{
    return x->worth != y->worth ? x->worth > y->worth : x->job < y->job;
}

static void sink(struct heap *h, int at)
{
    for (;;) {
        int child = 2 * at + 1;
        if (child + 1 < h->n && above(&h->step[child + 1], &h->step[child])) child++;
        if (child >= h->n || !above(&h->step[child], &h->step[at])) return;
        struct step s = h->step[at];
        h->step[at] = h->step[child];
        h->step[child] = s;
        at = child;
    }
}

/* The step on top is `s` now; to -1: that job has none, and leaves. */
static void replace(struct heap *h, struct step s)
{
    h->step[0] = s.to < 0 ? h->step[--h->n] : s;
    sink(h, 0);
}

void hps_job_grow(const struct hps_job_growth *g, struct hps_job_room *room,
                  struct hps_job_decision *d)
{
    struct heap h = { 0, hps_mem_new((size_t)g->view->n, sizeof *h.step) };

    for (int i = 0; i < g->view->n; i++) {
        struct step s = best_step(g, room, i, d->config[i]);
        if (s.to >= 0) h.step[h.n++] = s;
    }
    for (int at = h.n / 2 - 1; at >= 0; at--)
        sink(&h, at);
    while (h.n > 0) {
        struct step top = h.step[0];
        const struct hps_job_state *j = &g->view->job[top.job];
        const struct hps_job_config *has = hps_job_config_of(j, d->config[top.job]);
        if (has) hps_job_room_give(room, has);
        bool fits = hps_job_room_take(room, hps_job_config_of(j, top.to));
        if (fits) d->config[top.job] = top.to;
        if (has && !fits) hps_job_room_take(room, has);
        replace(&h, best_step(g, room, top.job, d->config[top.job]));
    }
    hps_mem_free(h.step);
}

void hps_job_grow_all(const struct hps_job_growth *g, const struct hps_policy_opt *opt,
                      struct hps_job_decision *d)
{
    struct hps_job_room room = hps_job_room_of(g->view->pool);

    for (int i = 0; i < g->view->n; i++)
        d->config[i] = -1;
    hps_job_grow(g, &room, d);
    hps_job_room_done(&room);
    hps_job_settle(g->view, opt, d);
}
