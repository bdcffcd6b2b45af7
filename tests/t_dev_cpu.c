/* t_dev_cpu: each operation of the CPU backend equals its slow double twin, on ragged and strided
 * shapes, down to no row at all, for any number of threads; what lies between rows stays as it was;
 * the same call gives the same bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "twin.h"

/* Sums of a few hundred products of order 1 lose about sqrt(n) * 6e-8 of the largest; one part in
 * 1e5 leaves room for the longest here and is what the layers are promised. A sum whose terms cancel
 * to less than 1 is held against 1. */
#define CLOSE 1e-5
#define GUARD 12345.0f

static uint64_t salt;

/* A float matrix with a gap behind each row, and the same numbers as doubles without gaps. */
struct matrix {
    int B, width;
    size_t ld;
    float *f;
    double *d;
};

static struct matrix matrix(int B, int width, int gap)
{
    struct matrix m = { B, width, (size_t)width + (size_t)gap, NULL, NULL };
    size_t n = (size_t)B * m.ld;

    m.f = hps_mem_new(n + 1, sizeof *m.f);
    m.d = hps_mem_new((size_t)B * (size_t)width + 1, sizeof *m.d);
    twin_fill_f(++salt, n, m.f);
    for (size_t i = 0; i < n; i++)
        if (i % m.ld >= (size_t)width)
            m.f[i] = GUARD;
    twin_widen(B, width, m.f, m.ld, m.d);
    return m;
}

static void done(struct matrix *m)
{
    hps_mem_free(m->f);
    hps_mem_free(m->d);
}

static struct hps_tensor tensor(const struct matrix *m)
{
    return (struct hps_tensor){ m->f, m->ld, m->width };
}

/* m's floats are the doubles `want`, and its gaps are whole. */
static void check(const struct matrix *m, const double *want)
{
    size_t n = (size_t)m->B * (size_t)m->width;
    double *got = hps_mem_new(2 * n + 2, sizeof *got), *ones = got + n + 1;

    twin_widen(m->B, m->width, m->f, m->ld, got);
    memcpy(ones, want, n * sizeof *want);
    got[n] = ones[n] = 1;
    assert_true(twin_error(n + 1, got, ones) < CLOSE);
    for (size_t i = 0; i < (size_t)m->B * m->ld; i++)
        if (i % m->ld >= (size_t)m->width)
            assert_true(m->f[i] == GUARD);
    hps_mem_free(got);
}

static struct hps_dev open_dev(int nthread)
{
    struct hps_dev dev = { 0 };
    const struct hps_dev_ops *ops = hps_dev_find("cpu");

    assert_non_null(ops);
    assert_int_equal(hps_dev_count(ops), 1);
    assert_int_equal(ops->open(&dev, 0, nthread), HPS_OK);
    assert_true(dev.host && dev.slow >= 1);
    return dev;
}

static const int threads[] = { 1, 2, 3 };
#define EACH_DEV(call, ...)                                                                        \
    for (size_t nt = 0; nt < sizeof threads / sizeof *threads; nt++) {                             \
        struct hps_dev dev = open_dev(threads[nt]);                                                \
        call(&dev, __VA_ARGS__);                                                                   \
        dev.ops->close(&dev);                                                                      \
    }

static void fc_once(struct hps_dev *dev, enum hps_act act, int B, int in, int out, bool add)
{
    struct matrix x = matrix(B, in, 3), w = matrix(in, out, 0), b = matrix(1, out, 0);
    struct matrix y = matrix(B, out, 2), pre = matrix(B, out, 0), dy = matrix(B, out, 5);
    struct matrix dx = matrix(B, in, 1), dw = matrix(in, out, 0), db = matrix(1, out, 0);
    struct hps_tensor none = { 0 };

    for (int i = 0; i < in * out; i++)          /* keeps the sums of order 1, as layers do */
        w.d[i] = (double)(w.f[i] /= sqrtf((float)in));
    dev->ops->fc_forward(dev, act, B, tensor(&x), w.f, b.f, tensor(&y),
                         act == HPS_ACT_GELU ? pre.f : NULL);
    twin_fc(act, B, in, out, x.d, w.d, b.d, pre.d, y.d);
    check(&y, y.d);
    if (act == HPS_ACT_GELU)
        check(&pre, pre.d);

    if (!add)
        memset(dx.d, 0, (size_t)B * (size_t)in * sizeof *dx.d);
    twin_fc_back(act, B, in, out, x.d, w.d, pre.d, dy.d, dx.d, dw.d, db.d);
    dev->ops->fc_backward(dev, act, B, tensor(&x), w.f, tensor(&y),
                          act == HPS_ACT_GELU ? pre.f : NULL, tensor(&dy),
                          B == 7 && !add ? none : tensor(&dx), add, dw.f, db.f);
    if (B != 7 || add)
        check(&dx, dx.d);
    check(&dw, dw.d);
    check(&db, db.d);
    for (int i = 0; i < B * out; i++)
        dy.d[i] *= twin_act_slope(act, pre.d[i]);
    check(&dy, dy.d);
    struct matrix *all[] = { &x, &w, &b, &y, &pre, &dy, &dx, &dw, &db };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        done(all[i]);
}

/* relu's slope jumps at 0, where rounding decides; uniform numbers do not come that near. */
static void fc(void **state)
{
    static const int rows[] = { 0, 1, 7, 33, 130 }, ins[] = { 1, 5, 40, 273 };
    static const int outs[] = { 1, 2, 17, 64 };
    (void)state;

    for (int act = HPS_ACT_NONE; act <= HPS_ACT_GELU; act++)
        for (int b = 0; b < 5; b++)
            for (int i = 0; i < 4; i++)
                EACH_DEV(fc_once, (enum hps_act)act, rows[b], ins[i], outs[(b + i + act) % 4],
                         i % 2 == 1);
}

/* One row of B logits through an activation with weight 1, over all magnitudes. */
static void activations(void **state)
{
    struct hps_dev dev = open_dev(1);
    float one = 1, zero = 0, x[4000], y[4000], pre[4000];
    (void)state;

    for (int i = 0; i < 4000; i++)
        x[i] = (i % 2 ? -1.0f : 1.0f) * powf(10, (float)i / 4000 * 8 - 6);
    for (int act = HPS_ACT_NONE; act <= HPS_ACT_GELU; act++) {
        dev.ops->fc_forward(&dev, (enum hps_act)act, 4000, (struct hps_tensor){ x, 1, 1 }, &one,
                            &zero, (struct hps_tensor){ y, 1, 1 }, pre);
        for (int i = 0; i < 4000; i++) {
            double want = twin_act((enum hps_act)act, (double)x[i]);
            double scale = act == HPS_ACT_GELU ? fabs((double)x[i]) : fabs(want) + 1e-30;
            assert_true(fabs((double)y[i] - want) <= 1e-6 * scale);
        }
    }
    x[0] = NAN;
    for (int act = HPS_ACT_NONE; act <= HPS_ACT_GELU; act++) {
        dev.ops->fc_forward(&dev, (enum hps_act)act, 20, (struct hps_tensor){ x, 1, 1 }, &one,
                            &zero, (struct hps_tensor){ y, 1, 1 }, pre);
        assert_true(isnan(y[0]) && !isnan(y[1]));
    }
    dev.ops->close(&dev);
}

static void copy_once(struct hps_dev *dev, int B, int width, bool add)
{
    struct matrix x = matrix(B, width, 3), y = matrix(B, width, 1);

    dev->ops->copy(dev, B, width, x.f, x.ld, y.f, y.ld, add);
    for (int i = 0; i < B * width; i++)
        y.d[i] = x.d[i] + (add ? y.d[i] : 0);
    check(&y, y.d);
    done(&x);
    done(&y);
}

static void copy(void **state)
{
    (void)state;
    for (int B = 0; B < 40; B += 13)
        EACH_DEV(copy_once, B, 37, B % 2 == 1);
}

static void dropout_once(struct hps_dev *dev, int B, int width, float p)
{
    struct matrix x = matrix(B, width, 2), y = matrix(B, width, 4);
    double *want = hps_mem_new((size_t)B * (size_t)width + 1, sizeof *want);
    long long *example = hps_mem_new((size_t)B + 1, sizeof *example);

    for (int b = 0; b < B; b++)
        example[b] = 1000000007LL * b % 977;
    twin_dropout(B, width, (double)p, 42, example, x.d, want);
    dev->ops->dropout(dev, B, width, p, 42, example, x.f, x.ld, y.f, y.ld, false);
    check(&y, want);
    dev->ops->dropout(dev, B, width, p, 42, example, x.f, x.ld, y.f, y.ld, true);
    int kept = 0;
    for (int i = 0; i < B * width; i++) {
        kept += want[i] != 0;
        want[i] *= 2;
    }
    check(&y, want);
    if (B * width > 1000)
        assert_true(fabs((double)kept / (B * width) - 1 + (double)p) < 0.05);
    hps_mem_free(want);
    hps_mem_free(example);
    done(&x);
    done(&y);
}

static void dropout(void **state)
{
    (void)state;
    EACH_DEV(dropout_once, 0, 5, 0.5f);
    EACH_DEV(dropout_once, 1, 5, 0.0f);
    EACH_DEV(dropout_once, 64, 50, 0.3f);
}

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
    check(&y, y.d);
    dev->ops->bag_backward(dev, &k.bag, dim, pool, combine, tensor(&dy), grad.f, (size_t)nrow);
    twin_bag_back(&k.bag, dim, pool, combine, dy.d, grad.d);
    check(&grad, grad.d);
    hps_mem_free(k.index);
    hps_mem_free(k.offset);
    done(&rows);
    done(&grad);
    done(&y);
    done(&dy);
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

static void logistic_once(struct hps_dev *dev, int B, bool add)
{
    struct matrix x = matrix(B, 1, 2), dx = matrix(B, 1, 1), label = matrix(1, B, 0);
    struct matrix score = matrix(1, B, 0);
    double sum = 10, want;

    for (int b = 0; b < B; b++) {
        x.f[(size_t)b * x.ld] *= b % 3 == 0 ? 300.0f : 4.0f;
        label.f[b] = b % 4 == 0 ? 0.25f : (float)(b % 2);
        label.d[b] = (double)label.f[b];
    }
    twin_widen(B, 1, x.f, x.ld, x.d);
    double *slope = hps_mem_new((size_t)B + 1, sizeof *slope);
    want = 10 + twin_logistic(B, x.d, label.d, 0.5, score.d, slope);
    for (int b = 0; b < B; b++)
        dx.d[b] = slope[b] + (add ? dx.d[b] : 0);
    dev->ops->logistic(dev, B, tensor(&x), label.f, 0.5f, score.f, &sum, tensor(&dx), add);
    assert_true(fabs(sum - want) <= 1e-12 * fabs(want));
    check(&score, score.d);
    check(&dx, dx.d);
    hps_mem_free(slope);
    done(&x);
    done(&dx);
    done(&label);
    done(&score);
}

static void logistic(void **state)
{
    (void)state;
    EACH_DEV(logistic_once, 0, false);
    EACH_DEV(logistic_once, 1, true);
    EACH_DEV(logistic_once, 1000, false);
}

/* Far out the loss is |x| or e^-|x|, to the last digits; a NaN is not lost on the way. */
static void logistic_edges(void **state)
{
    struct hps_dev dev = open_dev(1);
    struct hps_tensor no = { 0 };
    float xs[] = { 1000, -1000, 1000, -1000, 90, 0 }, labels[] = { 1, 0, 0, 1, 1, 1 };
    double wants[] = { 0, 0, 1000, 1000, exp(-90), log(2) };
    (void)state;

    for (int i = 0; i < 6; i++) {
        double sum = 0;
        dev.ops->logistic(&dev, 1, (struct hps_tensor){ &xs[i], 1, 1 }, &labels[i], 1, NULL, &sum,
                          no, false);
        assert_true(fabs(sum - wants[i]) <= 1e-6 * wants[i]);
    }
    double sum = 0;
    float nan = NAN, score;
    dev.ops->logistic(&dev, 1, (struct hps_tensor){ &nan, 1, 1 }, labels, 1, &score, &sum, no,
                      false);
    assert_true(isnan(sum) && isnan(score));
    dev.ops->close(&dev);
}

static struct hps_rule rule_of(int kind, long long step)
{
    return (struct hps_rule){ .kind = (enum hps_rule_kind)kind, .nstate = kind, .lr = 0.05f,
                              .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-7f, .l2 = 0.01f,
                              .scale = 0.7f, .step = step };
}

static void update_once(struct hps_dev *dev, int kind, int n)
{
    struct hps_rule rule = rule_of(kind, 1);
    struct matrix w = matrix(1, n, 0), g = matrix(1, n, 0), s = matrix(2, n, 0);

    memset(s.f, 0, 2 * (size_t)n * sizeof *s.f);
    memset(s.d, 0, 2 * (size_t)n * sizeof *s.d);
    for (; rule.step <= 5; rule.step++) {
        twin_fill_f(++salt, (size_t)n, g.f);
        twin_widen(1, n, g.f, (size_t)n, g.d);
        twin_rule(&rule, (size_t)n, w.d, g.d, s.d, s.d + n);
        dev->ops->update(dev, &rule, (size_t)n, w.f, g.f, s.f);
        for (int i = 0; i < n; i++)
            assert_true(g.f[i] == 0);
    }
    check(&w, w.d);
    check(&s, s.d);
    done(&w);
    done(&g);
    done(&s);
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
    int nrow = 500, width = dim * (1 + kind);
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
    check(&out, out.d);
    dev->ops->rows_add(dev, dim, n, at, g.f, sum.f);
    check(&sum, sum.d);
    dev->ops->rows_apply(dev, &rule, table.f, table.ld, dim, n, at, g.f);
    check(&table, table.d);
    check(&g, g.d);
    hps_mem_free(at);
    done(&table);
    done(&g);
    done(&out);
    done(&sum);
}

static void rules(void **state)
{
    static const int dims[] = { 1, 3, 8, 10, 16, 33 };
    (void)state;

    for (int kind = HPS_RULE_SGD; kind <= HPS_RULE_ADAM; kind++) {
        EACH_DEV(update_once, kind, 1);
        EACH_DEV(update_once, kind, 10007);
        for (int d = 0; d < 6; d++) {
            EACH_DEV(rows_once, kind, dims[d], 0);
            EACH_DEV(rows_once, kind, dims[d], 1);
            EACH_DEV(rows_once, kind, dims[d], 333);
        }
    }
}

static void norm_once(struct hps_dev *dev, int n)
{
    struct matrix x = matrix(1, n, 0);
    double want = 0, got = -1;

    for (int i = 0; i < n; i++)
        want += x.d[i] * x.d[i];
    dev->ops->norm2(dev, (size_t)n, x.f, &got);
    assert_true(fabs(got - want) <= 1e-12 * want);
    done(&x);
}

static void norm(void **state)
{
    (void)state;
    EACH_DEV(norm_once, 0);
    EACH_DEV(norm_once, 1);
    EACH_DEV(norm_once, 100003);
}

/* A layer large enough to wake the threads, and bags that share rows between them. */
static void same_bits(void **state)
{
    struct hps_dev dev = open_dev(2);
    int B = 512, in = 100, out = 60, dim = 8;
    struct matrix x = matrix(B, in, 0), w = matrix(in, out, 0), b = matrix(1, out, 0);
    struct matrix y[2] = { matrix(B, out, 0), matrix(B, out, 0) };
    struct matrix dx[2] = { matrix(B, in, 0), matrix(B, in, 0) };
    struct matrix dw[2] = { matrix(in + 1, out, 0), matrix(in + 1, out, 0) };
    struct matrix rows[2] = { matrix(50, dim, 0), matrix(50, dim, 0) };
    struct bags k = make_bags(3, B, 50, true);
    (void)state;

    memcpy(dw[1].f, dw[0].f, (size_t)(in + 1) * (size_t)out * sizeof(float));
    memcpy(rows[1].f, rows[0].f, 50 * (size_t)dim * sizeof(float));
    for (int i = 0; i < 2; i++) {
        struct matrix dy = matrix(B, out, 0);
        twin_fill_f(1, (size_t)B * (size_t)out, dy.f);
        dev.ops->fc_forward(&dev, HPS_ACT_TANH, B, tensor(&x), w.f, b.f, tensor(&y[i]), NULL);
        dev.ops->fc_backward(&dev, HPS_ACT_TANH, B, tensor(&x), w.f, tensor(&y[i]), NULL,
                             tensor(&dy), tensor(&dx[i]), false, dw[i].f, dw[i].f + in * out);
        dev.ops->bag_backward(&dev, &k.bag, dim, HPS_POOL_SUM, HPS_COMBINE_CONCAT, tensor(&dy),
                              rows[i].f, 50);
        done(&dy);
    }
    assert_memory_equal(y[0].f, y[1].f, (size_t)B * (size_t)out * sizeof(float));
    assert_memory_equal(dx[0].f, dx[1].f, (size_t)B * (size_t)in * sizeof(float));
    assert_memory_equal(dw[0].f, dw[1].f, (size_t)(in + 1) * (size_t)out * sizeof(float));
    assert_memory_equal(rows[0].f, rows[1].f, 50 * (size_t)dim * sizeof(float));
    struct matrix *all[] = { &x, &w, &b, y, y + 1, dx, dx + 1, dw, dw + 1, rows, rows + 1 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        done(all[i]);
    hps_mem_free(k.index);
    hps_mem_free(k.offset);
    dev.ops->close(&dev);
}

static void memory(void **state)
{
    struct hps_dev dev = open_dev(1);
    int from[3] = { 1, 2, 3 }, to[3] = { 0 };
    (void)state;

    int *p = dev.ops->alloc(&dev, sizeof from);
    assert_int_equal(p[0] | p[1] | p[2], 0);
    dev.ops->put(&dev, p, from, sizeof from);
    dev.ops->sync(&dev);
    dev.ops->get(&dev, to, p, sizeof to);
    assert_memory_equal(from, to, sizeof to);
    dev.ops->zero(&dev, p, sizeof from);
    assert_int_equal(p[0] | p[1] | p[2], 0);
    dev.ops->free(&dev, p);
    dev.ops->free(&dev, NULL);
    assert_true(dev.ops->gemm_s(&dev, 64, 48, 32, 3) > 0);
    dev.ops->close(&dev);
    assert_null(hps_dev_find("abacus"));
}

static void nothing_held(void **state)
{
    (void)state;
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fc), cmocka_unit_test(activations), cmocka_unit_test(copy),
        cmocka_unit_test(dropout), cmocka_unit_test(bags), cmocka_unit_test(logistic),
        cmocka_unit_test(logistic_edges), cmocka_unit_test(rules), cmocka_unit_test(norm),
        cmocka_unit_test(same_bits), cmocka_unit_test(memory), cmocka_unit_test(nothing_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
