/* gauss.h - a Gaussian process over assignments of types to layers: predicts what a plan that was
 * not priced yet costs, and with what standard deviation.
 *
 * The correlation of two plans is exp(-a * H - b * D): H is the share of the layers (by weight)
 * that are on different types, D the share of the boundaries where one plan changes the type and
 * the other does not. a and b are chosen from a small grid by maximum likelihood; the variance
 * follows from the values. */
#ifndef HPS_PLAN_GAUSS_H
#define HPS_PLAN_GAUSS_H

#include <stdbool.h>

struct hps_gauss;

/* Memory for `max` plans of L layers. weight (L) of each layer is positive, sums to 1, and is
 * copied. Caller frees. */
struct hps_gauss *hps_gauss_new(int L, int max, const double *weight);
void hps_gauss_free(struct hps_gauss *g);

/* Add a plan, type (L), which is copied. Returns false, and does nothing, when the plan is there
 * already or there is no memory for it. The next solve needs its value. */
bool hps_gauss_add(struct hps_gauss *g, const int *type);
int hps_gauss_count(const struct hps_gauss *g);
const int *hps_gauss_plan(const struct hps_gauss *g, int i);    /* (L), borrowed */

/* Remove all plans but the n plans keep[0] < keep[1] < ..., which stay in this order. */
void hps_gauss_keep(struct hps_gauss *g, int n, const int *keep);

/* Choose a and b for these values (count): before the first solve, and whenever it pays. */
void hps_gauss_fit(struct hps_gauss *g, const double *value);

/* Condition the process on these values (count) of the plans. */
void hps_gauss_solve(struct hps_gauss *g, const double *value);

/* Predict the values of n more plans, type (n, L): mean and deviation (n) [out]. The deviation of
 * a plan that is in the process is 0. After a solve. */
void hps_gauss_predict(struct hps_gauss *g, int n, const int *type, double *mean,
                       double *deviation);

#endif
