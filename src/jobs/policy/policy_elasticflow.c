/* policy_elasticflow.c - deadlines first (ElasticFlow): a job that arrives is admitted if by the
 * order of deadlines all that were admitted, and it, can have units to meet theirs; these have
 * the least that do. Spare units go where the unit-seconds that are left shrink the most, or grow
 * the least; jobs that were not admitted, or have no deadline, run on those. A running job is given
 * more of them only where that is worth three restarts and its lease is over.
 *
 * note[0]: 1 admitted, -1 not; 0: not asked yet. note[1]: 1 + the configuration up to which it
 * goes, since it was admitted or another was: a job that goes on as it was placed keeps no other
 * from its deadline. */
#include <math.h>

#include "base/mem.h"
#include "jobs/grow.h"
#include "jobs/policy.h"
#include "jobs/policy/edf_impl.h"
#include "jobs/settle.h"

#define TESTS 100000.0          /* jobs placed to admit others, at most: then one pass has to do */
#define PAUSE 1.0               /* seconds between looks at least                                */

struct flow {
    struct hps_job_view *view;
    double lease_s;
    int *order;                 /* (view->n) by deadline                */
    struct hps_edf_share *share;/* (view->n)                            */
};

/* ---- admission ---- */

/* Places all that are admitted, and `guest` (-1: none), by their deadlines; `anew`: not as they
 * were placed before. Are all met? The profile is what is left. */
static bool place_all(struct flow *f, int guest, bool anew, struct hps_job_profile **left)
{
    struct hps_job_profile *free = hps_job_profile_new(f->view->pool, f->view->now_s);
    bool met = true;

    for (int k = 0; k < f->view->n && (met || guest < 0); k++) {
        int i = f->order[k];
        const struct hps_job_state *j = &f->view->job[i];
        if (j->note[0] <= 0 && i != guest) continue;
        f->share[i] = hps_edf_place(f->view, i, anew ? -1 : (int)j->note[1] - 1, free);
        if (!f->share[i].met && guest < 0) f->share[i] = hps_edf_place(f->view, i, -1, free);
        met = met && f->share[i].met;
    }
    if (left) *left = free;
    if (!left) hps_job_profile_free(free);
    return met;
}

/* The placements are what holds from here on. */
static void hold(struct flow *f, int guest)
{
    if (guest >= 0) f->view->job[guest].note[0] = 1;
    for (int i = 0; i < f->view->n; i++)
        if (f->view->job[i].note[0] > 0 && f->share[i].met)
            f->view->job[i].note[1] = f->share[i].most + 1;
}

/* Those that were admitted before and are late by now do not keep others out. */
static void admit(struct flow *f)
{
    struct hps_job_profile *left;
    int asked = 0, n = f->view->n;

    for (int i = 0; i < n; i++) {
        struct hps_job_state *j = &f->view->job[i];
        if (isinf(j->job->deadline_s)) j->note[0] = -1;
        asked += j->note[0] == 0;
    }
    bool met = place_all(f, -1, false, &left), each = met && (double)asked * n <= TESTS;
    for (int k = 0; k < n && asked > 0; k++) {
        int i = each ? k : f->order[k];         /* in the order of arrival, or of deadlines */
        if (f->view->job[i].note[0] != 0) continue;
        if (!each) f->share[i] = hps_edf_place(f->view, i, -1, left);
        bool good = each ? place_all(f, i, false, NULL) || place_all(f, i, true, NULL)
                         : f->share[i].met;
        if (good && each) hold(f, i);
        f->view->job[i].note[0] = good ? 1 : -1;
    }
    if (!each) hold(f, -1);
    hps_job_profile_free(left);
}

/* ---- spare units ---- */

static double unit_seconds(const struct hps_job_config *c)
{
    return hps_config_units(c) * c->seconds;
}

static double worth(const struct hps_job_growth *g, int job, int from, int to)
{
    const struct hps_job_view *view = g->view;
    const struct hps_job_state *j = &view->job[job];

    if (from < 0) return 0;
    double gain = j->left * (j->job->config[from].seconds - j->job->config[to].seconds);
    bool kept = from == j->config;
    if (gain <= 0 || (kept && (gain <= 4 * view->restart_s || g->key[job] > view->now_s)))
        return NAN;
    return j->left * (unit_seconds(&j->job->config[from]) - unit_seconds(&j->job->config[to])) /
           (hps_job_growth_share(g, job, to) - hps_job_growth_share(g, job, from));
}

/* A running job keeps what it has, not its least share, where that is free and does as well; one
 * that was not admitted does until its lease is over. */
static void keep(const struct flow *f, struct hps_job_room *room, struct hps_job_decision *d)
{
    for (int k = 0; k < f->view->n; k++) {
        int i = f->order[k];
        const struct hps_job_state *j = &f->view->job[i];
        const struct hps_job_config *has = hps_job_config_of(j, j->config);
        const struct hps_job_config *gets = hps_job_config_of(j, d->config[i]);
        if (!has || has == gets) continue;
        if (j->note[0] <= 0 && j->since_s + f->lease_s <= f->view->now_s) continue;
        if (gets && has->seconds > gets->seconds) continue;
        if (gets) hps_job_room_give(room, gets);
        if (hps_job_room_take(room, has))
            d->config[i] = j->config;
        else if (gets)
            hps_job_room_take(room, gets);
    }
}

static void give_spare(const struct flow *f, struct hps_job_room *room, struct hps_job_decision *d)
{
    double *held = hps_mem_new((size_t)f->view->n, sizeof *held);

    for (int i = 0; i < f->view->n; i++)
        held[i] = f->view->job[i].since_s + f->lease_s;
    keep(f, room, d);
    hps_job_grow(&(struct hps_job_growth){ worth, f->view, held }, room, d);
    hps_mem_free(held);
}

/* Is there a deadline to keep? Else all units are spare, and changes are settled as others' are. */
static bool any_admitted(const struct hps_job_view *view)
{
    for (int i = 0; i < view->n; i++)
        if (view->job[i].note[0] > 0) return true;
    return false;
}

static void decide(struct hps_job_view *view, const struct hps_policy_facts *facts,
                   struct hps_job_decision *d)
{
    struct flow f = { .view = view, .lease_s = hps_job_lease_s(&facts->opt, view->restart_s) };
    double *deadline = hps_mem_new((size_t)view->n, sizeof *deadline);
    struct hps_job_room room = hps_job_room_of(view->pool);

    for (int i = 0; i < view->n; i++)
        deadline[i] = view->job[i].job->deadline_s;
    f.order = hps_job_order(view, deadline);
    f.share = hps_mem_new((size_t)view->n, sizeof *f.share);
    admit(&f);
    struct hps_job_profile *left;
    place_all(&f, -1, false, &left);
    hps_job_profile_free(left);
    for (int i = 0; i < view->n; i++) {
        bool placed = view->job[i].note[0] > 0 && f.share[i].met && f.share[i].config >= 0;
        d->config[i] = placed ? f.share[i].config : -1;
        if (placed) hps_job_room_take(&room, hps_job_config_of(&view->job[i], d->config[i]));
        if (view->job[i].note[0] > 0 && f.share[i].met)
            d->wake_s = fmin(d->wake_s, fmax(f.share[i].until_s, view->now_s + PAUSE));
    }
    give_spare(&f, &room, d);
    if (!any_admitted(view)) hps_job_settle(view, &facts->opt, d);
    hps_job_room_done(&room);
    hps_mem_free(f.share);
    hps_mem_free(f.order);
    hps_mem_free(deadline);
}

const struct hps_policy hps_policy_elasticflow = { .name = "elasticflow",
                                                   .help = "the least that meets each deadline",
                                                   .decide = decide };
