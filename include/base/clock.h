/* clock.h - seconds of clocks that nobody sets back, and sleeping by them. */
#ifndef HPS_BASE_CLOCK_H
#define HPS_BASE_CLOCK_H

double hps_now_s(void);    /* since hps_begin. Local. */
double hps_steady_s(void); /* of the same clock; its zero means nothing. Local. */
double hps_core_s(void);   /* that the calling thread has run on a core. Local. */

/* Sleep for so long, or until a signal comes. Local. */
void hps_sleep_s(double seconds);

/* From here on hps_now_s counts from zero. Called by hps_begin. Local. */
void hps_clock_begin(void);

#endif
