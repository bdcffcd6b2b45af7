/* t_shuffle: every epoch's order is a bijection, the same in any split, other in every epoch;
 * blocks stay together; shares and micro-batches partition; the steps of a run are as agreed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "data/data.h"

static const long long sizes[] = { 1, 2, 255, 256, 257, 1000, 65535, 65536, 65537, 66000, 200000 };
enum { NSIZE = sizeof sizes / sizeof *sizes };

static void test_bijection(void **state)
{
    (void)state;
    for (int i = 0; i < NSIZE; i++) {
        struct hps_order order = hps_order_of(sizes[i], true, 7);
        for (long long epoch = 0; epoch < 2; epoch++) {
            char *seen = hps_mem_new((size_t)sizes[i], 1);
            for (long long p = 0; p < sizes[i]; p++) {
                long long e = hps_order_at(&order, epoch, p);
                assert_true(e >= 0 && e < sizes[i]);
                assert_int_equal(seen[e]++, 0);
            }
            hps_mem_free(seen);
        }
    }
}

/* Any cut of the positions into calls, back and forth between epochs, gives the same examples. */
static void test_any_split(void **state)
{
    const long long N = 150000, at[] = { 0, 1, 65000, 66000, 131071, 131073, 149999, 150000 };
    struct hps_order order = hps_order_of(N, true, 3);
    struct hps_order_memo memo = { .window = -1 };
    long long *rows = hps_mem_new((size_t)N, sizeof *rows);

    (void)state;
    for (int epoch = 1; epoch >= 0; epoch--)
        for (int i = 0; i < 7; i++) {
            hps_order_rows(&order, &memo, epoch, at[i], at[i + 1] - at[i], rows + at[i]);
            for (long long p = at[i]; p < at[i + 1]; p += 97)
                assert_int_equal(rows[p], hps_order_at(&order, epoch, p));
        }
    hps_mem_free(rows);
}

static void test_mixes(void **state)
{
    const long long N = 200000;
    struct hps_order a = hps_order_of(N, true, 1), b = hps_order_of(N, true, 2);
    struct hps_order plain = hps_order_of(N, false, 1);
    long long same_epoch = 0, same_seed = 0, moved = 0;

    (void)state;
    for (long long p = 0; p < N; p++) {
        same_epoch += hps_order_at(&a, 0, p) == hps_order_at(&a, 1, p);
        same_seed += hps_order_at(&a, 0, p) == hps_order_at(&b, 0, p);
        moved += hps_order_at(&a, 0, p) != p;
        if (p % 1000 == 0)
            assert_int_equal(hps_order_at(&plain, 5, p), p);
    }
    assert_true(same_epoch < 50 && same_seed < 50);     /* about one by chance */
    assert_true(moved > N - 50);
}

/* The examples of a window are whole blocks: reading stays local. */
static void test_blocks_stay(void **state)
{
    const long long N = 200000;
    struct hps_order order = hps_order_of(N, true, 5);
    long long nblock = (N + HPS_BLOCK_ROWS - 1) / HPS_BLOCK_ROWS;
    int *window = hps_mem_new((size_t)nblock, sizeof *window);

    (void)state;
    for (long long p = 0; p < N; p++) {
        int *w = &window[hps_order_at(&order, 2, p) / HPS_BLOCK_ROWS];
        assert_true(*w == 0 || *w == 1 + p / HPS_WINDOW_ROWS);
        *w = (int)(1 + p / HPS_WINDOW_ROWS);
    }
    hps_mem_free(window);
}

/* Several files: in turn, each example stays where its file is; mixed, it may come anywhere; every
 * example comes once, and one by one as in rows. */
static void test_several_files(void **state)
{
    long long first[] = { 0, 100, 70100, 70356, 140000 }, block[] = { 0, 1, 275, 276, 549 };
    long long whole[] = { 0, 0, 273, 274, 546 }, windows[] = { 0, 1, 3, 4, 6 };
    const struct hps_files files = { 4, first, block, whole, windows };
    struct hps_order order = hps_order_of(140000, true, 5);
    char *seen = hps_mem_new(140000, 1);
    int crossed = 0;

    (void)state;
    order.files = &files;
    for (int turn = 0; turn < 2; turn++) {
        struct hps_order_memo memo = { .window = -1 };
        long long rows[140000 / 8];
        order.in_turn = turn == 1;
        assert_int_equal(hps_order_windows(&order), turn ? 6 : 3);
        for (long long p = 0; p < 140000; p++) {
            long long e = hps_order_at(&order, 3, p);
            int f = hps_files_find(first, 4, e);
            assert_int_equal(seen[e]++, turn);
            if (p % (140000 / 8) == 0)
                hps_order_rows(&order, &memo, 3, p, 140000 / 8, rows);
            assert_int_equal(rows[p % (140000 / 8)], e);
            if (turn)
                assert_int_equal(f, hps_files_find(first, 4, p));
            else
                crossed += f != hps_files_find(first, 4, p);
        }
    }
    assert_true(crossed > 30000);
    hps_mem_free(seen);
}

/* Each example is about as likely in each place: a chi-square over 16 x 16 cells, 255 or so degrees
 * of freedom; 400 is beyond 1 in 10^7. */
static void test_even(void **state)
{
    const long long N = 4096;
    double cell[16][16] = { { 0 } }, chi = 0, want = 40.0 * 16;
    struct hps_order order = hps_order_of(N, true, 11);

    (void)state;
    for (int epoch = 0; epoch < 40; epoch++)
        for (long long p = 0; p < N; p++)
            cell[p * 16 / N][hps_order_at(&order, epoch, p) * 16 / N]++;
    for (int i = 0; i < 256; i++)
        chi += (cell[i / 16][i % 16] - want) * (cell[i / 16][i % 16] - want) / want;
    assert_true(chi < 400);
}

static void test_shares(void **state)
{
    (void)state;
    for (long long n = 0; n < 40; n++)
        for (int k = 1; k < 12; k++) {
            long long sum = 0;
            for (int p = 0; p < k; p++) {
                long long part = hps_share(n, k, p + 1) - hps_share(n, k, p);
                assert_true(part >= n / k && part <= (n + k - 1) / k);
                sum += part;
            }
            assert_int_equal(sum, n);
        }
    assert_int_equal(hps_share((long long)4e18, 3, 3), (long long)4e18);
}

static void test_steps(void **state)
{
    struct hps_steps s = hps_steps_of(10, 4, 2, 3, 0);
    long long epoch, position, sum = 0;

    (void)state;
    assert_int_equal(s.per_epoch, 3);
    assert_int_equal(s.total, 9);
    for (long long i = 0; i < s.total; i++) {
        long long n = hps_steps_batch(&s, i, &epoch, &position);
        assert_int_equal(epoch, i / 3);
        assert_int_equal(position, i % 3 * 4);
        assert_int_equal(n, i % 3 == 2 ? 2 : 4);
        sum += n;
    }
    assert_int_equal(sum, 30);
    assert_int_equal(hps_steps_of(10, 4, 1, 3, 5).total, 5);
    assert_int_equal(hps_steps_of(10, 4, 1, 1, 5).total, 3);
    assert_int_equal(hps_steps_of(10, 4, 1, 0, 5).total, 5);
    assert_int_equal(hps_steps_of(10, 100, 1, 2, 0).total, 2);
    assert_int_equal(hps_steps_of(10, 4, 1, (long long)1e15, 7).total, 7);
}

/* Each batch of a run goes to one worker once, in order; a clock is the batches of its workers. */
static void test_workers(void **state)
{
    (void)state;
    for (int W = 1; W <= 5; W++)
        for (long long total = 1; total <= 9; total++) {
            struct hps_steps s = hps_steps_of(10, 4, 2, 0, total);
            long long step = 0, epoch, position, batch = 0;
            s.W = W;
            for (long long next; step < total; step = next) {
                long long all = hps_steps_batch(&s, step, &epoch, &position), sum = 0;
                next = hps_steps_next(&s, step);
                assert_true(next <= total && next - step <= W);
                assert_int_equal(epoch, step / 3);
                assert_int_equal(epoch, (next - 1) / 3);
                assert_int_equal(position, step % 3 * 4);
                assert_true(next - step == W || next % 3 == 0 || next == total);
                for (int w = 0; w < W; w++) {
                    long long n = hps_steps_of_worker(&s, step, w, &epoch, &position);
                    assert_int_equal(n, step + w < next ? (batch % 3 == 2 ? 2 : 4) : 0);
                    assert_int_equal(position, (n > 0 ? batch : step) % 3 * 4);
                    batch += n > 0;
                    sum += n;
                }
                assert_int_equal(sum, all);
            }
            assert_int_equal(batch, total);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bijection), cmocka_unit_test(test_any_split),
        cmocka_unit_test(test_mixes),     cmocka_unit_test(test_blocks_stay),
        cmocka_unit_test(test_several_files),
        cmocka_unit_test(test_even),      cmocka_unit_test(test_shares),
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
