/* memory.h - how much memory the units of a stage need, and how many units hold the stage.
 *
 * Each of the k units of a stage of layers i..j, those of all workers, needs
 *     need = sum over i..j of (weight_bytes + state_bytes) / (k where it has a table, else 1)
 * since the rows of tables (hps_profile_has_table) are distributed over the units, while dense
 * layers are replicated on each; of rows at most what a unit has in memory, where others are in a
 * file, which no GPU may have. It suffices that need <= memory_bytes * (1 + 1e-9); a type of
 * unknown memory holds everything. The need never rises with k, so there is a smallest k. */
#ifndef HPS_PLAN_MEMORY_H
#define HPS_PLAN_MEMORY_H

#include <limits.h>
#include <stdbool.h>

#include "plan/profile.h"

#define HPS_MEMORY_NEVER LLONG_MAX /* no number of units is enough       */

struct hps_memory {
    double whole, rows; /* bytes replicated on each unit; distributed over all units */
    double max;         /* of rows, in the memory of a unit; 0: all                  */
};

/* Of layers i..j; add: of layer l, too. Pure. */
struct hps_memory hps_memory_of(const struct hps_profile *p, int i, int j);
void hps_memory_add(struct hps_memory *m, const struct hps_profile *p, int l);
/* Where there are dedicated servers, the units of stages have no rows: they are distributed over
 * the servers. Where workers are not synchronous each server has the dense weights as well, and
 * for each worker a copy of its share of them, and of their gradients. 0: there are no servers.
 * Pure. */
struct hps_memory hps_memory_served(const struct hps_profile *p);
/* The fewest servers of type t that hold that. Pure. */
long long hps_memory_min_servers(const struct hps_profile *p, int t);
/* Do the servers need more memory than a unit of their type has, or has no type enough units for
 * them? Then `text` says so. Pure. */
bool hps_memory_servers_lack(const struct hps_profile *p, char *text, size_t size);

static inline double hps_memory_need(struct hps_memory m, double k)
{
    double rows = m.rows / k;

    return m.whole + (m.max > 0 && m.max < rows ? m.max : rows);
}

/* The fewest units of type t that hold m, HPS_MEMORY_NEVER where no number of them does. Pure. */
long long hps_memory_min_units(const struct hps_profile *p, int t, struct hps_memory m);

/* Do layers i..j on so many units of type t need more memory than a unit has? Then `text` says so.
 * Pure. */
bool hps_memory_lacks(const struct hps_profile *p, int i, int j, int t, long long units,
                      char *text, size_t size);
/* Is there a layer that no type can hold with all the units that it may have? Then `text` names
 * it, and what it needs of the type that comes closest. Reads nothing that is measured. Pure. */
bool hps_memory_unplaceable(const struct hps_profile *p, char *text, size_t size);

/* Bytes of old rows that each of k units of type t may hold while a checkpoint is written during
 * training (the copy-on-write snapshot): half of its rows, but at most half of the memory that m
 * leaves; on a GPU all of its rows, in the memory of the host. Pure. */
double hps_memory_snapshot(const struct hps_profile *p, int t, struct hps_memory m, double k);

#endif
