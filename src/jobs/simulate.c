#include "jobs/simulate.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/say.h"
#include "jobs/after.h"
#include "jobs/dl2.h"

struct simulator {
    const struct hps_simulation *s;
    struct hps_job_outcomes *out;
    struct hps_job_view view;
    int *number;                /* (view.n) the workload's number of each of the view's jobs   */
    double *works_s;            /* (view.n) when the job that starts will have started         */
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

static double end_of(const struct simulator *m, int i)
{
    const struct hps_job_state *j = &m->view.job[i];

    if (j->config < 0) return INFINITY;
    return fmax(m->works_s[i], m->view.now_s) + j->left * j->job->config[j->config].seconds;
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
    if (until > m->works_s[i]) j->left -= (until - fmax(m->works_s[i], now)) / c->seconds;
    if (ends) j->left = 0;
}

static void stop(struct simulator *m, int i)
{
    struct hps_job_state *j = &m->view.job[i];

    hps_outcomes_span(m->out, m->number[i], j->config, j->since_s, m->view.now_s);
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
            hps_mem_free(m->view.job[i].config_s);
            nready += hps_after_ended(&m->after, m->number[i], m->ready + nready);
            continue;
        }
        m->view.job[kept] = m->view.job[i];
        m->number[kept] = m->number[i];
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

static enum hps_status decide(struct simulator *m)
{
    m->decision.wake_s = INFINITY;
    m->s->policy->decide(&m->view, m->s->facts, &m->decision);
    enum hps_status st = check(m);
    for (int i = 0; i < m->view.n && !st; i++) {
        int had = m->view.job[i].config, gets = m->decision.config[i];
        if (had == gets) continue;
        if (had >= 0) {
            stop(m, i);
            m->out->job[m->number[i]].preempted += gets < 0;
            m->out->job[m->number[i]].resized += gets >= 0;
        }
        if (gets >= 0) start(m, i, gets);
    }
    return st;
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

static enum hps_status by_decisions(const struct hps_simulation *s, struct hps_job_outcomes *out)
{
    size_t n = (size_t)s->workload->n;
    struct simulator m = { .s = s, .out = out };

    m.view = (struct hps_job_view){ .restart_s = s->restart_s, .pool = s->pool };
    m.view.job = hps_mem_new(n, sizeof *m.view.job);
    m.number = hps_mem_new(n, sizeof *m.number);
    m.works_s = hps_mem_new(n, sizeof *m.works_s);
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
    st = s->policy->simulate ? s->policy->simulate(s->workload, s->pool, s->facts, o)
                             : by_learned(s, o);
    if (!st) *out = o;
    if (st) hps_outcomes_free(o);
    return st;
}
