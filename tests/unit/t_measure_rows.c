/* t_measure_rows: whether bags come as rows or as partial sums, what an embedding's profile is
 * measured with computes the same: outputs, and the gradient of every row that stands in; of the
 * whole micro-batches and of the first examples, of one owner and of several, on threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "profile/measure_rows.h"
#include "tests/lib/slots.h"
#include "tests/lib/toy.h"

enum { ROWS = 8000, DIM = 3, B = 700, WIDTH = 2 * DIM, M = SLOTS_M };

#define DECK                                                                                       \
    "model: [{name: e, type: embedding, slots: a, buckets: 8000, dim: 3, init_std: 0.5}, "         \
    "{name: h, type: fc, width: 1}, {name: l, type: logistic}]\n"

/* What comes of a step. */
struct made {
    float y[M][B * WIDTH];
    double grad[ROWS][DIM];             /* by row of the table that stands in */
    int nplace, n;
};

static void forward(const struct hps_measure_rows *r, struct hps_lookup *lookup,
                    struct hps_table *table, float *value, struct made *made)
{
    const struct hps_dev_ops *ops = r->dev->ops;

    hps_measure_rows_pull(r, table, value);
    for (int m = 0; m < M; m++) {
        lookup[m].rows.gathered = value;
        ops->rows->bag_forward(r->dev, &lookup[m], DIM, HPS_POOL_SUM, HPS_COMBINE_CONCAT,
                               (struct hps_tensor){ made->y[m], WIDTH, WIDTH, false });
    }
    ops->sync(r->dev);
}

static void backward(const struct hps_measure_rows *r, struct hps_lookup *lookup, float *grad,
                     struct made *made)
{
    const struct hps_dev_ops *ops = r->dev->ops;
    struct hps_row_grad there = { .row = grad, .nrow = (size_t)r->nplace };
    float dy[B * WIDTH];

    for (int m = 0; m < M; m++) {
        for (int i = 0; i < B * WIDTH; i++)
            dy[i] = hps_rng_unit(hps_rng_key((uint64_t)m, "dy"), (uint64_t)i) - 0.5f;
        lookup[m].grad = &there;
        ops->rows->bag_backward(r->dev, &lookup[m], DIM, HPS_POOL_SUM, HPS_COMBINE_CONCAT,
                                (struct hps_tensor){ dy, WIDTH, WIDTH, false }, m > 0);
        ops->sync(r->dev);
    }
    struct hps_row_sums sums = hps_measure_rows_sums(r, grad);
    float *row = hps_mem_new((size_t)r->n * DIM, sizeof *row);
    if (sums.start)
        ops->rows->sum(r->dev, DIM, (size_t)r->n, &sums, row);
    else
        memcpy(row, grad, (size_t)r->n * DIM * sizeof *row);
    ops->sync(r->dev);
    for (int i = 0; i < r->n; i++)              /* rows of several owners may be one here */
        for (int d = 0; d < DIM; d++)
            made->grad[r->at[i]][d] += (double)row[i * DIM + d];
    hps_mem_free(row);
}

static struct made *make(struct toy *toy, const struct slots *s, bool sums, int parts, int most)
{
    struct hps_layer_kind kind = { .by_row = true };
    struct hps_layer layer = *s->use[0];
    struct made *made = hps_mem_new(1, sizeof *made);
    struct hps_measure_rows r;
    struct hps_table *table;
    struct hps_lookup lookup[M] = { { 0 } };

    layer.kind = &kind;
    assert_int_equal(hps_table_new(&table, toy->net, 0, 0, parts, &toy->dev, &toy->train, 9, NULL),
                     HPS_OK);
    hps_measure_rows_new(&r, &layer, sums, ROWS, parts, M, &toy->dev);
    hps_measure_rows_find(&r, s->batch, B, lookup);
    hps_measure_rows_find(&r, s->batch, most, lookup);
    float *value = hps_mem_new((size_t)r.nplace * DIM, sizeof *value);
    float *grad = hps_mem_new((size_t)r.nplace * DIM, sizeof *grad);
    forward(&r, lookup, table, value, made);
    backward(&r, lookup, grad, made);
    made->nplace = r.nplace;
    made->n = r.n;
    hps_mem_free(value);
    hps_mem_free(grad);
    hps_measure_rows_free(&r);
    hps_table_free(table);
    return made;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-5 * (1 + fabs(a));         /* single precision, in another order */
}

static void compare(struct toy *toy, const struct slots *s, int parts, int most)
{
    struct made *rows = make(toy, s, false, parts, most), *sums = make(toy, s, true, parts, most);
    size_t nonzero = 0;

    for (int m = 0; m < M; m++)
        for (int i = 0; i < B * WIDTH; i++) {
            assert_true(is_near((double)rows->y[m][i], (double)sums->y[m][i]));
            nonzero += rows->y[m][i] != 0;
        }
    assert_true(nonzero > (size_t)most * WIDTH / 2);
    for (int i = 0; i < ROWS; i++)
        for (int d = 0; d < DIM; d++)
            assert_true(is_near(rows->grad[i][d], sums->grad[i][d]));
    assert_true(rows->nplace == rows->n && sums->n <= rows->n && sums->nplace >= 2 * most);
    hps_mem_free(rows);
    hps_mem_free(sums);
}

static void both_ways_are_one(void **state)
{
    struct toy toy;
    struct slots *s = slots_make(1, SLOTS_SKEWED, ROWS, B, 0);

    (void)state;
    toy_open(&toy, DECK);
    for (int parts = 1; parts <= 3; parts++)
        for (int most = 10; most <= B; most += B - 10)
            compare(&toy, s, parts, most);
    toy_close(&toy);
    slots_free(s);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(both_ways_are_one) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
