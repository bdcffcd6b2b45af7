/* list_impl.h - what the sources of a LIST share. */
#ifndef HPS_JOBS_LIST_IMPL_H
#define HPS_JOBS_LIST_IMPL_H

#include <stddef.h>

#include "jobs/list.h"

enum { HPS_LIST_JOBS = 100000 };        /* of a list, at most */

/* What an entry of `jobs` and one of `sweep` have in common. */
struct hps_list_entry {
    const char *name, *deck, *early;
    double arrive, deadline, priority;
    struct hps_list after;
    int early_steps;
    int min_units, max_units;
    const struct hps_item *item;
    struct hps_list_set {
        int n;
        char **text;            /* (n) "KEY=VALUE" */
    } set;
};

/* A list under work: what `after` of each job says, not yet looked up. */
struct hps_list_maker {
    struct hps_job_list *list;
    size_t cap;
    struct hps_list *after;     /* (list->n) */
    size_t after_cap;
};

/* One more job of an entry, with its settings and n more; takes `name` over. HPS_DECK, said: the
 * name cannot be one, or there are too many jobs. */
enum hps_status hps_list_add(struct hps_list_maker *m, const struct hps_list_entry *e, char *name,
                             const char *sweep, int n, char *const *more);
/* Every combination of an entry's `over`. HPS_DECK, said. */
enum hps_status hps_list_sweep(struct hps_list_maker *m, const struct hps_list_entry *e);
/* Names are unique, `after` names jobs or sweeps, and nobody waits for himself. HPS_DECK, said. */
enum hps_status hps_list_order(struct hps_list_maker *m);

#endif
