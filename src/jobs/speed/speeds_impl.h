/* speeds_impl.h - what the sources of speeds share. */
#ifndef HPS_JOBS_SPEEDS_IMPL_H
#define HPS_JOBS_SPEEDS_IMPL_H

#include <stdint.h>

#include "base/deck.h"
#include "jobs/correction.h"
#include "jobs/job_pool.h"
#include "jobs/list.h"
#include "plan/profile.h"

/* What of a job's deck, with its settings, says how fast it is. */
struct hps_speed_deck {
    struct hps_deck *deck;
    char *profile;              /* schedule.profile; NULL: none                              */
    char *run;                  /* its own run directory                                     */
    uint64_t hash;              /* of all that its profile depends on                        */
    long long batch, epochs, steps;
    int microbatches, workers;
};

/* HPS_INPUT, HPS_DECK, said. Local. */
enum hps_status hps_speed_deck_load(struct hps_speed_deck *d, const struct hps_list_job *job);
void hps_speed_deck_done(struct hps_speed_deck *d);
/* Was the run of that directory of a deck with this hash? Local. */
bool hps_speed_deck_ran(const struct hps_speed_deck *d, const char *directory);
/* The most units of each of the profile's types by the deck's resources, into limit (p->T); 0: no
 * limit. HPS_DECK, said. */
enum hps_status hps_speed_deck_limits(const struct hps_speed_deck *d, const struct hps_profile *p,
                                      long long *limit);
/* Examples of the whole run on a data set of N. Pure. */
double hps_speed_deck_examples(const struct hps_speed_deck *d, double N);

/* What a run's directory says of it. */
struct hps_speed_run {
    double left;                /* the share of its steps behind its last checkpoint; 1: all */
    double ratio;               /* measured seconds of a step over the promised; 0: unknown   */
    double example_s;           /* measured seconds for an example; 0: unknown                */
    double rows;                /* of its data set                                            */
    int nparts;                 /* types of its plan; 0: unknown, or more than there may be   */
    struct hps_speed_run_part {
        char *type;
        int units;
        double usd_hour;
    } part[HPS_CONFIG_TYPES];
};
/* Nothing is said where the directory has nothing, or half of it. Local. */
struct hps_speed_run hps_speed_run_read(const char *directory);
void hps_speed_run_done(struct hps_speed_run *run);
/* The units that it ran on, as a configuration of the pool with the seconds of an example; without
 * parts where the pool lacks a type. Pure. */
struct hps_job_config hps_speed_run_config(const struct hps_speed_run *run,
                                           const struct hps_job_pool *pool);

#endif
