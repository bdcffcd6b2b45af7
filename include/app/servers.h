/* servers.h - which ranks the deck's dedicated parameter servers are. */
#ifndef HPS_APP_SERVERS_H
#define HPS_APP_SERVERS_H

#include "app/job.h"

/* The type of the pool that the servers of the deck's `storage` section are of: of a type that is
 * not named, the cheapest of CPUs that has as many ranks, or, where ranks are not `present`, as its
 * limit allows; -1 where the plan chooses it with their number. 0 where there are no servers.
 * HPS_DECK, said, where that cannot be. The same on all ranks. */
enum hps_status hps_job_server_type(int *type, const struct hps_job *j, bool present);

#endif
