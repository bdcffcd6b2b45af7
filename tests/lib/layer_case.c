/* layer_case.c - one layer of a toy net at work; see layer_case.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "layer_case.h"

bool work_key_is(const struct work *w, const char *key, const char *word)
{
    const char *text = hps_item_text(w->l->item, key);
    return text && strcmp(text, word) == 0;
}

double work_number(const struct work *w, const char *key, double preset)
{
    const char *text = hps_item_text(w->l->item, key);
    return text ? strtod(text, NULL) : preset;
}

bool work_kind_is(const struct work *w, const char *kind)
{
    return strcmp(w->l->type->name, kind) == 0;
}

enum hps_act work_act(const struct work *w)
{
    static const char *const word[] = { "none", "relu", "sigmoid", "tanh", "gelu" };

    for (int a = 1; a < 5; a++)
        if (work_key_is(w, "activation", word[a]))
            return (enum hps_act)a;
    return HPS_ACT_NONE;
}

/* First column of the k-th input in the pack. */
int work_column(const struct work *w, int k)
{
    int at = 0;

    for (int i = 0; w->list[i] != w->l->input[k]; i++)
        at += w->toy.net->layer[w->list[i]].width;
    return at;
}

int work_width(const struct work *w, int k)
{
    return w->toy.net->layer[w->l->input[k]].width;
}

/* Columns of the k-th input to a matrix of their own; and a gradient back, added. */
double *work_take(const struct work *w, int k)
{
    size_t width = (size_t)work_width(w, k), in = (size_t)w->in;
    double *x = hps_mem_new((size_t)w->B * width, sizeof *x);

    for (size_t b = 0; b < (size_t)w->B; b++)
        memcpy(x + b * width, w->x + b * in + work_column(w, k), width * sizeof *x);
    return x;
}

void work_give(struct work *w, int k, const double *dx)
{
    int width = work_width(w, k);

    for (int b = 0; b < w->B; b++)
        for (int c = 0; c < width; c++)
            w->dx[(size_t)b * w->in + work_column(w, k) + c] += dx[(size_t)b * width + c];
}

static double *filled(size_t n, uint64_t stream)
{
    double *x = hps_mem_new(n, sizeof *x);

    twin_fill(hps_rng_sub(hps_rng_key(1, "t_layers"), stream), n, x);
    for (size_t i = 0; i < n; i++)
        x[i] = (double)(float)x[i];     /* so that the layer gets exactly what the twin gets */
    return x;
}

void work_new(struct work *w, const char *deck, const char *layer, int B)
{
    int grad;

    memset(w, 0, sizeof *w);
    toy_open(&w->toy, deck);
    for (int l = 0; l < w->toy.net->L; l++)
        if (strcmp(w->toy.net->layer[l].name, layer) == 0)
            w->l = &w->toy.net->layer[l];
    assert_non_null(w->l);
    toy_feed_new(&w->feed, &w->toy, 40, B, 0.25f);
    w->B = B;
    w->out = w->l->width;
    w->n = hps_net_boundary(w->toy.net, w->l->index, w->list, &w->in, &grad);
    w->nx = (size_t)B * w->in;
    w->ny = (size_t)B * w->out;
    w->nparam = w->l->nparam;
    w->nrows = w->l->table >= 0 ? (size_t)TOY_ROWS * w->l->dim : 0;
    w->x = filled(w->nx, 1);
    w->param = filled(w->nparam, 2);
    w->rows = filled(w->nrows, 3);
    w->dy = filled(w->ny, 4);
    w->y = hps_mem_new(w->ny, sizeof(double));
    w->dx = hps_mem_new(w->nx, sizeof(double));
    w->dparam = hps_mem_new(w->nparam, sizeof(double));
    w->drows = hps_mem_new(w->nrows, sizeof(double));
}

void work_free(struct work *w)
{
    double *const all[] = { w->x, w->param, w->rows, w->dy, w->y, w->dx, w->dparam, w->drows };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hps_mem_free(all[i]);
    toy_feed_free(&w->feed);
    toy_close(&w->toy);
}

void work_no_more(double error, double limit, double *worst)
{
    assert_true(error <= limit);
    *worst = fmax(*worst, error);
}

/* Gradients of the pack as the twin has them, without columns of tensors that want none. */
static double *wanted(const struct work *w, int width)
{
    double *dx = hps_mem_new((size_t)w->B * width, sizeof *dx);
    int from = 0, to = 0;

    for (int i = 0; i < w->n; i++) {
        const struct hps_layer *x = &w->toy.net->layer[w->list[i]];
        for (int b = 0; x->grad && b < w->B; b++)
            memcpy(dx + (size_t)b * width + to, w->dx + (size_t)b * w->in + from,
                   (size_t)x->width * sizeof *dx);
        from += x->width;
        to += x->grad ? x->width : 0;
    }
    return dx;
}

/* Numbers are of the order of 1: what cancels to nothing is no measure of its own error. */
static void check_near(struct work *w, int rows, int width, const float *got, size_t ld,
                       const double *want)
{
    size_t n = (size_t)rows * width;
    double *wide = hps_mem_new(n, sizeof *wide), most = 0;

    twin_widen(rows, width, got, ld, wide);
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(want[i]));
    double size = fmin(1, 100 * fmax(most, 1e-30));
    if (n) work_no_more(twin_error(n, wide, want) * size, 1e-5, &w->near_error);
    hps_mem_free(wide);
}

/* The layer alone in a slice; its output is the last of the pack behind it. */
void work_check_slice(struct work *w)
{
    int l = w->l->index, rows = w->B + 3;
    struct hps_slice *s;
    struct hps_feed feed = toy_feed_from(&w->feed, l);

    assert_int_equal(hps_slice_new(&s, w->toy.net, &w->toy.dev,
                                   &(struct hps_slice_opt){ l, l, rows, 1,
                                                            &w->toy.train, 5, true }), HPS_OK);
    assert_int_equal(s->in_width, w->in);
    assert_int_equal(s->nparam, w->nparam);
    twin_narrow(w->B, w->in, w->x, s->in[0], (size_t)w->in);
    twin_narrow(1, (int)w->nparam, w->param, s->param, 0);
    twin_narrow(1, (int)w->nrows, w->rows, w->feed.rows[l], 0);
    memset(s->in_grad[0], 0xff, (size_t)w->B * s->in_grad_width * sizeof(float));
    hps_slice_forward(s, 0, &feed, true);
    s->dev->ops->sync(s->dev);
    check_near(w, w->B, w->out, s->out[0] + s->out_width - w->out, (size_t)s->out_width, w->y);
    if (w->l->grad) {
        twin_narrow(w->B, w->out, w->dy, s->out_grad[0] + s->out_grad_width - w->out,
                    (size_t)s->out_grad_width);
        hps_slice_backward(s, 0, &feed, NULL, NULL);
        s->dev->ops->sync(s->dev);
        double *dx = wanted(w, s->in_grad_width);
        check_near(w, w->B, s->in_grad_width, s->in_grad[0], (size_t)s->in_grad_width, dx);
        check_near(w, 1, (int)w->nparam, s->grad, 0, w->dparam);
        check_near(w, 1, (int)w->nrows, w->feed.rows_grad[l].row, 0, w->drows);
        hps_mem_free(dx);
    }
    hps_slice_free(s);
}

