/* t_dev_rows: bags, tables and update rules of the CPU backend equal their slow double twins, on
 * any dimension, with repeated and with no rows, for any number of threads; sums over bags have the
 * same bits on all of them, and so have rules. A sum in bf16 is the one in fp32, rounded once. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tests/lib/dev_case.h"

/* Bags of 0 to 4 ids (or exactly one) over nrow rows. */
struct bags {
    struct hps_lookup lookup;
    int *index, *offset, *place, *start, *from, *at, *lies;
    int *name, *name_begin, *rest, *rest_offset;
    float *table, *far;
};

/* Rows where they are in the table: backwards, with something behind each, a third elsewhere. */
static void stay_rows(struct bags *k, size_t nrow, size_t dim, const float *rows)
{
    size_t stride = dim + 3;

    k->at = hps_mem_new(nrow, sizeof(int));
    k->table = hps_mem_new(nrow * stride, sizeof(float));
    k->far = hps_mem_new(nrow * dim, sizeof(float));
    for (size_t i = 0; i < nrow; i++) {
        k->at[i] = i % 3 == 1 ? -1 : (int)(nrow - 1 - i);
        memcpy(k->at[i] < 0 ? k->far + i * dim : k->table + (nrow - 1 - i) * stride, rows + i * dim,
               dim * sizeof(float));
    }
    k->lookup.rows = (struct hps_rows){ .gathered = k->far, .table = k->table, .stride = stride,
                                        .at = k->at };
}

/* All of them in the table; each id knows where. */
static void lay_rows(struct bags *k, size_t nrow, size_t dim, const float *rows)
{
    k->lies = hps_mem_new(k->lookup.nid + 1, sizeof(int));
    for (size_t i = 0; i < nrow; i++) {
        k->at[i] = (int)(nrow - 1 - i);
        memcpy(k->table + (nrow - 1 - i) * k->lookup.rows.stride, rows + i * dim,
               dim * sizeof(float));
    }
    for (size_t i = 0; i < k->lookup.nid; i++)
        k->lies[i] = k->at[(k->rest ? k->rest : k->index)[i]];
}

/* The bag by row, from its index; with or without that. */
static void turn_bags(struct bags *k, size_t nrow, bool both)
{
    struct hps_lookup *lookup = &k->lookup;
    int n = 0, nslot = lookup->nslot, B = lookup->B;

    k->place = hps_mem_new(nrow, sizeof(int));
    k->start = hps_mem_new(nrow + 1, sizeof(int));
    k->from = hps_mem_new(lookup->nid + 1, sizeof(int));
    for (size_t row = 0; row < nrow; row++) {
        int before = n;
        for (int sack = 0, i = 0; sack < nslot * B; sack++)
            for (; i < (lookup->single ? sack + 1 : lookup->offset[sack + 1]); i++)
                if (lookup->of.index[i] == (int)row) k->from[n++] = sack % B * nslot + sack / B;
        k->start[lookup->by_row.n] = before;
        k->place[lookup->by_row.n] = (int)row;
        lookup->by_row.n += n > before;
    }
    k->start[lookup->by_row.n] = n;
    lookup->by_row.row = k->place;
    lookup->by_row.start = k->start;
    lookup->by_row.bag = k->from;
    if (!both) lookup->form = HPS_ROWS_IN_ORDER;
}

/* Of the bag by row, the last rows by name, and no longer among the others. */
static void name_bags(struct bags *k, int popular)
{
    struct hps_lookup *lookup = &k->lookup;
    int nsack = lookup->nslot * lookup->B, listed = (int)lookup->by_row.n - popular, n = 0,
        rest = 0;

    k->name = hps_mem_new(lookup->nid + 1, sizeof(int));
    k->name_begin = hps_mem_new((size_t)nsack + 1, sizeof(int));
    k->rest = hps_mem_new(lookup->nid + 1, sizeof(int));
    k->rest_offset = hps_mem_new((size_t)nsack + 1, sizeof(int));
    for (int sack = 0, i = 0; sack < nsack; sack++) {
        for (; i < (lookup->single ? sack + 1 : lookup->offset[sack + 1]); i++) {
            int p = 0;
            while (p < popular && k->place[listed + p] != k->index[i])
                p++;
            if (p < popular)
                k->name[n++] = p;
            else
                k->rest[rest++] = k->index[i];
        }
        k->name_begin[sack + 1] = n;
        k->rest_offset[sack + 1] = rest;
    }
    for (int p = 1; p <= popular; p++)
        k->start[listed + p] = k->start[listed];
    lookup->hot.n = popular;
    lookup->hot.number = k->name;
    lookup->hot.begin = k->name_begin;
    lookup->of.index = k->rest;
    lookup->offset = k->rest_offset;
    lookup->nid = (size_t)rest;
    lookup->single = false;
}

static void free_bags(struct bags *k)
{
    hps_mem_free(k->index);
    hps_mem_free(k->offset);
    hps_mem_free(k->place);
    hps_mem_free(k->start);
    hps_mem_free(k->from);
    hps_mem_free(k->name);
    hps_mem_free(k->name_begin);
    hps_mem_free(k->rest);
    hps_mem_free(k->rest_offset);
    hps_mem_free(k->at);
    hps_mem_free(k->lies);
    hps_mem_free(k->table);
    hps_mem_free(k->far);
}

static struct bags make_bags(int nslot, int B, size_t nrow, bool single)
{
    size_t n = (size_t)nslot * (size_t)B;
    struct bags k = { .index = hps_mem_new(4 * n + 1, sizeof(int)),
                      .offset = hps_mem_new(n + 1, sizeof(int)) };

    for (size_t i = 0; i < n; i++)
        k.offset[i + 1] = k.offset[i] + (single ? 1 : (int)(hps_rng_bits(7, i) % 5));
    for (int i = 0; i < k.offset[n]; i++)
        k.index[i] = (int)(hps_rng_bits(9, (uint64_t)i) % nrow);
    k.lookup = (struct hps_lookup){ .nslot = nslot,
                                    .B = B,
                                    .nid = (size_t)k.offset[n],
                                    .offset = single ? NULL : k.offset,
                                    .single = single,
                                    .of.index = k.index };
    return k;
}

struct pooling {
    const struct hps_lookup *lookup;
    int dim;
    enum hps_pool_kind pool;
    enum hps_combine combine;
};

static void pool_to(struct hps_dev *dev, struct hps_tensor y, const void *arg)
{
    const struct pooling *p = arg;

    dev->ops->rows->bag_forward(dev, p->lookup, p->dim, p->pool, p->combine, y);
}

static void check_forward(struct hps_dev *dev, const struct bags *k, int dim,
                          enum hps_pool_kind pool, enum hps_combine combine, struct matrix *y)
{
    struct pooling p = { &k->lookup, dim, pool, combine };

    for (int b = 0; b < y->B; b++)
        for (int i = 0; i < y->width; i++)
            y->f[(size_t)b * y->ld + (size_t)i] = 7;
    pool_to(dev, tensor(y), &p);
    dev->ops->sync(dev);
    matrix_check(y, y->d);
    rounded_check(dev, y, pool_to, &p);
}

/* With each id's row in the table instead of an index. */
static void check_in_table(struct hps_dev *dev, const struct bags *k, int dim,
                           enum hps_pool_kind pool, enum hps_combine combine, struct matrix *y)
{
    struct bags direct = *k;

    direct.lookup.form = HPS_ROWS_IN_TABLE;
    for (int cold = 0; cold < 2; cold++) {
        direct.lookup.of.in_table.row = k->lies;
        direct.lookup.of.in_table.cold = cold;
        check_forward(dev, &direct, dim, pool, combine, y);
    }
}

/* by: its index, its rows, both; both and popular rows by name. */
static void bag_once(struct hps_dev *dev, int B, int dim, bool single, enum hps_pool_kind pool,
                     enum hps_combine combine, int by)
{
    int nslot = 3, nrow = 101, slots = combine == HPS_COMBINE_CONCAT ? nslot : 1;
    struct bags k = make_bags(nslot, B, (size_t)nrow, single);
    const struct hps_lookup whole = k.lookup;
    struct matrix rows = matrix(nrow, dim, 0), grad = matrix(nrow, dim, 0);
    struct matrix y = matrix(B, slots * dim, 3), dy = matrix(B, slots * dim, 2);
    struct hps_row_grad there = { .row = grad.f, .nrow = (size_t)nrow };

    twin_bag(&whole, dim, pool, combine, rows.d, y.d);
    twin_bag_back(&whole, dim, pool, combine, dy.d, grad.d);
    if (by > 0)
        turn_bags(&k, (size_t)nrow, by >= 2 || !dev->host);
    if (by == 3 && dev->host) name_bags(&k, k.lookup.by_row.n > 20 ? 20 : 0);
    k.lookup.rows.gathered = rows.f;
    k.lookup.grad = &there;
    check_forward(dev, &k, dim, pool, combine, &y);
    stay_rows(&k, (size_t)nrow, (size_t)dim, rows.f);
    check_forward(dev, &k, dim, pool, combine, &y);
    lay_rows(&k, (size_t)nrow, (size_t)dim, rows.f);
    check_forward(dev, &k, dim, pool, combine, &y);
    if (dev->host) check_in_table(dev, &k, dim, pool, combine, &y);
    dev->ops->rows->bag_backward(dev, &k.lookup, dim, pool, combine, tensor(&dy), true);
    dev->ops->sync(dev);
    matrix_check(&grad, grad.d);
    for (size_t i = 0; i < (size_t)nrow * grad.ld; i++)     /* what was there does not matter */
        grad.d[i] = 0;
    twin_bag_back(&whole, dim, pool, combine, dy.d, grad.d);
    dev->ops->rows->bag_backward(dev, &k.lookup, dim, pool, combine, tensor(&dy), false);
    dev->ops->sync(dev);
    matrix_check(&grad, grad.d);
    free_bags(&k);
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
                         way & 4 ? HPS_COMBINE_SUM : HPS_COMBINE_CONCAT, (way + b + d) % 4);
}

/* Bags that share rows between threads: the sums do not depend on who adds, nor on how the bags are
 * told, but that of popular rows on whether these are told by name. */
static void same_bits(void **state)
{
    enum { N = 9, NAMED = 6 };
    int B = 512, dim = 8;
    struct matrix dy = matrix(B, 3 * dim, 0), rows[N];
    struct bags k = make_bags(3, B, 50, true);
    (void)state;

    for (int i = 0; i < N; i++) {
        struct hps_dev dev = open_dev(i % 3 + 1);
        if (i == 3)
            turn_bags(&k, 50, true);
        if (i == NAMED)
            name_bags(&k, 10);
        rows[i] = matrix(50, dim, 0);
        twin_fill_f(1, 50 * (size_t)dim, rows[i].f);
        k.lookup.grad = &(struct hps_row_grad){ .row = rows[i].f, .nrow = 50 };
        dev.ops->rows->bag_backward(&dev, &k.lookup, dim, HPS_POOL_SUM, HPS_COMBINE_CONCAT,
                                    tensor(&dy), true);
        dev.ops->sync(&dev);
        dev.ops->close(&dev);
    }
    for (int i = 0; i < N; i++)
        assert_memory_equal(rows[i < NAMED ? 0 : NAMED].f, rows[i].f,
                            50 * (size_t)dim * sizeof(float));
    assert_memory_equal(rows[0].f, rows[NAMED].f, 40 * (size_t)dim * sizeof(float));
    for (int i = 0; i < N; i++)
        matrix_done(&rows[i]);
    matrix_done(&dy);
    free_bags(&k);
}

static struct hps_rule rule_of(int kind, long long step)
{
#define NSTATE(name, word, n, ...) n,
    static const int nstate[] = { HPS_RULES(NSTATE) };
#undef NSTATE

    return (struct hps_rule){ .kind = (enum hps_rule_kind)kind, .nstate = nstate[kind],
                              .nrow = kind == HPS_RULE_ROW_ADAGRAD, .lr = 0.05f, .beta1 = 0.9f,
                              .beta2 = 0.999f, .eps = 1e-7f, .l1 = 0.3f, .l2 = 0.01f, .beta = 1,
                              .scale = 0.7f, .step = step };
}

/* An update part by part, as ranks that have a share each make it. */
static void update_parts(struct hps_dev *dev, const struct hps_rule *rule, size_t n, size_t parts,
                         float *w, float *g, float *state)
{
    for (size_t p = 0; p < parts; p++) {
        size_t at = n * p / parts, end = n * (p + 1) / parts;
        dev->ops->dense->update(dev, rule, end - at, w + at, g + at, state + at, n);
    }
}

static void update_once(struct hps_dev *dev, int kind, int n, size_t parts)
{
    struct hps_rule rule = rule_of(kind, 1);
    struct matrix w = matrix(1, n, 0), g = matrix(1, n, 0), s = matrix(2, n, 0);

    memset(s.f, 0, 2 * (size_t)n * sizeof *s.f);
    memset(s.d, 0, 2 * (size_t)n * sizeof *s.d);
    for (; rule.step <= 5; rule.step++) {
        twin_fill_f((uint64_t)rule.step, (size_t)n, g.f);
        twin_widen(1, n, g.f, (size_t)n, g.d);
        twin_rule(&rule, (size_t)n, w.d, g.d, s.d, s.d + n);
        update_parts(dev, &rule, (size_t)n, parts, w.f, g.f, s.f);
        dev->ops->sync(dev);
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

/* n sums of one to three of the vectors of g, in double too. */
struct some_sums {
    int *start, *from;
    double *want;
};

static struct some_sums some_sums(size_t n, size_t dim, const struct matrix *g)
{
    struct some_sums s = { hps_mem_new(n + 1, sizeof(int)), hps_mem_new(3 * n, sizeof(int)),
                           hps_mem_new(n * dim, sizeof(double)) };

    for (size_t i = 0; i < n; i++) {
        s.start[i + 1] = s.start[i] + 1 + (int)(i % 3);
        for (int k = s.start[i]; k < s.start[i + 1]; k++) {
            s.from[k] = (int)(hps_rng_bits(6, (uint64_t)k) % n);
            for (size_t d = 0; d < dim; d++)
                s.want[i * dim + d] += g->d[(size_t)s.from[k] * dim + d];
        }
    }
    return s;
}

/* The gradients of rows as they lie, or as sums. */
static void rows_once(struct hps_dev *dev, int kind, int dim, size_t n, bool summed)
{
    struct hps_rule rule = rule_of(kind, 3);
    int nrow = 500, width = (int)hps_rule_stride(&rule, dim);
    size_t D = (size_t)dim, W = (size_t)width;
    struct matrix table = matrix(nrow, width, 2), g = matrix((int)n, dim, 0);
    struct matrix out = matrix((int)n, dim, 0), sum = matrix((int)n, dim, 0);
    struct some_sums s = some_sums(n, D, &g);
    struct hps_row_sums grad = { g.f, summed ? s.start : NULL, summed ? s.from : NULL };
    const double *want = summed ? s.want : g.d;
    int *at = some_rows(n, (size_t)nrow);
    struct hps_row_list rows = { table.ld, dim, n, at };

    for (size_t i = 0; i < (size_t)nrow * table.ld; i++)        /* states are not negative */
        if (i % table.ld >= D && i % table.ld < W)
            table.f[i] = fabsf(table.f[i]);
    twin_widen(nrow, width, table.f, table.ld, table.d);
    for (size_t i = 0; i < n; i++) {
        double *row = table.d + (size_t)at[i] * W;
        memcpy(out.d + i * D, row, D * sizeof *row);
        twin_rule(&rule, D, row, want + i * D, row + D, row + 2 * D);
    }
    dev->ops->rows->gather(dev, table.f, rows, out.f);
    dev->ops->sync(dev);
    matrix_check(&out, out.d);
    dev->ops->rows->sum(dev, dim, n, &grad, sum.f);
    dev->ops->sync(dev);
    matrix_check(&sum, want);
    dev->ops->rows->apply(dev, &rule, table.f, rows, &grad);
    dev->ops->sync(dev);
    matrix_check(&table, table.d);
    matrix_check(&g, g.d);
    hps_mem_free(s.start);
    hps_mem_free(s.from);
    hps_mem_free(s.want);
    hps_mem_free(at);
    matrix_done(&table);
    matrix_done(&g);
    matrix_done(&out);
    matrix_done(&sum);
}

/* Rows come to where they are sent, the others stay. */
static void moves(void **state)
{
    const size_t stride = 12, nfrom = 300, nto = 200, n = 150;
    struct matrix from = matrix((int)nfrom, (int)stride, 0), to = matrix((int)nto, (int)stride, 0);
    int *from_at = some_rows(n, nfrom), *to_at = some_rows(n, nto);
    struct hps_dev dev = open_dev(2);
    (void)state;

    for (size_t i = 0; i < n; i++)
        memcpy(to.d + (size_t)to_at[i] * stride, from.d + (size_t)from_at[i] * stride,
               stride * sizeof *to.d);
    dev.ops->rows->move(&dev, stride, n, from_at, from.f, to_at, to.f);
    dev.ops->sync(&dev);
    dev.ops->close(&dev);
    matrix_check(&to, to.d);
    matrix_check(&from, from.d);
    hps_mem_free(from_at);
    hps_mem_free(to_at);
    matrix_done(&from);
    matrix_done(&to);
}

static void rules(void **state)
{
    static const int dims[] = { 1, 3, 8, 10, 16, 33 };
    (void)state;

    for (int kind = HPS_RULE_SGD; kind < HPS_NRULE; kind++) {
        if (kind != HPS_RULE_ROW_ADAGRAD) {
            EACH_DEV(update_once, kind, 1, 1);
            EACH_DEV(update_once, kind, 10007, kind == HPS_RULE_LAMB ? 1 : 3);
        }
        for (int d = 0; d < 6; d++) {
            EACH_DEV(rows_once, kind, dims[d], 0, true);
            EACH_DEV(rows_once, kind, dims[d], 1, false);
            EACH_DEV(rows_once, kind, dims[d], 333, d % 2 == 0);
            EACH_DEV(rows_once, kind, dims[d], 334, d % 2 == 1);
        }
    }
}

/* Three steps of each rule on 1 to 3 threads: who works on what does not show. */
static void rules_same_bits(void **state)
{
    enum { MANY = 40001 };
    static float w[3][MANY], g[MANY], s[3][2 * MANY];
    (void)state;

    for (int kind = HPS_RULE_SGD; kind < HPS_NRULE; kind++) {
        for (int i = 0; i < 3 && kind != HPS_RULE_ROW_ADAGRAD; i++) {
            struct hps_dev dev = open_dev(i + 1);
            twin_fill_f(1, MANY, w[i]);
            memset(s[i], 0, sizeof s[i]);
            for (long long step = 1; step <= 3; step++) {
                struct hps_rule rule = rule_of(kind, step);
                twin_fill_f((uint64_t)step, MANY, g);
                dev.ops->dense->update(&dev, &rule, MANY, w[i], g, s[i], MANY);
                dev.ops->sync(&dev);
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
        cmocka_unit_test(bags), cmocka_unit_test(same_bits), cmocka_unit_test(moves),
        cmocka_unit_test(rules), cmocka_unit_test(rules_same_bits),
        cmocka_unit_test(nothing_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
