/* t_dev_rows: bags, tables and update rules of the CPU backend equal their slow double twins, on
 * any dimension, with repeated and with no rows, for any number of threads; sums over bags have the
 * same bits on all of them, and so have rules. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "dev_case.h"

/* Bags of 0 to 4 ids (or exactly one) over nrow rows. */
struct bags {
    struct hps_bag bag;
    int *index, *offset;
};

static struct bags make_bags(int nslot, int B, size_t nrow, bool single)
{
    size_t n = (size_t)nslot * (size_t)B;
    struct bags k = { .index = hps_mem_new(4 * n + 1, sizeof(int)),
                      .offset = hps_mem_new(n + 1, sizeof(int)) };

    for (size_t i = 0; i < n; i++)
        k.offset[i + 1] = k.offset[i] + (single ? 1 : (int)(hps_rng_bits(7, i) % 5));
    for (int i = 0; i < k.offset[n]; i++)
        k.index[i] = (int)(hps_rng_bits(9, (uint64_t)i) % nrow);
    k.bag = (struct hps_bag){ nslot, B, (size_t)k.offset[n], k.index, single ? NULL : k.offset,
                              single };
    return k;
}

static void bag_once(struct hps_dev *dev, int B, int dim, bool single, enum hps_pool_kind pool,
                     enum hps_combine combine)
{
    int nslot = 3, nrow = 101, slots = combine == HPS_COMBINE_CONCAT ? nslot : 1;
    struct bags k = make_bags(nslot, B, (size_t)nrow, single);
    struct matrix rows = matrix(nrow, dim, 0), grad = matrix(nrow, dim, 0);
    struct matrix y = matrix(B, slots * dim, 3), dy = matrix(B, slots * dim, 2);

    dev->ops->bag_forward(dev, &k.bag, dim, pool, combine, rows.f, tensor(&y));
    twin_bag(&k.bag, dim, pool, combine, rows.d, y.d);
    matrix_check(&y, y.d);
    dev->ops->bag_backward(dev, &k.bag, dim, pool, combine, tensor(&dy), grad.f, (size_t)nrow);
    twin_bag_back(&k.bag, dim, pool, combine, dy.d, grad.d);
    matrix_check(&grad, grad.d);
    hps_mem_free(k.index);
    hps_mem_free(k.offset);
    matrix_done(&rows);
    matrix_done(&grad);
    matrix_done(&y);
    matrix_done(&dy);
}

static void bags(void **state)
{
    static const int rows[] = { 0, 1, 50, 700 }, dims[] = { 1, 3, 8, 10, 16, 33 };
    (void)state;

    for (int b = 0; b < 4; b++)
        for (int d = 0; d < 6; d++)
            for (int way = 0; way < 8; way++)
                EACH_DEV(bag_once, rows[b], dims[d], way & 1,
                         way & 2 ? HPS_POOL_MEAN : HPS_POOL_SUM,
                         way & 4 ? HPS_COMBINE_SUM : HPS_COMBINE_CONCAT);
}

/* Bags that share rows between threads: the sums do not depend on who adds. */
static void same_bits(void **state)
{
    int B = 512, dim = 8;
    struct matrix dy = matrix(B, 3 * dim, 0), rows[3];
    struct bags k = make_bags(3, B, 50, true);
    (void)state;

    for (int i = 0; i < 3; i++) {
        struct hps_dev dev = open_dev(i + 1);
        rows[i] = matrix(50, dim, 0);
        twin_fill_f(1, 50 * (size_t)dim, rows[i].f);
        dev.ops->bag_backward(&dev, &k.bag, dim, HPS_POOL_SUM, HPS_COMBINE_CONCAT, tensor(&dy),
                              rows[i].f, 50);
        dev.ops->close(&dev);
    }
    for (int i = 0; i < 3; i++) {
        assert_memory_equal(rows[0].f, rows[i].f, 50 * (size_t)dim * sizeof(float));
        if (i > 0)
            matrix_done(&rows[i]);
    }
    matrix_done(&rows[0]);
    matrix_done(&dy);
    hps_mem_free(k.index);
    hps_mem_free(k.offset);
}

static struct hps_rule rule_of(int kind, long long step)
{
    static const int nstate[] = { 0, 1, 1, 1, 0, 1, 2, 2, 2 };

    return (struct hps_rule){ .kind = (enum hps_rule_kind)kind, .nstate = nstate[kind],
                              .nrow = kind == HPS_RULE_ROW_ADAGRAD, .lr = 0.05f, .beta1 = 0.9f,
                              .beta2 = 0.999f, .eps = 1e-7f, .l1 = 0.3f, .l2 = 0.01f, .beta = 1,
                              .scale = 0.7f, .step = step };
}

static void update_once(struct hps_dev *dev, int kind, int n)
{
    struct hps_rule rule = rule_of(kind, 1);
    struct matrix w = matrix(1, n, 0), g = matrix(1, n, 0), s = matrix(2, n, 0);

    memset(s.f, 0, 2 * (size_t)n * sizeof *s.f);
    memset(s.d, 0, 2 * (size_t)n * sizeof *s.d);
    for (; rule.step <= 5; rule.step++) {
        twin_fill_f((uint64_t)rule.step, (size_t)n, g.f);
        twin_widen(1, n, g.f, (size_t)n, g.d);
        twin_rule(&rule, (size_t)n, w.d, g.d, s.d, s.d + n);
        dev->ops->update(dev, &rule, (size_t)n, w.f, g.f, s.f);
        for (int i = 0; i < n; i++)
            assert_true(g.f[i] == 0);
    }
    matrix_check(&w, w.d);
    matrix_check(&s, s.d);
    matrix_done(&w);
    matrix_done(&g);
    matrix_done(&s);
}

/* `count` of `nrow` rows in a strange order, each once. */
static int *some_rows(size_t count, size_t nrow)
{
    int *at = hps_mem_new(count + 1, sizeof *at);

    for (size_t i = 0; i < count; i++)
        at[i] = (int)hps_rng_permute(5, i, nrow);
    return at;
}

static void rows_once(struct hps_dev *dev, int kind, int dim, size_t n)
{
    struct hps_rule rule = rule_of(kind, 3);
    int nrow = 500, width = (int)hps_rule_stride(&rule, dim);
    size_t D = (size_t)dim, W = (size_t)width;
    struct matrix table = matrix(nrow, width, 2), g = matrix((int)n, dim, 0);
    struct matrix out = matrix((int)n, dim, 0), sum = matrix(nrow, dim, 0);
    int *at = some_rows(n, (size_t)nrow);

    for (size_t i = 0; i < (size_t)nrow * table.ld; i++)        /* states are not negative */
        if (i % table.ld >= D && i % table.ld < W)
            table.f[i] = fabsf(table.f[i]);
    twin_widen(nrow, width, table.f, table.ld, table.d);
    for (size_t i = 0; i < n; i++) {
        double *row = table.d + (size_t)at[i] * W;
        for (size_t d = 0; d < D; d++) {
            out.d[i * D + d] = row[d];
            sum.d[(size_t)at[i] * D + d] += g.d[i * D + d];
        }
        twin_rule(&rule, D, row, g.d + i * D, row + D, row + 2 * D);
    }
    dev->ops->rows_gather(dev, table.f, table.ld, dim, n, at, out.f);
    matrix_check(&out, out.d);
    dev->ops->rows_add(dev, dim, n, at, g.f, sum.f);
    matrix_check(&sum, sum.d);
    dev->ops->rows_apply(dev, &rule, table.f, table.ld, dim, n, at, g.f);
    matrix_check(&table, table.d);
    matrix_check(&g, g.d);
    hps_mem_free(at);
    matrix_done(&table);
    matrix_done(&g);
    matrix_done(&out);
    matrix_done(&sum);
}

static void rules(void **state)
{
    static const int dims[] = { 1, 3, 8, 10, 16, 33 };
    (void)state;

    for (int kind = HPS_RULE_SGD; kind <= HPS_RULE_FTRL; kind++) {
        if (kind != HPS_RULE_ROW_ADAGRAD) {
            EACH_DEV(update_once, kind, 1);
            EACH_DEV(update_once, kind, 10007);
        }
        for (int d = 0; d < 6; d++) {
            EACH_DEV(rows_once, kind, dims[d], 0);
            EACH_DEV(rows_once, kind, dims[d], 1);
            EACH_DEV(rows_once, kind, dims[d], 333);
        }
    }
}

/* Three steps of each rule on 1 to 3 threads: who works on what does not show. */
static void rules_same_bits(void **state)
{
    enum { MANY = 40001 };
    static float w[3][MANY], g[MANY], s[3][2 * MANY];
    (void)state;

    for (int kind = HPS_RULE_SGD; kind <= HPS_RULE_FTRL; kind++) {
        for (int i = 0; i < 3 && kind != HPS_RULE_ROW_ADAGRAD; i++) {
            struct hps_dev dev = open_dev(i + 1);
            twin_fill_f(1, MANY, w[i]);
            memset(s[i], 0, sizeof s[i]);
            for (long long step = 1; step <= 3; step++) {
                struct hps_rule rule = rule_of(kind, step);
                twin_fill_f((uint64_t)step, MANY, g);
                dev.ops->update(&dev, &rule, MANY, w[i], g, s[i]);
            }
            dev.ops->close(&dev);
            assert_memory_equal(w[0], w[i], sizeof w[0]);
            assert_memory_equal(s[0], s[i], sizeof s[0]);
        }
    }
}

static void nothing_held(void **state)
{
    (void)state;
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bags), cmocka_unit_test(same_bits), cmocka_unit_test(rules),
        cmocka_unit_test(rules_same_bits),
        cmocka_unit_test(nothing_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
