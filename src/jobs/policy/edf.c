#include "jobs/policy/edf_impl.h"

#include <math.h>

#include "base/mem.h"

enum { PIECES = 64 };           /* of a plan at most: one that changes more often is none */

struct piece {
    int config;
    double begin_s, end_s;
};

struct way {
    int n;
    struct piece piece[PIECES];
    double cost;
};

struct search {
    const struct hps_job_view *view;
    const struct hps_job_state *job;
    const struct hps_job_profile *free;
    int *series, n;             /* (n) configurations by type, then by units */
    bool priced;
    struct way best;            /* n 0: none yet                             */
    int most;                   /* its largest configuration                 */
};

/* ---- ladders ---- */

/* Does x come before y? Those of several types stand last. */
static bool before(const struct hps_job_config *x, const struct hps_job_config *y)
{
    if ((x->nparts > 1) != (y->nparts > 1)) return x->nparts == 1;
    if (x->part[0].type != y->part[0].type) return x->part[0].type < y->part[0].type;
    return x->part[0].units < y->part[0].units;
}

/* By insertion: most lists are in order. */
static int *sort_configs(const struct hps_pool_job *job)
{
    int *series = hps_mem_new((size_t)job->nconfig, sizeof *series);

    for (int c = 0; c < job->nconfig; c++) {
        int at = c;
        while (at > 0 && before(&job->config[c], &job->config[series[at - 1]])) {
            series[at] = series[at - 1];
            at--;
        }
        series[at] = c;
    }
    return series;
}

/* The first behind k that is no further step on the same series. */
static int ladder_end(const struct search *s, int k)
{
    const struct hps_job_config *first = &s->job->job->config[s->series[k]];
    int end = k + 1;

    if (first->nparts > 1) return end;
    for (; end < s->n; end++) {
        const struct hps_job_config *x = &s->job->job->config[s->series[end]];
        if (x->nparts > 1 || x->part[0].type != first->part[0].type) break;
    }
    return end;
}

/* ---- one way ---- */

static double rate_of(const struct search *s, const struct hps_job_config *c)
{
    double rate = 0;

    for (int i = 0; i < c->nparts; i++)
        rate += c->part[i].units * (s->priced ? s->view->pool->type[c->part[i].type].usd_hour : 1);
    return rate;
}

/* The fastest of the series's first..last for which units are free at a time; -1: none. `step` of
 * each part's profile. */
static int fastest_at(const struct search *s, int first, int last, double at_s, double *until_s,
                      size_t *step)
{
    const struct hps_job_config *config = s->job->job->config;
    int best = -1;

    *until_s = INFINITY;
    for (int i = 0; i < config[s->series[first]].nparts; i++) {
        double until;
        int type = config[s->series[first]].part[i].type;
        int units = hps_job_profile_units(s->free, type, at_s, &until, &step[i]);
        *until_s = fmin(*until_s, until);
        if (units < config[s->series[first]].part[i].units) last = first - 1;
        if (config[s->series[first]].nparts > 1) continue;
        for (; last >= first && config[s->series[last]].part[0].units > units; last--)
            ;
    }
    for (int k = first; k <= last; k++)
        if (best < 0 || config[s->series[k]].seconds < config[best].seconds) best = s->series[k];
    return best;
}

/* One more piece, or more of the last; false: there are too many. */
static bool add(const struct search *s, struct way *w, int config, double begin_s, double end_s)
{
    bool same = w->n > 0 && w->piece[w->n - 1].config == config &&
                w->piece[w->n - 1].end_s == begin_s;

    if (!same && w->n == PIECES) return false;
    if (!same) w->piece[w->n++] = (struct piece){ config, begin_s, end_s };
    w->piece[w->n - 1].end_s = end_s;
    w->cost += (end_s - begin_s) * rate_of(s, &s->job->job->config[config]);
    return true;
}

/* Is what the job has now as good as c? Then it need not start anew. */
static bool goes_on(const struct search *s, int c)
{
    const struct hps_job_config *config = s->job->job->config;

    return s->job->config >= 0 && config[s->job->config].seconds <= config[c].seconds;
}

/* Fills free units with steps first..last of a series until the job's work is done; false: its
 * deadline is not met. */
static bool fill(const struct search *s, int first, int last, struct way *w)
{
    double at = s->view->now_s, left = s->job->left, starting = 0;
    size_t step[HPS_CONFIG_TYPES] = { 0 };
    int had = s->job->config;

    w->n = 0;
    w->cost = 0;
    while (at < s->job->job->deadline_s) {
        double until;
        int c = fastest_at(s, first, last, at, &until, step);
        if (c < 0) {
            had = -1;
            at = until;
            continue;
        }
        if (at == s->view->now_s && goes_on(s, c))
            starting = fmax(0, s->job->since_s + s->view->restart_s - at);
        else if (c != had)
            starting = s->view->restart_s;
        had = c;
        double seconds = s->job->job->config[c].seconds, end = at + starting + left * seconds;
        if (!add(s, w, c, at, fmin(end, until))) return false;
        if (end <= until) return end <= s->job->job->deadline_s;
        left -= fmax(0, until - at - starting) / seconds;
        starting = fmax(0, starting - (until - at));
        at = until;
    }
    return false;
}

/* ---- the best ---- */

/* On free units: is a series too slow, or dearer than the best way so far? */
static bool hopeless(const struct search *s, int first, int end, double slack)
{
    double fastest = INFINITY, cheapest = INFINITY;

    for (int k = first; k < end; k++) {
        const struct hps_job_config *c = &s->job->job->config[s->series[k]];
        fastest = fmin(fastest, c->seconds);
        cheapest = fmin(cheapest, c->seconds * rate_of(s, c));
    }
    return s->job->left * fastest > slack ||
           (s->best.n > 0 && s->job->left * cheapest >= s->best.cost);
}

/* The smallest step of a series that will do. The largest tells whether one does. */
static void try_ladder(struct search *s, int first, int end)
{
    struct way w;
    double slack = s->job->job->deadline_s - s->view->now_s;

    if (hopeless(s, first, end, slack) || !fill(s, first, end - 1, &w)) return;
    for (int last = first; last < end; last++) {
        bool fast = false;
        for (int k = first; k <= last && !fast; k++)
            fast = s->job->left * s->job->job->config[s->series[k]].seconds <= slack;
        if (!fast || !fill(s, first, last, &w)) continue;
        if (s->best.n > 0 && w.cost >= s->best.cost) return;
        s->best = w;
        s->most = s->series[last];
        return;
    }
}

/* The series in which `most` is, up to it. */
static void try_again(struct search *s, int first, int end, int most)
{
    for (int last = first; last < end; last++)
        if (s->series[last] == most && !fill(s, first, last, &s->best)) s->best.n = 0;
}

struct hps_edf_share hps_edf_place(const struct hps_job_view *view, int i, int most,
                                   struct hps_job_profile *free)
{
    struct search s = { .view = view, .job = &view->job[i], .free = free, .most = most };
    struct hps_edf_share share = { false, most, -1, INFINITY };

    for (int t = 0; t < view->pool->T; t++)
        s.priced = s.priced || view->pool->type[t].usd_hour > 0;
    s.n = s.job->job->nconfig;
    s.series = sort_configs(s.job->job);
    for (int k = 0, end; k < s.n; k = end) {
        end = ladder_end(&s, k);
        if (most >= 0)
            try_again(&s, k, end, most);
        else
            try_ladder(&s, k, end);
    }
    hps_mem_free(s.series);
    for (int p = 0; p < s.best.n; p++)
        hps_job_profile_take(free, &s.job->job->config[s.best.piece[p].config],
                             s.best.piece[p].begin_s, s.best.piece[p].end_s);
    if (s.best.n == 0) return share;
    const struct piece *first = &s.best.piece[0];
    bool now = first->begin_s <= view->now_s;
    return (struct hps_edf_share){ true, s.most, now ? first->config : -1,
                                   now ? first->end_s : first->begin_s };
}
