/* draw.h - the numbers of a drawn case, one after the other. */
#ifndef HPS_TESTS_DRAW_H
#define HPS_TESTS_DRAW_H

#include "base/rng.h"

struct draw {
    uint64_t key, next;
};

/* From min to max. */
static inline double draw_real(struct draw *d, double min, double max)
{
    return min + (max - min) * hps_rng_real(d->key, d->next++);
}

static inline int draw_whole(struct draw *d, int min, int max)
{
    return min + (int)hps_rng_below(d->key, d->next++, (uint64_t)(max - min + 1));
}

#endif
