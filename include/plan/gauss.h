/* gauss.h - a Gaussian process over assignments of types to layers: what a plan not priced yet may
 * cost, and how sure that is.
 *
 * Two plans are alike as exp(-a * H - b * D): H, the share of the layers (by weight) that are on
 * different types; D, the share of the boundaries where one plan changes the type and the other
 * does not. a and b are those of a small grid under which the values are likeliest; the height
 * follows from the values. */
#ifndef HPS_PLAN_GAUSS_H
#define HPS_PLAN_GAUSS_H

#include <stdbool.h>

struct hps_gauss;

/* Room for `most` plans of L layers. weight (L) of each layer, positive, sums to 1; copied. Caller
 * frees. */
struct hps_gauss *hps_gauss_new(int L, int most, const double *weight);
void hps_gauss_free(struct hps_gauss *g);

/* One more plan, type (L), copied; false, and nothing is done, when it is there already or there is
 * no room. Its value is asked for by the next solve. */
bool hps_gauss_add(struct hps_gauss *g, const int *type);
int hps_gauss_count(const struct hps_gauss *g);
const int *hps_gauss_plan(const struct hps_gauss *g, int i);    /* (L), borrowed */

/* Only the n plans keep[0] < keep[1] < ... stay, in this order. */
void hps_gauss_keep(struct hps_gauss *g, int n, const int *keep);

/* Choose a and b anew for these values (count). Before the first solve, and when it pays. */
void hps_gauss_fit(struct hps_gauss *g, const double *value);

/* Take these values (count) as those of the plans. */
void hps_gauss_solve(struct hps_gauss *g, const double *value);

/* Of n more plans, type (n, L): what their values should be, and the standard deviation of that
 * (0 for a plan that is there). mean, deviation (n) [out]. After a solve. */
void hps_gauss_predict(struct hps_gauss *g, int n, const int *type, double *mean,
                       double *deviation);

#endif
