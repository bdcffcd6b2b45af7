/* cpu_act.c - activations and their derivatives on rows, in loops that the compiler vectorises.
 * They propagate NaN. */
#include "hw/cpu/cpu_math_impl.h"

HPS_MULTIVERSION static void none(size_t B, size_t n, float *restrict y, size_t ld,
                                  const float *restrict b)
{
    for (size_t r = 0; r < B; r++, y += ld)
        for (size_t c = 0; c < n; c++)
            y[c] += b[c];
}

HPS_MULTIVERSION static void relu(size_t B, size_t n, float *restrict y, size_t ld,
                                  const float *restrict b)
{
    for (size_t r = 0; r < B; r++, y += ld)
        for (size_t c = 0; c < n; c++) {
            float v = y[c] + b[c];
            y[c] = v < 0.0f ? 0.0f : v;
        }
}

HPS_MULTIVERSION static void sigmoid(size_t B, size_t n, float *restrict y, size_t ld,
                                     const float *restrict b)
{
    for (size_t r = 0; r < B; r++, y += ld)
        for (size_t c = 0; c < n; c++)
            y[c] = hps_cpu_sigmoid(y[c] + b[c]);
}

HPS_MULTIVERSION static void tanh_(size_t B, size_t n, float *restrict y, size_t ld,
                                   const float *restrict b)
{
    for (size_t r = 0; r < B; r++, y += ld)
        for (size_t c = 0; c < n; c++)
            y[c] = hps_cpu_tanh(y[c] + b[c]);
}

HPS_MULTIVERSION static void gelu(size_t B, size_t n, float *restrict y, size_t ld,
                                  const float *restrict b, float *restrict pre)
{
    for (size_t r = 0; r < B; r++, y += ld, pre += n)
        for (size_t c = 0; c < n; c++) {
            float bell, x = y[c] + b[c];
            pre[c] = x;
            y[c] = x * hps_cpu_normal(x, &bell);
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
    default:
        if (b) none(B, n, y, ldy, b);
    }
}

HPS_MULTIVERSION static void none_back(size_t B, size_t n, const float *restrict dy, size_t lddy,
                                       float *restrict db)
{
    for (size_t r = 0; r < B; r++, dy += lddy)
        for (size_t c = 0; c < n; c++)
            db[c] += dy[c];
}

HPS_MULTIVERSION static void relu_back(size_t B, size_t n, const float *restrict y, size_t ldy,
                                       float *restrict dy, size_t lddy, float *restrict db)
{
    for (size_t r = 0; r < B; r++, y += ldy, dy += lddy)
        for (size_t c = 0; c < n; c++) {
            float d = y[c] > 0.0f ? dy[c] : 0.0f;
            dy[c] = d;
            db[c] += d;
        }
}

HPS_MULTIVERSION static void sigmoid_back(size_t B, size_t n, const float *restrict y, size_t ldy,
                                          float *restrict dy, size_t lddy, float *restrict db)
{
    for (size_t r = 0; r < B; r++, y += ldy, dy += lddy)
        for (size_t c = 0; c < n; c++) {
            float d = dy[c] * (y[c] * (1.0f - y[c]));
            dy[c] = d;
            db[c] += d;
        }
}

HPS_MULTIVERSION static void tanh_back(size_t B, size_t n, const float *restrict y, size_t ldy,
                                       float *restrict dy, size_t lddy, float *restrict db)
{
    for (size_t r = 0; r < B; r++, y += ldy, dy += lddy)
        for (size_t c = 0; c < n; c++) {
            float d = dy[c] * (1.0f - y[c] * y[c]);
            dy[c] = d;
            db[c] += d;
        }
}

HPS_MULTIVERSION static void gelu_back(size_t B, size_t n, const float *restrict pre,
                                       float *restrict dy, size_t lddy, float *restrict db)
{
    for (size_t r = 0; r < B; r++, pre += n, dy += lddy)
        for (size_t c = 0; c < n; c++) {
            float bell, p = hps_cpu_normal(pre[c], &bell);
            float d = dy[c] * (p + pre[c] * bell * 0.39894228f);
            dy[c] = d;
            db[c] += d;
        }
}

void hps_cpu_act_back(enum hps_act act, size_t B, struct hps_tensor y, const float *pre,
                      struct hps_tensor dy, float *db)
{
    size_t n = (size_t)dy.width;

    switch (act) {
    case HPS_ACT_RELU: relu_back(B, n, y.data, y.ld, dy.data, dy.ld, db); break;
    case HPS_ACT_SIGMOID: sigmoid_back(B, n, y.data, y.ld, dy.data, dy.ld, db); break;
    case HPS_ACT_TANH: tanh_back(B, n, y.data, y.ld, dy.data, dy.ld, db); break;
    case HPS_ACT_GELU: gelu_back(B, n, pre, dy.data, dy.ld, db); break;
    default:
        if (db) none_back(B, n, dy.data, dy.ld, db);
    }
}
