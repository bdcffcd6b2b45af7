#include "jobs/simulate.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/say.h"
#include "jobs/after.h"
#include "jobs/dl2.h"
#include "jobs/split_impl.h"

struct simulator {
    const struct hps_simulation *s;
    struct hps_job_outcomes *out;
    struct hps_job_view view;
    int *number;                /* (view.n) the workload's number of each of the view's jobs   */
    double *works_s;            /* (view.n) when the job that starts will have started         */
    struct hps_place_job *place;        /* (view.n) where each is                              */
    bool links;                 /* what jobs want of nodes' links is known                     */
    double *share;              /* (view.n) of its speed alone that it keeps there             */
    struct hps_job_decision decision;
    int arrived;                /* so many have                                                */
    struct hps_after after;
    double said_s;              /* when something was last said of how far it is               */
    int *ready;                 /* (n) jobs that need not wait for others any more             */
};

/* ---- jobs that come ---- */

static bool fits(const struct hps_pool_job *job, const struct hps_job_pool *pool)
{
    for (int c = 0; c < job->nconfig; c++) {
        struct hps_job_room room = hps_job_room_of(pool);
        bool good = hps_job_room_take(&room, &job->config[c]);
        hps_job_room_done(&room);
        if (good) return true;
    }
    HPS_SAY(HPS_ERROR, "job '%s' can never run: the pool has %d units, it needs %d at least",
            job->name, hps_job_pool_units(pool), hps_config_units(&job->config[0]));
    return false;
}

static void enter(struct simulator *m, int number)
{
    m->view.job[m->view.n] = (struct hps_job_state){ .job = &m->s->workload->job[number],
                                                     .left = 1, .config = -1,
                                                     .since_s = m->view.now_s };
    m->place[m->view.n] = (struct hps_place_job){
        .model = hps_interference_model(m->s->beside, m->s->workload->job[number].model) };
    m->share[m->view.n] = 1;
    m->view.job[m->view.n].config_s =
        hps_mem_new((size_t)m->s->workload->job[number].nconfig, sizeof(double));
    m->number[m->view.n++] = number;
}

/* A job that arrives while it waits for others enters when the last of them ends. */
static void arrive(struct simulator *m)
{
    const struct hps_workload *w = m->s->workload;

    for (; m->arrived < w->n && w->job[m->arrived].arrive_s <= m->view.now_s; m->arrived++)
        if (m->after.waits[m->arrived] == 0) enter(m, m->arrived);
}

/* ---- time that passes ---- */

/* For all of its work, where it is. */
static double seconds_of(const struct simulator *m, int i)
{
    const struct hps_job_state *j = &m->view.job[i];

    return j->job->config[j->config].seconds / m->share[i];
}

static double end_of(const struct simulator *m, int i)
{
    const struct hps_job_state *j = &m->view.job[i];

    if (j->config < 0) return INFINITY;
    return fmax(m->works_s[i], m->view.now_s) + j->left * seconds_of(m, i);
}

/* When something happens next; INFINITY: nothing does. */
static double next_event(const struct simulator *m)
{
    const struct hps_workload *w = m->s->workload;
    double next = m->decision.wake_s;

    if (m->arrived < w->n) next = fmin(next, w->job[m->arrived].arrive_s);
    for (int i = 0; i < m->view.n; i++)
        next = fmin(next, end_of(m, i));
    return fmax(next, m->view.now_s);
}

static void work(struct simulator *m, int i, double until)
{
    struct hps_job_state *j = &m->view.job[i];
    double now = m->view.now_s;

    if (j->config < 0) return;
    const struct hps_job_config *c = &j->job->config[j->config];
    bool ends = end_of(m, i) <= until;
    j->ran_s += until - now;
    j->config_s[j->config] += until - now;
    j->unit_s += (until - now) * hps_config_units(c);
    if (until > m->works_s[i]) j->left -= (until - fmax(m->works_s[i], now)) / seconds_of(m, i);
    if (ends) j->left = 0;
}

static void stop(struct simulator *m, int i)
{
    struct hps_job_state *j = &m->view.job[i];

    hps_outcomes_span(m->out, m->number[i], j->config, j->since_s, m->view.now_s);
    hps_placed_copy(&m->out->span[m->out->nspan - 1].at, &m->place[i].at);
    j->config = -1;
    j->since_s = m->view.now_s;
}

/* Those that have ended leave the view; those that have waited for them enter it, unless they are
 * still to arrive. */
static void end_done(struct simulator *m)
{
    int kept = 0, nready = 0;

    for (int i = 0; i < m->view.n; i++) {
        if (m->view.job[i].config >= 0 && m->view.job[i].left <= 0) {
            stop(m, i);
            m->out->job[m->number[i]].end_s = m->view.now_s;
            hps_mem_free(m->place[i].at.part);
            hps_mem_free(m->view.job[i].config_s);
            nready += hps_after_ended(&m->after, m->number[i], m->ready + nready);
            continue;
        }
        m->view.job[kept] = m->view.job[i];
        m->number[kept] = m->number[i];
        m->place[kept] = m->place[i];
        m->share[kept] = m->share[i];
        m->works_s[kept++] = m->works_s[i];
    }
    m->view.n = kept;
    for (int i = 0; i < nready; i++)
        if (m->ready[i] < m->arrived) enter(m, m->ready[i]);
}

/* ---- decisions ---- */

static enum hps_status check(const struct simulator *m)
{
    struct hps_job_room room = hps_job_room_of(m->view.pool);
    bool good = true;

    for (int i = 0; i < m->view.n; i++) {
        const struct hps_job_state *j = &m->view.job[i];
        int c = m->decision.config[i];
        good = good && (c < 0 || hps_job_room_take(&room, &j->job->config[c]));
    }
    hps_job_room_done(&room);
    if (good) return HPS_OK;
    HPS_SAY(HPS_ERROR, "policy %s gave away more units than there are at %.17g s",
            m->s->policy->name, m->view.now_s);
    return HPS_FAIL;
}

static void start(struct simulator *m, int i, int config)
{
    struct hps_job_outcome *o = &m->out->job[m->number[i]];
    struct hps_job_state *j = &m->view.job[i];

    j->config = config;
    j->since_s = m->view.now_s;
    m->works_s[i] = m->view.now_s + m->s->restart_s;
    if (isnan(o->start_s))
        o->start_s = m->view.now_s;
    else
        o->restart_s += m->s->restart_s;
}

/* Stops those that lose what they have; true: anything changes. */
static bool stop_changed(struct simulator *m)
{
    bool changed = false;

    for (int i = 0; i < m->view.n; i++) {
        int had = m->view.job[i].config, gets = m->decision.config[i];
        m->place[i].keeps = had == gets;
        m->place[i].config = gets < 0 ? NULL : &m->view.job[i].job->config[gets];
        if (had == gets) continue;
        changed = true;
        if (had < 0) continue;
        stop(m, i);
        m->out->job[m->number[i]].preempted += gets < 0;
        m->out->job[m->number[i]].resized += gets >= 0;
    }
    return changed;
}

/* Gives each job that gets units its nodes; one that has to move closes its span where it was. */
static void place(struct simulator *m)
{
    struct hps_place_opt opt = { m->view.pool, m->s->may_move, m->s->blind ? NULL : m->s->beside,
                                 m->links && !m->s->blind };
    struct hps_placed *was = hps_mem_new((size_t)m->view.n, sizeof *was);

    for (int i = 0; i < m->view.n && opt.may_move; i++)
        hps_placed_copy(&was[i], &m->place[i].at);
    hps_place(&opt, m->place, m->view.n);
    for (int i = 0; i < m->view.n; i++) {
        int config = m->view.job[i].config;
        if (m->place[i].moved) {
            struct hps_placed now = m->place[i].at;
            m->place[i].at = was[i];
            stop(m, i);
            m->place[i].at = now;
            m->out->job[m->number[i]].moved++;
            start(m, i, config);
        }
        hps_mem_free(was[i].part);
    }
    hps_mem_free(was);
}

static enum hps_status decide(struct simulator *m)
{
    m->decision.wake_s = INFINITY;
    m->s->policy->decide(&m->view, m->s->facts, &m->decision);
    enum hps_status st = check(m);
    if (st) return st;
    if (stop_changed(m)) {
        place(m);
        for (int i = 0; i < m->view.n; i++)
            if (m->view.job[i].config != m->decision.config[i]) start(m, i, m->decision.config[i]);
    }
    if (m->s->beside || m->links)
        hps_place_shares(&(struct hps_place_opt){ m->view.pool, false, m->s->beside, m->links },
                         m->place, m->view.n, m->share);
    return HPS_OK;
}

/* A long simulation says now and then how far it is. */
static void say_progress(struct simulator *m)
{
    enum { SILENT_S = 5 };
    double now_s = hps_now_s();

    if (now_s - m->said_s < SILENT_S) return;
    m->said_s = now_s;
    HPS_SAY(HPS_INFO, "policy %s: %d of %d jobs have come, %d of them are left, at %.6g s",
            m->s->policy->name, m->arrived, m->s->workload->n, m->view.n, m->view.now_s);
}

static enum hps_status run(struct simulator *m)
{
    enum hps_status st = HPS_OK;

    for (double next; !st && isfinite(next = next_event(m));) {
        for (int i = 0; i < m->view.n; i++)
            work(m, i, next);
        m->view.now_s = next;
        end_done(m);
        arrive(m);
        st = decide(m);
        say_progress(m);
    }
    return st;
}

static bool know_links(const struct hps_workload *w)
{
    for (int j = 0; j < w->n; j++)
        for (int c = 0; c < w->job[j].nconfig; c++)
            if (w->job[j].config[c].link_s > 0) return true;
    return false;
}

static enum hps_status by_decisions(const struct hps_simulation *s, struct hps_job_outcomes *out)
{
    size_t n = (size_t)s->workload->n;
    struct simulator m = { .s = s, .out = out, .links = know_links(s->workload) };

    m.view = (struct hps_job_view){ .restart_s = s->restart_s, .pool = s->pool };
    m.view.job = hps_mem_new(n, sizeof *m.view.job);
    m.number = hps_mem_new(n, sizeof *m.number);
    m.works_s = hps_mem_new(n, sizeof *m.works_s);
    m.place = hps_mem_new(n, sizeof *m.place);
    m.share = hps_mem_new(n, sizeof *m.share);
    m.decision.config = hps_mem_new(n, sizeof *m.decision.config);
    m.decision.wake_s = INFINITY;
    m.said_s = hps_now_s();
    hps_after_init(&m.after, s->workload);
    m.ready = hps_mem_new(n, sizeof *m.ready);
    enum hps_status st = run(&m);
    for (int i = 0; i < m.view.n; i++)
        hps_mem_free(m.view.job[i].config_s);
    hps_mem_free(m.ready);
    hps_after_done(&m.after);
    hps_mem_free(m.decision.config);
    for (int i = 0; i < m.view.n; i++)
        hps_mem_free(m.place[i].at.part);
    hps_mem_free(m.share);
    hps_mem_free(m.place);
    hps_mem_free(m.works_s);
    hps_mem_free(m.number);
    hps_mem_free(m.view.job);
    return st;
}

/* A policy that learns does so before. */
static enum hps_status by_learned(const struct hps_simulation *s, struct hps_job_outcomes *out)
{
    struct hps_policy_facts facts = *s->facts;
    struct hps_simulation own = *s;
    struct hps_dl2 *dl2 = NULL;

    if (s->policy->learns && !facts.dl2)
        facts.dl2 = dl2 = hps_dl2_learn(s->workload, s->pool, s->restart_s, s->facts);
    own.facts = &facts;
    enum hps_status st = by_decisions(&own, out);
    hps_dl2_free(dl2);
    return st;
}

static enum hps_status by_policy(const struct hps_simulation *s, struct hps_job_outcomes *out)
{
    return s->policy->simulate ? s->policy->simulate(s->workload, s->pool, s->facts, out)
                               : by_learned(s, out);
}

/* What became of the jobs of one of the pools. */
static void merge(struct hps_job_outcomes *out, struct hps_job_outcomes *part,
                  const int *number)
{
    for (int i = 0; i < part->workload->n; i++)
        out->job[number[i]] = part->job[i];
    hps_mem_grow(&out->span, &out->span_cap, out->nspan + part->nspan, sizeof *out->span);
    for (size_t i = 0; i < part->nspan; i++) {
        out->span[out->nspan] = part->span[i];
        out->span[out->nspan++].job = number[part->span[i].job];
        part->span[i].at.part = NULL;
    }
}

/* What is known of the types of one of the pools; its shares are to free. */
static struct hps_interference part_of(const struct hps_interference *x, const int *share_of, int k)
{
    struct hps_interference part = *x;
    size_t all = (size_t)x->n * (size_t)x->n;

    part.T = 0;
    part.share = hps_mem_new((size_t)x->T * all, sizeof *part.share);
    for (int t = 0; t < x->T; t++)
        if (share_of[t] == k)
            memcpy(part.share + (size_t)part.T++ * all, x->share + (size_t)t * all,
                   all * sizeof *part.share);
    return part;
}

/* Each of the pools that no job connects by itself. */
static enum hps_status by_shares(const struct hps_simulation *s, struct hps_job_outcomes *out)
{
    int *share_of = hps_mem_new((size_t)s->pool->T, sizeof *share_of);
    int n = s->pool->apart ? hps_split_count(s->workload, s->pool, share_of) : 1;
    enum hps_status st = HPS_OK;

    if (n == 1) st = by_policy(s, out);
    for (int k = 0; k < n && n > 1 && !st; k++) {
        struct hps_job_share share;
        struct hps_simulation one = *s;
        struct hps_interference beside = { 0 };
        hps_split_init(&share, s->workload, s->pool, share_of, k);
        one.workload = share.workload;
        one.pool = share.pool;
        if (s->beside) {
            beside = part_of(s->beside, share_of, k);
            one.beside = &beside;
        }
        struct hps_job_outcomes *part = hps_outcomes_new(s->policy->name, one.workload, one.pool);
        st = by_policy(&one, part);
        if (!st) merge(out, part, share.number);
        hps_outcomes_free(part);
        hps_mem_free(beside.share);
        hps_split_done(&share);
    }
    hps_mem_free(share_of);
    return st;
}

enum hps_status hps_simulate(const struct hps_simulation *s, struct hps_job_outcomes **out)
{
    enum hps_status st = HPS_OK;

    *out = NULL;
    for (int i = 0; i < s->workload->n; i++)
        if (!fits(&s->workload->job[i], s->pool)) return HPS_DECK;
    if (s->policy->needs_samples && s->facts->nsample == 0) {
        HPS_SAY(HPS_ERROR, "policy %s needs a distribution of jobs that ran before",
                s->policy->name);
        return HPS_DECK;
    }
    if (s->policy->simulate && hps_after_any(s->workload)) {
        HPS_SAY(HPS_ERROR, "policy %s knows no jobs that wait for others (`after`)",
                s->policy->name);
        return HPS_DECK;
    }
    struct hps_job_outcomes *o = hps_outcomes_new(s->policy->name, s->workload, s->pool);
    st = by_shares(s, o);
    if (!st) *out = o;
    if (st) hps_outcomes_free(o);
    return st;
}
