/* facts.h - what policies know of jobs that ran elsewhere: the services that the Gittins index is
 * made of; what Pollux' simulator knows of its applications. */
#ifndef HPS_JOBS_FACTS_H
#define HPS_JOBS_FACTS_H

#include <stddef.h>

#include "jobs/policy.h"

/* How the work of a model is spread over its epochs. */
struct hps_pollux_epochs {
    char *model;
    int n;
    double *until;              /* (n) the share that is done at the end of each, up to 1     */
};

/* Seconds of a step where a job's GPUs are on several nodes: "13" is one and three. */
struct hps_pollux_placement {
    char *model, *placement;
    double step_s;
};

struct hps_pollux_facts {
    size_t nepochs, epochs_cap, nplacement, placement_cap;
    struct hps_pollux_epochs *epochs;           /* (nepochs)    */
    struct hps_pollux_placement *placement;     /* (nplacement) */
};

/* From FOLDER/inputs/jobs (NULL: there is no such folder; then policies that need facts say so).
 * HPS_INPUT, HPS_DECK, said. Local. */
enum hps_status hps_policy_facts_load(struct hps_policy_facts **facts, const char *folder);
void hps_policy_facts_free(struct hps_policy_facts *facts); /* NULL is fine */

#endif
