/* scale.h - dense features brought to a common size: y = (f(x) - shift) * scale, f(x) = x or
 * log(1 + max(x, 0)). A missing value (NaN before) becomes 0: the mean where y is a z-score.
 *
 * In a dataset, attributes of /dense, one value a column: scaling (text, joined by ',': none,
 * log1p, minmax, zscore, log1p+minmax, log1p+zscore), shift, scale, and what they come from: min,
 * max, mean, std (of f(x), population), seen, missing (counts); and since, where a column of dates
 * is the seconds since another than 1970-01-01T00:00:00Z. */
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
    double since;               /* of dates: x is the seconds since 1970 less this            */
};

/* "zscore", "log1p+minmax" ... False: not a scaling. Pure. */
bool hps_scale_parse(const char *text, struct hps_scale *scale);
const char *hps_scale_word(const struct hps_scale *scale);
/* What of two columns is not made in the same way, constants apart, for a message in memory of the
 * room that lives until the next call; NULL: nothing. Pure but for that. */
const char *hps_scale_differs(const struct hps_scale *a, const struct hps_scale *b);

/* f over a block (n, D) row-major, in place; adds to the statistics. NaN stays. Local. */
void hps_scale_first(struct hps_scale *scale, int D, long long n, float *x);
/* shift and scale from the statistics. Pure. */
void hps_scale_settle(struct hps_scale *scale, int D);
/* The rest of y over a block in place; NaN becomes 0. Pure. */
void hps_scale_second(const struct hps_scale *scale, int D, long long n, float *x);
/* Is there a column whose constants come from the data? Pure. */
bool hps_scale_waits(const struct hps_scale *scale, int D);

/* Constants and statistics as attributes of /dense, there and back. HPS_DECK with a message when
 * they are not there, not finite, or cannot be: a negative count, a scale that is not positive. */
enum hps_status hps_scale_save(const struct hps_scale *scale, int D, struct hps_h5 *h);
enum hps_status hps_scale_load(struct hps_scale *scale, int D, struct hps_h5 *h);

#endif
