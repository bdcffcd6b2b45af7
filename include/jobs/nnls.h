/* nnls.h - least squares with coefficients that are not negative (Lawson and Hanson, Solving Least
 * Squares Problems, chapter 23), and the speed model that is fitted so where a job has no profile.
 *
 * A step on k units takes (Optimus, EuroSys 2018, with all-reduce in place of servers)
 *     T(k) = a/k + b + c (k - 1)/k + d k
 * computation that is divided, what each does alone, gradients that are reduced, what grows with
 * the number of units. Errors count as shares of what was measured. */
#ifndef HPS_JOBS_NNLS_H
#define HPS_JOBS_NNLS_H

enum { HPS_NNLS_MAX = 8 };      /* coefficients at most */

/* x (n) >= 0 with the least |A x - b|, for A (m, n) row-major, m >= 1, n <= HPS_NNLS_MAX. Returns
 * that least. Pure. */
double hps_nnls(int m, int n, const double *A, const double *b, double *x);

enum { HPS_SPEED_TERMS = 4 };
struct hps_speed_fit {
    double x[HPS_SPEED_TERMS];
};

/* From n >= 1 measured points, units and seconds (> 0). Pure. */
struct hps_speed_fit hps_speed_fit(int n, const double *units, const double *seconds);
double hps_speed_of(const struct hps_speed_fit *fit, double units);

#endif
