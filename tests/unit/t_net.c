/* t_net: a net is bound exactly as the deck says, or refused at the place of its contradiction;
 * boundaries, tables and first weights follow from it alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/lib/toy.h"

#define E "- {name: e, type: embedding, dim: 1, slots: a}\n"
#define EMB "- {name: e, type: embedding, dim: 1, "
#define ATT "- {name: t, type: attention, dim: 1, "
#define N "- {name: n, type: dense_input}\n"
#define LOSS "- {name: loss, type: logistic}\n"

struct wrong {
    const char *model, *place, *why;
};

static const struct wrong wrongs[] = {
    { "", "toy.yaml", "the deck lists no layers" },
    { "- {name: x}\n", "2:3", "a layer needs a `type`: embedding|attention|" },
    { "- {name: x, type: fcc, width: 1}\n", "2:19",
      "unknown layer type 'fcc', did you mean 'fc'?" },
    { "- {name: x, type: quantum}\n", "2:19", "unknown layer type 'quantum' (embedding|" },
    { "- {type: dense_input}\n", "2:3", "name" },
    { "- {name: a/b, type: dense_input}\n", "2:10", "'a/b' is no name" },
    { E E, "3:10", "two layers are called 'e'" },
    { N "- {name: h, type: fc}\n", "3:3", "width" },
    { N "- {name: h, type: fc, width: 0}\n", "3:30", "width" },
    { N "- {name: h, type: fc, width: 1, activation: relo}\n", "3:45", "did you mean 'relu'?" },
    { N "- {name: h, type: fc, widht: 1}\n", "3:23", "did you mean 'width'?" },
    { N "- {name: h, type: dropout, rate: 1}\n", "3:34", "rate" },
    /* inputs */
    { E "- {name: h, type: fc, width: 1, inputs: [ee]}\n" LOSS, "3:41",
      "no layer 'ee' comes before 'h', did you mean 'e'?" },
    { E "- {name: h, type: fc, width: 1, inputs: [h]}\n" LOSS, "3:41",
      "no layer 'h' comes before" },
    { E "- {name: h, type: fc, width: 1, inputs: zzzz}\n", "3:41", "no layer 'zzzz' comes before" },
    { "- {name: h, type: fc, width: 1}\n" LOSS, "2:3", "needs an input and comes first" },
    { E "- {name: n, type: dense_input, inputs: e}\n", "3:40", "type dense_input takes none" },
    { E N "- {name: h, type: fc, width: 1, inputs: [e, n]}\n", "4:41", "takes at most 1, not 2" },
    { E LOSS "- {name: h, type: fc, width: 1}\n", "4:3", "loss 'loss' has no output to use" },
    { E N "- {name: s, type: add, inputs: [e, n]}\n" LOSS, "4:32",
      "adds 'e' (1 wide) and 'n' (3 wide)" },
    /* losses and ends */
    { N LOSS, "3:3", "needs an input of width 1, 'n' is 3 wide" },
    { N "- {name: d, type: dropout, rate: 0.5}\n", "3:3", "the last layer must be a loss" },
    { N "- {name: l, type: cross_entropy}\n", "3:3", "loss 'l' has no weights to train" },
    { E "- {name: l, type: cross_entropy}\n", "3:3", "loss 'l' needs two classes or more" },
    { E "- {name: l, type: squared, weight: -1}\n", "3:36", "weight" },
    { E "- {name: l, type: hinge, inputs: [e, e]}\n", "3:34", "2 inputs, but no `negatives`" },
    { E "- {name: l, type: hinge, negatives: 2}\n", "3:3", "needs two inputs, user and item" },
    { E "- {name: l, type: hinge, likeness: dot}\n", "3:36", "it has no `negatives`" },
    { E "- {name: l, type: nce, slot: zz}\n", "3:30", "the dataset has no slot 'zz'" },
    { E "- {name: l, type: nce, slot: 5}\n", "3:30", "the dataset has no slot '5'" },
    { E "- {name: l, type: nce, slot: c}\n", "3:30", "loss 'l' needs exactly one" },
    { E "- {name: l, type: nce, slot: b, negatives: 8}\n", "3:44",
      "loss 'l' draws 8 of 7 classes" },
    { EMB "table: l}\n- {name: l, type: nce, slot: b, negatives: 2}\n", "3:3",
      "'l' is both a shared table" },
    { E N "- {name: l, type: hinge, inputs: [e, n], negatives: 2}\n", "4:34",
      "compares 'e' (1 wide) and 'n' (3 wide)" },
    { E N "- {name: loss, type: logistic, inputs: e}\n", "3:3", "nothing uses layer 'n'" },
    { "- {name: n, type: dense_input}\n- {name: d, type: dropout, rate: 0}\n" LOSS, "4:3",
      "width 1" },
    /* layers that mix */
    { E N "- {name: d, type: dot_interaction, dim: 2, inputs: [n]}\n", "4:41",
      "input 'n' of layer 'd' is 3 wide, no multiple of 2" },
    { N "- {name: d, type: dot_interaction}\n", "3:3", "layer 'd' has one vector of 3: no pair" },
    { N "- {name: d, type: fm}\n", "3:3", "layer 'd' has one vector of 3: no pair" },
    { E N "- {name: d, type: fm, inputs: [n, e]}\n", "4:3", "'e' of layer 'd' is 1 wide" },
    { E N "- {name: c, type: cross, inputs: [e, n]}\n", "4:34",
      "crosses 'e' (1 wide) and 'n' (3)" },
    { N "- {name: c, type: cross, rank: 3}\n", "3:32", "a rank of 3 is not below the width, 3" },
    { N "- {name: c, type: cosine}\n", "3:3", "layer 'c' needs two inputs" },
    { E N "- {name: c, type: cosine, inputs: [e, n]}\n", "4:35", "'e' (1 wide) and 'n' (3 wide)" },
    { E "- {name: s, type: softmax}\n", "3:3", "the softmax of 'e', one number, is always 1" },
    { E "- {name: s, type: layer_norm}\n", "3:3", "'e' is one number: its variance is always 0" },
    { E ATT "slot: 1-2}\n", "3:44", "layer 't' is over one slot, '1-2' are 2" },
    { E ATT "slot: zz}\n", "3:44", "the dataset has no slot 'zz'" },
    { N ATT "slot: c}\n", "3:35", "the candidate 'n' is 3 wide, rows of 't' have 1" },
    { E ATT "slot: c, hidden: [3, 0]}\n", "3:55", "'0' is no width from 1 to 65536" },
    { E ATT "slot: c, hidden: [9, 8, 7, 6, 5, 4, 3, 2, 1]}\n", "3:55", "9 hidden levels" },
    /* slots and tables */
    { EMB "slots: [a, zz]}\n", "2:45", "the dataset has no slot 'zz'" },
    { EMB "slots: [3-5]}\n", "2:45", "'3-5' is no range of the dataset's slots 1-4" },
    { EMB "slots: [0]}\n", "2:45", "'0' is no range" },
    { EMB "slots: [2-1]}\n", "2:45", "'2-1' is no range" },
    { EMB "slots: [99999999999999999999]}\n", "2:45", "is no range" },
    { EMB "slots: [1-2, b]}\n", "2:45", "slot 'b' is given twice" },
    { EMB "slots: []}\n", "2:45", "has no slots" },
    { EMB "slots: all, buckets: 8}\n", "2:59",
      "8 buckets for the 10 ids of slot 'a': add `hash: mod`" },
    { EMB "table: x/y}\n", "2:45", "'x/y' is no name" },
    { EMB "table: t}\n- {name: f, type: embedding, dim: 2, table: t}\n", "3:35",
      "table 't' has rows of 1 numbers already" },
    { EMB "table: t}\n- {name: f, type: embedding, dim: 1, table: t, init_std: 0.5}\n", "3:58",
      "table 't' has init_std 0.01 already" },
    { EMB "table: t}\n- {name: f, type: embedding, dim: 1, table: t, optimizer: ftrl}\n", "3:59",
      "table 't' has optimizer same already" },
    { EMB "table: t}\n- {name: f, type: embedding, dim: 1, table: t, learning_rate: 1}\n", "3:63",
      "table 't' has learning_rate 0 already" },
    { "- {name: n, type: dense_input, optimizer: adam}\n", "2:43", "'n' has no weights to learn" },
    { "- {name: n, type: dense_input, learning_rate: 1}\n", "2:47", "has no weights to learn" },
    { N "- {name: h, type: fc, width: 1, optimizer: row_adagrad}\n", "3:44", "layer 'h' has none" },
    { N "- {name: h, type: fc, width: 1, optimizer: row_adagrd}\n", "3:44",
      "did you mean 'row_adagrad'?" },
    { E "- {name: f, type: embedding, dim: 1, table: e}\n", "3:45", "'e' is both a shared table" },
    { EMB "table: f}\n- {name: f, type: embedding, dim: 1}\n", "3:3",
      "'f' is both a shared table" },
    { "- {name: e, type: embedding, dim: 65536, slots: all}\n"
      "- {name: c, type: concat, inputs: [e, e, e, e, e, e, e, e, e, e, e, e, e, e, e, e, e]}\n",
      "3:3", "is 4456448 wide, the most is 4194304" },
};

static void every_contradiction_is_told_at_its_place(void **state)
{
    char deck[1024], place[32];

    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        const struct wrong *w = &wrongs[i];
        struct toy toy;
        snprintf(deck, sizeof deck, *w->model ? "model:\n%s" : "{}\n%s", w->model);
        snprintf(place, sizeof place, "toy.yaml:%s: ", w->place);
        toy_listen();
        enum hps_status s = toy_try(&toy, deck);
        const char *heard = toy_heard();
        if (s != HPS_DECK || toy.net || !strstr(heard, w->why) ||
            (*w->model && !strstr(heard, place)))
            fail_msg("case %zu: status %d, heard: %swanted: %s%s", i, (int)s, heard, place, w->why);
        assert_ptr_equal(strchr(heard, '\n'), heard + strlen(heard) - 1);       /* one line */
        toy_close(&toy);
    }
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void data_without_a_column_is_told(void **state)
{
    static const char text[] = "model: [{name: n, type: dense_input}, {name: e, type: embedding, "
                               "dim: 1}, {name: l, type: logistic}]";
    struct toy toy;
    struct hps_net *net;

    (void)state;
    toy_listen();
    toy_try(&toy, text);
    toy_heard();
    toy.data.D = 0;
    toy_listen();
    assert_int_equal(hps_net_new(&net, toy.deck, &toy.data), HPS_DECK);
    assert_non_null(strstr(toy_heard(), "the dataset has none"));
    toy.data.D = 3;
    toy.data.nslot = 0;
    toy_listen();
    assert_int_equal(hps_net_new(&net, toy.deck, &toy.data), HPS_DECK);
    assert_non_null(strstr(toy_heard(), "embeds slots, the dataset has none"));
    toy_close(&toy);
}

static const char census[] =
    "model:\n"
    "- {name: ids,  type: embedding, slots: all, dim: 8}\n"
    "- {name: nums, type: dense_input}\n"
    "- {name: both, type: concat, inputs: [ids, nums]}\n"
    "- {name: h1,   type: fc, width: 64, activation: relu}\n"
    "- {name: deep, type: fc, width: 1}\n"
    "- {name: wide, type: embedding, slots: [d, 1-2], dim: 1, combine: sum, buckets: 9,\n"
    "   hash: mod}\n"
    "- {name: out,  type: add, inputs: [deep, wide]}\n"
    "- {name: loss, type: logistic}\n";

static void a_net_is_bound_as_written(void **state)
{
    struct toy toy;

    (void)state;
    toy_open(&toy, census);
    const struct hps_net *n = toy.net;
    const struct hps_layer *l = n->layer;
    assert_int_equal(n->L, 8);
    static const int width[] = { 32, 3, 35, 64, 1, 1, 1, 1 };
    static const int last[] = { 2, 2, 3, 4, 6, 6, 7, 7 };
    static const size_t nparam[] = { 0, 0, 0, 36 * 64, 65, 0, 0, 0 };
    for (int i = 0; i < 8; i++) {
        assert_int_equal(l[i].index, i);
        assert_int_equal(l[i].width, width[i]);
        assert_int_equal(l[i].last_use, last[i]);
        assert_int_equal(l[i].nparam, nparam[i]);
        assert_int_equal(l[i].grad, i != 1);
        assert_int_equal(l[i].wants_dense, i == 1);
        assert_int_equal(l[i].wants_label, i == 7);
        assert_int_equal(l[i].table, i == 0 ? 0 : i == 5 ? 1 : -1);
        assert_true(l[i].type->flops(&l[i], n) >= 0);
    }
    assert_true(l[3].type->flops(&l[3], n) == 6.0 * 35 * 64);
    assert_true(l[0].type->flops(&l[0], n) == 2 * 8 * (1 + 1 + 1.5 + 0.5));
    assert_int_equal(l[6].input[0], 4);
    assert_int_equal(l[6].input[1], 5);
    toy_close(&toy);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void tables_have_room_for_every_id(void **state)
{
    struct toy toy;

    (void)state;
    toy_open(&toy, census);
    const struct hps_layer *ids = &toy.net->layer[0], *wide = &toy.net->layer[5];
    assert_int_equal(toy.net->ntable, 2);
    assert_int_equal(toy.net->table[0].rows, 10 + 7 + 12 + 5);
    assert_string_equal(toy.net->table[0].name, "ids");
    assert_int_equal(ids->base[3], 29);
    assert_int_equal(ids->modulo[3], 0);
    assert_int_equal(toy.net->table[1].rows, 27);
    assert_int_equal(wide->slot[0], 3);
    assert_int_equal(wide->slot[2], 1);
    assert_int_equal(wide->base[1], 9);
    assert_int_equal(wide->modulo[0], 0);       /* 5 ids fit in 9 rows */
    assert_int_equal(wide->modulo[1], 9);       /* 10 do not           */
    toy_close(&toy);
}

static void a_named_table_is_shared_from_row_0(void **state)
{
    struct toy toy;

    (void)state;
    toy_open(&toy, "model:\n"
                   "- {name: p, type: embedding, slots: [b], dim: 4, table: items, init_std: 0.3}\n"
                   "- {name: q, type: embedding, slots: [a, c], dim: 4, table: items}\n"
                   "- {name: r, type: embedding, slots: [d], dim: 4, table: items, buckets: 2, "
                   "hash: mod}\n"
                   "- {name: s, type: concat, inputs: [p, q, r]}\n- {name: o, type: fc, width: 1}\n"
                   LOSS);
    assert_int_equal(toy.net->ntable, 1);
    assert_int_equal(toy.net->table[0].rows, 12);
    assert_true(toy.net->table[0].init_std == 0.3);
    for (int l = 0; l < 3; l++)
        for (int s = 0; s < toy.net->layer[l].nslot; s++) {
            assert_int_equal(toy.net->layer[l].table, 0);
            assert_int_equal(toy.net->layer[l].base[s], 0);
            assert_int_equal(toy.net->layer[l].modulo[s], l == 2 ? 2 : 0);
        }
    toy_close(&toy);
}

static void boundaries_carry_what_is_used_later(void **state)
{
    static const struct { int b, n, list[3], width, grad; } want[] = {
        { 0, 0, { 0 }, 0, 0 },          { 1, 1, { 0 }, 32, 32 },    { 2, 2, { 0, 1 }, 35, 32 },
        { 3, 1, { 2 }, 35, 35 },        { 4, 1, { 3 }, 64, 64 },    { 5, 1, { 4 }, 1, 1 },
        { 6, 2, { 4, 5 }, 2, 2 },       { 7, 1, { 6 }, 1, 1 },      { 8, 0, { 0 }, 0, 0 },
    };
    struct toy toy;
    int list[8], width, grad;

    (void)state;
    toy_open(&toy, census);
    for (int i = 0; i < 9; i++) {
        int n = hps_net_boundary(toy.net, want[i].b, list, &width, &grad);
        assert_int_equal(n, want[i].n);
        assert_int_equal(width, want[i].width);
        assert_int_equal(grad, want[i].grad);
        assert_memory_equal(list, want[i].list, (size_t)n * sizeof *list);
        assert_int_equal(hps_net_boundary(toy.net, want[i].b, NULL, &width, &grad), n);
    }
    toy_close(&toy);
}

/* Rows are those of (seed, table, row) however they are asked for, and normal. */
static void first_rows_are_addressed(void **state)
{
    enum { ROWS = 4000, DIM = 5 };
    static float all[ROWS * DIM], part[ROWS * 7];
    double m1 = 0, m2 = 0, m4 = 0;
    struct toy toy;

    (void)state;
    toy_open(&toy, "model: [{name: e, type: embedding, slots: a, buckets: 4000, dim: 5, "
                   "init_std: 0.5}, {name: h, type: fc, width: 1}, {name: l, type: logistic}]");
    hps_net_init_rows(toy.net, 0, hps_net_rows_key(toy.net, 0, 3), 0, ROWS, all, DIM);
    hps_net_init_rows(toy.net, 0, hps_net_rows_key(toy.net, 0, 3), 100, 50, part, 7);
    for (int r = 0; r < 50; r++)
        assert_memory_equal(part + r * 7, all + (100 + r) * DIM, DIM * sizeof *all);
    hps_net_init_rows(toy.net, 0, hps_net_rows_key(toy.net, 0, 4), 0, 1, part, DIM);
    assert_true(part[0] != all[0]);
    for (int i = 0; i < ROWS * DIM; i++) {
        double z = (double)all[i] / 0.5;
        m1 += z / (ROWS * DIM);
        m2 += z * z / (ROWS * DIM);
        m4 += z * z * z * z / (ROWS * DIM);
    }
    assert_true(fabs(m1) < 0.03 && fabs(m2 - 1) < 0.04 && fabs(m4 - 3) < 0.3);  /* 4 sigma */
    toy_close(&toy);
}

/* First weights have the spread that Glorot and He ask for, and are the same every time. */
static void weights_start_with_the_right_spread(void **state)
{
    struct toy toy;
    double sum[2] = { 0, 0 };

    (void)state;
    toy_open(&toy, "model: [{name: x, type: embedding, dim: 50, slots: a}, "
                   "{name: g, type: fc, width: 100, activation: tanh}, "
                   "{name: h, type: fc, width: 200, activation: relu}, "
                   "{name: o, type: fc, width: 1}, {name: loss, type: logistic}]");
    for (int l = 1; l <= 2; l++) {
        size_t n = toy.net->layer[l].nparam, b = (size_t)toy.net->layer[l].width;
        float *w = hps_mem_new(n, sizeof *w), *again = hps_mem_new(n, sizeof *w);
        hps_net_init_param(toy.net, l, 1, w);
        hps_net_init_param(toy.net, l, 1, again);
        assert_memory_equal(w, again, n * sizeof *w);
        for (size_t i = 0; i < n - b; i++)
            sum[l - 1] += (double)w[i] * (double)w[i] / (double)(n - b);
        for (size_t i = n - b; i < n; i++)
            assert_true(w[i] == 0);
        hps_net_init_param(toy.net, l, 2, again);
        assert_true(w[0] != again[0]);
        hps_mem_free(w);
        hps_mem_free(again);
    }
    assert_true(fabs(sum[0] / (2.0 / 150) - 1) < 0.05);         /* 5000 draws: 3 sigma is 4 % */
    assert_true(fabs(sum[1] / (2.0 / 100) - 1) < 0.03);
    toy_close(&toy);
}

static void types_are_found_by_name(void **state)
{
    (void)state;
    assert_memory_equal(hps_layer_type_words(), "embedding|attention|", 20);
    assert_string_equal(hps_layer_find("fc")->name, "fc");
    assert_null(hps_layer_find("fcc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_contradiction_is_told_at_its_place),
        cmocka_unit_test(data_without_a_column_is_told),
        cmocka_unit_test(a_net_is_bound_as_written),
        cmocka_unit_test(tables_have_room_for_every_id),
        cmocka_unit_test(a_named_table_is_shared_from_row_0),
        cmocka_unit_test(boundaries_carry_what_is_used_later),
        cmocka_unit_test(first_rows_are_addressed),
        cmocka_unit_test(weights_start_with_the_right_spread),
        cmocka_unit_test(types_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
