/* maxmin.h - fractions of time on each type of a pool, so that the job that is worst off is as well
 * off as can be (Gavel, Narayanan et al., OSDI'20: least attained service as max-min). */
#ifndef HPS_JOBS_MAXMIN_H
#define HPS_JOBS_MAXMIN_H

#include "jobs/decide.h"

/* The configuration in which a job runs on each type: (T) the one with as many units as it asked
 * for, -1: none; a job that asked for several types has that one alone, on the first of them.
 * Pure. */
void hps_job_on_types(const struct hps_job_view *view, int i, int *config);

/* X (n, T) [out], such that the least of all jobs' sum over t of X speed units / (priority speed on
 * equal shares of all types) is the most that is possible with sum over t of X <= 1 for each job
 * and units X <= units of the pool for each type; returns it. With one type those that can have
 * more without taking from others that have less do. Jobs of equal speeds have equal fractions;
 * where there are very many different ones, similar speeds count as equal. Pure. */
double hps_job_maxmin(const struct hps_job_view *view, double *x);

#endif
