/* t_row_store: whatever steps need, change and leave, and whatever is read and written beside them,
 * the rows of the tables of a store are those of tables that are all in memory: bit for bit, plain
 * and encoded. A row that was only read is written to the file never, one that no step has changed
 * is read from it never. Where steps in flight need too many slots, nothing is changed. Stores
 * whose rows move at the same time do not disturb each other; one is freed while its rows move;
 * what goes wrong with the file while they do is the status of the store. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/say.h"
#include "ps/row_store.h"

enum { ROWS = 3000, SLOTS = 500, MOST = 200, STEPS = 400, TABLES = 2 };

struct world {
    struct hps_net net;
    struct hps_train_opt opt;
    struct hps_dev dev;
    struct hps_slots *slots;
    struct hps_row_store *store;
    struct hps_table *some[TABLES], *all[TABLES];   /* in the store; in memory */
    uint64_t key, next;                             /* random numbers          */
    int row[2][MOST], slot[2][MOST];                /* of this step and the one before */
    size_t n[2];
};

static struct {
    bool writes, reads;         /* fail */
} disk;

ssize_t __real_pwritev(int fd, const struct iovec *v, int n, off_t at);
ssize_t __wrap_pwritev(int fd, const struct iovec *v, int n, off_t at);
ssize_t __wrap_pwritev(int fd, const struct iovec *v, int n, off_t at)
{
    if (!disk.writes) return __real_pwritev(fd, v, n, at);
    errno = ENOSPC;
    return -1;
}

ssize_t __real_pread(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t n, off_t at)
{
    if (!disk.reads) return __real_pread(fd, to, n, at);
    errno = EIO;
    return -1;
}

static struct hps_table_shape shape[TABLES] = {
    { .name = "wide", .rows = ROWS, .dim = 5, .init_std = 0.5 },
    { .name = "ones", .rows = ROWS, .dim = 1, .init_std = 0.1 },
};

static struct hps_table *table_of(struct world *w, int t, enum hps_number weights, bool in_file)
{
    const struct hps_table_opt opt = { 0, 1, &w->opt, 7,
                                       in_file ? &hps_tier_file : &hps_tier_device,
                                       in_file ? w->slots : NULL, weights, HPS_AS_FP32 };
    struct hps_table *table;

    assert_int_equal(hps_table_new(&table, &w->net, t, &w->dev, &opt), HPS_OK);
    return table;
}

static void open_world(struct world *w, enum hps_number weights)
{
    *w = (struct world){ .net = { .ntable = TABLES, .table = shape },
                         .opt = { .optimizer = "adagrad", .learning_rate = 0.1, .decay = "none",
                                  .epsilon = 1e-8, .initial_accumulator = 0.1, .decay_to = 1 },
                         .slots = hps_slots_new(ROWS, SLOTS),
                         .key = hps_rng_key(5, "store") };
    assert_int_equal(hps_dev_find("cpu")->open(&w->dev, 0, 2), HPS_OK);
    for (int t = 0; t < TABLES; t++) {
        w->some[t] = table_of(w, t, weights, true);
        w->all[t] = table_of(w, t, weights, false);
    }
    const struct hps_row_store_opt opt = { TABLES, w->some, w->slots, ".", 3 };
    assert_int_equal(hps_row_store_new(&w->store, &opt), HPS_OK);
}

static void close_world(struct world *w)
{
    hps_row_store_free(w->store);
    for (int t = 0; t < TABLES; t++) {
        hps_table_free(w->some[t]);
        hps_table_free(w->all[t]);
    }
    hps_slots_free(w->slots);
    w->dev.ops->close(&w->dev);
}

static int draw(struct world *w, int below)
{
    return (int)(hps_rng_real(w->key, w->next++) * below);
}

/* Up to MOST distinct rows, small numbers more often. */
static size_t draw_rows(struct world *w, int *row)
{
    static bool taken[ROWS];
    size_t n = 0, want = (size_t)draw(w, MOST);

    memset(taken, 0, sizeof taken);
    while (n < want) {
        double u = hps_rng_real(w->key, w->next++);
        int r = (int)(u * u * ROWS);
        if (taken[r]) continue;
        taken[r] = true;
        row[n++] = r;
    }
    return n;
}

/* A step changes the row in the slot, and the row in memory, by what it was. */
static void change_row(struct world *w, int slot, int row)
{
    float x[16], y[16];

    for (int t = 0; t < TABLES; t++) {
        struct hps_table *some = w->some[t], *all = w->all[t];
        hps_table_read(some, slot, 1, x);
        hps_table_read(all, row, 1, y);
        assert_memory_equal(x, y, some->stride * sizeof *x);
        for (size_t i = 0; i < some->stride; i++)
            x[i] = 0.5f * x[i] + 0.25f;
        hps_table_write(some, slot, 1, x);
        hps_table_write(all, row, 1, x);
    }
}

/* n rows from `first` on are the same. */
static void compare(struct world *w, int t, int first, int n)
{
    size_t stride = w->some[t]->stride, size = (size_t)n * stride;
    float *x = hps_mem_new(size, sizeof *x), *y = hps_mem_new(size, sizeof *y);

    assert_int_equal(hps_row_store_read(w->store, w->some[t], first, n, x), HPS_OK);
    hps_table_read(w->all[t], first, n, y);
    assert_memory_equal(x, y, size * sizeof *x);
    hps_mem_free(x);
    hps_mem_free(y);
}

/* Some rows become others, one of them what it was. */
static void load(struct world *w, int t, int first, int n)
{
    size_t stride = w->some[t]->stride;
    float *x = hps_mem_new((size_t)n * stride, sizeof *x);

    hps_table_read(w->all[t], first, n, x);
    for (size_t i = stride; i < (size_t)n * stride; i++)
        x[i] = (float)(draw(w, 64) - 32) / 64;
    hps_table_write(w->all[t], first, n, x);
    hps_table_read(w->all[t], first, n, x);         /* as it is kept */
    hps_row_store_write(w->store, w->some[t], first, n, x);
    hps_mem_free(x);
}

/* Rows of step s begin to come. */
static void take(struct world *w, int s)
{
    int now = s % 2;

    w->n[now] = draw_rows(w, w->row[now]);
    assert_true(hps_row_store_take(w->store, w->n[now], w->row[now], true, w->slot[now]));
}

/* The step before has ended, and this one is computed. */
static void compute(struct world *w, int s)
{
    int now = s % 2;

    hps_row_store_release(w->store, w->n[!now], w->slot[!now]);
    w->n[!now] = 0;
    hps_row_store_settle(w->store);
    hps_row_store_change(w->store, w->n[now], w->slot[now]);
    for (size_t i = 0; i < w->n[now]; i++)
        change_row(w, w->slot[now][i], w->row[now][i]);
    assert_int_equal(hps_row_store_status(w->store), HPS_OK);
}

static void compare_all(struct world *w)
{
    for (int t = 0; t < TABLES; t++)
        compare(w, t, 0, ROWS);
}

static void go(enum hps_number weights)
{
    struct world w;

    open_world(&w, weights);
    for (int s = 0; s < STEPS; s++) {
        take(&w, s);
        if (s % 7 == 0) compare(&w, s % TABLES, draw(&w, ROWS / 2), 1 + draw(&w, ROWS / 2));
        compute(&w, s);
        if (s % 50 == 49) load(&w, s % TABLES, draw(&w, ROWS / 2), 1 + draw(&w, ROWS / 2));
    }
    compare_all(&w);
    struct hps_tier_count c = hps_row_store_counted(w.store);
    assert_true(c.read > 0 && c.written > 0 && c.hits > 0 && c.hits < c.asked);
    assert_true(c.pages_read > 0 && c.pages_read <= c.read);
    close_world(&w);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

static void plain(void **state)
{
    (void)state;
    go(HPS_AS_FP32);
}

static void encoded(void **state)
{
    (void)state;
    go(HPS_AS_BF16);
    go(HPS_AS_INT8);
}

/* Rows that are read alone move, and cost the file nothing; nor do pinned rows that stay. */
static void unchanged(void **state)
{
    struct world w;
    int row[SLOTS], slot[SLOTS], more[SLOTS];
    (void)state;

    open_world(&w, HPS_AS_BF16);
    for (int s = 0; s < 20; s++) {
        for (int i = 0; i < SLOTS; i++)
            row[i] = (s * SLOTS + i) % ROWS;
        assert_true(hps_row_store_take(w.store, SLOTS, row, false, slot));
        hps_row_store_settle(w.store);
        int other = (row[0] + SLOTS) % ROWS;
        assert_false(hps_row_store_take(w.store, 1, &other, false, more));
        for (int i = 0; i < SLOTS; i++)
            assert_int_equal(hps_slots_row(w.slots, slot[i]), row[i]);
        compare(&w, 0, 0, ROWS);
        hps_row_store_release(w.store, SLOTS, slot);
    }
    load(&w, 1, 100, 1);                            /* it becomes what it is */
    struct hps_tier_count c = hps_row_store_counted(w.store);
    assert_true(c.read == 0 && c.written == 0 && c.asked == 0 && c.made > 0);
    close_world(&w);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* Rows of several stores move at the same time; those of the next step while this one is computed.
 * The last are under way when the stores are freed. */
static void together(void **state)
{
    enum { STORES = 3 };
    static struct world w[STORES];
    (void)state;

    for (int k = 0; k < STORES; k++) {
        open_world(&w[k], k ? HPS_AS_BF16 : HPS_AS_FP32);
        w[k].next = (uint64_t)k << 32;
        take(&w[k], 0);
    }
    for (int s = 0; s < STEPS / 2; s++)
        for (int k = 0; k < STORES; k++) {
            compute(&w[k], s);
            take(&w[k], s + 1);
        }
    for (int k = 0; k < STORES; k++)
        if (k % 2) compare_all(&w[k]);
    for (int k = 0; k < STORES; k++)
        close_world(&w[k]);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* Steps until the store says what has gone wrong. */
static enum hps_status run_into(struct world *w, bool *fails)
{
    enum hps_level level = hps_say_min(HPS_SILENT);

    *fails = true;
    for (int s = 0; s < STEPS && !hps_row_store_status(w->store); s++) {
        take(w, s);
        hps_row_store_settle(w->store);
        hps_row_store_change(w->store, w->n[s % 2], w->slot[s % 2]);
        hps_row_store_release(w->store, w->n[s % 2], w->slot[s % 2]);
    }
    *fails = false;
    hps_say_min(level);
    return hps_row_store_status(w->store);
}

static void failing(void **state)
{
    (void)state;
    assert_int_equal(setenv("HETERPS_URING", "0", 1), 0);
    for (int reads = 0; reads < 2; reads++) {
        struct world w;
        open_world(&w, HPS_AS_FP32);
        for (int s = 0; s < STEPS / 4; s++) {
            take(&w, s);
            compute(&w, s);
        }
        hps_row_store_release(w.store, w.n[1], w.slot[1]);
        assert_int_equal(run_into(&w, reads ? &disk.reads : &disk.writes), HPS_OUTPUT);
        take(&w, 0);                            /* it goes on, to the end of the step */
        hps_row_store_settle(w.store);
        assert_int_equal(hps_row_store_status(w.store), HPS_OUTPUT);
        close_world(&w);
        assert_int_equal(hps_mem_held_bytes(), 0);
    }
    assert_int_equal(unsetenv("HETERPS_URING"), 0);
}

static void no_file(void **state)
{
    struct world w;
    struct hps_row_store *store;
    (void)state;

    open_world(&w, HPS_AS_FP32);
    const struct hps_row_store_opt opt = { TABLES, w.some, w.slots, "nowhere", 3 };
    enum hps_level level = hps_say_min(HPS_SILENT);
    assert_int_equal(hps_row_store_new(&store, &opt), HPS_OUTPUT);
    assert_null(store);
    hps_say_min(level);
    close_world(&w);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(plain), cmocka_unit_test(encoded),
                                        cmocka_unit_test(unchanged), cmocka_unit_test(together),
                                        cmocka_unit_test(failing), cmocka_unit_test(no_file) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
