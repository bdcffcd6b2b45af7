/* policy_tiresias.c - queues by attained service (Gu et al., NSDI'19): jobs of an earlier queue
 * come first, in a queue in the order of arrival; a job goes to the next queue when its service
 * reaches the end of its own, and back to the first when it waited long. Each has what it asked
 * for.
 *
 * note[0]: its service when it was last put into the first queue. */
#include <math.h>

#include "base/mem.h"
#include "jobs/policy.h"

#define CLOSE 1e-9              /* a service that was reached but for rounding */

static double attained(const struct hps_job_state *j, const struct hps_policy_opt *opt)
{
    return (opt->by_units ? j->unit_s : j->ran_s) - j->note[0];
}

static int queue_of(const struct hps_job_state *j, const struct hps_policy_opt *opt)
{
    int q = 0;

    while (q < opt->nqueue && attained(j, opt) >= opt->queue[q] * (1 - CLOSE))
        q++;
    return q;
}

/* When a waiting job has waited long enough for the first queue. */
static double promoted_s(const struct hps_job_state *j, const struct hps_policy_opt *opt)
{
    bool can = opt->promote > 0 && j->config < 0 && j->ran_s > 0 && queue_of(j, opt) > 0;

    return can ? j->since_s + opt->promote * j->ran_s : INFINITY;
}

/* When a running job has served its queue. */
static double demoted_s(const struct hps_job_view *view, int i, int config,
                        const struct hps_policy_opt *opt)
{
    const struct hps_job_state *j = &view->job[i];
    int q = queue_of(j, opt), units = hps_config_units(hps_job_config_of(j, config));

    if (q == opt->nqueue) return INFINITY;
    return view->now_s + (opt->queue[q] - attained(j, opt)) / (opt->by_units ? units : 1);
}

static double next_look(const struct hps_job_view *view, const struct hps_policy_opt *opt,
                        const struct hps_job_decision *d)
{
    double next = INFINITY;

    for (int i = 0; i < view->n; i++) {
        const struct hps_job_state *j = &view->job[i];
        double change = d->config[i] >= 0 ? demoted_s(view, i, d->config[i], opt)
                                          : promoted_s(j, opt);
        next = fmin(next, change);
    }
    if (opt->tick_s > 0 && isfinite(next))
        next = fmax(ceil(next / opt->tick_s), floor(view->now_s / opt->tick_s) + 1) * opt->tick_s;
    return next;
}

static void decide(struct hps_job_view *view, const struct hps_policy_facts *facts,
                   struct hps_job_decision *d)
{
    const struct hps_policy_opt *opt = &facts->opt;
    double *key = hps_mem_new((size_t)view->n, sizeof *key);

    for (int i = 0; i < view->n; i++) {
        struct hps_job_state *j = &view->job[i];
        if (promoted_s(j, opt) <= view->now_s) j->note[0] = opt->by_units ? j->unit_s : j->ran_s;
        key[i] = queue_of(j, opt);
    }
    hps_job_give_asked(view, key, true, d);
    d->wake_s = next_look(view, opt, d);
    hps_mem_free(key);
}

const struct hps_policy hps_policy_tiresias = { .name = "tiresias",
                                                .help = "queues by attained service",
                                                .decide = decide };
