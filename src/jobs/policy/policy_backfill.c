/* policy_backfill.c - in the order of arrival, each job with what it asked for; jobs behind one
 * that waits may start before it. EASY (Lifka 1995): where that does not delay the first that
 * waits. Conservative: where it delays none; each has its place in a profile of free units over
 * time. Nobody is stopped. Seconds are those of the configurations. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "jobs/policy.h"
#include "jobs/policy/profile_impl.h"

static const struct hps_job_config *asked(const struct hps_job_view *view, int i)
{
    return &view->job[i].job->config[view->job[i].job->asked];
}

/* Seconds that a job which starts now holds its units. */
static double holds_s(const struct hps_job_view *view, int i)
{
    return view->restart_s + view->job[i].left * asked(view, i)->seconds;
}

static bool can_run(const struct hps_job_view *view, int i)
{
    return view->job[i].config < 0 && hps_job_share(view->pool, asked(view, i)) <= 1;
}

/* ---- EASY ---- */

/* The first time at which c fits, as jobs that were given units end; room [in]: now, [out]: what
 * is beside it then. */
static double reserve(const struct hps_job_view *view, const struct hps_job_decision *d,
                      const struct hps_job_config *c, struct hps_job_room *room)
{
    double *end = hps_mem_new((size_t)view->n, sizeof *end), at = view->now_s;

    for (int i = 0; i < view->n; i++)
        end[i] = view->job[i].config >= 0 ? hps_job_end_s(view, i)
                 : d->config[i] >= 0      ? view->now_s + holds_s(view, i)
                                          : INFINITY;
    int *order = hps_job_order(view, end);
    for (int k = 0; k < view->n && isfinite(end[order[k]]); k++) {
        int i = order[k];
        if (end[i] > at && hps_job_room_fits(room, c)) break;
        hps_job_room_give(room, hps_job_config_of(&view->job[i], d->config[i]));
        at = end[i];
    }
    hps_job_room_take(room, c);
    hps_mem_free(order);
    hps_mem_free(end);
    return at;
}

/* The first of the queue from i on that does not start now; view->n: there is none. */
static int start_heads(const struct hps_job_view *view, struct hps_job_room *room,
                       struct hps_job_decision *d)
{
    int i = 0;

    for (; i < view->n; i++) {
        if (!can_run(view, i)) continue;
        if (!hps_job_room_take(room, asked(view, i))) break;
        d->config[i] = view->job[i].job->asked;
    }
    return i;
}

static void easy(const struct hps_job_view *view, struct hps_job_room *room,
                 struct hps_job_decision *d)
{
    int head = start_heads(view, room, d);

    if (head == view->n) return;
    struct hps_job_room beside = hps_job_room_of(view->pool);
    for (int t = 0; t < room->T; t++)
        beside.units[t] = room->units[t];
    double shadow = reserve(view, d, asked(view, head), &beside);
    for (int i = head + 1; i < view->n; i++) {
        const struct hps_job_config *c = asked(view, i);
        if (!can_run(view, i) || !hps_job_room_fits(room, c)) continue;
        bool gone = view->now_s + holds_s(view, i) <= shadow;
        if (!gone && !hps_job_room_take(&beside, c)) continue;
        hps_job_room_take(room, c);
        d->config[i] = view->job[i].job->asked;
    }
    hps_job_room_done(&beside);
}

/* ---- conservative ---- */

static void conservative(const struct hps_job_view *view, struct hps_job_room *room,
                         struct hps_job_decision *d)
{
    struct hps_job_profile *free = hps_job_profile_new(view->pool, view->now_s);

    for (int i = 0; i < view->n; i++) {
        const struct hps_job_config *has = hps_job_config_of(&view->job[i], view->job[i].config);
        if (has) hps_job_profile_take(free, has, view->now_s, hps_job_end_s(view, i));
    }
    for (int i = 0; i < view->n; i++) {
        if (!can_run(view, i)) continue;
        const struct hps_job_config *c = asked(view, i);
        double at = hps_job_profile_find(free, c, holds_s(view, i));
        hps_job_profile_take(free, c, at, at + holds_s(view, i));
        bool now = at <= view->now_s && hps_job_room_take(room, c);
        if (now) d->config[i] = view->job[i].job->asked;
    }
    hps_job_profile_free(free);
}

static void decide(struct hps_job_view *view, const struct hps_policy_facts *facts,
                   struct hps_job_decision *d)
{
    struct hps_job_room room = hps_job_room_of(view->pool);

    for (int i = 0; i < view->n; i++) {
        d->config[i] = view->job[i].config;
        if (d->config[i] >= 0)
            hps_job_room_take(&room, hps_job_config_of(&view->job[i], d->config[i]));
    }
    if (facts->opt.conservative)
        conservative(view, &room, d);
    else
        easy(view, &room, d);
    hps_job_room_done(&room);
}

const struct hps_policy hps_policy_backfill = { .name = "backfill",
                                                .help = "fifo, gaps filled",
                                                .decide = decide };
