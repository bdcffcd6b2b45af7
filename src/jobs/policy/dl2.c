#include "jobs/dl2.h"

#include <math.h>

#include "base/mem.h"
#include "jobs/policy/dl2_impl.h"
#include "jobs/settle.h"

#define FIRST 1e9               /* worth of the first units of a job, above all of other units */

/* ---- what it sees ---- */

static double share_of(const struct hps_dl2_window *w, int i, int config)
{
    const struct hps_job_state *j = &w->view->job[w->job[i]];

    return config < 0 ? 0 : hps_job_share(w->view->pool, &j->job->config[config]);
}

/* The next larger and faster configuration that there is room for; of equal shares the fastest. */
static int next_step(const struct hps_dl2_window *w, int i)
{
    const struct hps_job_state *j = &w->view->job[w->job[i]];
    int from = w->d->config[w->job[i]], best = -1;
    const struct hps_job_config *config = j->job->config, *has = hps_job_config_of(j, from);
    double share = share_of(w, i, from), least = INFINITY;

    if (has) hps_job_room_give(w->room, has);
    for (int c = 0; c < j->job->nconfig; c++) {
        if (has && config[c].seconds >= has->seconds) continue;
        double s = share_of(w, i, c);
        if (s <= share || s > least || !hps_job_room_fits(w->room, &config[c])) continue;
        if (s == least && config[c].seconds >= config[best].seconds) continue;
        least = s;
        best = c;
    }
    if (has) hps_job_room_take(w->room, has);
    return best;
}

static double room_share(const struct hps_dl2_window *w)
{
    int left = 0;

    for (int t = 0; t < w->room->T; t++)
        left += w->room->units[t];
    return (double)left / hps_job_pool_units(w->view->pool);
}

double hps_dl2_size_s(const struct hps_job_view *view, int i)
{
    int c = hps_job_smallest(view, i);

    return c < 0 ? 1 : view->job[i].left * view->job[i].job->config[c].seconds + 1e-9;
}

/* By how much faster the step makes the job, by how much more it takes, both as logarithms: 1 where
 * the speed grows as the units. What it has nothing of grows so. */
static double elasticity(const struct hps_dl2_window *w, int i, double share, double more)
{
    const struct hps_job_state *j = &w->view->job[w->job[i]];
    int from = w->d->config[w->job[i]];

    if (from < 0) return 1;
    return log(j->job->config[from].seconds / j->job->config[w->next[i]].seconds) /
           log(more / share);
}

/* Numbers of a job whose step is known. Shares are in units of an equal share and, as sizes, by
 * their logarithms: what matters between jobs are ratios, and a share is anything from a
 * thousandth to 1. */
static void look_at(struct hps_dl2_window *w, int i, double size_s)
{
    const struct hps_job_state *j = &w->view->job[w->job[i]];
    float *x = w->x + (size_t)i * HPS_DL2_FEATURES;
    int from = w->d->config[w->job[i]], to = w->next[i];
    double share = share_of(w, i, from), more = to < 0 ? share : share_of(w, i, to);
    double worth = to < 0 ? 0 : elasticity(w, i, share, more);

    x[0] = from >= 0;
    x[1] = to >= 0;
    x[2] = (float)log(more * w->view->n + 1e-6);
    x[3] = (float)log(hps_dl2_size_s(w->view, w->job[i]) / size_s) / 2;
    x[4] = (float)worth;
    x[5] = (float)log(fmin(worth, 4) + 0.02) / 2;
    x[6] = (float)log1p((w->view->now_s - j->job->arrive_s) / size_s) / 2;
    x[7] = (float)j->left;
    x[8] = j->config >= 0;
    x[9] = j->config >= 0 && more <= share_of(w, i, j->config);
    x[11] = (float)log(w->view->n) / 4;
}

/* The steps of all jobs, or, after a step of job `changed`, of those whose own it may have changed:
 * another's it has where there is no room for it any more, or where units of a type became free. */
static void look(struct hps_dl2_window *w, int changed, bool freed, double size_s)
{
    float room = (float)room_share(w);

    for (int i = 0; i < w->n; i++) {
        const struct hps_job_state *j = &w->view->job[w->job[i]];
        const struct hps_job_config *has = hps_job_config_of(j, w->d->config[w->job[i]]);
        w->x[i * HPS_DL2_FEATURES + 10] = room;
        if (changed >= 0 && i != changed && !freed) {
            if (w->next[i] < 0) continue;
            if (has) hps_job_room_give(w->room, has);
            bool fits = hps_job_room_fits(w->room, &j->job->config[w->next[i]]);
            if (has) hps_job_room_take(w->room, has);
            if (fits) continue;
        }
        w->next[i] = next_step(w, i);
        look_at(w, i, size_s);
    }
}

/* ---- what it does ---- */

void hps_dl2_can(const struct hps_dl2_window *w, bool *can)
{
    for (int i = 0; i < w->n; i++)
        can[i] = w->next[i] >= 0;
    can[w->n] = w->may_end;
}

void hps_dl2_chances(int n, const bool *can, const double *logit, double *chance)
{
    double most = -INFINITY, sum = 0;

    for (int i = 0; i <= n; i++)
        if (can[i]) most = fmax(most, logit[i]);
    for (int i = 0; i <= n; i++)
        sum += chance[i] = can[i] ? exp(logit[i] - most) : 0;
    for (int i = 0; i <= n; i++)
        chance[i] /= sum;
}

int hps_dl2_fair_step(const struct hps_dl2_window *w)
{
    double least = INFINITY;
    int best = w->n;

    for (int i = 0; i < w->n; i++) {
        const struct hps_job_state *j = &w->view->job[w->job[i]];
        double share = share_of(w, i, w->d->config[w->job[i]]) / j->job->priority;
        if (w->next[i] < 0 || share >= least) continue;
        least = share;
        best = i;
    }
    return best;
}

int hps_dl2_good_step(const struct hps_dl2_window *w)
{
    double most = -INFINITY;
    int best = w->n;

    for (int i = 0; i < w->n; i++) {
        double share = share_of(w, i, w->d->config[w->job[i]]);
        if (w->next[i] < 0) continue;
        double worth = share > 0 ? elasticity(w, i, share, share_of(w, i, w->next[i])) / share
                                 : FIRST;
        worth *= w->view->job[w->job[i]].job->priority / sqrt(hps_dl2_size_s(w->view, w->job[i]));
        if (worth <= most) continue;
        most = worth;
        best = i;
    }
    return best;
}

static int likeliest(const struct hps_dl2 *dl2, const struct hps_dl2_window *w)
{
    double logit[HPS_DL2_WINDOW + 1];
    bool can[HPS_DL2_WINDOW + 1];
    int best = -1;

    hps_dl2_net_forward(dl2->net, w->n, w->x, logit);
    hps_dl2_can(w, can);
    for (int i = 0; i <= w->n; i++)
        if (can[i] && (best < 0 || logit[i] > logit[best])) best = i;
    return best;
}

/* Can any job of the window take a step? */
static bool can_step(const struct hps_dl2_window *w)
{
    for (int i = 0; i < w->n; i++)
        if (w->next[i] >= 0) return true;
    return false;
}

/* Job i takes its step. True: units of a type became free. */
static bool take_step(struct hps_dl2_window *w, int i, struct hps_job_decision *d)
{
    const struct hps_job_state *j = &w->view->job[w->job[i]];
    const struct hps_job_config *has = hps_job_config_of(j, d->config[w->job[i]]);
    const struct hps_job_config *gets = hps_job_config_of(j, w->next[i]);
    bool freed = false;

    for (int k = 0; has && k < has->nparts; k++) {
        int units = 0;
        for (int g = 0; g < gets->nparts; g++)
            if (gets->part[g].type == has->part[k].type) units += gets->part[g].units;
        freed = freed || units < has->part[k].units;
    }
    if (has) hps_job_room_give(w->room, has);
    hps_job_room_take(w->room, gets);
    d->config[w->job[i]] = w->next[i];
    return freed;
}

/* Steps of the jobs of a window until it is enough. Returns whether there was one. */
static bool fill_window(const struct hps_dl2 *dl2, struct hps_dl2_window *w,
                        struct hps_job_decision *d)
{
    bool stepped = false, freed = false;
    int i = -1;

    for (look(w, i, freed, dl2->size_s); can_step(w); look(w, i, freed, dl2->size_s)) {
        i = dl2->trainer ? hps_dl2_trainer_choose(dl2->trainer, w) : likeliest(dl2, w);
        if (i == w->n) break;
        freed = take_step(w, i, d);
        stepped = w->may_end = true;
    }
    return stepped;
}

/* More jobs than the network reads come in parts, those with the least left first: in the order of
 * arrival, those that came early and take long would have it all. */
static int *in_order(const struct hps_job_view *view)
{
    double *key = hps_mem_new((size_t)view->n, sizeof *key);

    for (int i = 0; i < view->n && view->n > HPS_DL2_WINDOW; i++)
        key[i] = hps_dl2_size_s(view, i) / view->job[i].job->priority;
    int *order = hps_job_order(view, key);
    hps_mem_free(key);
    return order;
}

void hps_dl2_decide(struct hps_job_view *view, const struct hps_policy_facts *facts,
                    struct hps_job_decision *d)
{
    const struct hps_dl2 *dl2 = facts->dl2;
    struct hps_job_room room = hps_job_room_of(view->pool);
    int *order = in_order(view);
    bool stepped = false;

    for (int i = 0; i < view->n; i++)
        d->config[i] = -1;
    if (dl2->trainer) hps_dl2_trainer_begin(dl2->trainer, view);
    for (int first = 0; first < view->n; first += HPS_DL2_WINDOW) {
        int n = view->n - first < HPS_DL2_WINDOW ? view->n - first : HPS_DL2_WINDOW;
        struct hps_dl2_window w = { .view = view, .room = &room, .d = d, .job = order + first,
                                    .n = n, .may_end = stepped };
        stepped = fill_window(dl2, &w, d) || stepped;
    }
    hps_mem_free(order);
    hps_job_room_done(&room);
    hps_job_settle(view, &facts->opt, d);
}
