/* generate.h - the deck's section `generate`: the shape of synthetic data. */
#ifndef HPS_APP_GENERATE_H
#define HPS_APP_GENERATE_H

#include "base/deck.h"

struct hps_shape_opt {
    int dense, slots;
    struct hps_list buckets, ids;       /* one number for all slots, or one a slot */
    const char *lengths;                /* varied|even */
    bool alike;
    double zipf, window, positives, strength;
    long long drift;
};
extern const struct hps_field hps_shape_fields[];

#endif
