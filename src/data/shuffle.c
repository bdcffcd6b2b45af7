/* shuffle.c - the order of examples: a pure function, equal on all ranks. */
#include <assert.h>

#include "base/rng.h"
#include "data/data.h"

enum { WINDOW_BLOCKS = HPS_WINDOW_ROWS / HPS_BLOCK_ROWS };

struct hps_order hps_order_of(long long N, bool shuffle, uint64_t seed)
{
    return (struct hps_order){ .N = N, .shuffle = shuffle, .key = hps_rng_key(seed, "shuffle") };
}

struct hps_order hps_order_of_data(const struct hps_data *data, bool shuffle, bool in_turn,
                                   uint64_t seed)
{
    struct hps_order order = hps_order_of(data->N, shuffle, seed);

    if (data->files.n > 1 && shuffle) {
        order.files = &data->files;
        order.in_turn = in_turn;
    }
    return order;
}

static long long least(long long a, long long b)
{
    return a < b ? a : b;
}

static long long windows_of(long long n)
{
    return (n + HPS_WINDOW_ROWS - 1) / HPS_WINDOW_ROWS;
}

/* What is shuffled together: all files, or the file of a position. */
struct part {
    struct hps_order order;
    long long first, window;        /* position and example of its first row; windows before it */
};

static struct part part_at(const struct hps_order *order, long long position)
{
    struct part p = { *order, 0, 0 };
    const struct hps_files *files = order->files;

    if (order->in_turn) {
        int f = hps_files_find(files->first, files->n, position);
        p.order = (struct hps_order){ .N = files->first[f + 1] - files->first[f], .shuffle = true,
                                      .key = hps_rng_sub(order->key, (uint64_t)f) };
        p.first = files->first[f];
        p.window = files->window[f];
    }
    return p;
}

long long hps_order_windows(const struct hps_order *order)
{
    return order->in_turn ? order->files->window[order->files->n] : windows_of(order->N);
}

long long hps_order_window(const struct hps_order *order, long long position)
{
    struct part p = part_at(order, position);

    return p.window + (position - p.first) / HPS_WINDOW_ROWS;
}

long long hps_order_span(const struct hps_order *order, long long window, long long *first)
{
    long long begin = 0, end = order->N;

    if (order->in_turn) {
        const struct hps_files *files = order->files;
        int f = hps_files_find(files->window, files->n, window);
        begin = files->first[f];
        end = files->first[f + 1];
        window -= files->window[f];
    }
    *first = begin + window * HPS_WINDOW_ROWS;
    return least(end - *first, HPS_WINDOW_ROWS);
}

/* Several files are shuffled as one file that has all their full blocks, then all their short ones.
 * The example at a row of that file. */
static long long example_at(const struct hps_files *files, long long place)
{
    long long whole, rest;
    int low = 0, high;

    if (!files) return place;
    whole = files->whole[files->n];
    if (place < whole * HPS_BLOCK_ROWS) {
        low = hps_files_find(files->whole, files->n, place / HPS_BLOCK_ROWS);
        return files->first[low] + place - files->whole[low] * HPS_BLOCK_ROWS;
    }
    rest = place - whole * HPS_BLOCK_ROWS;
    for (high = files->n; high - low > 1;) {            /* rows of short blocks before a file */
        int f = (low + high) / 2;
        if (files->first[f] - files->whole[f] * HPS_BLOCK_ROWS <= rest)
            low = f;
        else
            high = f;
    }
    return rest + files->whole[low + 1] * HPS_BLOCK_ROWS;
}

/* Full blocks are permuted, a short last block stays last; then the rows of a window of blocks are
 * permuted. Keys: (epoch, 0) for the blocks, (epoch, w + 1) for window w. */
static long long block_at(const struct hps_order *order, uint64_t epoch_key, long long place)
{
    long long whole = order->N / HPS_BLOCK_ROWS;

    if (place >= whole) return place;
    return (long long)hps_rng_permute(hps_rng_sub(epoch_key, 0), (uint64_t)place, (uint64_t)whole);
}

/* The rows within a window of the n positions from `position` on; all are of one window. */
static void rows_at(const struct hps_order *order, uint64_t window_key, long long position,
                    long long n, long long *row)
{
    long long inside = position % HPS_WINDOW_ROWS, first = position - inside;

    hps_rng_permute_span(window_key, (uint64_t)inside, (size_t)n,
                         (uint64_t)least(order->N - first, HPS_WINDOW_ROWS), (uint64_t *)row);
}

long long hps_order_at(const struct hps_order *order, long long epoch, long long position)
{
    struct part p = part_at(order, position);
    uint64_t key = hps_rng_sub(p.order.key, (uint64_t)epoch);
    long long inside = position - p.first, window = inside / HPS_WINDOW_ROWS, row, block;

    assert(position >= 0 && position < order->N);
    if (!order->shuffle) return position;
    rows_at(&p.order, hps_rng_sub(key, (uint64_t)window + 1), inside, 1, &row);
    block = block_at(&p.order, key, window * WINDOW_BLOCKS + row / HPS_BLOCK_ROWS);
    return p.first + example_at(p.order.files, block * HPS_BLOCK_ROWS + row % HPS_BLOCK_ROWS);
}

/* The first examples of a window's blocks; of a block that may consist of several files, -1 -
 * its first row instead. */
static void enter_window(const struct part *p, struct hps_order_memo *memo, long long epoch,
                         long long window)
{
    const struct hps_files *files = p->order.files;
    uint64_t key = hps_rng_sub(p->order.key, (uint64_t)epoch);
    long long whole = files ? files->whole[files->n] : (p->order.N + HPS_BLOCK_ROWS - 1) /
                                                       HPS_BLOCK_ROWS;

    if (memo->window == p->window + window && memo->epoch == epoch) return;
    memo->epoch = epoch;
    memo->window = p->window + window;
    memo->key = hps_rng_sub(key, (uint64_t)window + 1);
    for (int i = 0; i < WINDOW_BLOCKS; i++) {
        long long block = block_at(&p->order, key, window * WINDOW_BLOCKS + i);
        memo->start[i] = block < whole ? p->first + example_at(files, block * HPS_BLOCK_ROWS)
                                       : -1 - block * HPS_BLOCK_ROWS;
    }
}

void hps_order_rows(const struct hps_order *order, struct hps_order_memo *memo, long long epoch,
                    long long position, long long n, long long *example)
{
    long long end = position + n;

    assert(position >= 0 && end <= order->N);
    while (position < end && !order->shuffle)
        *example++ = position++;
    while (position < end) {
        struct part p = part_at(order, position);
        long long inside = position - p.first, window = inside / HPS_WINDOW_ROWS;
        long long stop = least(p.first + least(p.order.N, (window + 1) * HPS_WINDOW_ROWS), end);
        enter_window(&p, memo, epoch, window);
        rows_at(&p.order, memo->key, inside, stop - position, example);
        for (; position < stop; position++, example++) {
            long long start = memo->start[*example / HPS_BLOCK_ROWS];
            long long at = *example % HPS_BLOCK_ROWS;
            *example = start >= 0 ? start + at : example_at(p.order.files, at - 1 - start);
        }
    }
}

struct hps_steps hps_steps_of(long long N, long long batch, int M, long long epochs,
                              long long steps)
{
    struct hps_steps s = { N, batch, (N + batch - 1) / batch, steps, M, 1, 0, NULL };

    if (epochs > 0 && (steps == 0 || epochs < (steps + s.per_epoch - 1) / s.per_epoch))
        s.total = epochs * s.per_epoch;
    return s;
}

/* Was the batch trained before its turn? */
static bool is_done(const struct hps_steps *s, long long batch)
{
    long long low = 0, high = s->ndone;

    while (low < high) {
        long long middle = low + (high - low) / 2;
        if (s->done[middle] < batch)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->ndone && s->done[low] == batch;
}

/* Examples of a batch, and its place. */
static long long one_batch(const struct hps_steps *s, long long batch, long long *epoch,
                           long long *position)
{
    *epoch = batch / s->per_epoch;
    *position = batch % s->per_epoch * s->batch;
    return is_done(s, batch) ? 0 : least(s->N - *position, s->batch);
}

long long hps_steps_batch(const struct hps_steps *s, long long step, long long *epoch,
                          long long *position)
{
    long long next = hps_steps_next(s, step), n = 0;

    for (long long b = next - 1; b >= step; b--)
        n += one_batch(s, b, epoch, position);
    return n;
}

long long hps_steps_of_worker(const struct hps_steps *s, long long step, int w, long long *epoch,
                              long long *position)
{
    if (step + w < hps_steps_next(s, step)) return one_batch(s, step + w, epoch, position);
    one_batch(s, step, epoch, position);
    return 0;
}

double hps_steps_examples(const struct hps_steps *s)
{
    long long last = s->total % s->per_epoch, epoch, position;
    double examples = (double)(s->total / s->per_epoch) * (double)s->N;

    if (last > 0) {
        long long n = hps_steps_of_worker(s, last - 1, 0, &epoch, &position);
        examples += (double)(position + n);
    }
    return examples;
}

long long hps_steps_clock(const struct hps_steps *s, long long step)
{
    long long epoch = step / s->per_epoch, whole = (s->per_epoch + s->W - 1) / s->W;

    return epoch * whole + (step % s->per_epoch + s->W - 1) / s->W;
}

long long hps_steps_next(const struct hps_steps *s, long long step)
{
    long long end = (step / s->per_epoch + 1) * s->per_epoch;

    return least(step + s->W, least(end, s->total > step ? s->total : end));
}
