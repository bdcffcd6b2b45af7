/* t_losses: each loss is what its formula says, and its gradient is the slope of that formula by
 * central differences; losses add up with their weights; labels that a loss cannot take are told
 * with its name, and a sampler that wants more than there is. */
#include <limits.h>
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
#include "tests/lib/twin.h"
#include "net/negatives.h"
#include "tests/lib/toy.h"

enum { B = 9, MAX_N = 300 };

/* A loss at work behind the boundary before it: x (B, in) in double, labels, what it does. */
struct loss_case {
    struct toy toy;
    struct toy_feed feed;
    struct hps_slice *slice;
    const struct hps_layer *l;
    int in;
    double x[B * MAX_N];
    double rows[TOY_ROWS * MAX_N];       /* of a table that it reads */
};

static double number(const struct loss_case *w, const char *key, double preset)
{
    const char *text = hps_item_text(w->l->item, key);
    return text ? strtod(text, NULL) : preset;
}

static bool kind_is(const struct loss_case *w, const char *kind)
{
    return strcmp(w->l->type->name, kind) == 0;
}

static double likeness(const struct loss_case *w, const double *u, const double *v, int n)
{
    double uv = 0, uu = 0, vv = 0;
    const char *text = hps_item_text(w->l->item, "likeness");

    for (int i = 0; i < n; i++) {
        uv += u[i] * v[i];
        uu += u[i] * u[i];
        vv += v[i] * v[i];
    }
    return text && strcmp(text, "dot") == 0 ? uv : uv / sqrt(uu * vv);
}

/* A user's item against so many others of the micro-batch. */
static double pair_loss(const struct loss_case *w, int b)
{
    int n = (int)number(w, "negatives", 0), width = w->in / 2;
    uint64_t key = hps_rng_sub(w->feed.feed.key, hps_rng_key(0, w->l->name));
    const double *u = w->x + b * w->in;
    double own = likeness(w, u, u + width, width), sum = 0;

    if (w->feed.label[b] < 0.5f)
        return 0;
    for (int j = 0; j < n; j++) {
        int o = j;
        if (n < B - 1)
            o = (int)hps_rng_permute(hps_rng_sub(key, (uint64_t)w->feed.example[b]), (uint64_t)j,
                                     B - 1);
        o += o >= b;
        double other = likeness(w, u, w->x + o * w->in + width, width);
        sum += fmax(0, number(w, "margin", 1) - own + other);
    }
    return sum / n;
}

static double nce_loss(const struct loss_case *w, int b)
{
    int n = (int)number(w, "negatives", 16), dim = w->in + 1;
    double sum = 0;

    for (int j = 0; j <= n; j++) {
        const double *row = w->rows + w->feed.feed.lookup[0]->of.index[b * (n + 1) + j] * dim;
        double f = row[w->in];
        for (int i = 0; i < w->in; i++)
            f += row[i] * w->x[b * w->in + i];
        double odds = exp(f) / n;               /* seen : noise */
        sum -= log(j == 0 ? odds / (1 + odds) : 1 / (1 + odds));
    }
    return sum;
}

static double loss_of(const struct loss_case *w, int b)
{
    const double *x = w->x + b * w->in;
    double label = (double)w->feed.label[b], sum = 0;

    if (kind_is(w, "logistic"))
        return log(1 + exp(-x[0])) + (1 - label) * x[0];
    if (kind_is(w, "squared"))
        return (x[0] - label) * (x[0] - label);
    if (kind_is(w, "nce"))
        return nce_loss(w, b);
    if (kind_is(w, "cross_entropy")) {
        for (int c = 0; c < w->in; c++)
            sum += exp(x[c]);
        return log(sum) - x[(int)label];
    }
    if (number(w, "negatives", 0) > 0)
        return pair_loss(w, b);
    return fmax(0, number(w, "margin", 1) - (2 * label - 1) * x[0]);
}

static double loss_of_all(void *arg)
{
    const struct loss_case *w = arg;
    double sum = 0;

    for (int b = 0; b < B; b++)
        sum += loss_of(w, b);
    return sum;
}

static void case_new(struct loss_case *w, const char *layers, const char *loss, float weight)
{
    char deck[1024];

    snprintf(deck, sizeof deck, "model:\n- {name: n, type: dense_input}\n%s- {name: loss, %s}\n",
             layers, loss);
    toy_open(&w->toy, deck);
    int L = w->toy.net->L;
    w->l = &w->toy.net->layer[L - 1];
    toy_feed_new(&w->feed, &w->toy, 40, B, weight);
    w->feed.feed = toy_feed_from(&w->feed, L - 1);
    assert_int_equal(hps_slice_new(&w->slice, w->toy.net, &w->toy.dev,
                                   &(struct hps_slice_opt){ L - 1, L - 1, B, 1,
                                                            &w->toy.train, 1, true }), HPS_OK);
    w->in = w->slice->in_width;
    assert_true(w->in <= MAX_N);
    twin_fill(5, (size_t)(B * w->in), w->x);
    for (int i = 0; i < B * w->in; i++)
        w->x[i] = (double)(float)(2 * w->x[i]);
    if (w->l->table >= 0)
        twin_widen(TOY_ROWS, w->l->dim, w->feed.feed.lookup[0]->rows.gathered, (size_t)w->l->dim,
                   w->rows);
    for (int b = 0; kind_is(w, "cross_entropy") && b < B; b++)
        w->feed.label[b] = (float)(b % w->in);
}

static void case_free(struct loss_case *w)
{
    hps_slice_free(w->slice);
    toy_feed_free(&w->feed);
    toy_close(&w->toy);
}

#define FC(name, width) "- {name: " #name ", type: fc, inputs: n, width: " #width "}\n"

static const struct {
    const char *layers, *loss;
} cases[] = {
    { FC(a, 1), "type: logistic, weight: 0.5" },
    { FC(a, 1), "type: squared, weight: 3" },
    { FC(a, 2), "type: cross_entropy" },
    { FC(a, 5), "type: cross_entropy, weight: 0.25" },
    { FC(a, 1), "type: hinge, margin: 0.3" },
    { FC(a, 3) FC(b, 3), "type: hinge, inputs: [a, b], negatives: 3, margin: 0.8" },
    { FC(a, 8) FC(b, 8), "type: hinge, inputs: [a, b], negatives: 8, likeness: dot, weight: 2" },
    { FC(a, 4), "type: nce, slot: a, negatives: 3" },
    { FC(a, 9), "type: nce, slot: 2, negatives: 5, sampler: log_uniform, weight: 0.5" },
    { FC(a, 300), "type: cross_entropy" },
};

/* The slopes of the weighted sum of losses by n numbers; how far the gradient is off. */
static double off(struct loss_case *w, int n, double *x, const float *grad, double by)
{
    static double slope[B * MAX_N];

    for (int k = 0; k < n; k++)
        slope[k] = by * twin_slope(loss_of_all, w, &x[k], 1e-6);
    return twin_error_f((size_t)n, grad, slope);
}

static void each_is_its_formula(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct loss_case w;
        const float weight = 0.125f;
        case_new(&w, cases[i].layers, cases[i].loss, weight);
        double by = w.l->weight;
        twin_narrow(B, w.in, w.x, w.slice->in[0], (size_t)w.in);
        hps_slice_forward(w.slice, 0, &w.feed.feed, true);
        hps_slice_backward(w.slice, 0, &w.feed.feed, NULL, NULL);
        w.slice->dev->ops->sync(w.slice->dev);
        double want = by * loss_of_all(&w), got = hps_slice_loss(w.slice);
        if (!(want > 0.1 && fabs(got - want) <= 1e-6 * want))
            fail_msg("%s: loss %.9g, not %.9g", cases[i].loss, got, want);
        by *= (double)weight;
        double error = off(&w, B * w.in, w.x, w.slice->in_grad[0], by);
        if (w.l->table >= 0)
            error = fmax(error, off(&w, TOY_ROWS * w.l->dim, w.rows,
                                    w.feed.feed.lookup[0]->grad->row, by));
        if (error > 1e-5)
            fail_msg("%s: the gradient is %g off", cases[i].loss, error);
        hps_slice_forward(w.slice, 0, &w.feed.feed, false);
        w.slice->dev->ops->sync(w.slice->dev);
        assert_true(fabs(hps_slice_loss(w.slice) - got) <= 1e-9 * got);
        case_free(&w);
    }
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void scores_are_what_is_judged(void **state)
{
    struct loss_case w;

    (void)state;
    case_new(&w, FC(a, 2), "type: cross_entropy", 1);
    assert_int_equal(w.l->score, HPS_SCORE_CHANCE);
    twin_narrow(B, 2, w.x, w.slice->in[0], 2);
    hps_slice_forward(w.slice, 0, &w.feed.feed, false);
    w.slice->dev->ops->sync(w.slice->dev);
    for (int b = 0; b < B; b++) {
        double p = 1 / (1 + exp(w.x[2 * b] - w.x[2 * b + 1]));
        assert_true(fabs((double)w.slice->score[b] - p) <= 1e-6);
    }
    case_free(&w);
    case_new(&w, FC(a, 3), "type: cross_entropy", 1);
    assert_int_equal(w.l->score, HPS_SCORE_CLASS);
    twin_narrow(B, 3, w.x, w.slice->in[0], 3);
    hps_slice_forward(w.slice, 0, &w.feed.feed, false);
    w.slice->dev->ops->sync(w.slice->dev);
    for (int b = 0; b < B; b++)
        for (int c = 0; c < 3; c++)
            assert_true(w.x[3 * b + c] <= w.x[3 * b + (int)w.slice->score[b]]);
    case_free(&w);
}

/* Nothing that is huge becomes NaN, and a NaN is not lost. */
static void extremes(void **state)
{
    struct loss_case w;

    (void)state;
    for (size_t i = 2; i < 5; i++) {
        case_new(&w, cases[i].layers, cases[i].loss, 1);
        for (int k = 0; k < B * w.in; k++)
            w.slice->in[0][k] = k % 2 ? 1e30f : -1e30f;
        hps_slice_forward(w.slice, 0, &w.feed.feed, true);
        w.slice->dev->ops->sync(w.slice->dev);
        assert_true(isfinite(hps_slice_loss(w.slice)));
        w.slice->in[0][0] = NAN;
        hps_slice_forward(w.slice, 0, &w.feed.feed, true);
        w.slice->dev->ops->sync(w.slice->dev);
        assert_true(isnan(hps_slice_loss(w.slice)));
        case_free(&w);
    }
}

/* The whole net with these layers behind `h`: its loss, and the gradient of all weights of h. */
static double learn(const char *losses, float *grad, size_t n)
{
    struct toy toy;
    struct toy_feed feed;
    struct hps_slice *s;
    char deck[512];

    snprintf(deck, sizeof deck, "model:\n- {name: n, type: dense_input}\n"
             "- {name: h, type: fc, width: 1}\n%s", losses);
    toy_open(&toy, deck);
    toy_feed_new(&feed, &toy, 0, B, 1.0f / B);
    assert_int_equal(hps_slice_new(&s, toy.net, &toy.dev,
                                   &(struct hps_slice_opt){ 0, toy.net->L - 1, B, 1,
                                                            &toy.train, 1, true }), HPS_OK);
    hps_slice_forward(s, 0, &feed.feed, true);
    hps_slice_backward(s, 0, &feed.feed, NULL, NULL);
    s->dev->ops->sync(s->dev);
    assert_int_equal(s->nparam, n);
    memcpy(grad, s->grad, n * sizeof *grad);
    double loss = hps_slice_loss(s);
    assert_true(hps_slice_loss(s) == 0);
    hps_slice_free(s);
    toy_feed_free(&feed);
    toy_close(&toy);
    return loss;
}

static void losses_add_up(void **state)
{
    float a[4], b[4], both[4];
    double la, lb;

    (void)state;
    la = learn("- {name: a, type: squared, weight: 0.25}\n", a, 4);
    lb = learn("- {name: b, type: logistic, weight: 2}\n", b, 4);
    double sum = learn("- {name: a, type: squared, weight: 0.25}\n"
                       "- {name: b, type: logistic, inputs: h, weight: 2}\n", both, 4);
    assert_true(fabs(sum - la - lb) <= 1e-12 * sum);
    for (int i = 0; i < 4; i++)
        assert_true(fabsf(both[i] - a[i] - b[i]) <= 1e-6f);
}

static void labels_are_looked_at(void **state)
{
    static const struct {
        int i;                          /* of the cases */
        float label;
        bool good;
    } try[] = {
        { 0, 0.5f, true }, { 0, 1.5f, false }, { 1, -7, true }, { 2, 1, true }, { 2, 2, false },
        { 3, 4, true }, { 3, 0.5f, false }, { 3, -1, false }, { 4, 0.5f, false },
        { 5, 2, false }, { 5, 1, true },
    };

    struct hps_data *file[2], first = { .path = "a.h5" }, second = { .path = "b.h5" };
    struct hps_data both = { .files = { .n = 2, .first = (long long[]){ 0, 30, 60 } },
                             .file = file };

    (void)state;
    file[0] = &first;
    file[1] = &second;
    for (size_t i = 0; i < sizeof try / sizeof *try; i++) {
        struct loss_case w;
        case_new(&w, cases[try[i].i].layers, cases[try[i].i].loss, 1);
        struct hps_batch batch = { .B = 3, .data = &both, .example = w.feed.example,
                                   .label = w.feed.label };
        for (int b = 0; b < 3; b++)
            w.feed.label[b] = b == 1 ? try[i].label : 0;
        toy_listen();
        enum hps_status s = w.l->type->check_batch ? w.l->type->check_batch(w.l, &batch) : HPS_OK;
        const char *heard = toy_heard();
        assert_int_equal(s, try[i].good ? HPS_OK : HPS_DECK);
        if (s && (!strstr(heard, "b.h5: the label of example 11 is") ||
                  !strstr(heard, "loss 'loss' takes")))
            fail_msg("heard: %s", heard);
        case_free(&w);
    }
}

/* More negatives than rows, and more numbers or classes than an int counts. */
static void sizes_are_looked_at(void **state)
{
    static const struct {
        int i;                          /* of the cases */
        long long least, most;
        const char *says;
    } tries[] = {
        { 5, 4, 4, NULL },
        { 5, 3, 4, "model.loss.negatives: loss 'loss' wants 3 other items, a micro-batch has 3 "
                   "examples" },
        { 5, 4, INT_MAX / 3, NULL },
        { 5, 4, INT_MAX / 3 + 1, "model.loss.inputs: loss 'loss' compares 715827883 items of 3 " },
        { 7, 1, INT_MAX / 4, NULL },
        { 7, 1, INT_MAX / 4 + 1, "model.loss.negatives: loss 'loss' draws 3 classes for each of "
                                 "536870912 examples" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        struct loss_case w;
        const char *says = tries[i].says;
        case_new(&w, cases[tries[i].i].layers, cases[tries[i].i].loss, 1);
        toy_listen();
        enum hps_status st = hps_net_check_rows(w.toy.net, tries[i].least, tries[i].most);
        const char *heard = toy_heard();
        if (st != (says ? HPS_DECK : HPS_OK) || (says && !strstr(heard, says)))
            fail_msg("heard: %s", heard);
        case_free(&w);
    }
}

/* A batch of the toy's slot a, B examples from `first` on. */
static struct hps_batch batch_of(long long first, int n, long long *example, long long *id,
                                 struct hps_ids *ids, const int **offset)
{
    for (int b = 0; b < n; b++) {
        example[b] = first + b;
        id[b] = (first + b) % 10;
    }
    ids[0] = (struct hps_ids){ id, true };
    return (struct hps_batch){ .B = n, .example = example, .ids = ids, .offset = offset };
}

/* What an example draws does not depend on who else is there, and changes with the step. */
static void noise_is_the_examples_own(void **state)
{
    static const bool mine[3] = { true, true, true };
    long long example[2][8], id[2][8];
    struct hps_ids ids[2][4] = { { { NULL, false } } };
    const int *offset[4] = { NULL };
    struct hps_negatives_sampler *a, *b;
    struct loss_case w;

    (void)state;
    case_new(&w, cases[7].layers, cases[7].loss, 1);
    struct hps_batch whole = batch_of(30, 8, example[0], id[0], ids[0], offset);
    struct hps_batch part = batch_of(33, 2, example[1], id[1], ids[1], offset);
    a = hps_negatives_new(w.toy.net, mine, 1);
    b = hps_negatives_new(w.toy.net, mine, 1);
    const struct hps_batch *x = hps_negatives_batches(a, &whole, 7),
                           *y = hps_negatives_batches(b, &part, 7);
    const struct hps_batch *z = hps_negatives_batches(a, &whole, 8);
    int s = w.l->slot[0];
    assert_int_equal(x->offset[s][8], 8 * 4);
    const long long *of_x = x->ids[s].at;
    assert_true(x->ids[s].wide);
    assert_int_equal(of_x[3 * 4], 33 % 10);
    assert_memory_equal(of_x + 3 * 4, y->ids[s].at, 2 * 4 * sizeof(long long));
    assert_true(memcmp(of_x, z->ids[s].at, 32 * sizeof(long long)) != 0);
    hps_negatives_free(a);
    hps_negatives_free(b);
    case_free(&w);
}

static void noise_has_its_law(void **state)
{
    enum { C = 10, MANY = 200000 };
    struct hps_negatives noise = { .classes = C };

    (void)state;
    for (int way = 0; way < 2; way++) {
        int count[C] = { 0 };
        noise.log_uniform = way;
        for (int i = 0; i < MANY; i++)
            count[hps_negatives_draw(&noise, 3, (uint64_t)i)]++;
        for (int c = 0; c < C; c++) {
            double p = way ? log((c + 2.0) / (c + 1)) / log(C + 1.0) : 1.0 / C;
            assert_true(fabs((double)count[c] / MANY - p) < 5 * sqrt(p / MANY));  /* 5 sigma */
        }
    }
    noise.classes = 1;
    assert_int_equal(hps_negatives_draw(&noise, 3, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_its_formula),
        cmocka_unit_test(scores_are_what_is_judged),
        cmocka_unit_test(extremes),
        cmocka_unit_test(losses_add_up),
        cmocka_unit_test(labels_are_looked_at),
        cmocka_unit_test(sizes_are_looked_at),
        cmocka_unit_test(noise_is_the_examples_own),
        cmocka_unit_test(noise_has_its_law),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
