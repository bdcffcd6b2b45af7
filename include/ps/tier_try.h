/* tier_try.h - what a row takes of which memory has some only (ps/row_store.h), measured on a store
 * of its own with a scratch file: rows that are made, found, written and read, in steps as large as
 * those of a training, but of 2048 rows at most. */
#ifndef HPS_PS_TIER_TRY_H
#define HPS_PS_TIER_TRY_H

#include "ps/storage_opt.h"

struct hps_tier_try_opt {
    const struct hps_net *net;
    int ntable;
    const int *table;                   /* (ntable) of the net, that are requested together      */
    const struct hps_train_opt *train;
    const struct hps_storage_opt *storage;  /* how rows are kept, and the directory              */
    double asked;                       /* rows of a step                                        */
    bool spare;                         /* other threads have a core of their own                */
};

/* Seconds of the main thread for a row: that a step needs; beside that, made, read, written. Of a
 * row that is read also what other threads compute, but for a core that is spare, shared by the
 * device's threads. */
struct hps_tier_cost {
    double take_s, make_s, read_s, write_s;
};
/* About 0.3 s. The status of a store: HPS_OUTPUT where there can be no file. Local, on a host. */
enum hps_status hps_tier_try(struct hps_tier_cost *cost, const struct hps_tier_try_opt *opt,
                             struct hps_dev *dev);

#endif
