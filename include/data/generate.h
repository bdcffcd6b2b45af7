/* generate.h - synthetic datasets whose best possible AUC is known: Zipf ids, normal features,
 * labels drawn from the probabilities of a hidden teacher.
 *
 * Row e depends on the seed and the shape alone, not on the range of rows written: other rows of
 * the same teacher make a test set. */
#ifndef HPS_DATA_GENERATE_H
#define HPS_DATA_GENERATE_H

#include "data/data.h"

struct hps_generate_opt {
    long long first, rows;          /* rows first..first+rows-1 of the teacher's                */
    int D, nslot;
    const char *const *dense_name;  /* (D), borrowed                                           */
    const char *const *slot_name;   /* (nslot)                                                 */
    const long long *buckets;       /* (nslot) ids are 0..buckets-1, scattered by a permutation */
    const double *bag;              /* (nslot) ids an example: 0 exactly one; else the mean of 0
                                       to twice as many                                         */
    bool even;                      /* always the mean, rounded, instead                        */
    bool alike;                     /* the slots have the same frequent ids with the same weights,
                                       for slots that share one table                           */
    double zipf;                    /* the k-th most frequent id of a slot has a share k^-zipf */
    long long drift;                /* not 0: of most ids, all alike frequent in a window that moves
                                       by its own length in so many examples                    */
    double window;                  /* share of a slot's ids in it                             */
    double positives;               /* share of labels 1                                       */
    double strength;                /* standard deviation of the teacher's log-odds            */
    uint64_t seed;
    const char *source;
};

/* Write a dataset (as PATH.part until it is whole) with the attribute `teacher_auc`: the AUC of the
 * teacher's own probabilities on these rows, or on every k-th where they are more than a million.
 * HPS_OUTPUT. Local. */
enum hps_status hps_generate(const char *path, const struct hps_generate_opt *opt,
                             double *teacher_auc);

#endif
