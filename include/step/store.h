/* store.h - the tables that this run's stages read: who holds them, which of them share a route. */
#ifndef HPS_STEP_STORE_H
#define HPS_STEP_STORE_H

#include "base/deck.h"
#include "comm/team.h"
#include "ps/ps.h"
#include "ps/staging.h"

/* deck: storage */
struct hps_storage_opt {
    int servers;
    double gpu_memory, host_memory;
    const char *file;
};
extern const struct hps_field hps_storage_fields[];

/* One table at a member: its shard, its store, the group of tables with the same mapping from ids
 * to rows. */
struct hps_store_table {
    int index; /* into net->table              */
    int group;
    int stage; /* the first of mine that reads it: with its forward the rows must have come */
    struct hps_table *table;
    struct hps_ps *ps;
};

/* Tables of one mapping: the same members, and on each rank layers that read the same slots in the
 * same way. */
struct hps_store_group {
    MPI_Comm comm; /* the members; owned            */
    struct hps_shm *near; /* who of them shares memory with me; or NULL */
    long long rows;
    int nlayer;                     /* layers of my stages that read a table of this group ... */
    const struct hps_layer **layer; /* ... one per distinct mapping; (nlayer) */
    bool index;                     /* one of mine does not read its bags by row */
    bool sums;                      /* owners give sums of rows, not rows        */
    int told;                       /* hps_request_use.told, of one route at a time */
    struct hps_tier *tier;          /* of a device without room for all rows, with ... */
    struct hps_staging *warm;       /* ... who brings those of a step; else both NULL  */
    const struct hps_request_step *step; /* taken last                                   */
};

struct hps_store {
    int ntable, ngroup; /* those I am a member of        */
    struct hps_store_table *table;
    struct hps_store_group *group;
    int *layer_table; /* (L) index into table for layers of my stages, -1 otherwise */
    int *layer_bag;   /* (L) place in the group's layer list: which bag          */
};

/* Collective over team->world. Errors (a shard too large, wishes of layers that cannot be met) are
 * shared. */
enum hps_status hps_store_new(struct hps_store **store, const struct hps_net *net,
                              const struct hps_plan *plan, const struct hps_team *team,
                              struct hps_dev *dev, const struct hps_train_opt *opt,
                              const struct hps_storage_opt *storage, uint64_t seed);
/* A step's routes (ngroup) are at hand: each group's `step` is as its tables have it. Local. */
void hps_store_take(struct hps_store *store, const struct hps_request_step *const *route);
/* On a device with room for some of its rows: those that steps needed so far, those of them that
 * were there, bytes moved. Local. */
struct hps_store_moves {
    double asked, hits, bytes;
};
struct hps_store_moves hps_store_moved(const struct hps_store *store);
/* Collective over team->world; NULL is fine. */
void hps_store_free(struct hps_store *store);

#endif
