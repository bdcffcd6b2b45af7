/* policy.h - the list of policies: who gets which units of a shared pool, and when.
 *
 * A policy is one file and one line of the list. Most decide (jobs/decide.h), here and in a real
 * pool alike. Those with a dot in their name are what authors of published schedulers simulate
 * themselves: they have their authors' own loop over events, with its rounding, so that their
 * figures come out again; a real pool cannot have them. */
#ifndef HPS_JOBS_POLICY_H
#define HPS_JOBS_POLICY_H

#include "base/status.h"
#include "jobs/decide.h"
#include "jobs/outcome.h"
#include "jobs/policy_opt.h"

struct hps_dl2;

/* What policies learn from elsewhere, and their parameters. */
struct hps_policy_facts {
    int nsample;
    const double *sample;       /* (nsample) unit-seconds of jobs that ran before, ascending */
    double restart_s;           /* of authors' simulators that have one; NAN: theirs         */
    struct hps_pollux_facts *pollux;    /* NULL: none                                        */
    struct hps_policy_opt opt;
    const struct hps_dl2 *dl2;  /* what dl2 learned (jobs/dl2.h); NULL: it has not       */
};

struct hps_policy {
    const char *name, *help;
    bool needs_samples;         /* of facts: without them it decides nothing           */
    bool learns;                /* facts->dl2 must be set; hps_simulate sees to it      */
    /* All units of the decision fit the pool at once. Pure. */
    void (*decide)(struct hps_job_view *view, const struct hps_policy_facts *facts,
                   struct hps_job_decision *d);
    /* Instead: the whole course of events. HPS_DECK, said, where the workload is none for it. */
    enum hps_status (*simulate)(const struct hps_workload *w, const struct hps_job_pool *pool,
                                const struct hps_policy_facts *facts, struct hps_job_outcomes *o);
};

/* By its name; NULL: there is none. By its place in the list; NULL: behind the last. */
const struct hps_policy *hps_policy_find(const char *name);
const struct hps_policy *hps_policy_at(int i);
/* Their names, "a|b|c". */
const char *hps_policy_words(void);

#endif
