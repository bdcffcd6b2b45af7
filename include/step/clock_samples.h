/* clock_samples.h - the clocks of asynchronous workers over the time of a run, in a bounded number
 * of samples: when there is room for no more, every other one is dropped, and from then on they are
 * taken half as often. */
#ifndef HPS_STEP_CLOCK_SAMPLES_H
#define HPS_STEP_CLOCK_SAMPLES_H

#include <stdbool.h>

enum { HPS_CLOCK_SAMPLES = 128, HPS_CLOCK_CURVES = 32 };
/* Plain data, sent as bytes. */
struct hps_clock_samples {
    int W, n;
    int ncurve;                 /* one for each worker; of more than HPS_CLOCK_CURVES workers the
                                   slowest, the median and the fastest                           */
    double every_s;             /* between two samples                                           */
    double s[HPS_CLOCK_SAMPLES];        /* (n) when they were taken, ascending                   */
    long long clock[HPS_CLOCK_SAMPLES][HPS_CLOCK_CURVES];       /* (n, ncurve)                   */
};

void hps_clock_samples_init(struct hps_clock_samples *samples, int W);
/* The workers have finished so many clocks (W) at s seconds: take a sample if it is time, or
 * `always`, but for one at the time of the last. */
void hps_clock_samples_take(struct hps_clock_samples *samples, double s, const long long *finished,
                            bool always);

#endif
