/* shuffle.c - which examples make up which step: pure, without memory, the same on every rank. */
#include <assert.h>

#include "base/rng.h"
#include "model/data.h"

struct hps_order hps_order_of(long long N, bool shuffle, uint64_t seed)
{
    return (struct hps_order){ N, shuffle, hps_rng_key(seed, "shuffle") };
}

static long long least(long long a, long long b)
{
    return a < b ? a : b;
}

/* Whole blocks change places, a short last block stays last; then a window of blocks is mixed row
 * by row. Keys: (epoch, 0) for the blocks, (epoch, w + 1) for window w. */
static void enter_window(const struct hps_order *order, struct hps_order_memo *memo,
                         long long epoch, long long window)
{
    enum { MOST = HPS_WINDOW_ROWS / HPS_BLOCK_ROWS };
    uint64_t key = hps_rng_sub(order->key, (uint64_t)epoch), blocks = hps_rng_sub(key, 0);
    long long whole = order->N / HPS_BLOCK_ROWS;

    memo->epoch = epoch;
    memo->window = window;
    memo->key = hps_rng_sub(key, (uint64_t)window + 1);
    for (int i = 0; i < MOST; i++) {
        long long block = window * MOST + i;
        if (block < whole)
            block = (long long)hps_rng_permute(blocks, (uint64_t)block, (uint64_t)whole);
        memo->block[i] = block;
    }
}

void hps_order_rows(const struct hps_order *order, struct hps_order_memo *memo, long long epoch,
                    long long position, long long n, long long *example)
{
    assert(position >= 0 && position + n <= order->N);
    for (long long i = 0; i < n && !order->shuffle; i++)
        example[i] = position + i;
    for (long long end = position + n; order->shuffle && position < end;) {
        long long window = position / HPS_WINDOW_ROWS, first = window * HPS_WINDOW_ROWS;
        long long stop = least(end, first + HPS_WINDOW_ROWS);
        uint64_t rows = (uint64_t)least(order->N - first, HPS_WINDOW_ROWS);
        if (memo->window != window || memo->epoch != epoch)
            enter_window(order, memo, epoch, window);
        for (; position < stop; position++) {
            uint64_t row = hps_rng_permute(memo->key, (uint64_t)(position - first), rows);
            *example++ = memo->block[row / HPS_BLOCK_ROWS] * HPS_BLOCK_ROWS +
                         (long long)(row % HPS_BLOCK_ROWS);
        }
    }
}

long long hps_order_at(const struct hps_order *order, long long epoch, long long position)
{
    struct hps_order_memo memo = { .window = -1 };
    long long example;

    hps_order_rows(order, &memo, epoch, position, 1, &example);
    return example;
}

struct hps_steps hps_steps_of(long long N, long long batch, int M, long long epochs,
                              long long steps)
{
    struct hps_steps s = { N, batch, (N + batch - 1) / batch, steps, M };

    if (epochs > 0 && (steps == 0 || epochs < (steps + s.per_epoch - 1) / s.per_epoch))
        s.total = epochs * s.per_epoch;
    return s;
}

long long hps_steps_batch(const struct hps_steps *s, long long step, long long *epoch,
                          long long *position)
{
    *epoch = step / s->per_epoch;
    *position = step % s->per_epoch * s->batch;
    return least(s->N - *position, s->batch);
}
