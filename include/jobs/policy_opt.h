/* policy_opt.h - the parameters of policies, as the section `pool` of a list of jobs has them: what
 * all have in common, and a mapping under the name of each policy that has its own. */
#ifndef HPS_JOBS_POLICY_OPT_H
#define HPS_JOBS_POLICY_OPT_H

#include <stdbool.h>

#include "base/deck.h"
#include "jobs/objective.h"

enum { HPS_POLICY_QUEUES = 16 };

struct hps_policy_opt {
    enum hps_objective objective;
    double lease_s;             /* a configuration is kept so long; INFINITY: by the restart   */
    double rho_max;             /* no job waits for longer than this allows; 0: any job does    */
    double quantum_s;           /* policies that take turns look again after so long            */

    bool conservative;          /* backfill: nobody in the queue is delayed, not only its head  */

    int nqueue;                 /* tiresias: its queues but the last, and where each ends       */
    double queue[HPS_POLICY_QUEUES];
    bool by_units;              /* unit-seconds count, not seconds                              */
    double promote;             /* up again after waiting so many times what it ran; 0: never   */
    double tick_s;              /* looks at its queues so often; 0: when a job leaves its own   */

    int dl2_taught, dl2_tried;  /* dl2: episodes in which it learns, by others and by itself    */
    int dl2_seed;

    double gittins_delta;       /* unit-seconds that the index looks ahead; 0: the best of all  */
};

/* All at their defaults. Pure. */
struct hps_policy_opt hps_policy_opt_preset(void);
/* From the section `pool` of a deck (item NULL: defaults). `skip` (NULL-terminated, or NULL) names
 * the keys of it that the caller binds. HPS_DECK with one message: wrong values, unknown keys. */
enum hps_status hps_policy_opt_bind(struct hps_policy_opt *opt, const struct hps_deck *deck,
                                    const struct hps_item *item, const char *const *skip);
/* The keys that it binds, NULL-terminated, for a caller that binds the others. */
const char *const *hps_policy_opt_keys(void);
/* The section's part of a reference deck or a manual page. */
void hps_policy_opt_print(enum hps_deck_form form);

#endif
