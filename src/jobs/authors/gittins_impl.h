/* gittins_impl.h - Gittins' index of a job by the service that it attained, from a distribution of
 * other jobs' services, as Tiresias' simulator computes it (run_sim.py, cal_r_gittins_index).
 *
 * Of n sorted samples S, with i the first above a, j the first above a + D (D = 3250):
 *   P = (j - i) / (n - i),   E = (sum of S_i .. S_(j-1) + D (n - j)) / (n - i),   index = 1e6 P / E
 * P and E are rounded to 5 decimals, the index to 4. */
#ifndef HPS_JOBS_GITTINS_IMPL_H
#define HPS_JOBS_GITTINS_IMPL_H

#include "jobs/policy.h"

struct hps_gittins;
/* HPS_DECK, said: there are no samples. */
enum hps_status hps_gittins_new(struct hps_gittins **g, const char *policy,
                                const struct hps_policy_facts *facts);
void hps_gittins_free(struct hps_gittins *g); /* NULL is fine */
/* The index of a job that attained so much: that of the first sample above; 0 beyond the last. */
double hps_gittins_rank(const struct hps_gittins *g, double attained);

#endif
