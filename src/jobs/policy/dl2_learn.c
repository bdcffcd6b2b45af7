/* dl2_learn.c - episodes: a few dozen jobs share the pool, simulated; the network decides, and
 * learns from it. The reward of a while is the share of all jobs' work that was done in it. Of the
 * networks on the way the one is kept whose mean completion time was the least on jobs that none
 * learned from. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "jobs/policy/dl2_impl.h"
#include "jobs/simulate.h"

#define TAUGHT_RATE 5e-3        /* of Adam, as the paper has them, and so on */
#define TRIED_RATE 1e-4
#define ENTROPY 0.01            /* of an advantage as large as usual        */
#define DISCOUNT 0.99           /* over a slot                              */
#define INJECTED 0.1            /* steps that are drawn among jobs that have nothing yet */

enum {
    JOBS = 30, SLOTS = 20,      /* of an episode; slots of the mean job     */
    LOOKS = 4, BETWEEN = 10     /* episodes to judge by, and to learn before the next look */
};

/* A step, and all that it was chosen by. */
struct choice {
    int step, n;
    struct hps_dl2_window w;    /* its borrowed parts are not looked at later */
};

struct hps_dl2_trainer {
    struct hps_dl2_net *net;
    bool taught;                /* by dominant resource fairness; else it tries         */
    uint64_t key, draws;
    double slot_s;
    int nseen;                  /* jobs at the decision before, and what was left of them */
    struct seen {
        const struct hps_pool_job *job;
        double left;
    } seen[JOBS];
    size_t n, cap, before;      /* choices; so many are of the decision before          */
    struct choice *choice;
    double done, value, at_s;   /* of the decision before: work done, value, time       */
    double next_done, next_value, next_s;
    double squares, before_squares;     /* of advantages, fading, and their number      */
};

/* ---- one step ---- */

/* What makes a step more likely by `more`, and the choice more open by `open`. */
static void add_gradient(struct hps_dl2_trainer *t, const struct choice *c, double more,
                         double open, double dvalue)
{
    double logit[HPS_DL2_WINDOW + 1], p[HPS_DL2_WINDOW + 1], entropy = 0;

    hps_dl2_net_forward(t->net, c->n, c->w.x, logit);
    hps_dl2_chances(&c->w, logit, p);
    for (int i = 0; i <= c->n; i++)
        if (p[i] > 0) entropy -= p[i] * log(p[i]);
    for (int i = 0; i <= c->n; i++)
        logit[i] = more * ((i == c->step) - p[i]) -
                   (p[i] > 0 ? open * p[i] * (log(p[i]) + entropy) : 0);
    hps_dl2_net_backward(t->net, c->n, c->w.x, logit, dvalue);
}

static double draw(struct hps_dl2_trainer *t)
{
    return hps_rng_real(t->key, t->draws++);
}

/* Some job of the window that has nothing and could; n: none. */
static int poor_job(struct hps_dl2_trainer *t, const struct hps_dl2_window *w)
{
    int from = (int)(draw(t) * w->n);

    for (int k = 0; k < w->n; k++) {
        int i = (from + k) % w->n;
        if (w->next[i] >= 0 && w->d->config[w->first + i] < 0) return i;
    }
    return w->n;
}

static int by_chance(struct hps_dl2_trainer *t, const struct hps_dl2_window *w, double *value)
{
    double logit[HPS_DL2_WINDOW + 1], p[HPS_DL2_WINDOW + 1], u = draw(t);
    int last = w->n;

    *value = hps_dl2_net_forward(t->net, w->n, w->x, logit);
    hps_dl2_chances(w, logit, p);
    if (draw(t) < INJECTED) {
        int poor = poor_job(t, w);
        if (poor < w->n) return poor;
    }
    for (int i = 0; i <= w->n; i++) {
        if (p[i] <= 0) continue;
        last = i;
        if ((u -= p[i]) < 0) break;
    }
    return last;
}

int hps_dl2_trainer_choose(struct hps_dl2_trainer *t, const struct hps_dl2_window *w)
{
    double value = 0;
    int step = by_chance(t, w, &value);

    if (t->taught) step = hps_dl2_fair_step(w);

    if (t->n == t->before) t->next_value = value;
    hps_mem_grow(&t->choice, &t->cap, t->n + 1, sizeof *t->choice);
    t->choice[t->n++] = (struct choice){ step, w->n, *w };
    return step;
}

/* ---- one decision ---- */

/* Work that was done since the decision before: those that are gone have done all of theirs. */
static double work_since(struct hps_dl2_trainer *t, const struct hps_job_view *view)
{
    double done = 0;

    for (int k = 0; k < t->nseen; k++) {
        done += t->seen[k].left;
        for (int i = 0; i < view->n; i++)
            if (view->job[i].job == t->seen[k].job) done -= view->job[i].left;
    }
    t->nseen = view->n;
    for (int i = 0; i < view->n; i++)
        t->seen[i] = (struct seen){ view->job[i].job, view->job[i].left };
    return done;
}

void hps_dl2_trainer_begin(struct hps_dl2_trainer *t, const struct hps_job_view *view)
{
    t->before = t->n;
    t->next_done = t->done + work_since(t, view);
    t->next_s = view->now_s;
    t->next_value = 0;
}

/* The decision before was as good as what was done since then, and the value of what came of it,
 * say. */
static void learn_before(struct hps_dl2_trainer *t)
{
    double fade = pow(DISCOUNT, fmax(t->next_s - t->at_s, 0) / t->slot_s);
    double better = t->next_done - t->done + fade * t->next_value - t->value;

    t->squares = 0.99 * t->squares + better * better;
    t->before_squares = 0.99 * t->before_squares + 1;
    double usual = sqrt(t->squares / t->before_squares) + 1e-9, n = (double)t->before;
    double more = (t->taught ? 1 : better / usual) / n, open = (t->taught ? 0 : ENTROPY) / n;
    for (size_t k = 0; k < t->before; k++)
        add_gradient(t, &t->choice[k], more, open, k == 0 ? better : 0);
    if (t->before > 0) hps_dl2_net_step(t->net, t->taught ? TAUGHT_RATE : TRIED_RATE);
}

void hps_dl2_trainer_end(struct hps_dl2_trainer *t)
{
    learn_before(t);
    memmove(t->choice, t->choice + t->before, (t->n - t->before) * sizeof *t->choice);
    t->n -= t->before;
    t->done = t->next_done;
    t->value = t->next_value;
    t->at_s = t->next_s;
}

/* ---- episodes ---- */

/* Jobs and gaps drawn from those of w; their configurations are borrowed. */
static struct hps_workload draw_jobs(struct hps_dl2_trainer *t, const struct hps_workload *w)
{
    struct hps_workload e = { w->n < JOBS ? w->n : JOBS, NULL };
    double at = 0;

    e.job = hps_mem_new((size_t)e.n, sizeof *e.job);
    for (int i = 0; i < e.n; i++) {
        int gap = (int)(draw(t) * (w->n - 1));
        if (i > 0) at += w->job[gap + 1].arrive_s - w->job[gap].arrive_s;
        e.job[i] = w->job[(int)(draw(t) * w->n)];
        e.job[i].arrive_s = at;
        e.job[i].deadline_s = INFINITY;
        e.job[i].nafter = 0;
    }
    return e;
}

static double mean_seconds(const struct hps_workload *w)
{
    double sum = 0;

    for (int i = 0; i < w->n; i++)
        sum += w->job[i].config[w->job[i].asked].seconds / w->n;
    return sum;
}

static void episode(struct hps_dl2_trainer *t, const struct hps_simulation *s)
{
    struct hps_workload jobs = draw_jobs(t, s->workload);
    struct hps_simulation own = *s;
    struct hps_job_outcomes *o = NULL;

    own.workload = &jobs;
    t->nseen = 0;
    t->done = t->value = t->at_s = 0;
    t->n = t->before = 0;
    if (hps_simulate(&own, &o) == HPS_OK) {     /* after the last decision all is done */
        t->before = t->n;
        t->next_done = t->done;
        for (int k = 0; k < t->nseen; k++)
            t->next_done += t->seen[k].left;
        t->next_value = 0;
        t->next_s = hps_outcomes_figures(o).makespan_s;
        learn_before(t);
    }
    hps_outcomes_free(o);
    hps_mem_free(jobs.job);
}

/* The mean completion time of jobs that it does not learn from. */
static double judged(struct hps_dl2 *dl2, const struct hps_simulation *s, uint64_t key)
{
    struct hps_dl2_trainer t = { .key = key }, *learns = dl2->trainer;
    double sum = 0;

    dl2->trainer = NULL;
    for (int e = 0; e < LOOKS; e++) {
        struct hps_workload jobs = draw_jobs(&t, s->workload);
        struct hps_simulation own = *s;
        struct hps_job_outcomes *o = NULL;
        own.workload = &jobs;
        if (hps_simulate(&own, &o) == HPS_OK) {
            struct hps_job_figures f = hps_outcomes_figures(o);
            sum += f.ended == jobs.n ? f.mean_jct_s : INFINITY;
        }
        hps_outcomes_free(o);
        hps_mem_free(jobs.job);
    }
    dl2->trainer = learns;
    return sum;
}

struct hps_dl2 *hps_dl2_learn(const struct hps_workload *w, const struct hps_job_pool *pool,
                              double restart_s, const struct hps_policy_facts *facts)
{
    static const struct hps_policy learner = { .name = "dl2", .decide = hps_dl2_decide };
    struct hps_dl2 *dl2 = hps_mem_new(1, sizeof *dl2);
    struct hps_dl2_trainer t = { .key = hps_rng_key((uint64_t)facts->opt.dl2_seed, "dl2") };
    struct hps_policy_facts own = *facts;
    struct hps_simulation s = { .workload = w, .pool = pool, .policy = &learner, .facts = &own,
                                .restart_s = restart_s };

    struct hps_dl2_net *best = hps_dl2_net_new(0);

    dl2->net = t.net = hps_dl2_net_new(hps_rng_sub(t.key, 0));
    dl2->trainer = &t;
    own.dl2 = dl2;
    t.slot_s = mean_seconds(w) / SLOTS;
    int taught = facts->opt.dl2_taught, all = taught + facts->opt.dl2_tried;
    double least = INFINITY;
    for (int e = 0; e < all; e++) {
        t.taught = e < taught;
        episode(&t, &s);
        if (e + 1 < taught || ((e + 1 - taught) % BETWEEN != 0 && e + 1 < all)) continue;
        double mean = judged(dl2, &s, hps_rng_sub(t.key, 1));
        if (mean < least) hps_dl2_net_copy(best, t.net);
        least = fmin(least, mean);
    }
    if (isfinite(least)) hps_dl2_net_copy(t.net, best);
    hps_dl2_net_free(best);
    dl2->trainer = NULL;
    hps_mem_free(t.choice);
    return dl2;
}

void hps_dl2_free(struct hps_dl2 *dl2)
{
    if (!dl2) return;
    hps_dl2_net_free(dl2->net);
    hps_mem_free(dl2);
}
