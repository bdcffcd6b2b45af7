/* t_slice: a net cut in any two or three slices, with any number of micro-batches in flight, gives
 * the scores, losses, gradients and weights of the whole: tensors that skip slices included.
 * Tensors that are kept in bf16 change none of their bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/slice_impl.h"
#include "tests/lib/twin.h"
#include "tests/lib/toy.h"

/* Skips (b, h, w), tensors with several readers, one that wants no gradient and skips (n). */
static const char deck[] =
    "train: {optimizer: adam, learning_rate: 0.01, l2: 0.001}\n"
    "model:\n"
    "- {name: e, type: embedding, slots: [a, c], dim: 4}\n"
    "- {name: n, type: dense_input}\n"
    "- {name: w, type: embedding, slots: all, dim: 1, combine: sum, pooling: mean}\n"
    "- {name: b, type: concat, inputs: [e, n]}\n"
    "- {name: h, type: fc, width: 6, activation: relu}\n"
    "- {name: d, type: dropout, rate: 0.3}\n"
    "- {name: g, type: fc, width: 6, activation: gelu}\n"
    "- {name: r, type: add, inputs: [g, h]}\n"
    "- {name: c, type: concat, inputs: [r, b, n]}\n"
    "- {name: o, type: fc, width: 1}\n"
    "- {name: y, type: add, inputs: [o, w]}\n"
    "- {name: loss, type: logistic}\n";

/* Layers that mix columns, rows and examples. */
static const char mixing[] =
    "train: {optimizer: sgd, learning_rate: 0.1}\n"
    "model:\n"
    "- {name: e, type: embedding, slots: [a, c], dim: 4}\n"
    "- {name: n, type: dense_input}\n"
    "- {name: v, type: embedding, slots: [b], dim: 8}\n"
    "- {name: x, type: fc, width: 8, inputs: n}\n"
    "- {name: d, type: dot_interaction, dim: 4, inputs: [x, e], pass: first}\n"
    "- {name: f, type: fm, dim: 4, inputs: [e, v]}\n"
    "- {name: c, type: cross, rank: 2, inputs: e}\n"
    "- {name: k, type: cross, inputs: [e, c]}\n"
    "- {name: t, type: attention, slot: d, dim: 8, hidden: 3, inputs: v}\n"
    "- {name: s, type: softmax}\n"
    "- {name: b, type: batch_norm, inputs: k}\n"
    "- {name: l, type: layer_norm}\n"
    "- {name: g, type: activation, activation: gelu}\n"
    "- {name: y, type: cosine, inputs: [g, t]}\n"
    "- {name: all, type: concat, inputs: [d, f, s, g, y]}\n"
    "- {name: o, type: fc, width: 1}\n"
    "- {name: loss, type: logistic}\n";
/* Wide enough for products in bf16, which read pooled rows, dense features, concatenations in
 * concatenations, dot products and other products. */
static const char wide[] =
    "train: {optimizer: adam, learning_rate: 0.01}\n"
    "model:\n"
    "- {name: e, type: embedding, slots: all, dim: 8}\n"
    "- {name: n, type: dense_input}\n"
    "- {name: s, type: embedding, slots: all, dim: 16, combine: sum, pooling: mean}\n"
    "- {name: b, type: concat, inputs: [e, n]}\n"
    "- {name: h, type: fc, width: 24, activation: relu}\n"
    "- {name: g, type: fc, width: 20}\n"
    "- {name: c, type: concat, inputs: [g, b, n, s]}\n"
    "- {name: k, type: fc, width: 16, activation: tanh}\n"
    "- {name: d, type: dot_interaction, dim: 4, inputs: [k, s], pass: first}\n"
    "- {name: p, type: fc, width: 24, activation: relu}\n"
    "- {name: q, type: fc, width: 16, activation: relu, inputs: h}\n"
    "- {name: m, type: concat, inputs: [p, q, d]}\n"
    "- {name: r, type: fc, width: 16, activation: relu}\n"
    "- {name: t, type: concat, inputs: [r, k]}\n"
    "- {name: o, type: fc, width: 1}\n"
    "- {name: loss, type: logistic}\n";
static const char *net = deck;          /* the one at work */

enum { MB = 3, ROWS = 5, FLIGHTS = 2 };

/* Of devices that are opened: products in bf16; and no tensor is kept so. */
static bool in_bf16, keep_none;
static struct hps_dense_ops dense_keeps_none;
static struct hps_dev_ops keeps_none;

static void set_precision(struct hps_dev *dev)
{
    dev->precision = HPS_BF16;
    dev->emulate_bf16 = dev->host;
    if (!keep_none) return;
    dense_keeps_none = *dev->ops->dense;
    dense_keeps_none.keeps_rounded = NULL;
    keeps_none = *dev->ops;
    keeps_none.dense = &dense_keeps_none;
    dev->ops = &keeps_none;
}

/* A pipeline in one process: the caller's part of the slices' contract, by hand. */
struct line {
    struct toy toy;
    int n;
    struct hps_slice *s[3];
    struct toy_feed feed[MB];
    float score[MB][ROWS];
    double loss;
};

static void line_new(struct line *p, int n, const int *cut)
{
    static const int B[MB] = { 5, 4, 0 };

    memset(p, 0, sizeof *p);
    toy_open(&p->toy, net);
    if (in_bf16) set_precision(&p->toy.dev);
    p->n = n;
    for (int i = 0; i < n; i++) {
        int first = i ? cut[i - 1] : 0, last = i < n - 1 ? cut[i] - 1 : p->toy.net->L - 1;
        assert_int_equal(hps_slice_new(&p->s[i], p->toy.net, &p->toy.dev,
                                       &(struct hps_slice_opt){ first, last, ROWS, FLIGHTS,
                                                                &p->toy.train, 11, true }), HPS_OK);
    }
    for (int m = 0, at = 0; m < MB; at += B[m++])
        toy_feed_new(&p->feed[m], &p->toy, at, B[m], 1.0f / 9);
}

static void line_free(struct line *p)
{
    for (int i = 0; i < p->n; i++)
        hps_slice_free(p->s[i]);
    for (int m = 0; m < MB; m++)
        toy_feed_free(&p->feed[m]);
    toy_close(&p->toy);
}

static void forward(struct line *p, int m, int flight, bool training)
{
    struct hps_slice *last = p->s[p->n - 1];
    size_t B = (size_t)p->feed[m].feed.B;

    for (int i = 0; i < p->n; i++) {
        struct hps_feed feed = toy_feed_from(&p->feed[m], p->s[i]->first);
        hps_slice_forward(p->s[i], flight, &feed, training);
        p->s[i]->dev->ops->sync(p->s[i]->dev);
        if (p->s[i] == last)
            continue;
        assert_int_equal(p->s[i]->out_width, p->s[i + 1]->in_width);
        memcpy(p->s[i + 1]->in[flight], p->s[i]->out[flight],
               B * p->s[i]->out_width * sizeof(float));
    }
    memcpy(p->score[m], last->score + flight * ROWS, B * sizeof(float));
}

static void backward(struct line *p, int m, int flight)
{
    size_t B = (size_t)p->feed[m].feed.B;

    for (int i = p->n - 1; i >= 0; i--) {
        struct hps_feed feed = toy_feed_from(&p->feed[m], p->s[i]->first);
        hps_slice_backward(p->s[i], flight, &feed, NULL, NULL);
        p->s[i]->dev->ops->sync(p->s[i]->dev);
        if (i == 0)
            continue;
        assert_int_equal(p->s[i]->in_grad_width, p->s[i - 1]->out_grad_width);
        memcpy(p->s[i - 1]->out_grad[flight], p->s[i]->in_grad[flight],
               B * p->s[i]->in_grad_width * sizeof(float));
    }
}

static void one_after_another(struct line *p)
{
    for (int m = 0; m < MB; m++) {
        forward(p, m, 0, true);
        backward(p, m, 0);
    }
    p->loss = hps_slice_loss(p->s[p->n - 1]);
}

/* Two at once, as 1F1B does; what lies in the buffers from before is rubbish. */
static void in_flight(struct line *p)
{
    for (int i = 0; i < p->n; i++)
        for (int f = 0; f < FLIGHTS; f++) {
            struct hps_slice *s = p->s[i];
            memset(s->out[f], 0xff, ROWS * s->out_width * sizeof(float));
            memset(s->in_grad[f], 0xff, ROWS * s->in_grad_width * sizeof(float));
        }
    forward(p, 0, 0, true);
    forward(p, 1, 1, true);
    backward(p, 0, 0);
    forward(p, 2, 0, true);
    backward(p, 1, 1);
    backward(p, 2, 0);
    p->loss = hps_slice_loss(p->s[p->n - 1]);
}

static void close_to(size_t n, const float *got, const float *want)
{
    for (size_t i = 0; i < n; i++)
        assert_true(fabsf(got[i] - want[i]) <= 1e-6f * (1e-3f + fabsf(want[i])));
}

/* Scores, loss, gradients (then weights) of a cut line are those of the whole. */
static void same(const struct line *cut, const struct line *whole, bool weights)
{
    for (int m = 0; m < MB; m++) {
        close_to((size_t)cut->feed[m].feed.B, cut->score[m], whole->score[m]);
        for (int l = 0; l < cut->toy.net->L; l++)
            if (cut->toy.net->layer[l].table >= 0)
                close_to((size_t)TOY_ROWS * cut->toy.net->layer[l].dim,
                         cut->feed[m].rows_grad[l].row, whole->feed[m].rows_grad[l].row);
    }
    assert_true(fabs(cut->loss - whole->loss) <= 1e-6 * whole->loss);
    for (int i = 0; i < cut->n; i++) {
        size_t at = whole->s[0]->offset[cut->s[i]->first];
        if (weights)
            close_to(cut->s[i]->nparam, cut->s[i]->param, whole->s[0]->param + at);
        else
            close_to(cut->s[i]->nparam, cut->s[i]->grad, whole->s[0]->grad + at);
    }
}

static void step(struct line *p, long long n)
{
    for (int i = 0; i < p->n; i++)
        hps_slice_update(p->s[i], hps_update_of(n, 10), 1);
}

static void check_cut(int n, const int *cut)
{
    struct line whole, parts;

    line_new(&whole, 1, NULL);
    line_new(&parts, n, cut);
    one_after_another(&whole);
    in_flight(&parts);
    assert_true(whole.loss > 0.1 && isfinite(whole.loss));
    same(&parts, &whole, false);
    step(&whole, 0);
    step(&parts, 0);
    same(&parts, &whole, true);
    one_after_another(&whole);
    in_flight(&parts);
    same(&parts, &whole, false);
    line_free(&whole);
    line_free(&parts);
}

static void two_slices_are_the_whole(void **state)
{
    (void)state;
    for (int a = 1; a < 12; a++)
        check_cut(2, &a);
    net = mixing;
    for (int a = 1; a < 17; a++)
        check_cut(2, &a);
    net = deck;
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void three_slices_are_the_whole(void **state)
{
    (void)state;
    for (int a = 1; a < 11; a++)
        for (int b = a + 1; b < 12; b++)
            check_cut(3, (const int[]){ a, b });
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void same_bits(const struct line *x, const struct line *y)
{
    assert_memory_equal(x->score, y->score, sizeof x->score);
    assert_true(x->loss == y->loss);
    assert_memory_equal(x->s[0]->grad, y->s[0]->grad, x->s[0]->nparam * sizeof(float));
    for (int m = 0; m < MB; m++)
        for (int l = 0; l < x->toy.net->L; l++)
            if (x->toy.net->layer[l].table >= 0)
                assert_memory_equal(x->feed[m].rows_grad[l].row, y->feed[m].rows_grad[l].row,
                                    (size_t)TOY_ROWS * (size_t)x->toy.net->layer[l].dim *
                                        sizeof(float));
}

/* The layers whose outputs are in bf16, in the order of the net. */
static void kept(const struct line *p, char *name)
{
    const struct hps_slice_impl *impl = p->s[0]->impl;

    for (int l = 0; l < p->toy.net->L; l++)
        if (impl->view[l].rounded) *name++ = p->toy.net->layer[l].name[0];
    *name = '\0';
}

/* What is kept in bf16 is what products would round themselves: no bit changes. s and t have a
 * reader that computes in fp32; b and n are copied to c. */
static void tensors_in_bf16_change_no_bit(void **state)
{
    struct line rounded, plain;
    char name[32];

    (void)state;
    net = wide;
    in_bf16 = true;
    line_new(&rounded, 1, NULL);
    keep_none = true;
    line_new(&plain, 1, NULL);
    kept(&plain, name);
    assert_string_equal(name, "");
    kept(&rounded, name);
    if (rounded.toy.dev.host) assert_string_equal(name, "enbhgcdpqm");
    for (int i = 0; i < 2; i++) {
        one_after_another(&rounded);
        one_after_another(&plain);
        assert_true(rounded.loss > 0.1 && isfinite(rounded.loss));
        same_bits(&rounded, &plain);
        step(&rounded, i);
        step(&plain, i);
    }
    line_free(&rounded);
    line_free(&plain);
    in_bf16 = keep_none = false;
    net = deck;
}

/* Loss by one number; the loss has 7 digits: 1e-7 / h is what the quotient can tell. */
static void check_slope(struct line *p, float *x, float grad)
{
    const float h = 1e-3f, here = *x;
    double side[2];

    for (int k = 0; k < 2; k++) {
        *x = here + (k ? h : -h);
        one_after_another(p);
        side[k] = p->loss / 9;
    }
    *x = here;
    double slope = (side[1] - side[0]) / (2 * (double)h);
    if (!(fabs(slope - (double)grad) <= 3e-5))
        fail_msg("gradient %g, slope %g", (double)grad, slope);
}

/* The gradient of the whole net is the slope of its loss: the chain through skips is right. */
static void the_gradient_is_the_slope(void **state)
{
    struct line p;
    float grad[256], row[TOY_ROWS * 4];

    (void)state;
    line_new(&p, 1, NULL);
    one_after_another(&p);
    size_t n = p.s[0]->nparam;
    assert_true(n <= 256);
    memcpy(grad, p.s[0]->grad, n * sizeof *grad);
    memcpy(row, p.feed[0].rows_grad[0].row, sizeof row);
    for (size_t i = 0; i < n; i += 3)
        check_slope(&p, &p.s[0]->param[i], grad[i]);
    for (size_t i = 0; i < TOY_ROWS * 4; i++)
        check_slope(&p, &p.feed[0].rows[0][i], row[i]);
    line_free(&p);
}

static void note(int layer, void *arg)
{
    char *text = arg;
    size_t n = strlen(text);

    text[n] = (char)('a' + layer);
    text[n + 1] = '\0';
}

/* Also for a micro-batch without rows: its bucket must travel all the same. */
static void done_is_told_once_a_layer_with_weights(void **state)
{
    struct line p;

    (void)state;
    line_new(&p, 1, NULL);
    for (int m = 0; m < MB; m++) {
        char told[16] = "";
        struct hps_feed feed = toy_feed_from(&p.feed[m], 0);
        forward(&p, m, 0, true);
        hps_slice_backward(p.s[0], 0, &feed, note, told);
        p.s[0]->dev->ops->sync(p.s[0]->dev);
        assert_string_equal(told, "jgeca");             /* o, g, h, w, e */
    }
    line_free(&p);
}

static void evaluation_needs_no_gradients(void **state)
{
    struct line p;
    struct hps_slice *s;

    (void)state;
    line_new(&p, 1, NULL);
    forward(&p, 0, 0, false);
    assert_int_equal(hps_slice_new(&s, p.toy.net, &p.toy.dev,
                                   &(struct hps_slice_opt){ 0, p.toy.net->L - 1, ROWS, 1,
                                                            &p.toy.train, 11, false }), HPS_OK);
    assert_null(s->grad);
    hps_slice_forward(s, 0, &p.feed[0].feed, false);
    s->dev->ops->sync(s->dev);
    assert_memory_equal(s->score, p.score[0], 5 * sizeof(float));
    assert_true(hps_slice_loss(s) == hps_slice_loss(p.s[0]));
    hps_slice_free(s);
    line_free(&p);
}

/* Timing computes what training does. */
static void every_layer_is_timed(void **state)
{
    struct hps_slice *s;
    struct line p;
    double forward_s[32], backward_s[32], sum = 0, began_s = hps_now_s();

    (void)state;
    line_new(&p, 1, NULL);
    forward(&p, 0, 0, true);
    assert_int_equal(hps_slice_new(&s, p.toy.net, &p.toy.dev,
                                   &(struct hps_slice_opt){ 0, p.toy.net->L - 1, ROWS, 1,
                                                            &p.toy.train, 11, true }), HPS_OK);
    assert_true(p.toy.net->L <= 32);
    hps_slice_measure(s, &p.feed[0].feed, false, hps_now_s, forward_s);
    hps_slice_measure(s, &p.feed[0].feed, true, hps_now_s, backward_s);
    for (int l = 0; l < p.toy.net->L; l++) {
        assert_true(forward_s[l] >= 0 && backward_s[l] >= 0);
        sum += forward_s[l] + backward_s[l];
    }
    assert_true(sum <= hps_now_s() - began_s);
    assert_memory_equal(s->score, p.score[0], 5 * sizeof(float));
    assert_true(hps_slice_loss(s) == hps_slice_loss(p.s[0]));
    hps_slice_free(s);
    line_free(&p);
}

/* A slice without weights, and one for a rank that never has a row. */
static void slices_may_be_empty(void **state)
{
    struct toy toy;
    struct toy_feed f;
    struct hps_slice *s;

    (void)state;
    toy_open(&toy, deck);
    toy_feed_new(&f, &toy, 0, 0, 1);
    for (int l = 0; l < toy.net->L; l++) {
        struct hps_feed feed = toy_feed_from(&f, l);
        struct hps_slice_opt opt = { l, l, 0, 3, &toy.train, 1, true };
        assert_int_equal(hps_slice_new(&s, toy.net, &toy.dev, &opt), HPS_OK);
        hps_slice_forward(s, 2, &feed, true);
        hps_slice_backward(s, 2, &feed, NULL, NULL);
        s->dev->ops->sync(s->dev);
        hps_slice_update(s, hps_update_of(0, 1), 1);
        assert_true(hps_slice_loss(s) == 0);
        hps_slice_free(s);
    }
    toy_feed_free(&f);
    toy_close(&toy);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_slices_are_the_whole),
        cmocka_unit_test(three_slices_are_the_whole),
        cmocka_unit_test(tensors_in_bf16_change_no_bit),
        cmocka_unit_test(the_gradient_is_the_slope),
        cmocka_unit_test(done_is_told_once_a_layer_with_weights),
        cmocka_unit_test(evaluation_needs_no_gradients),
        cmocka_unit_test(every_layer_is_timed),
        cmocka_unit_test(slices_may_be_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
