/* dl2_learn.c - episodes: some jobs share the pool, simulated; the network decides, and learns from
 * it. Of the networks on the way the one is kept whose mean completion time was the least on jobs
 * that none learned from. */
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "jobs/policy/dl2_impl.h"
#include "jobs/simulate.h"

#define WORSE 1.01              /* times the least: it goes on from that again */
#define FADE 4.0                /* sizes of a usual job, until a reward counts e times less */

enum {
    JOBS = 80,                  /* of an episode */
    LOOKS = 4, BETWEEN = 3      /* episodes to judge by, and to learn before the next look */
};

struct school {
    struct hps_dl2 *dl2;
    const struct hps_simulation *s;
    uint64_t key, draws;
};

static double draw(struct school *c)
{
    return hps_rng_real(c->key, c->draws++);
}

/* Jobs that are drawn from those of the workload, and the gaps between some of its arrivals in a
 * row, since busy hours come in a row; their configurations are borrowed. */
static struct hps_workload draw_jobs(struct school *c)
{
    const struct hps_workload *w = c->s->workload;
    struct hps_workload e = { w->n < JOBS ? w->n : JOBS, NULL };
    int from = (int)(draw(c) * w->n);
    double at = 0;

    e.job = hps_mem_new((size_t)e.n, sizeof *e.job);
    for (int i = 0; i < e.n; i++) {
        int k = (from + i) % w->n;
        if (i > 0 && k > 0) at += w->job[k].arrive_s - w->job[k - 1].arrive_s;
        e.job[i] = w->job[(int)(draw(c) * w->n)];
        e.job[i].arrive_s = at;
        e.job[i].deadline_s = INFINITY;
        e.job[i].nafter = 0;
    }
    return e;
}

/* The usual size of a job: its logarithm's mean, since sizes differ by orders of magnitude. */
static double usual_size_s(const struct hps_workload *w)
{
    double sum = 0;

    for (int i = 0; i < w->n; i++) {
        double longest = 0;
        for (int c = 0; c < w->job[i].nconfig; c++)
            longest = fmax(longest, w->job[i].config[c].seconds);
        sum += log(longest + 1e-9) / w->n;
    }
    return exp(sum);
}

/* The mean completion time of some jobs; INFINITY: not all ended. */
static double simulate(const struct school *c, const struct hps_workload *jobs, double *end_s)
{
    struct hps_simulation own = *c->s;
    struct hps_job_outcomes *o = NULL;
    double mean = INFINITY;

    own.workload = jobs;
    if (hps_simulate(&own, &o) == HPS_OK) {
        struct hps_job_figures f = hps_outcomes_figures(o);
        if (f.ended == jobs->n) mean = f.mean_jct_s;
        *end_s = f.makespan_s;
    }
    hps_outcomes_free(o);
    return mean;
}

/* The same jobs some times; taught, they would be the same. */
static void lesson(struct school *c, bool taught)
{
    struct hps_workload jobs = draw_jobs(c);
    struct hps_dl2_trainer *t = c->dl2->trainer;

    for (int e = 0; e < (taught ? 1 : HPS_DL2_TWINS); e++) {
        double end_s = 0;
        hps_dl2_trainer_episode(t, taught);
        simulate(c, &jobs, &end_s);
        hps_dl2_trainer_end(t, end_s);
    }
    hps_dl2_trainer_learn(t);
    hps_mem_free(jobs.job);
}

/* The mean completion time of jobs that it does not learn from. */
static double judged(const struct school *c)
{
    struct school exam = { .dl2 = c->dl2, .s = c->s, .key = hps_rng_sub(c->key, 1) };
    struct hps_dl2_trainer *learns = c->dl2->trainer;
    double sum = 0, end_s;

    c->dl2->trainer = NULL;
    for (int e = 0; e < LOOKS; e++) {
        struct hps_workload jobs = draw_jobs(&exam);
        sum += simulate(&exam, &jobs, &end_s) / LOOKS;
        hps_mem_free(jobs.job);
    }
    c->dl2->trainer = learns;
    return sum;
}

/* All lessons; the best network on the way is in dl2 then. */
static void attend(struct school *c, int taught, int tried)
{
    struct hps_dl2_net *best = hps_dl2_net_new(0);
    int all = taught + (tried + HPS_DL2_TWINS - 1) / HPS_DL2_TWINS;
    double least = INFINITY;

    for (int e = 0; e < all; e++) {
        lesson(c, e < taught);
        if (e + 1 < taught || ((e + 1 - taught) % BETWEEN != 0 && e + 1 < all)) continue;
        double mean = judged(c);
        if (mean < least)
            hps_dl2_net_copy(best, c->dl2->net);
        else if (mean > least * WORSE)
            hps_dl2_net_copy(c->dl2->net, best);
        least = fmin(least, mean);
    }
    if (isfinite(least)) hps_dl2_net_copy(c->dl2->net, best);
    hps_dl2_net_free(best);
}

struct hps_dl2 *hps_dl2_learn(const struct hps_workload *w, const struct hps_job_pool *pool,
                              double restart_s, const struct hps_policy_facts *facts)
{
    static const struct hps_policy learner = { .name = "dl2", .decide = hps_dl2_decide };
    struct hps_dl2 *dl2 = hps_mem_new(1, sizeof *dl2);
    struct hps_policy_facts own = *facts;
    struct hps_simulation s = { .workload = w, .pool = pool, .policy = &learner, .facts = &own,
                                .restart_s = restart_s };
    struct school c = { .dl2 = dl2, .s = &s,
                        .key = hps_rng_key((uint64_t)facts->opt.dl2_seed, "dl2") };

    dl2->net = hps_dl2_net_new(hps_rng_sub(c.key, 0));
    dl2->size_s = usual_size_s(w);
    dl2->trainer = hps_dl2_trainer_new(dl2->net, FADE * dl2->size_s, hps_rng_sub(c.key, 2));
    own.dl2 = dl2;
    attend(&c, facts->opt.dl2_taught, facts->opt.dl2_tried);
    hps_dl2_trainer_free(dl2->trainer);
    dl2->trainer = NULL;
    return dl2;
}

void hps_dl2_free(struct hps_dl2 *dl2)
{
    if (!dl2) return;
    hps_dl2_net_free(dl2->net);
    hps_mem_free(dl2);
}
