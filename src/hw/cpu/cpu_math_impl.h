/* cpu_math_impl.h - functions of one number for loops that the compiler vectorises: no calls, no
 * branches. For the sources of src/hw/cpu only.
 *
 * The exponential is 2^k times a Taylor polynomial of degree 7 on |r| <= ln(2)/2, relative error
 * about 1e-7; the normal distribution is Abramowitz and Stegun 7.1.26, absolute error 1.5e-7. A
 * NaN that goes in comes out. */
#ifndef HPS_HW_CPU_CPU_MATH_IMPL_H
#define HPS_HW_CPU_CPU_MATH_IMPL_H

#include <math.h>
#include <string.h>

#include "hw/cpu/cpu_impl.h"

static inline float hps_cpu_exp(float x)
{
    const float shift = 12582912.0f;            /* 1.5 * 2^23: adding it rounds to an integer */
    x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
    float sum = x * 1.44269504089f + shift;     /* whose low bits are k */
    float k = sum - shift;
    float r = x - k * 0.693359375f + k * 2.12194440e-4f;
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    bits = (bits + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

static inline float hps_cpu_sigmoid(float x)
{
    return 1.0f / (1.0f + hps_cpu_exp(-x));
}

/* (1 - e) / (1 + e) loses its digits near zero: there it is the Taylor polynomial. */
static inline float hps_cpu_tanh(float x)
{
    float a = fabsf(x), s = x * x;
    float e = hps_cpu_exp(-2.0f * a);
    float far = copysignf((1.0f - e) / (1.0f + e), x);
    float p = 62.0f / 2835;
    p = p * s - 17.0f / 315;
    p = p * s + 2.0f / 15;
    p = p * s - 1.0f / 3;
    float near = x + x * s * p;
    return a < 0.3f ? near : far;
}

/* Phi(x), and *bell = exp(-x^2 / 2). */
static inline float hps_cpu_normal(float x, float *bell)
{
    float t = 1.0f / (1.0f + 0.3275911f * 0.70710678f * fabsf(x));
    float e = hps_cpu_exp(-0.5f * x * x);
    float p = 1.061405429f;
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    float tail = 0.5f * p * t * e;
    *bell = e;
    return x < 0.0f ? tail : 1.0f - tail;
}

#define HPS_CPU_LANES 8

/* a . b */
static inline float hps_cpu_dot(size_t n, const float *a, const float *b)
{
    float lane[HPS_CPU_LANES] = { 0 }, sum = 0;
    size_t i = 0;

    for (; i + HPS_CPU_LANES <= n; i += HPS_CPU_LANES)
        for (size_t j = 0; j < HPS_CPU_LANES; j++)
            lane[j] += a[i + j] * b[i + j];
    for (; i < n; i++)
        sum += a[i] * b[i];
    for (size_t j = 0; j < HPS_CPU_LANES; j++)
        sum += lane[j];
    return sum;
}

/* y += by * x */
static inline void hps_cpu_add(size_t n, float by, const float *restrict x, float *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] += by * x[i];
}

#endif
