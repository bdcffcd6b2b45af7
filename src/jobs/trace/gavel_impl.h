/* gavel_impl.h - Gavel's table of speeds (scheduler/simulation_throughputs.json): by type, by kind
 * of job and its GPUs, steps a second alone ("null") and beside another kind on the same GPUs (a
 * pair: its own, the other's). */
#ifndef HPS_JOBS_GAVEL_IMPL_H
#define HPS_JOBS_GAVEL_IMPL_H

#include <jansson.h>
#include <stdbool.h>

#include "base/status.h"

enum { HPS_GAVEL_TYPES = 3 };
extern const char *const hps_gavel_types[HPS_GAVEL_TYPES];

/* A key like "('ResNet-18 (batch size 16)', 1)". */
struct hps_gavel_key {
    const char *name;           /* inside the key */
    int nname, units;
};
bool hps_gavel_key(struct hps_gavel_key *key, const char *text);

/* The tree, to free with json_decref. HPS_INPUT; HPS_DECK, said: it has not the types. */
enum hps_status hps_gavel_load(json_t **tree, const char *path);

#endif
