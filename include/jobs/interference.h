/* interference.h - how much slower a job is beside another on the same node: memory and links that
 * both use.
 *
 * The share of its speed alone that a kind of job keeps beside another is measured, or where it
 * was not, predicted from what was: exp(-s p) with how sensitive the one is and how much pressure
 * the other puts on what they share, both by least squares over the logarithms of measured pairs.
 */
#ifndef HPS_JOBS_INTERFERENCE_H
#define HPS_JOBS_INTERFERENCE_H

#include "base/status.h"
#include "jobs/job_pool.h"

struct hps_interference {
    int T, n;                   /* types of the pool; kinds of jobs                        */
    char **model;               /* (n) their names, ascending                              */
    double *share;              /* (T, n, n) of row beside column: over 0, at most 1       */
    int *measured;              /* (T) pairs                                               */
    double *error;              /* (T) mean of |predicted - measured| of every second pair,
                                   predicted from the others; NAN: there are no pairs      */
};

/* From a table of pairs as Gavel's authors publish it. HPS_INPUT; HPS_DECK, said. Local. */
enum hps_status hps_interference_load(struct hps_interference **x, const char *path,
                                      const struct hps_job_pool *pool);
void hps_interference_free(struct hps_interference *x); /* NULL is fine */

/* The kind of this name; -1: it is not known. Pure. */
int hps_interference_model(const struct hps_interference *x, const char *name);
/* 1 where x is NULL or a kind is -1. Pure. */
double hps_interference_share(const struct hps_interference *x, int type, int model, int beside);
/* Fills what is NAN in the shares (n, n) of one type by prediction. Pure. */
void hps_interference_predict(double *share, int n);

#endif
