#include "jobs/settle.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

#define RESTARTS 3.0            /* that a change has to gain                        */

struct settle {
    const struct hps_job_view *view;
    const struct hps_policy_opt *opt;
    int *target, *config;       /* (n) what the policy would have, what is done       */
    bool *starving, *held;      /* (n) waited too long; its lease is not over         */
    struct hps_job_room room;   /* beside what is done                                */
    struct hps_job_room loose;  /* units that giving way would set free               */
    int *way, nway;             /* running jobs that may give way, the least loss first   */
    bool *gave;                 /* (n) it has                                         */
    bool kept;                  /* units are kept for one that waited too long        */
};

double hps_job_lease_s(const struct hps_policy_opt *opt, double restart_s)
{
    return isinf(opt->lease_s) ? fmax(60, 20 * restart_s) : opt->lease_s;
}

/* ---- who waited too long ---- */

static double best_seconds(const struct hps_job_view *view, int i)
{
    const struct hps_pool_job *job = view->job[i].job;
    double best = INFINITY;

    for (int c = 0; c < job->nconfig; c++)
        if (job->config[c].seconds < best && hps_job_share(view->pool, &job->config[c]) <= 1)
            best = job->config[c].seconds;
    return best;
}

/* When the patience of each job ends; a waiting one wakes the policy then. */
static void find_starving(struct settle *s, struct hps_job_decision *d)
{
    const struct hps_job_view *view = s->view;

    for (int i = 0; i < view->n && s->opt->rho_max > 0; i++) {
        double ends = view->job[i].job->arrive_s +
                      s->opt->rho_max * view->n * best_seconds(view, i);
        s->starving[i] = ends <= view->now_s;
        if (view->job[i].config < 0 && !s->starving[i]) d->wake_s = fmin(d->wake_s, ends);
        if (!s->starving[i] || s->target[i] >= 0) continue;
        s->target[i] = view->job[i].config >= 0 ? view->job[i].config : hps_job_smallest(view, i);
    }
}

/* ---- who gives way ---- */

static double left_s(const struct settle *s, int i, int config)
{
    return s->view->job[i].left * s->view->job[i].job->config[config].seconds;
}

/* Seconds that the completion of a running job comes later when it gets its target; it may be
 * negative. Without units it loses no more than its own time: it starts again when it may. */
static double loss_s(const struct settle *s, int i)
{
    int had = s->view->job[i].config;

    if (s->target[i] < 0) return left_s(s, i, had) + s->view->restart_s;
    return left_s(s, i, s->target[i]) - left_s(s, i, had) + s->view->restart_s;
}

static bool may_give_way(const struct settle *s, int i)
{
    const struct hps_job_state *j = &s->view->job[i];

    if (j->config < 0 || s->held[i] || s->target[i] == j->config) return false;
    return s->target[i] < 0 ||
           j->job->config[s->target[i]].seconds >= j->job->config[j->config].seconds;
}

static void loosen(struct settle *s, int i, int sign)
{
    const struct hps_job_config *had = hps_job_config_of(&s->view->job[i], s->view->job[i].config);
    const struct hps_job_config *gets = hps_job_config_of(&s->view->job[i], s->target[i]);

    for (int k = 0; k < had->nparts; k++)
        s->loose.units[had->part[k].type] += sign * had->part[k].units;
    for (int k = 0; gets && k < gets->nparts; k++)
        s->loose.units[gets->part[k].type] -= sign * gets->part[k].units;
}

static void find_ways(struct settle *s)
{
    double *key = hps_mem_new((size_t)s->view->n, sizeof *key);

    memset(s->loose.units, 0, (size_t)s->loose.T * sizeof *s->loose.units);
    for (int i = 0; i < s->view->n; i++) {
        key[i] = INFINITY;
        if (!may_give_way(s, i)) continue;
        key[i] = loss_s(s, i);
        loosen(s, i, 1);
        s->nway++;
    }
    s->way = hps_job_order(s->view, key);
    hps_mem_free(key);
}

/* Job i has its target from here on; false: that does not fit. */
static bool give_way(struct settle *s, int i)
{
    const struct hps_job_state *j = &s->view->job[i];

    hps_job_room_give(&s->room, hps_job_config_of(j, j->config));
    if (s->target[i] >= 0 && !hps_job_room_take(&s->room, hps_job_config_of(j, s->target[i]))) {
        hps_job_room_take(&s->room, hps_job_config_of(j, j->config));
        return false;
    }
    s->config[i] = s->target[i];
    s->gave[i] = true;
    loosen(s, i, -1);
    return true;
}

static void take_back(struct settle *s, int i)
{
    const struct hps_job_state *j = &s->view->job[i];

    if (s->config[i] >= 0) hps_job_room_give(&s->room, hps_job_config_of(j, s->config[i]));
    hps_job_room_take(&s->room, hps_job_config_of(j, j->config));
    s->config[i] = j->config;
    s->gave[i] = false;
    loosen(s, i, 1);
}

/* Could there be room for c, if all that may give way did? */
static bool hopeless(const struct settle *s, const struct hps_job_config *c)
{
    for (int k = 0; k < c->nparts; k++)
        if (s->room.units[c->part[k].type] + s->loose.units[c->part[k].type] < c->part[k].units)
            return true;
    return false;
}

/* Does job i give units of a type that c lacks? */
static bool helps(const struct settle *s, int i, const struct hps_job_config *c)
{
    const struct hps_job_state *j = &s->view->job[i];
    const struct hps_job_config *had = &j->job->config[j->config];

    for (int k = 0; k < c->nparts; k++)
        for (int h = 0; h < had->nparts && s->room.units[c->part[k].type] < c->part[k].units; h++)
            if (had->part[h].type == c->part[k].type) return true;
    return false;
}

/* Makes room for c: others give way, the cheapest first, and lose no more than `worth` with three
 * restarts for each. False: nothing is changed. */
static bool make_room(struct settle *s, const struct hps_job_config *c, double worth)
{
    int done = 0, *did;

    if (hps_job_room_take(&s->room, c)) return true;
    if (hopeless(s, c)) return false;
    did = hps_mem_new((size_t)s->nway, sizeof *did);
    for (int k = 0; k < s->nway && !hps_job_room_fits(&s->room, c); k++) {
        int i = s->way[k];
        if (s->gave[i] || !helps(s, i, c)) continue;
        double cost = loss_s(s, i) + RESTARTS * s->view->restart_s;
        if (cost >= worth || !give_way(s, i)) continue;
        worth -= cost;
        did[done++] = i;
    }
    bool good = hps_job_room_take(&s->room, c);
    while (!good && done > 0)
        take_back(s, did[--done]);
    hps_mem_free(did);
    return good;
}

/* ---- who starts, who grows ---- */

/* Can a running job be stopped for one that waited too long, whatever the policy says of it? */
static bool may_be_stopped(const struct settle *s, int i)
{
    return s->view->job[i].config >= 0 && s->config[i] >= 0 && !s->held[i] && !s->starving[i] &&
           !s->gave[i];
}

/* Would there be room for c if all that can be stopped were? */
static bool stops_suffice(const struct settle *s, const struct hps_job_config *c)
{
    struct hps_job_room all = hps_job_room_of(s->view->pool);

    memcpy(all.units, s->room.units, (size_t)all.T * sizeof *all.units);
    for (int i = 0; i < s->view->n; i++)
        if (may_be_stopped(s, i))
            hps_job_room_give(&all, hps_job_config_of(&s->view->job[i], s->config[i]));
    bool good = hps_job_room_fits(&all, c);
    hps_job_room_done(&all);
    return good;
}

/* The one to stop for c: of those with units which it lacks, the one with the most time left. */
static int victim_for(const struct settle *s, const struct hps_job_config *c)
{
    int victim = -1;

    for (int k = 0; k < s->view->n; k++)
        if (may_be_stopped(s, k) && helps(s, k, c) &&
            (victim < 0 || left_s(s, k, s->config[k]) > left_s(s, victim, s->config[victim])))
            victim = k;
    return victim;
}

/* Others stop for a job that waited too long. Where leases do not let them, free units of its types
 * are kept for it. False: it waits on. */
static bool start_starving(struct settle *s, int i)
{
    const struct hps_job_view *view = s->view;
    const struct hps_job_config *c = hps_job_config_of(&view->job[i], s->target[i]);

    if (!stops_suffice(s, c)) {
        for (int k = 0; k < c->nparts; k++) {
            int *units = &s->room.units[c->part[k].type];
            *units -= c->part[k].units < *units ? c->part[k].units : *units;
        }
        return false;
    }
    while (!hps_job_room_fits(&s->room, c)) {
        int victim = victim_for(s, c);
        if (may_give_way(s, victim)) loosen(s, victim, -1);
        hps_job_room_give(&s->room, hps_job_config_of(&view->job[victim], s->config[victim]));
        s->config[victim] = -1;
        s->gave[victim] = true;
    }
    hps_job_room_take(&s->room, c);
    s->config[i] = s->target[i];
    return true;
}

static void start_waiting(struct settle *s)
{
    const struct hps_job_view *view = s->view;
    double *key = hps_mem_new((size_t)view->n, sizeof *key);

    for (int i = 0; i < view->n; i++)
        key[i] = s->target[i] < 0 || s->config[i] >= 0 ? INFINITY : left_s(s, i, s->target[i]);
    int *order = hps_job_order(view, key);
    for (int k = 0; k < view->n && isfinite(key[order[k]]); k++)
        if (s->starving[order[k]] && !start_starving(s, order[k])) s->kept = true;
    for (int k = 0; k < view->n && isfinite(key[order[k]]); k++) {
        int i = order[k];
        const struct hps_job_config *c = hps_job_config_of(&view->job[i], s->target[i]);
        if (!s->starving[i] && make_room(s, c, INFINITY)) s->config[i] = s->target[i];
    }
    hps_mem_free(order);
    hps_mem_free(key);
}

/* Seconds by which a running job's completion comes nearer in its target, its restart taken off. */
static double gain_s(const struct settle *s, int i)
{
    int had = s->view->job[i].config;

    if (had < 0 || s->target[i] < 0 || s->held[i] || s->gave[i]) return -INFINITY;
    return left_s(s, i, had) - left_s(s, i, s->target[i]) - s->view->restart_s;
}

static void grow_running(struct settle *s)
{
    const struct hps_job_view *view = s->view;
    double bar = RESTARTS * view->restart_s, *key = hps_mem_new((size_t)view->n, sizeof *key);

    for (int i = 0; i < view->n; i++)
        key[i] = -gain_s(s, i);
    int *order = hps_job_order(view, key);
    for (int k = 0; k < view->n && key[order[k]] < -bar; k++) {
        int i = order[k];
        const struct hps_job_config *had = hps_job_config_of(&view->job[i], s->config[i]);
        hps_job_room_give(&s->room, had);
        if (make_room(s, hps_job_config_of(&view->job[i], s->target[i]), -key[i] - bar))
            s->config[i] = s->target[i];
        else
            hps_job_room_take(&s->room, had);
    }
    hps_mem_free(order);
    hps_mem_free(key);
}

/* ---- all ---- */

static struct settle begin(const struct hps_job_view *view, const struct hps_policy_opt *opt,
                           struct hps_job_decision *d)
{
    size_t n = (size_t)view->n;
    struct settle s = { .view = view, .opt = opt, .room = hps_job_room_of(view->pool),
                        .loose = hps_job_room_of(view->pool) };
    double lease = hps_job_lease_s(opt, view->restart_s);

    s.config = d->config;
    s.target = hps_mem_new(n, sizeof *s.target);
    s.starving = hps_mem_new(n, sizeof *s.starving);
    s.held = hps_mem_new(n, sizeof *s.held);
    s.gave = hps_mem_new(n, sizeof *s.gave);
    for (int i = 0; i < view->n; i++) {
        const struct hps_job_state *j = &view->job[i];
        s.target[i] = d->config[i];
        s.config[i] = j->config;
        s.held[i] = j->config >= 0 && j->since_s + lease > view->now_s;
        if (j->config >= 0) hps_job_room_take(&s.room, hps_job_config_of(j, j->config));
    }
    return s;
}

static void end(struct settle *s)
{
    hps_mem_free(s->way);
    hps_mem_free(s->gave);
    hps_mem_free(s->held);
    hps_mem_free(s->starving);
    hps_mem_free(s->target);
    hps_job_room_done(&s->loose);
    hps_job_room_done(&s->room);
}

void hps_job_settle(const struct hps_job_view *view, const struct hps_policy_opt *opt,
                    struct hps_job_decision *d)
{
    struct settle s = begin(view, opt, d);
    double lease = hps_job_lease_s(opt, view->restart_s);

    find_starving(&s, d);
    find_ways(&s);
    if (view->restart_s == 0)           /* changes cost nothing: all that the policy wants */
        for (int k = 0; k < s.nway; k++)
            give_way(&s, s.way[k]);
    start_waiting(&s);
    grow_running(&s);
    for (int i = 0; i < view->n; i++)
        if (s.held[i] && (s.kept || s.target[i] != view->job[i].config))
            d->wake_s = fmin(d->wake_s, view->job[i].since_s + lease);
    end(&s);
}
