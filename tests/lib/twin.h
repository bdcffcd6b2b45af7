/* twin.h - the slow truth: each operation of a device once more, in plain double precision.
 *
 * Matrices are contiguous and row-major: x (B, in), w (in, out), y (B, out). Nothing is aligned,
 * vectorised, threaded or fused; a twin is checked against central differences, a device against
 * its twin. Widening helpers turn float data (with a row stride) into double and back. */
#ifndef HPS_TESTS_TWIN_H
#define HPS_TESTS_TWIN_H

#include <stddef.h>
#include <stdint.h>

#include "hw/dev.h"

/* The activation at x and its derivative there. gelu is the exact x * Phi(x). */
double twin_act(enum hps_act act, double x);
double twin_act_slope(enum hps_act act, double x);

/* pre = x w + b, y = act(pre). pre or y may be NULL. b NULL: none. */
void twin_fc(enum hps_act act, int B, int in, int out, const double *x, const double *w,
             const double *b, double *pre, double *y);
/* From the derivative by y: dx (NULL: not wanted), dw, db (NULL: not wanted) are added to. */
void twin_fc_back(enum hps_act act, int B, int in, int out, const double *x, const double *w,
                  const double *pre, const double *dy, double *dx, double *dw, double *db);

/* y = x * keep / (1 - p); the same call carries gradients back. */
void twin_dropout(int B, int width, double p, uint64_t key, const long long *example,
                  const double *x, double *y);

/* y (B, nslot*dim) or (B, dim) is overwritten; rows_grad is added to. */
void twin_bag(const struct hps_lookup *lookup, int dim, enum hps_pool_kind pool,
              enum hps_combine combine, const double *rows, double *y);
void twin_bag_back(const struct hps_lookup *lookup, int dim, enum hps_pool_kind pool,
                   enum hps_combine combine, const double *dy, double *rows_grad);

/* Answers the sum of losses; score, dx (B) may be NULL; dx = (p - t) * weight. */
double twin_logistic(int B, const double *x, const double *label, double weight, double *score,
                     double *dx);

/* One step of a rule on n weights (of a row), at most 65536; s0, s1: its states (NULL where the
 * rule has fewer). */
void twin_rule(const struct hps_rule *rule, size_t n, double *w, const double *g, double *s0,
               double *s1);

/* (f(x + h) - f(x - h)) / 2h with *x put back: the slope of f by one of its inputs. */
double twin_slope(double (*f)(void *arg), void *arg, double *x, double h);

/* The largest |got - want| over the largest |want| (or over 1e-30). NaN anywhere: INFINITY. */
double twin_error(size_t n, const double *got, const double *want);
double twin_error_f(size_t n, const float *got, const double *want);

/* (B, width) floats with stride ld to contiguous doubles, and the other way. */
void twin_widen(int B, int width, const float *from, size_t ld, double *to);
void twin_narrow(int B, int width, const double *from, float *to, size_t ld);

/* n numbers uniform in [-1, 1), addressed by key. */
void twin_fill(uint64_t key, size_t n, double *x);
void twin_fill_f(uint64_t key, size_t n, float *x);

#endif
