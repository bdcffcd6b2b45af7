/* t_table: the shards of any number of owners together are the table of one owner, at the start and
 * after updates, and an update of touched rows is the twin's. Roundings are drawn for each
 * application. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tests/lib/twin.h"
#include "ps/table.h"
#include "tests/lib/toy.h"

enum { ROWS = 1000, DIM = 3, MAX_N = 5 };

#define MODEL                                                                                      \
    "model: [{name: e, type: embedding, slots: a, buckets: 1000, dim: 3, init_std: 0.5}, "         \
    "{name: h, type: fc, width: 1}, {name: l, type: logistic}]\n"

static const char *const rules[] = {
    MODEL "train: {optimizer: sgd, learning_rate: 0.1}",
    MODEL "train: {optimizer: adagrad, learning_rate: 0.1, initial_accumulator: 0.1, l2: 0.01}",
    MODEL "train: {optimizer: adam, learning_rate: 0.1}",
    MODEL "train: {optimizer: adam, table_optimizer: row_adagrad, table_learning_rate: 0.1}",
    MODEL "train: {table_optimizer: lamb, table_learning_rate: 0.1, l2: 0.01}",
    MODEL "train: {table_optimizer: ftrl, learning_rate: 0.1, l1: 0.1, initial_accumulator: 0.1}",
};

static void rows_are_dealt_without_gap(void **state)
{
    (void)state;
    for (int k = 1; k <= 7; k++)
        for (long long rows = 0; rows < 700; rows += rows < 130 ? 1 : 57) {
            long long seen[7] = { 0 };
            for (long long r = 0; r < rows; r++) {
                int owner = hps_cyclic_owner(r, k);
                assert_true(owner >= 0 && owner < k);
                assert_int_equal(hps_cyclic_local(r, k), seen[owner]);
                seen[owner]++;
            }
            for (int part = 0; part < k; part++)
                assert_int_equal(hps_cyclic_nlocal(rows, part, k), seen[part]);
        }
    assert_int_equal(hps_cyclic_nlocal(1000000000000, 1, 2), 500000000000);
}

/* Rows are kept like that. */
static const enum hps_number kept[][2] = { { HPS_AS_FP32, HPS_AS_FP32 },
                                           { HPS_AS_BF16, HPS_AS_FP32 },
                                           { HPS_AS_FP16, HPS_AS_BF16 },
                                           { HPS_AS_INT8, HPS_AS_FP32 } };

static void open_shards(struct hps_table **t, struct toy *toy, int k, int how)
{
    struct hps_table_opt opt = { .parts = k, .train = &toy->train, .seed = 9,
                                 .tier = hps_tier_find("device") };

    opt.weights = kept[how][0];
    opt.states = kept[how][1];
    for (; opt.part < k; opt.part++)
        assert_int_equal(hps_table_new(&t[opt.part], toy->net, 0, &toy->dev, &opt), HPS_OK);
}

static struct hps_rule rule_of(const struct toy *toy, long long step, long long total)
{
    return hps_opt_rule(&toy->train, &toy->net->table[0].override, hps_update_of(step, total));
}

static void close_shards(struct hps_table **t, int k)
{
    for (int part = 0; part < k; part++)
        hps_table_free(t[part]);
}

/* A row with its states, by global number. */
static const float *row_of(struct hps_table **t, int k, long long row)
{
    struct hps_table *mine = t[hps_cyclic_owner(row, k)];
    static float x[2][4 * DIM];
    static int turn;

    turn = !turn;
    hps_table_read(mine, hps_cyclic_local(row, k), 1, x[turn]);
    return x[turn];
}

/* Every third row or so with a gradient of its own, at its owner. */
static void update(struct hps_table **t, int k, const struct hps_rule *rule, uint64_t key)
{
    static int at[ROWS];
    static float grad[ROWS * DIM];

    for (int part = 0; part < k; part++) {
        size_t n = 0;
        for (long long r = 0; r < ROWS; r++)
            if (hps_cyclic_owner(r, k) == part && hps_rng_bits(key, (uint64_t)r) % 3 == 0) {
                twin_fill_f(hps_rng_sub(key, (uint64_t)r), DIM, grad + n * DIM);
                at[n++] = (int)hps_cyclic_local(r, k);
            }
        hps_table_apply(t[part], rule, n, at, &(struct hps_row_sums){ .row = grad });
    }
}

static void any_number_of_owners_is_one(void **state)
{
    struct hps_table *one[1], *many[MAX_N];
    struct toy toy;

    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        for (int k = 2; k <= MAX_N; k++) {
            toy_open(&toy, rules[i]);
            open_shards(one, &toy, 1, k % 4);
            open_shards(many, &toy, k, k % 4);
            size_t bytes = one[0]->stride * sizeof(float);
            for (long long step = 0; step < 4; step++) {
                for (long long r = 0; r < ROWS; r++)
                    assert_memory_equal(row_of(many, k, r), row_of(one, 1, r), bytes);
                struct hps_rule rule = rule_of(&toy, step, 4);
                update(one, 1, &rule, (uint64_t)step);
                update(many, k, &rule, (uint64_t)step);
            }
            close_shards(one, 1);
            close_shards(many, k);
            toy_close(&toy);
        }
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void the_start_is_the_nets(void **state)
{
    static float want[ROWS * DIM];
    struct hps_table *t[3];
    struct toy toy;

    (void)state;
    toy_open(&toy, rules[1]);
    open_shards(t, &toy, 3, 0);
    hps_net_init_rows(toy.net, 0, hps_net_rows_key(toy.net, 0, 9), 0, ROWS, want, DIM);
    for (long long r = 0; r < ROWS; r++) {
        const float *row = row_of(t, 3, r);
        assert_memory_equal(row, want + r * DIM, DIM * sizeof *row);
        for (int d = 0; d < DIM; d++)
            assert_true(row[DIM + d] == 0.1f);
    }
    close_shards(t, 3);
    toy_close(&toy);
}

static void an_update_is_the_twins(void **state)
{
    enum { N = 4, STEPS = 5 };
    static const int at[N] = { 999, 0, 64, 63 };
    struct hps_table *t[1];
    struct toy toy;

    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        float got[N * DIM], grad[N * DIM], before[DIM];
        double w[N * DIM], g[N * DIM], s[N][2 * DIM];
        toy_open(&toy, rules[i]);
        open_shards(t, &toy, 1, 0);
        memcpy(before, row_of(t, 1, 500), sizeof before);
        hps_table_gather(t[0], N, at, got);
        twin_widen(1, N * DIM, got, 0, w);
        for (int j = 0; j < N; j++)
            twin_widen(1, (int)t[0]->stride - DIM, row_of(t, 1, at[j]) + DIM, 0, s[j]);
        for (int step = 0; step < STEPS; step++) {
            struct hps_rule rule = rule_of(&toy, step, STEPS);
            rule.scale = 0.7f;
            twin_fill_f((uint64_t)step, N * DIM, grad);
            twin_widen(1, N * DIM, grad, 0, g);
            hps_table_apply(t[0], &rule, N, at, &(struct hps_row_sums){ .row = grad });
            for (int j = 0; j < N; j++)
                twin_rule(&rule, DIM, w + j * DIM, g + j * DIM, s[j], s[j] + DIM);
            hps_table_gather(t[0], N, at, got);
            assert_true(twin_error_f(N * DIM, got, w) <= 1e-5);
        }
        assert_memory_equal(before, row_of(t, 1, 500), sizeof before);  /* untouched rows rest */
        hps_table_apply(t[0], &(struct hps_rule){ 0 }, 0, NULL, NULL);
        hps_table_gather(t[0], 0, NULL, NULL);
        close_shards(t, 1);
        toy_close(&toy);
    }
}

/* Updates that change each weight by a part of what bf16 tells apart, in the same step. */
static void each_application_is_rounded_for_itself(void **state)
{
    static float row[3][ROWS * DIM];
    struct hps_table *t[1];
    struct toy toy;

    (void)state;
    toy_open(&toy, rules[0]);
    for (int i = 0; i < 3; i++) {
        struct hps_rule rule = rule_of(&toy, 0, 4);
        rule.scale = 1e-3f;
        rule.application = i % 2;
        open_shards(t, &toy, 1, 1);
        update(t, 1, &rule, 5);
        hps_table_read(t[0], 0, ROWS, row[i]);
        close_shards(t, 1);
    }
    assert_memory_equal(row[0], row[2], sizeof row[0]);
    assert_memory_not_equal(row[0], row[1], sizeof row[0]);
    toy_close(&toy);
}

/* More owners than blocks: some have nothing, and that is a table too. */
static void an_owner_may_have_nothing(void **state)
{
    struct hps_table *t[20];
    struct toy toy;

    (void)state;
    toy_open(&toy, rules[0]);
    open_shards(t, &toy, 20, 0);
    assert_int_equal(t[15]->nrow, 1000 - 15 * 64);
    assert_int_equal(t[16]->nrow, 0);
    close_shards(t, 20);
    toy_close(&toy);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void too_many_rows_for_one_owner_is_told(void **state)
{
    struct hps_table *t;
    struct toy toy;

    (void)state;
    toy_open(&toy, "model: [{name: e, type: embedding, slots: a, buckets: 8000000000, dim: 1}, "
                   "{name: l, type: logistic}]");
    struct hps_table_opt opt = { .part = 1, .parts = 3, .train = &toy.train, .seed = 1,
                                 .tier = hps_tier_find("device") };
    toy_listen();
    assert_int_equal(hps_table_new(&t, toy.net, 0, &toy.dev, &opt), HPS_DECK);
    assert_non_null(strstr(toy_heard(), "table 'e': 2666666688 of its 8000000000 rows"));
    assert_null(t);
    toy_close(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_dealt_without_gap),
        cmocka_unit_test(any_number_of_owners_is_one),
        cmocka_unit_test(the_start_is_the_nets),
        cmocka_unit_test(an_update_is_the_twins),
        cmocka_unit_test(each_application_is_rounded_for_itself),
        cmocka_unit_test(an_owner_may_have_nothing),
        cmocka_unit_test(too_many_rows_for_one_owner_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
