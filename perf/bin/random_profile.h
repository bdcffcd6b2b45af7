/* random_profile.h - random problems for the planner, as planner figures are stated: prices near
 * speed, so that mixing types pays, under limits from tight to none to speak of. */
#ifndef HPS_PERF_RANDOM_PROFILE_H
#define HPS_PERF_RANDOM_PROFILE_H

#include <stdint.h>

#include "plan/profile.h"

enum random_limits {
    RANDOM_TIGHT,       /* 1 to 16 units of a type                                           */
    RANDOM_LOOSE,       /* 4 to 480                                                          */
    RANDOM_CUT,         /* 4 to 480, lowered until the optimum breaks several, twice         */
    RANDOM_TIGHT_CUT    /* 1 to 16, lowered likewise                                         */
};

/* Their words: "tight", "loose", "cut", "tight-cut"; and back. False: no such word. Pure. */
extern const char *const random_words[];
bool random_limits_of(const char *word, enum random_limits *limits);

struct random_wish {
    int L, T;
    enum random_limits limits;
    int groups;         /* > 0: only so many unlike types, the others are their twins        */
    bool feasible;      /* lower a throughput limit that no plan (found in seconds) reaches  */
    bool engine;        /* with what a step costs beside its layers, for the engine's model  */
    bool memory;        /* some types are short of memory                                    */
    bool servers;       /* a dedicated server on one type                                    */
    uint64_t seed;
};

/* The same profile for the same wish, but for `feasible` and cuts, whose searches end on time where
 * the problem is large. The throughput limit is drawn from 0.5 to 1.25 of the best single type's
 * most. Caller frees. */
struct hps_profile *random_profile(const struct random_wish *wish);

#endif
