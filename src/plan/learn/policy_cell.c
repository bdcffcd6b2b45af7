#include "plan/policy_cell.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

int hps_cell_gates(enum hps_cell cell)
{
    return cell == HPS_CELL_LSTM ? 4 : 1;
}

static size_t row(const struct hps_cell_run *r, int l)
{
    return (size_t)l * (size_t)r->T;
}

/* The previous layer in this direction, -1: none. */
static int before(const struct hps_cell_run *r, int l)
{
    int b = r->back ? l + 1 : l - 1;

    return b < r->L ? b : -1;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void lstm(const struct hps_cell_run *r, int l, int b)
{
    int H = r->H;

    for (int t = 0; t < r->T; t++) {
        size_t a = row(r, l) + (size_t)t;
        double *g = r->gate + a * 4 * (size_t)H, *c = r->state + a * (size_t)H;
        double *h = r->h + a * (size_t)r->stride;
        const double *was = b < 0 ? NULL : r->state + (row(r, b) + (size_t)t) * (size_t)H;
        for (int n = 0; n < 3 * H; n++)
            g[n] = sigmoid(g[n]);
        for (int n = 0; n < H; n++) {
            g[3 * H + n] = tanh(g[3 * H + n]);
            c[n] = g[n] * g[3 * H + n] + (was ? g[H + n] * was[n] : 0);
            h[n] = g[2 * H + n] * tanh(c[n]);
        }
    }
}

static void rnn(const struct hps_cell_run *r, int l)
{
    for (int t = 0; t < r->T; t++) {
        size_t a = row(r, l) + (size_t)t;
        double *g = r->gate + a * (size_t)r->H, *h = r->h + a * (size_t)r->stride;
        for (int n = 0; n < r->H; n++)
            h[n] = g[n] = tanh(g[n]);
    }
}

void hps_cell_forward(const struct hps_cell_run *r)
{
    int width = hps_cell_gates(r->cell) * r->H;

    for (int n = 0; n < r->L; n++) {
        int l = r->back ? r->L - 1 - n : n, b = before(r, l);
        if (b >= 0)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, r->T, width, r->H, 1,
                        r->h + row(r, b) * (size_t)r->stride, r->stride, r->w, width, 1,
                        r->gate + row(r, l) * (size_t)width, width);
        if (r->cell == HPS_CELL_LSTM)
            lstm(r, l, b);
        else
            rnn(r, l);
    }
}

/* dc: what reaches the state from the layer behind [in], what goes to the one before [out]. */
static void lstm_back(const struct hps_cell_run *r, int l, int b, const double *dh, double *dgate,
                      double *dc)
{
    int H = r->H;

    for (int t = 0; t < r->T; t++) {
        size_t a = row(r, l) + (size_t)t;
        const double *g = r->gate + a * 4 * (size_t)H, *c = r->state + a * (size_t)H;
        const double *was = b < 0 ? NULL : r->state + (row(r, b) + (size_t)t) * (size_t)H;
        const double *up = dh + a * (size_t)r->stride;
        double *d = dgate + a * 4 * (size_t)H, *s = dc + (size_t)t * (size_t)H;
        for (int n = 0; n < H; n++) {
            double in = g[n], forget = g[H + n], out = g[2 * H + n], new = g[3 * H + n];
            double y = tanh(c[n]);
            s[n] += up[n] * out * (1 - y * y);
            d[n] = s[n] * new * in * (1 - in);
            d[H + n] = was ? s[n] * was[n] * forget * (1 - forget) : 0;
            d[2 * H + n] = up[n] * y * out * (1 - out);
            d[3 * H + n] = s[n] * in * (1 - new * new);
            s[n] *= forget;
        }
    }
}

static void rnn_back(const struct hps_cell_run *r, int l, const double *dh, double *dgate)
{
    for (int t = 0; t < r->T; t++) {
        size_t a = row(r, l) + (size_t)t;
        const double *h = r->h + a * (size_t)r->stride, *up = dh + a * (size_t)r->stride;
        double *d = dgate + a * (size_t)r->H;
        for (int n = 0; n < r->H; n++)
            d[n] = up[n] * (1 - h[n] * h[n]);
    }
}

void hps_cell_backward(const struct hps_cell_run *r, double *dh, double *dgate, double *dw,
                       double *dstate)
{
    int width = hps_cell_gates(r->cell) * r->H;

    memset(dstate, 0, (size_t)r->T * (size_t)r->H * sizeof *dstate);
    for (int n = r->L - 1; n >= 0; n--) {
        int l = r->back ? r->L - 1 - n : n, b = before(r, l);
        double *d = dgate + row(r, l) * (size_t)width;
        if (r->cell == HPS_CELL_LSTM)
            lstm_back(r, l, b, dh, dgate, dstate);
        else
            rnn_back(r, l, dh, dgate);
        if (b < 0) continue;
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, r->T, r->H, width, 1, d, width, r->w,
                    width, 1, dh + row(r, b) * (size_t)r->stride, r->stride);
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, r->H, width, r->T, 1,
                    r->h + row(r, b) * (size_t)r->stride, r->stride, d, width, 1, dw, width);
    }
}
