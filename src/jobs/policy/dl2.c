#include "jobs/dl2.h"

#include <math.h>

#include "base/mem.h"
#include "jobs/policy/dl2_impl.h"
#include "jobs/settle.h"

/* ---- what it sees ---- */

static double share_of(const struct hps_dl2_window *w, int i, int config)
{
    const struct hps_job_state *j = &w->view->job[w->first + i];

    return config < 0 ? 0 : hps_job_share(w->view->pool, &j->job->config[config]);
}

/* The next larger and faster configuration that there is room for; of equal shares the fastest. */
static int next_step(const struct hps_dl2_window *w, int i)
{
    const struct hps_job_state *j = &w->view->job[w->first + i];
    int from = w->d->config[w->first + i], best = -1;
    const struct hps_job_config *config = j->job->config, *has = hps_job_config_of(j, from);
    double share = share_of(w, i, from), least = INFINITY;

    if (has) hps_job_room_give(w->room, has);
    for (int c = 0; c < j->job->nconfig; c++) {
        double s = share_of(w, i, c);
        if (s <= share || s > least || (has && config[c].seconds >= has->seconds)) continue;
        if (!hps_job_room_fits(w->room, &config[c])) continue;
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

/* Seconds that are left of a job in its smallest configuration, for a scale. */
static double small_s(const struct hps_job_view *view, int i)
{
    int c = hps_job_smallest(view, i);

    return c < 0 ? 1 : view->job[i].left * view->job[i].job->config[c].seconds;
}

static void look(struct hps_dl2_window *w)
{
    double small[HPS_DL2_WINDOW], scale = 1e-9, room = room_share(w);

    for (int i = 0; i < w->n; i++)
        scale += (small[i] = small_s(w->view, w->first + i)) / w->n;
    for (int i = 0; i < w->n; i++) {
        const struct hps_job_state *j = &w->view->job[w->first + i];
        double *x = w->x + (size_t)i * HPS_DL2_FEATURES;
        int from = w->d->config[w->first + i], to = w->next[i] = next_step(w, i);
        double now = from < 0 ? INFINITY : j->job->config[from].seconds;
        x[0] = from >= 0;
        x[1] = share_of(w, i, from);
        x[2] = to >= 0;
        x[3] = log1p((w->view->now_s - j->job->arrive_s) / scale);
        x[4] = log(small[i] / scale + 1e-6);
        x[5] = j->left;
        x[6] = to < 0 ? 0 : isinf(now) ? 1 : 1 - j->job->config[to].seconds / now;
        x[7] = j->config >= 0;
        x[8] = room;
        x[9] = to < 0 ? 0 : share_of(w, i, to) - share_of(w, i, from);
    }
}

/* ---- what it does ---- */

void hps_dl2_chances(const struct hps_dl2_window *w, const double *logit, double *chance)
{
    double most = -INFINITY, sum = 0;

    for (int i = 0; i <= w->n; i++)
        if (i < w->n ? w->next[i] >= 0 : w->may_end) most = fmax(most, logit[i]);
    for (int i = 0; i <= w->n; i++) {
        bool can = i < w->n ? w->next[i] >= 0 : w->may_end;
        sum += chance[i] = can ? exp(logit[i] - most) : 0;
    }
    for (int i = 0; i <= w->n; i++)
        chance[i] /= sum;
}

int hps_dl2_fair_step(const struct hps_dl2_window *w)
{
    double least = INFINITY;
    int best = w->n;

    for (int i = 0; i < w->n; i++) {
        const struct hps_job_state *j = &w->view->job[w->first + i];
        double share = share_of(w, i, w->d->config[w->first + i]) / j->job->priority;
        if (w->next[i] < 0 || share >= least) continue;
        least = share;
        best = i;
    }
    return best;
}

static int likeliest(const struct hps_dl2 *dl2, const struct hps_dl2_window *w)
{
    double logit[HPS_DL2_WINDOW + 1], chance[HPS_DL2_WINDOW + 1];
    int best = 0;

    hps_dl2_net_forward(dl2->net, w->n, w->x, logit);
    hps_dl2_chances(w, logit, chance);
    for (int i = 1; i <= w->n; i++)
        if (chance[i] > chance[best]) best = i;
    return best;
}

/* Can any job of the window take a step? */
static bool can_step(const struct hps_dl2_window *w)
{
    for (int i = 0; i < w->n; i++)
        if (w->next[i] >= 0) return true;
    return false;
}

/* Steps of the jobs of a window until it is enough. Returns whether there was one. */
static bool fill_window(const struct hps_dl2 *dl2, struct hps_dl2_window *w,
                        struct hps_job_decision *d)
{
    bool stepped = false;

    for (look(w); can_step(w); look(w)) {
        int i = dl2->trainer ? hps_dl2_trainer_choose(dl2->trainer, w) : likeliest(dl2, w);
        if (i == w->n) break;
        const struct hps_job_state *j = &w->view->job[w->first + i];
        const struct hps_job_config *has = hps_job_config_of(j, d->config[w->first + i]);
        if (has) hps_job_room_give(w->room, has);
        hps_job_room_take(w->room, hps_job_config_of(j, w->next[i]));
        d->config[w->first + i] = w->next[i];
        stepped = w->may_end = true;
    }
    return stepped;
}

void hps_dl2_decide(struct hps_job_view *view, const struct hps_policy_facts *facts,
                    struct hps_job_decision *d)
{
    const struct hps_dl2 *dl2 = facts->dl2;
    struct hps_job_room room = hps_job_room_of(view->pool);
    bool stepped = false;

    for (int i = 0; i < view->n; i++)
        d->config[i] = -1;
    if (dl2->trainer) hps_dl2_trainer_begin(dl2->trainer, view);
    for (int first = 0; first < view->n; first += HPS_DL2_WINDOW) {
        int n = view->n - first < HPS_DL2_WINDOW ? view->n - first : HPS_DL2_WINDOW;
        struct hps_dl2_window w = { .view = view, .room = &room, .d = d, .first = first, .n = n,
                                    .may_end = stepped };
        stepped = fill_window(dl2, &w, d) || stepped;
    }
    if (dl2->trainer) hps_dl2_trainer_end(dl2->trainer);
    hps_job_room_done(&room);
    hps_job_settle(view, &facts->opt, d);
}
