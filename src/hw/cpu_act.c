/* cpu_act.c - activations and their derivatives on rows, in loops that the compiler vectorises.
 *
 * The exponential is 2^k times a Taylor polynomial of degree 7 on |r| <= ln(2)/2, relative error
 * about 1e-7; the normal distribution is Abramowitz and Stegun 7.1.26, absolute error 1.5e-7. A
 * NaN that goes in comes out. */
#include <math.h>
#include <string.h>

#include "hw/cpu.h"

static inline float fast_exp(float x)
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

static inline float sigmoid_of(float x)
{
    return 1.0f / (1.0f + fast_exp(-x));
}

/* (1 - e) / (1 + e) loses its digits near zero: there it is the Taylor polynomial. */
static inline float tanh_of(float x)
{
    float a = fabsf(x), s = x * x;
    float e = fast_exp(-2.0f * a);
    float far = copysignf((1.0f - e) / (1.0f + e), x);
    float p = 62.0f / 2835;
    p = p * s - 17.0f / 315;
    p = p * s + 2.0f / 15;
    p = p * s - 1.0f / 3;
    float near = x + x * s * p;
    return a < 0.3f ? near : far;
}

/* Phi(x), and *bell = exp(-x^2 / 2). */
static inline float normal_of(float x, float *bell)
{
    float t = 1.0f / (1.0f + 0.3275911f * 0.70710678f * fabsf(x));
    float e = fast_exp(-0.5f * x * x);
    float p = 1.061405429f;
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    float tail = 0.5f * p * t * e;
    *bell = e;
    return x < 0.0f ? tail : 1.0f - tail;
}

HPS_CLONES static void none(size_t B, size_t n, float *restrict y, size_t ld,
                            const float *restrict b)
{
    for (size_t r = 0; r < B; r++, y += ld)
        for (size_t c = 0; c < n; c++)
            y[c] += b[c];
}

HPS_CLONES static void relu(size_t B, size_t n, float *restrict y, size_t ld,
                            const float *restrict b)
{
    for (size_t r = 0; r < B; r++, y += ld)
        for (size_t c = 0; c < n; c++) {
            float v = y[c] + b[c];
            y[c] = v < 0.0f ? 0.0f : v;
        }
}

HPS_CLONES static void sigmoid(size_t B, size_t n, float *restrict y, size_t ld,
                               const float *restrict b)
{
    for (size_t r = 0; r < B; r++, y += ld)
        for (size_t c = 0; c < n; c++)
            y[c] = sigmoid_of(y[c] + b[c]);
}

HPS_CLONES static void tanh_(size_t B, size_t n, float *restrict y, size_t ld,
                             const float *restrict b)
{
    for (size_t r = 0; r < B; r++, y += ld)
        for (size_t c = 0; c < n; c++)
            y[c] = tanh_of(y[c] + b[c]);
}

HPS_CLONES static void gelu(size_t B, size_t n, float *restrict y, size_t ld,
                            const float *restrict b, float *restrict pre)
{
    for (size_t r = 0; r < B; r++, y += ld, pre += n)
        for (size_t c = 0; c < n; c++) {
            float bell, x = y[c] + b[c];
            pre[c] = x;
            y[c] = x * normal_of(x, &bell);
        }
}

void hps_cpu_act(enum hps_act act, size_t B, size_t n, float *y, size_t ldy, const float *b,
                 float *pre)
{
    switch (act) {
    case HPS_ACT_RELU: relu(B, n, y, ldy, b); break;
    case HPS_ACT_SIGMOID: sigmoid(B, n, y, ldy, b); break;
    case HPS_ACT_TANH: tanh_(B, n, y, ldy, b); break;
    case HPS_ACT_GELU: gelu(B, n, y, ldy, b, pre); break;
    default: none(B, n, y, ldy, b);
    }
}

HPS_CLONES static void none_back(size_t B, size_t n, const float *restrict dy, size_t lddy,
                                 float *restrict db)
{
    for (size_t r = 0; r < B; r++, dy += lddy)
        for (size_t c = 0; c < n; c++)
            db[c] += dy[c];
}

HPS_CLONES static void relu_back(size_t B, size_t n, const float *restrict y, size_t ldy,
                                 float *restrict dy, size_t lddy, float *restrict db)
{
    for (size_t r = 0; r < B; r++, y += ldy, dy += lddy)
        for (size_t c = 0; c < n; c++) {
            float d = y[c] > 0.0f ? dy[c] : 0.0f;
            dy[c] = d;
            db[c] += d;
        }
}

HPS_CLONES static void sigmoid_back(size_t B, size_t n, const float *restrict y, size_t ldy,
                                    float *restrict dy, size_t lddy, float *restrict db)
{
    for (size_t r = 0; r < B; r++, y += ldy, dy += lddy)
        for (size_t c = 0; c < n; c++) {
            float d = dy[c] * (y[c] * (1.0f - y[c]));
            dy[c] = d;
            db[c] += d;
        }
}

HPS_CLONES static void tanh_back(size_t B, size_t n, const float *restrict y, size_t ldy,
                                 float *restrict dy, size_t lddy, float *restrict db)
{
    for (size_t r = 0; r < B; r++, y += ldy, dy += lddy)
        for (size_t c = 0; c < n; c++) {
            float d = dy[c] * (1.0f - y[c] * y[c]);
            dy[c] = d;
            db[c] += d;
        }
}

HPS_CLONES static void gelu_back(size_t B, size_t n, const float *restrict pre,
                                 float *restrict dy, size_t lddy, float *restrict db)
{
    for (size_t r = 0; r < B; r++, pre += n, dy += lddy)
        for (size_t c = 0; c < n; c++) {
            float bell, p = normal_of(pre[c], &bell);
            float d = dy[c] * (p + pre[c] * bell * 0.39894228f);
            dy[c] = d;
            db[c] += d;
        }
}

void hps_cpu_act_back(enum hps_act act, size_t B, size_t n, const float *y, size_t ldy,
                      const float *pre, float *dy, size_t lddy, float *db)
{
    switch (act) {
    case HPS_ACT_RELU: relu_back(B, n, y, ldy, dy, lddy, db); break;
    case HPS_ACT_SIGMOID: sigmoid_back(B, n, y, ldy, dy, lddy, db); break;
    case HPS_ACT_TANH: tanh_back(B, n, y, ldy, dy, lddy, db); break;
    case HPS_ACT_GELU: gelu_back(B, n, pre, dy, lddy, db); break;
    default: none_back(B, n, dy, lddy, db);
    }
}
