/* lab.h - what the programs share that try methods on random problems. */
#ifndef HPS_PERF_LAB_H
#define HPS_PERF_LAB_H

#include "plan/sched.h"

/* Seconds of the processor so far. Local. */
double lab_cpu_s(void);

/* A number of /proc/self/io: "read_bytes" that this process has made disks read. NAN: unknown. */
double lab_io(const char *key);

/* The median of x (n), which is sorted. NAN: n is 0. */
double lab_median(double *x, int n);

/* The options of a method as the deck has them by default, but for no limit on seconds and so many
 * plans; and a problem of them with the profile's own limit. Borrows method, p and opt. Pure. */
struct hps_sched_opt lab_options(const char *method, long long evaluations);
struct hps_problem lab_problem(const struct hps_profile *p, const struct hps_sched_opt *opt);

/* The options' budget: a number of plans, or of seconds with an s behind it. */
void lab_budget(struct hps_sched_opt *opt, const char *budget);

/* The plan of the method that opt names; NULL: it found none, or refused. Caller frees. */
struct hps_plan *lab_search(const struct hps_profile *p, const struct hps_sched_opt *opt);

#endif
