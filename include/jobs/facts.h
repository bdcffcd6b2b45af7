/* facts.h - what policies know of jobs that ran elsewhere: the services that the Gittins index is
 * made of. */
#ifndef HPS_JOBS_FACTS_H
#define HPS_JOBS_FACTS_H

#include "jobs/policy.h"

/* From FOLDER/inputs/jobs (NULL: there is no such folder; then policies that need facts say so).
 * HPS_INPUT, HPS_DECK, said. Local. */
enum hps_status hps_policy_facts_load(struct hps_policy_facts **facts, const char *folder);
void hps_policy_facts_free(struct hps_policy_facts *facts); /* NULL is fine */

#endif
