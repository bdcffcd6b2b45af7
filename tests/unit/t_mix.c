/* t_mix: layers that mix columns or rows compute their plain double forward, and their backward is
 * its slope by central differences: all inputs, weights and rows, for any number of rows and
 * threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/lib/layer_case.h"

/* ---- the twins: y (B, out) from x and the weights ---- */

static void activation(struct work *w, double *const *x)
{
    for (size_t i = 0; i < w->ny; i++)
        w->y[i] = twin_act(work_act(w), x[0][i]);
}

/* Vector v of example b, of those that the inputs are side by side. */
static const double *vector(const struct work *w, double *const *x, int dim, int b, int v)
{
    int k = 0;

    for (; v >= work_width(w, k) / dim; k++)
        v -= work_width(w, k) / dim;
    return x[k] + (size_t)b * work_width(w, k) + v * dim;
}

static int count_vectors(const struct work *w, int dim)
{
    int n = 0;

    for (int k = 0; k < w->l->ninput; k++)
        n += work_width(w, k) / dim;
    return n;
}

static int dim_of(const struct work *w)
{
    return (int)work_number(w, "dim", work_width(w, 0));
}

static void dot_interaction(struct work *w, double *const *x)
{
    int dim = dim_of(w), n = count_vectors(w, dim), self = work_key_is(w, "self", "true");

    for (int b = 0; b < w->B; b++) {
        double *y = w->y + (size_t)b * w->out;
        for (int c = 0; work_key_is(w, "pass", "first") && c < work_width(w, 0); c++)
            *y++ = x[0][b * work_width(w, 0) + c];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i + self; j++, y++) {
                *y = 0;
                for (int d = 0; d < dim; d++)
                    *y += vector(w, x, dim, b, i)[d] * vector(w, x, dim, b, j)[d];
            }
        assert_ptr_equal(y, w->y + (size_t)(b + 1) * w->out);
    }
}

static void fm(struct work *w, double *const *x)
{
    int dim = dim_of(w), n = count_vectors(w, dim);

    memset(w->y, 0, w->ny * sizeof *w->y);
    for (int b = 0; b < w->B; b++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++)
                for (int d = 0; d < dim; d++)
                    w->y[(size_t)b * w->out + (w->out == 1 ? 0 : d)] +=
                        vector(w, x, dim, b, i)[d] * vector(w, x, dim, b, j)[d];
}

static void cross(struct work *w, double *const *x)
{
    int d = w->out, rank = (int)work_number(w, "rank", 0);
    const double *last = x[w->l->ninput - 1], *bias = w->param + w->nparam - d;
    double *low = hps_mem_new((size_t)w->B * rank, sizeof *low);
    double *u = hps_mem_new(w->ny, sizeof *u);

    if (rank) {
        twin_fc(HPS_ACT_NONE, w->B, d, rank, last, w->param, NULL, NULL, low);
        twin_fc(HPS_ACT_NONE, w->B, rank, d, low, w->param + d * rank, bias, NULL, u);
    } else {
        twin_fc(HPS_ACT_NONE, w->B, d, d, last, w->param, bias, NULL, u);
    }
    for (size_t i = 0; i < w->ny; i++)
        w->y[i] = x[0][i] * u[i] + last[i];
    hps_mem_free(low);
    hps_mem_free(u);
}

static void cosine(struct work *w, double *const *x)
{
    int n = work_width(w, 0);

    for (int b = 0; b < w->B; b++) {
        const double *a = x[0] + (size_t)b * n, *c = x[1] + (size_t)b * n;
        double ac = 0, aa = 0, cc = 0;
        for (int i = 0; i < n; i++) {
            ac += a[i] * c[i];
            aa += a[i] * a[i];
            cc += c[i] * c[i];
        }
        w->y[b] = work_number(w, "scale", 1) * ac / sqrt(aa * cc);
    }
}

static void softmax(struct work *w, double *const *x)
{
    for (int b = 0; b < w->B; b++) {
        double sum = 0;
        for (int c = 0; c < w->out; c++)
            sum += exp(x[0][b * w->out + c]);
        for (int c = 0; c < w->out; c++)
            w->y[b * w->out + c] = exp(x[0][b * w->out + c]) / sum;
    }
}

/* n numbers `step` apart to mean 0 and variance 1. */
static void normal(int n, int step, const double *x, double epsilon, double *y)
{
    double mean = 0, var = 0;

    for (int i = 0; i < n; i++)
        mean += x[i * step] / n;
    for (int i = 0; i < n; i++)
        var += (x[i * step] - mean) * (x[i * step] - mean) / n;
    for (int i = 0; i < n; i++)
        y[i * step] = (x[i * step] - mean) / sqrt(var + epsilon);
}

static void norm(struct work *w, double *const *x)
{
    double epsilon = work_number(w, "epsilon", 1e-5);
    bool rows = work_kind_is(w, "layer_norm");

    for (int i = 0; i < (rows ? w->B : w->out); i++)
        if (rows)
            normal(w->out, 1, x[0] + i * w->out, epsilon, w->y + i * w->out);
        else
            normal(w->B, w->out, x[0] + i, epsilon, w->y + i);
    for (size_t i = 0; i < w->ny; i++)
        w->y[i] = w->param[i % w->out] * w->y[i] + w->param[w->out + i % w->out];
}

/* The score of one row against candidate c by the net that `hidden` says. */
static double score(const struct work *w, const double *c, const double *r)
{
    static const int hidden[] = { 5, 3 };
    double level[64], next[64];
    const double *param = w->param;
    int dim = w->out, in = 4 * dim, levels = work_key_is(w, "weights", "softmax") ? 0 : 2;

    for (int d = 0; d < dim; d++) {
        level[d] = c[d];
        level[dim + d] = r[d];
        level[2 * dim + d] = c[d] - r[d];
        level[3 * dim + d] = c[d] * r[d];
    }
    for (int k = 0; k <= levels; k++) {
        int out = k == levels ? 1 : hidden[k];
        enum hps_act act = k == levels ? HPS_ACT_NONE : work_act(w);
        twin_fc(act, 1, in, out, level, param, param + in * out, NULL, next);
        memcpy(level, next, sizeof level);
        param += (in + 1) * out;
        in = out;
    }
    return level[0];
}

static void attention(struct work *w, double *const *x)
{
    const struct hps_lookup *lookup = &w->feed.lookup[w->l->index];
    bool softmax = work_key_is(w, "weights", "softmax");
    int dim = w->out;

    memset(w->y, 0, w->ny * sizeof *w->y);
    for (int b = 0; b < w->B; b++) {
        int first = lookup->single ? b : lookup->offset[b];
        int last = lookup->single ? b + 1 : lookup->offset[b + 1];
        double all = 0, *y = w->y + b * dim;
        for (int i = first; i < last; i++) {
            const double *r = w->rows + (size_t)lookup->of.index[i] * dim;
            double share = score(w, x[0] + b * dim, r);
            if (softmax)
                share = exp(share / sqrt(dim));
            all += share;
            for (int d = 0; d < dim; d++)
                y[d] += share * r[d];
        }
        for (int d = 0; d < dim && softmax && last > first; d++)
            y[d] /= all;
    }
}

static void forward(struct work *w)
{
    static const struct {
        const char *kind;
        void (*run)(struct work *w, double *const *x);
    } twins[] = {
        { "activation", activation }, { "dot_interaction", dot_interaction }, { "fm", fm },
        { "cross", cross }, { "cosine", cosine }, { "softmax", softmax }, { "layer_norm", norm },
        { "batch_norm", norm }, { "attention", attention },
    };
    double *x[8];

    for (int k = 0; k < w->l->ninput; k++)
        x[k] = work_take(w, k);
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
        if (work_kind_is(w, twins[i].kind))
            twins[i].run(w, x);
    for (int k = 0; k < w->l->ninput; k++)
        hps_mem_free(x[k]);
}

static double value(void *arg)
{
    struct work *w = arg;
    double sum = 0;

    forward(w);
    for (size_t i = 0; i < w->ny; i++)
        sum += w->y[i] * w->dy[i];
    return sum;
}

static void slopes(struct work *w, size_t n, double *x, double *dx)
{
    for (size_t i = 0; i < n; i++)
        dx[i] = twin_slope(value, w, &x[i], 1e-5);
}

/* Layers x, y (6 wide), z (dense, 3), v (12, shares its table with attention), then t. */
#define BEFORE                                                                                     \
    "model:\n- {name: x, type: embedding, slots: [a], dim: 6}\n"                                   \
    "- {name: y, type: embedding, slots: [b], dim: 6}\n- {name: z, type: dense_input}\n"           \
    "- {name: v, type: embedding, slots: [a, b], dim: 6}\n"
#define AFTER                                                                                      \
    "- {name: u, type: fc, width: 1, inputs: t}\n"                                                 \
    "- {name: all, type: concat, inputs: [x, y, z, v, u]}\n"                                       \
    "- {name: g, type: fc, width: 1}\n- {name: loss, type: logistic}\n"

static const char *const layers[] = {
    "type: activation, activation: relu, inputs: x",
    "type: activation, activation: sigmoid, inputs: y",
    "type: activation, activation: tanh, inputs: z",
    "type: activation, activation: gelu, inputs: v",
    "type: dot_interaction, inputs: [x, v, y]",
    "type: dot_interaction, inputs: [x, v], dim: 3, self: true",
    "type: dot_interaction, inputs: [y, v, y], pass: first",
    "type: dot_interaction, inputs: v, dim: 1, self: true, pass: first",
    "type: dot_interaction, inputs: [z, x], dim: 3",
    "type: fm, inputs: [x, v, y]",
    "type: fm, inputs: [v, z, x], dim: 3, output: vector",
    "type: fm, inputs: [x, x], dim: 1",
    "type: cross, inputs: x",
    "type: cross, inputs: [x, y]",
    "type: cross, inputs: [v, v], rank: 3",
    "type: cross, inputs: [y, x], rank: 1",
    "type: cosine, inputs: [x, y]",
    "type: cosine, inputs: [y, x], scale: 5",
    "type: softmax, inputs: v",
    "type: layer_norm, inputs: v",
    "type: layer_norm, inputs: y, epsilon: 0.1",
    "type: batch_norm, inputs: x, epsilon: 0.01",
    "type: batch_norm, inputs: z",
    "type: attention, slot: c, dim: 6, hidden: [5, 3], activation: sigmoid, inputs: x",
    "type: attention, slot: a, dim: 6, hidden: [5, 3], activation: tanh, inputs: y",
    "type: attention, slot: d, dim: 3, hidden: [], weights: softmax, inputs: z",
};

static void check_layer(const char *layer, int B, int nthread, double *worst)
{
    char deck[1024];
    struct work w;

    snprintf(deck, sizeof deck, BEFORE "- {name: t, %s}\n" AFTER, layer);
    work_new(&w, deck, "t", B);
    w.toy.dev.nthread = nthread;
    slopes(&w, w.nx, w.x, w.dx);
    slopes(&w, w.nparam, w.param, w.dparam);
    slopes(&w, w.nrows, w.rows, w.drows);
    forward(&w);
    work_check_slice(&w);
    *worst = fmax(*worst, w.near_error);
    work_free(&w);
}

/* Of one or two rows a batch norm makes constants: its slopes are next to 0, where a float knows
 * little. */
static void every_layer_is_its_twin(void **state)
{
    static const int B[] = { 0, 1, 2, 7, 19, 19 }, nthread[] = { 1, 2, 3, 1, 2, 3 };

    (void)state;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        double worst = 0;
        bool few = strstr(layers[i], "batch_norm") != NULL;
        for (size_t k = 0; k < sizeof B / sizeof *B; k++)
            check_layer(layers[i], few && B[k] ? B[k] + 2 : B[k], nthread[k], &worst);
        print_message("error - %.1e %s\n", worst, layers[i]); /* for perf/scripts/gradients.sh */
    }
    assert_int_equal(hps_mem_held_bytes(), 0);
}

enum { MANY = 700, PARTS = 7 };         /* over a thousand ids: several blocks */

/* Forward and backward of rows first .. first+B-1 of `in` and `dout` through layer l. */
static void run_rows(struct hps_slice *s, const struct toy *toy, int l, int first, int B,
                     const float *in, const float *dout, float *out, float *din, float *drows)
{
    struct toy_feed f;
    size_t at = (size_t)first;

    toy_feed_new(&f, toy, first, B, 0.25f);
    struct hps_feed feed = toy_feed_from(&f, l);
    memcpy(s->in[0], in + at * s->in_width, (size_t)B * s->in_width * sizeof *in);
    memcpy(s->out_grad[0], dout + at * s->out_grad_width,
           (size_t)B * s->out_grad_width * sizeof *in);
    hps_slice_forward(s, 0, &feed, true);
    hps_slice_backward(s, 0, &feed, NULL, NULL);
    s->dev->ops->sync(s->dev);
    memcpy(out + at * s->out_width, s->out[0], (size_t)B * s->out_width * sizeof *out);
    memcpy(din + at * s->in_grad_width, s->in_grad[0], (size_t)B * s->in_grad_width * sizeof *din);
    for (int i = 0; i < TOY_ROWS * 6; i++)
        drows[i] += f.rows_grad[l].row[i];
    toy_feed_free(&f);
}

static void near(size_t n, const float *got, const float *want)
{
    double *wide = hps_mem_new(n, sizeof *wide);

    twin_widen(1, (int)n, want, 0, wide);
    assert_true(twin_error_f(n, got, wide) <= 1e-5);
    hps_mem_free(wide);
}

/* A micro-batch of many ids is that of its parts: attention works in blocks. */
static void many_rows_are_their_parts(void **state)
{
    static const char deck[] =
        BEFORE "- {name: t, type: attention, slot: c, dim: 6, inputs: x}\n" AFTER;
    static float in[MANY * 40], dout[MANY * 40], out[2][MANY * 40], din[2][MANY * 40];
    float drows[2][TOY_ROWS * 6] = { { 0 } };
    struct hps_slice *s[2];
    struct toy toy;

    (void)state;
    toy_open(&toy, deck);
    twin_fill_f(1, MANY * 40, in);
    twin_fill_f(2, MANY * 40, dout);
    for (int k = 0; k < 2; k++) {
        int B = k ? MANY / PARTS : MANY;
        assert_int_equal(hps_slice_new(&s[k], toy.net, &toy.dev,
                                       &(struct hps_slice_opt){ 4, 4, B, 1, &toy.train, 5, true }),
                         HPS_OK);
        assert_true(s[k]->out_width <= 40 && toy.net->layer[4].dim == 6);
        for (int first = 0; first < MANY; first += B)
            run_rows(s[k], &toy, 4, first, B, in, dout, out[k], din[k], drows[k]);
    }
    near((size_t)MANY * s[0]->out_width, out[0], out[1]);
    near((size_t)MANY * s[0]->in_grad_width, din[0], din[1]);
    near(s[0]->nparam, s[0]->grad, s[1]->grad);
    near(TOY_ROWS * 6, drows[0], drows[1]);
    hps_slice_free(s[0]);
    hps_slice_free(s[1]);
    toy_close(&toy);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layer_is_its_twin),
        cmocka_unit_test(many_rows_are_their_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
