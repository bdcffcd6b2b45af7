/* shuffle.c - which examples make up which step: pure, without memory, the same on every rank. */
#include <assert.h>

#include "base/rng.h"
#include "model/data.h"

enum { WINDOW_BLOCKS = HPS_WINDOW_ROWS / HPS_BLOCK_ROWS };

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
static long long block_at(const struct hps_order *order, uint64_t epoch_key, long long place)
{
    long long whole = order->N / HPS_BLOCK_ROWS;

    if (place >= whole)
        return place;
    return (long long)hps_rng_permute(hps_rng_sub(epoch_key, 0), (uint64_t)place, (uint64_t)whole);
}

/* The place in the window of the row that comes at `position`. */
static uint64_t row_at(const struct hps_order *order, uint64_t window_key, long long position)
{
    long long inside = position % HPS_WINDOW_ROWS, first = position - inside;

    return hps_rng_permute(window_key, (uint64_t)inside,
                           (uint64_t)least(order->N - first, HPS_WINDOW_ROWS));
}

long long hps_order_at(const struct hps_order *order, long long epoch, long long position)
{
    uint64_t key = hps_rng_sub(order->key, (uint64_t)epoch);
    long long window = position / HPS_WINDOW_ROWS, row;

    assert(position >= 0 && position < order->N);
    if (!order->shuffle)
        return position;
    row = (long long)row_at(order, hps_rng_sub(key, (uint64_t)window + 1), position);
    return block_at(order, key, window * WINDOW_BLOCKS + row / HPS_BLOCK_ROWS) * HPS_BLOCK_ROWS +
           row % HPS_BLOCK_ROWS;
}

static void enter_window(const struct hps_order *order, struct hps_order_memo *memo,
                         long long epoch, long long window)
{
    uint64_t key = hps_rng_sub(order->key, (uint64_t)epoch);

    if (memo->window == window && memo->epoch == epoch)
        return;
    memo->epoch = epoch;
    memo->window = window;
    memo->key = hps_rng_sub(key, (uint64_t)window + 1);
    for (int i = 0; i < WINDOW_BLOCKS; i++)
        memo->block[i] = block_at(order, key, window * WINDOW_BLOCKS + i);
}

void hps_order_rows(const struct hps_order *order, struct hps_order_memo *memo, long long epoch,
                    long long position, long long n, long long *example)
{
    long long end = position + n;

    assert(position >= 0 && end <= order->N);
    while (position < end && !order->shuffle)
        *example++ = position++;
    while (position < end) {
        long long window = position / HPS_WINDOW_ROWS;
        long long stop = least(end, (window + 1) * HPS_WINDOW_ROWS);
        enter_window(order, memo, epoch, window);
        for (; position < stop; position++) {
            uint64_t row = row_at(order, memo->key, position);
            *example++ = memo->block[row / HPS_BLOCK_ROWS] * HPS_BLOCK_ROWS +
                         (long long)(row % HPS_BLOCK_ROWS);
        }
    }
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
