/* t_layers: the backward of every layer and of the loss is the derivative of its forward: a plain
 * double twin agrees with central differences, and the layer in a slice agrees with its twin. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tests/lib/layer_case.h"

static enum hps_pool_kind pool_of(const struct work *w)
{
    return work_key_is(w, "pooling", "mean") ? HPS_POOL_MEAN : HPS_POOL_SUM;
}

static enum hps_combine combine_of(const struct work *w)
{
    return work_key_is(w, "combine", "sum") ? HPS_COMBINE_SUM : HPS_COMBINE_CONCAT;
}

static double rate_of(const struct work *w)
{
    return work_number(w, "rate", 0);
}

/* concat and add: copies of columns; `y` NULL is backward. */
static void columns(struct work *w, bool add, double *y, const double *dy)
{
    for (int k = 0, to = 0; k < w->l->ninput; k++) {
        int width = work_width(w, k);
        double *x = work_take(w, k);
        for (int b = 0; b < w->B; b++)
            for (int c = 0; c < width; c++) {
                size_t i = (size_t)b * width + c, o = (size_t)b * w->out + to + c;
                if (y)
                    y[o] += x[i];
                else
                    x[i] = dy[o];
            }
        if (!y)
            work_give(w, k, x);
        hps_mem_free(x);
        to += add ? 0 : width;
    }
}

static uint64_t drop_key(const struct work *w)
{
    return hps_rng_sub(w->feed.feed.key, hps_rng_key(0, w->l->name));
}

static void twin_forward(struct work *w)
{
    const struct hps_lookup *lookup = &w->feed.lookup[w->l->index];
    int in = w->l->ninput ? work_width(w, 0) : 0;
    double *x = in ? work_take(w, 0) : NULL;

    memset(w->y, 0, w->ny * sizeof *w->y);
    if (work_kind_is(w, "fc"))
        twin_fc(work_act(w), w->B, in, w->out, x, w->param, w->param + in * w->out, NULL, w->y);
    else if (work_kind_is(w, "embedding"))
        twin_bag(lookup, w->l->dim, pool_of(w), combine_of(w), w->rows, w->y);
    else if (work_kind_is(w, "dropout"))
        twin_dropout(w->B, in, rate_of(w), drop_key(w), w->feed.example, x, w->y);
    else if (work_kind_is(w, "concat") || work_kind_is(w, "add"))
        columns(w, work_kind_is(w, "add"), w->y, NULL);
    else
        twin_widen(w->B, w->out, w->feed.dense, (size_t)w->out, w->y);
    hps_mem_free(x);
}

static void twin_backward_one_input(struct work *w)
{
    int in = work_width(w, 0);
    double *x = work_take(w, 0), *dx = hps_mem_new((size_t)w->B * in, sizeof *dx);
    double *pre = hps_mem_new(w->ny, sizeof *pre);

    if (work_kind_is(w, "fc")) {
        twin_fc(work_act(w), w->B, in, w->out, x, w->param, w->param + in * w->out, pre, NULL);
        twin_fc_back(work_act(w), w->B, in, w->out, x, w->param, pre, w->dy, dx, w->dparam,
                     w->dparam + in * w->out);
    } else {
        twin_dropout(w->B, in, rate_of(w), drop_key(w), w->feed.example, w->dy, dx);
    }
    work_give(w, 0, dx);
    hps_mem_free(x);
    hps_mem_free(dx);
    hps_mem_free(pre);
}

static void twin_backward(struct work *w)
{
    const struct hps_lookup *lookup = &w->feed.lookup[w->l->index];

    if (work_kind_is(w, "embedding"))
        twin_bag_back(lookup, w->l->dim, pool_of(w), combine_of(w), w->dy, w->drows);
    else if (work_kind_is(w, "concat") || work_kind_is(w, "add"))
        columns(w, work_kind_is(w, "add"), NULL, w->dy);
    else if (w->l->ninput)
        twin_backward_one_input(w);
}

/* The number whose gradient the twin gives. */
static double value(void *arg)
{
    struct work *w = arg;
    double sum = 0;

    twin_forward(w);
    for (size_t i = 0; i < w->ny; i++)
        sum += w->y[i] * w->dy[i];
    return sum;
}

static void check_slopes(struct work *w, size_t n, double *x, const double *dx)
{
    double *slope = hps_mem_new(n, sizeof *slope);

    for (size_t i = 0; i < n; i++)
        slope[i] = twin_slope(value, w, &x[i], 1e-5);
    if (n) work_no_more(twin_error(n, dx, slope), 1e-6, &w->slope_error);
    hps_mem_free(slope);
}

/* Layers x (5 wide) and y (5), z (dense, 3), then the layer t, then down to a loss. */
#define BEFORE                                                                                     \
    "model:\n- {name: x, type: embedding, slots: [a], dim: 5}\n"                                   \
    "- {name: y, type: embedding, slots: [b], dim: 5}\n- {name: z, type: dense_input}\n"
#define AFTER                                                                                      \
    "- {name: h, type: fc, width: 1}\n- {name: all, type: concat, inputs: [x, y, z, h]}\n"         \
    "- {name: g, type: fc, width: 1}\n- {name: loss, type: logistic}\n"

static const char *const layers[] = {
    "type: fc, width: 1, inputs: x",
    "type: fc, width: 4, inputs: z",
    "type: fc, width: 17, inputs: y, activation: relu",
    "type: fc, width: 5, inputs: y, activation: sigmoid",
    "type: fc, width: 6, inputs: y, activation: tanh",
    "type: fc, width: 3, inputs: x, activation: gelu",
    "type: concat, inputs: [y, z, x]",
    "type: concat, inputs: [x, x]",
    "type: concat, inputs: z",
    "type: add, inputs: [x, y]",
    "type: add, inputs: [y, x, y, y]",
    "type: add, inputs: x",
    "type: dropout, rate: 0, inputs: x",
    "type: dropout, rate: 0.3, inputs: y",
    "type: dropout, rate: 0.9, inputs: z",
    "type: dense_input",
    "type: embedding, dim: 3, slots: a",
    "type: embedding, dim: 8, slots: [1-2]",
    "type: embedding, dim: 1, slots: all, combine: sum",
    "type: embedding, dim: 4, slots: all",
    "type: embedding, dim: 3, slots: [c, d], pooling: mean",
    "type: embedding, dim: 5, slots: [d, a], pooling: mean, combine: sum",
};

static void check_layer(const char *layer, int B, double worst[2])
{
    char deck[1024];
    struct work w;

    snprintf(deck, sizeof deck,
             BEFORE "- {name: t, %s}\n- {name: u, type: fc, width: 1, inputs: t}\n" AFTER, layer);
    work_new(&w, deck, "t", B);
    twin_forward(&w);
    twin_backward(&w);
    work_check_slice(&w);
    if (B <= 7 && w.l->grad) {
        check_slopes(&w, w.nparam, w.param, w.dparam);
        check_slopes(&w, w.nrows, w.rows, w.drows);
    }
    if (B <= 7 && !work_kind_is(&w, "dense_input"))
        check_slopes(&w, w.nx, w.x, w.dx);
    worst[0] = fmax(worst[0], w.slope_error);
    worst[1] = fmax(worst[1], w.near_error);
    work_free(&w);
}

/* perf/scripts/gradients.sh makes a table of these lines. */
static void tell(const char *layer, const double worst[2])
{
    print_message("error %.1e %.1e %s\n", worst[0], worst[1], layer);
}

static void every_layer_is_its_twin(void **state)
{
    static const int B[] = { 0, 1, 2, 7, 33 };

    (void)state;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        double worst[2] = { 0, 0 };
        for (size_t k = 0; k < sizeof B / sizeof *B; k++)
            check_layer(layers[i], B[k], worst);
        tell(layers[i], worst);
    }
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static double loss_of(void *arg)
{
    struct work *w = arg;
    double label[7];

    twin_widen(w->B, 1, w->feed.label, 1, label);
    return 0.25 * twin_logistic(w->B, w->x, label, 0.25, NULL, NULL);
}

static void the_loss_is_its_twin(void **state)
{
    struct hps_slice *s;
    struct work w;
    double label[7], score[7], dx[7], slope[7], worst[2] = { 0, 0 };

    (void)state;
    work_new(&w, "model: [{name: e, type: embedding, dim: 1, slots: a}, "
                 "{name: t, type: logistic}]", "t", 7);
    struct hps_feed feed = toy_feed_from(&w.feed, 1);
    for (int b = 0; b < 7; b++)
        w.x[b] *= 4;
    twin_widen(7, 1, w.feed.label, 1, label);
    double sum = twin_logistic(7, w.x, label, 0.25, score, dx);
    for (int b = 0; b < 7; b++)
        slope[b] = twin_slope(loss_of, &w, &w.x[b], 1e-5);
    work_no_more(twin_error(7, dx, slope), 1e-6, &worst[0]);

    assert_int_equal(hps_slice_new(&s, w.toy.net, &w.toy.dev,
                                   &(struct hps_slice_opt){ 1, 1, 9, 2, &w.toy.train, 5, true }),
                     HPS_OK);
    twin_narrow(7, 1, w.x, s->in[1], 1);
    hps_slice_forward(s, 1, &feed, true);
    hps_slice_backward(s, 1, &feed, NULL, NULL);
    s->dev->ops->sync(s->dev);
    work_no_more(twin_error_f(7, s->score + s->rows, score), 1e-5, &worst[1]);
    work_no_more(twin_error_f(7, s->in_grad[1], dx), 1e-5, &worst[1]);
    tell("type: logistic", worst);
    assert_true(fabs(hps_slice_loss(s) - sum) <= 1e-5 * sum);
    assert_true(hps_slice_loss(s) == 0);
    hps_slice_free(s);
    work_free(&w);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* Logits of any size give a finite loss and gradient. */
static void the_loss_does_not_overflow(void **state)
{
    struct hps_slice *s;
    struct work w;
    static const float far[4] = { 1e4f, -1e4f, 88.0f, -104.0f };

    (void)state;
    work_new(&w, "model: [{name: e, type: embedding, dim: 1, slots: a}, "
                 "{name: t, type: logistic}]", "t", 4);
    struct hps_feed feed = toy_feed_from(&w.feed, 1);
    assert_int_equal(hps_slice_new(&s, w.toy.net, &w.toy.dev,
                                   &(struct hps_slice_opt){ 1, 1, 4, 1, &w.toy.train, 5, true }),
                     HPS_OK);
    memcpy(s->in[0], far, sizeof far);
    hps_slice_forward(s, 0, &feed, true);
    hps_slice_backward(s, 0, &feed, NULL, NULL);
    s->dev->ops->sync(s->dev);
    assert_true(isfinite(hps_slice_loss(s)));
    for (int b = 0; b < 4; b++)
        assert_true(fabsf(s->in_grad[0][b]) <= 0.25f);
    hps_slice_free(s);
    work_free(&w);
}

static void evaluation_drops_nothing(void **state)
{
    struct hps_slice *s;
    struct work w;

    (void)state;
    work_new(&w, BEFORE "- {name: t, type: dropout, rate: 0.5, inputs: x}\n" AFTER, "t", 6);
    struct hps_feed feed = toy_feed_from(&w.feed, w.l->index);
    assert_int_equal(hps_slice_new(&s, w.toy.net, &w.toy.dev,
                                   &(struct hps_slice_opt){ w.l->index, w.l->index, 6, 1,
                                                            &w.toy.train, 5, false }), HPS_OK);
    twin_fill_f(1, (size_t)6 * s->in_width, s->in[0]);
    hps_slice_forward(s, 0, &feed, false);
    s->dev->ops->sync(s->dev);
    for (int b = 0; b < 6; b++)         /* x is first before, t is last behind */
        assert_memory_equal(s->out[0] + (b + 1) * s->out_width - 5, s->in[0] + b * s->in_width,
                            5 * sizeof(float));
    hps_slice_free(s);
    work_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layer_is_its_twin),
        cmocka_unit_test(the_loss_is_its_twin),
        cmocka_unit_test(the_loss_does_not_overflow),
        cmocka_unit_test(evaluation_drops_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
