/* t_queue: what is queued on the CPU backend's threads gives what one thread gives that does all in
 * order, bit for bit, whatever was mixed: operations on rows, before all, beside others and behind
 * all; few rows and none, other numbers of rows, more operations than the queue holds, what is kept
 * between them, rows that are written while a sum of them is due; what is queued and changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tests/lib/dev_case.h"
#include "hw/cpu/cpu_impl.h"

#define WIDE 3000               /* rows at most */
#define CHAIN 150               /* operations   */
#define SIDES 4                 /* parts of an operation beside others */
#define LARGE_NS 1e6            /* worth waking the threads for */

/* What the operations write on. */
struct sheet {
    uint64_t row[WIDE], all, sum[CHAIN], before[CHAIN], side[CHAIN][SIDES];
};

struct job {
    struct sheet *sheet;
    size_t rows;
    uint64_t *part;             /* (parts) one each                        */
    int parts, number;
    int first, side;            /* the operations before all, and beside, that it looks at; -1:
                                   none */
};

static uint64_t mixed(uint64_t a, uint64_t b)
{
    return hps_rng_sub(a + 1, b);
}

/* A row becomes what it was, mixed with the operation's number and what was done before all. */
static void on_rows(const void *job, int t, int n)
{
    const struct job *j = job;
    size_t last = hps_cpu_cut(j->rows, HPS_CPU_GRAIN, t + 1, n);
    uint64_t sum = 0, seen = j->first < 0 ? 0 : j->sheet->before[j->first];

    for (size_t r = hps_cpu_cut(j->rows, HPS_CPU_GRAIN, t, n); r < last; r++) {
        for (size_t i = 0; i < (t % 3 == 0 ? 10000 / j->rows : 1); i++) /* unlike lengths */
            j->sheet->row[r] = mixed(j->sheet->row[r], (uint64_t)j->number + seen);
        sum += j->sheet->row[r];
    }
    j->part[t] = sum;
}

static void behind_all(const void *job, int t, int n)
{
    const struct job *j = job;
    (void)t;
    (void)n;

    for (int p = 0; p < j->parts; p++)
        j->sheet->sum[j->number] = mixed(j->sheet->sum[j->number], j->part[p]);
    for (int k = 0; k < SIDES && j->side >= 0; k++)
        j->sheet->all = mixed(j->sheet->all, j->sheet->side[j->side][k]);
    j->sheet->all = mixed(j->sheet->all, j->sheet->sum[j->number]);
}

/* All rows' parts, and what all parts of the one before it left. */
static void beside_others(const void *job, int t, int n)
{
    const struct job *j = job;
    uint64_t *mine = &j->sheet->side[j->number][t];

    for (int p = 0; p < j->parts; p++)
        *mine = mixed(*mine, j->part[p]);
    for (int k = 0; k < n && j->side >= 0; k++)
        *mine = mixed(*mine, j->sheet->side[j->side][k]);
}

static void before_all(const void *job, int t, int n)
{
    const struct job *j = job;
    (void)n;

    if (t == 0)
        j->sheet->before[j->number] = mixed(7, (uint64_t)j->number);
}

static void chain(struct hps_dev *dev, struct sheet *s, size_t rows, int parts)
{
    memset(s, 0, sizeof *s);
    for (int i = 0, first = -1, side = -1; i < CHAIN; i++) {
        size_t now = i % 50 == 49 ? rows / 2 : rows;
        struct job j = { s, now, NULL, parts, i, first, side };
        j.part = hps_cpu_queue_scratch(dev, (size_t)parts * sizeof *j.part);
        if (i % 7 == 3) {
            hps_cpu_queue_first(dev, LARGE_NS, 2, before_all, &j, sizeof j);
            first = j.first = i;
        }
        hps_cpu_queue_rows(dev, now, LARGE_NS, parts, on_rows, &j, sizeof j);
        if (i % 3 == 1)
            hps_cpu_queue_after(dev, LARGE_NS, 1, behind_all, &j, sizeof j);
        if (i % 3 != 0) {
            hps_cpu_queue_beside(dev, LARGE_NS, SIDES, beside_others, &j, sizeof j);
            side = i;
        }
    }
    dev->ops->sync(dev);
}

/* Part t of n adds up its share of the rows. */
static void in_shares(const void *job, int t, int n)
{
    const struct job *j = job;

    for (size_t r = hps_cpu_cut(j->rows, 1, t, n); r < hps_cpu_cut(j->rows, 1, t + 1, n); r++)
        j->part[t] += j->sheet->row[r];
}

/* More than the queue holds, and nothing kept that would empty it before; then a sum in shares of
 * rows that are written again right behind it. */
static void crowd(struct hps_dev *dev, struct sheet *s, size_t rows, int parts, uint64_t *share)
{
    uint64_t spare[WIDE];
    struct hps_tensor x = hps_tensor_of((float *)(void *)s->row, 2);
    struct job j = { s, rows, spare, parts, 0, -1, -1 };

    memset(s, 0, sizeof *s);
    for (int i = 0; i < CHAIN; i++) {
        j.number = i;
        hps_cpu_queue_writes(dev, rows, x);
        hps_cpu_queue_rows(dev, rows, LARGE_NS, parts, on_rows, &j, sizeof j);
        if (i % 40 == 39) {
            j.part = share + i / 40 * 4;
            if (i % 80 == 79)
                hps_cpu_queue_beside(dev, LARGE_NS, 4, in_shares, &j, sizeof j);
            else
                hps_cpu_queue_after(dev, LARGE_NS, 4, in_shares, &j, sizeof j);
            hps_cpu_queue_reads(dev, rows, x);
            j.part = spare;
        }
    }
    dev->ops->sync(dev);
}

static void a_crowd(void **state)
{
    struct sheet *one = hps_mem_new(2, sizeof *one), *many = one + 1;
    (void)state;

    for (int nthread = 2; nthread <= 4; nthread++) {
        struct hps_dev alone = open_dev(1), dev = open_dev(nthread);
        uint64_t share[2][4 * (CHAIN / 40)] = { { 0 } };
        crowd(&alone, one, 700, 12, share[0]);
        crowd(&dev, many, 700, 12, share[1]);
        assert_memory_equal(one, many, sizeof *one);
        assert_memory_equal(share[0], share[1], sizeof share[0]);
        alone.ops->close(&alone);
        dev.ops->close(&dev);
    }
    hps_mem_free(one);
}

static void order_is_kept(void **state)
{
    static const size_t rows[] = { 0, 1, 5, 100, WIDE };
    static const int parts[] = { 1, 1, 1, 12, 30 };
    struct sheet *one = hps_mem_new(2, sizeof *one), *many = one + 1;
    (void)state;

    for (int c = 0; c < 5; c++)
        for (int nthread = 2; nthread <= 4; nthread++) {
            struct hps_dev alone = open_dev(1), dev = open_dev(nthread);
            chain(&alone, one, rows[c], parts[c]);
            chain(&dev, many, rows[c], parts[c]);
            assert_memory_equal(one, many, sizeof *one);
            alone.ops->close(&alone);
            dev.ops->close(&dev);
        }
    hps_mem_free(one);
}

static void write_number(const void *job, int t, int n)
{
    const struct job *j = job;
    (void)t;
    (void)n;

    j->sheet->all = (uint64_t)j->number;
}

/* What is queued may be changed until it is begun, but for what is behind another operation. */
static void a_change(void **state)
{
    struct sheet *s = hps_mem_new(1, sizeof *s);
    uint64_t spare[4] = { 0 };
    (void)state;

    for (int nthread = 1; nthread <= 3; nthread++) {
        struct hps_dev dev = open_dev(nthread);
        struct job j = { s, 100, spare, 4, 1, -1, -1 }, *later;
        assert_null(hps_cpu_queue_pending(&dev, write_number));
        hps_cpu_queue_rows(&dev, 100, LARGE_NS, 1, write_number, &j, sizeof j);
        hps_cpu_queue_after(&dev, LARGE_NS, 1, beside_others, &j, sizeof j);
        assert_null(hps_cpu_queue_pending(&dev, on_rows));
        later = hps_cpu_queue_pending(&dev, write_number);
        assert_non_null(later);
        later->number = 7;
        dev.ops->sync(&dev);
        assert_int_equal(s->all, 7);
        assert_null(hps_cpu_queue_pending(&dev, write_number));
        hps_cpu_queue_rows(&dev, 100, LARGE_NS, 1, write_number, &j, sizeof j);
        hps_cpu_queue_rows(&dev, 100, LARGE_NS, 4, on_rows, &j, sizeof j);
        assert_null(hps_cpu_queue_pending(&dev, write_number));
        dev.ops->sync(&dev);
        assert_int_equal(s->all, 1);
        dev.ops->close(&dev);
    }
    hps_mem_free(s);
}

/* Each thread's share is as large as the others', of about `step` rows, and never without rows. */
static void parts(void **state)
{
    struct hps_dev dev = open_dev(3);
    int n = dev.nthread;
    (void)state;

    assert_int_equal(hps_cpu_ntask(&dev, 0, 64), 1);
    assert_int_equal(hps_cpu_ntask(&dev, 5, 64), 1);
    assert_int_equal(hps_cpu_ntask(&dev, 16, 64), n < 2 ? n : 2);
    assert_int_equal(hps_cpu_ntask(&dev, 600, 1000), n);
    assert_int_equal(hps_cpu_ntask(&dev, 6000, 1000), 6);
    assert_int_equal(hps_cpu_ntask(&dev, 6001, 1000), n < 2 ? 7 : 9);
    dev.ops->close(&dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(order_is_kept),
                                        cmocka_unit_test(a_crowd), cmocka_unit_test(a_change),
                                        cmocka_unit_test(parts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
