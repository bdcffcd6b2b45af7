/* list.h - LIST: the deck of the jobs that share a pool, what each trains, when it arrives, and
 * which jobs it waits for. A sweep stands for a job of each combination of its values. */
#ifndef HPS_JOBS_LIST_H
#define HPS_JOBS_LIST_H

#include "base/deck.h"
#include "jobs/policy_opt.h"

struct hps_list_pool_opt {
    const char *name, *directory, *policy;      /* directory "": pools/NAME            */
    double horizon_seconds;
    struct hps_policy_opt policies;     /* not in the table below */
};
extern const struct hps_field hps_list_pool_fields[];

/* Times are seconds from the pool's start. */
struct hps_list_job {
    char *name;                 /* of this job alone, fit to name a folder                     */
    const char *sweep;          /* the sweep that it is of; NULL: none                         */
    const char *early;          /* how that ends losers early                                  */
    int early_steps;
    const char *deck;           /* the path of its deck                                        */
    int nset;
    char **set;                 /* (nset) "KEY=VALUE", as the option --set takes it            */
    double arrive_s, deadline_s, priority;  /* deadline: INFINITY: none                        */
    int min_units, max_units;   /* of all types together; INT_MAX: no limit                    */
    int nafter, *after;         /* (nafter) the jobs that must have ended before it starts     */
    const struct hps_item *item;    /* in the deck, for messages                               */
};

struct hps_job_list {
    struct hps_deck *deck;      /* owns the texts that are const above                         */
    struct hps_list_pool_opt pool;
    int n;
    struct hps_list_job *job;   /* (n) in the order of the deck, those of sweeps behind        */
};

/* Load, with settings (nset) "KEY=VALUE", and check all that does not need the jobs' own decks:
 * names, `after` that names no job or goes in a circle, a deadline before the arrival. HPS_INPUT,
 * HPS_DECK, with one message that begins with file, line and column. Local. */
enum hps_status hps_job_list_load(struct hps_job_list **list, const char *path, int nset,
                                  char *const *set);
void hps_job_list_free(struct hps_job_list *list); /* NULL is fine */

/* Does each job's deck pass its own check? A child checks it, `heterps train DECK --check`, with
 * its settings; of the members of a sweep, and of jobs of one deck without settings, the first one
 * so, the keys alone of the others. One message that names job and error, and the child's status.
 * Local; it takes seconds. */
enum hps_status hps_job_list_check_decks(const struct hps_job_list *list);

/* The directory of the pool, to free with hps_mem_free. Pure. */
char *hps_job_list_directory(const struct hps_job_list *list);

/* The reference of a list and of a pool (jobs/job_pool.h) as decks: inputs/jobs/reference.yaml, or
 * the manual page heterps-jobs(5). On standard output. */
void hps_job_list_print_reference(enum hps_deck_form form);

#endif
