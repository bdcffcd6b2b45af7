/* scale.h - scaling of dense features: y = (f(x) - shift) * scale, f(x) = x or log(1 + max(x, 0)).
 * A missing value (NaN before) becomes 0, the mean of a z-score.
 *
 * In a dataset, attributes of /dense, one value a column: scaling (text, joined by ',': none,
 * log1p, minmax, zscore, log1p+minmax, log1p+zscore), shift, scale, and the statistics min, max,
 * mean, std (of f(x), population), seen, missing (counts); and since, the origin of a column of
 * dates in seconds since 1970-01-01T00:00:00Z. */
#ifndef HPS_DATA_SCALE_H
#define HPS_DATA_SCALE_H

#include "base/h5.h"

enum hps_range { HPS_RANGE_NONE, HPS_RANGE_MINMAX, HPS_RANGE_ZSCORE };

struct hps_scale {
    bool log1p;
    enum hps_range range;
    double shift, scale;
    double min, max, mean, m2;  /* of f(x) over `seen` values; m2: sum of squares about the mean */
    double seen, missing;
    double since;               /* of dates: x is the seconds since 1970 minus this           */
};

/* Parse "zscore", "log1p+minmax" .. False: no scaling. Pure. */
bool hps_scale_parse(const char *text, struct hps_scale *scale);
const char *hps_scale_word(const struct hps_scale *scale);
/* A text for messages of what differs in the scaling of two columns, constants aside, valid
 * until the next call; NULL: nothing. */
const char *hps_scale_differs(const struct hps_scale *a, const struct hps_scale *b);

/* First pass: apply f to a block (n, D), in place, and collect statistics. NaN is kept. Local. */
void hps_scale_collect(struct hps_scale *scale, int D, long long n, float *x);
/* Compute shift and scale from the statistics. Pure. */
void hps_scale_compute(struct hps_scale *scale, int D);
/* Second pass: apply shift and scale to a block in place; NaN becomes 0. Pure. */
void hps_scale_apply(const struct hps_scale *scale, int D, long long n, float *x);
/* Does a column need the second pass, since its constants come from the data? Pure. */
bool hps_scale_needs_pass(const struct hps_scale *scale, int D);

/* Save and load constants and statistics as attributes of /dense. HPS_DECK with a message when they
 * are missing, not finite, or impossible: a negative count, a scale that is not positive. */
enum hps_status hps_scale_save(const struct hps_scale *scale, int D, struct hps_h5 *h);
enum hps_status hps_scale_load(struct hps_scale *scale, int D, struct hps_h5 *h);

#endif
