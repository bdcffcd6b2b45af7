/* feature.h - the input of the policy network: for each layer and type some numbers of order 1
 * that describe how well the layer is placed on the type, compared with the other types, in stages
 * of any length, and how many layers compete for the type. No feature names a type or depends on
 * how many layers or types there are. Local, pure. */
#ifndef HPS_PLAN_FEATURE_H
#define HPS_PLAN_FEATURE_H

#include "plan/tau_grid.h"

#define HPS_FEATURES 22

/* Set x (L, T, HPS_FEATURES) [out]. `value` is overwritten. */
void hps_feature_fill(const struct hps_profile *p, const struct hps_pricer *pr,
                      const struct hps_tau_grid *grid, struct hps_value *value, double *x);

#endif
