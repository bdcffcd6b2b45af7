/* memory.h - what the units of a stage must hold, and how many of them hold it.
 *
 * One of k units of layers i..j:
 *     need = sum over i..j of (weight_bytes + state_bytes) / (k where it has a table, else 1)
 * since rows of tables (hps_profile_has_table) are dealt to the units and dense layers are whole on
 * each. Enough is need <= memory_bytes * (1 + 1e-9); a type that does not say what it has holds
 * everything. The need never rises with k, so there is a least k. */
#ifndef HPS_PLAN_MEMORY_H
#define HPS_PLAN_MEMORY_H

#include <limits.h>
#include <stdbool.h>

#include "plan/profile.h"

#define HPS_MEMORY_NEVER LLONG_MAX      /* units: no number of them is enough */

struct hps_memory { double whole, rows; };      /* bytes that each unit holds; that all hold */

/* Of layers i..j. Pure. */
struct hps_memory hps_memory_of(const struct hps_profile *p, int i, int j);
void hps_memory_add(struct hps_memory *m, const struct hps_profile_layer *y);

static inline double hps_memory_need(struct hps_memory m, double k)
{
    return m.whole + m.rows / k;
}

/* The least units of type t that hold m, HPS_MEMORY_NEVER where none do. Pure. */
long long hps_memory_min_units(const struct hps_profile *p, int t, struct hps_memory m);

/* Do layers i..j need more than a unit of type t has, on so many of its units? Then `text` says so.
 * Pure. */
bool hps_memory_lacks(const struct hps_profile *p, int i, int j, int t, long long units,
                      char *text, size_t size);
/* Is there a layer that no type can hold with all the units that it may have? Then `text` says
 * which, and what it needs of the type that comes nearest. Nothing measured is asked for. Pure. */
bool hps_memory_unplaceable(const struct hps_profile *p, char *text, size_t size);

/* Bytes that each of k units of type t may have of old rows while a checkpoint is written behind
 * the training: half of its rows, but no more than half of what m leaves of its memory; on a GPU
 * all its rows, in the host's memory. Pure. */
double hps_memory_snapshot(const struct hps_profile *p, int t, struct hps_memory m, double k);

#endif
