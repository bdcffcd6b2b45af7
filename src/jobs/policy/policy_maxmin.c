/* policy_maxmin.c - rounds after the fractions of time of jobs/maxmin.h (Gavel): the job and type
 * with the largest fraction over what it received of it so far first; what is left over goes to
 * those that received least. A job keeps what it has for a round, with as many units as it asked
 * for. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "jobs/maxmin.h"
#include "jobs/policy.h"

#define NONE 1e-6               /* of a fraction that was not received at all */

/* A job on a type. */
struct claim {
    int job, config;
    double key;
};

static int larger(const void *a, const void *b)
{
    const struct claim *x = a, *y = b;

    if (x->key != y->key) return x->key > y->key ? -1 : 1;
    return x->job != y->job ? x->job - y->job : x->config - y->config;
}

static double received(const struct hps_job_view *view, int i, int config)
{
    const struct hps_job_state *j = &view->job[i];
    double age = view->now_s - j->job->arrive_s;

    return age > 0 && j->config_s ? fmax(j->config_s[config] / age, NONE) : NONE;
}

/* What is left over: last, by what was received in all. */
static double late(const struct hps_job_view *view, int i)
{
    double age = view->now_s - view->job[i].job->arrive_s;

    return -1 - (age > 0 ? view->job[i].ran_s / age : 0);
}

static int claims_of(const struct hps_job_view *view, struct claim *claim)
{
    int T = view->pool->T, n = 0, *config = hps_mem_new((size_t)T, sizeof *config);
    double *x = hps_mem_new((size_t)view->n * (size_t)T, sizeof *x);

    hps_job_maxmin(view, x);
    for (int i = 0; i < view->n; i++) {
        hps_job_on_types(view, i, config);
        for (int t = 0; t < T; t++) {
            double share = x[(size_t)i * (size_t)T + (size_t)t];
            if (config[t] < 0) continue;
            double key = share > NONE ? share / received(view, i, config[t]) : late(view, i);
            claim[n++] = (struct claim){ i, config[t], key };
        }
    }
    qsort(claim, (size_t)n, sizeof *claim, larger);
    hps_mem_free(x);
    hps_mem_free(config);
    return n;
}

/* Those whose round is not over. */
static void keep_running(const struct hps_job_view *view, double round_s,
                         struct hps_job_room *room, struct hps_job_decision *d)
{
    for (int i = 0; i < view->n; i++) {
        const struct hps_job_state *j = &view->job[i];
        bool keeps = j->config >= 0 && j->since_s + round_s > view->now_s;
        d->config[i] = keeps ? j->config : -1;
        if (keeps) hps_job_room_take(room, hps_job_config_of(j, j->config));
    }
}

/* When the first round ends, if anyone may want that. */
static double round_end(const struct hps_job_view *view, double round_s,
                        const struct hps_job_decision *d)
{
    double end = INFINITY;
    bool waits = view->pool->T > 1;

    for (int i = 0; i < view->n; i++) {
        const struct hps_job_state *j = &view->job[i];
        double begin = d->config[i] == j->config ? j->since_s : view->now_s;
        waits = waits || d->config[i] < 0;
        if (d->config[i] >= 0)
            end = fmin(end, begin + round_s > view->now_s ? begin + round_s
                                                          : view->now_s + round_s);
    }
    return waits ? end : INFINITY;
}

static void decide(struct hps_job_view *view, const struct hps_policy_facts *facts,
                   struct hps_job_decision *d)
{
    double round_s = facts->opt.quantum_s;
    struct hps_job_room room = hps_job_room_of(view->pool);
    struct claim *claim = hps_mem_new((size_t)view->n * (size_t)view->pool->T, sizeof *claim);

    keep_running(view, round_s, &room, d);
    int n = claims_of(view, claim);
    for (int k = 0; k < n; k++) {
        int i = claim[k].job;
        const struct hps_job_config *c = hps_job_config_of(&view->job[i], claim[k].config);
        if (d->config[i] < 0 && hps_job_room_take(&room, c)) d->config[i] = claim[k].config;
    }
    d->wake_s = round_end(view, round_s, d);
    hps_mem_free(claim);
    hps_job_room_done(&room);
}

const struct hps_policy hps_policy_maxmin = { .name = "maxmin",
                                              .help = "fair fractions of time, in rounds",
                                              .decide = decide };
