/* table.c - a shard of embedding rows with their optimiser states side by side. */
#include "ps/table.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/say.h"
#include "ps/slots.h"
#include "ps/snapshot.h"

enum { CHUNK = 256 };                   /* blocks that one put carries to a device */
enum { MANY = 16384 };                  /* rows that are worth another thread      */
enum { SAMPLE = 16 };                   /* rows of an update whose rounding is measured */

/* n rows from the global row `first` on, in host memory. */
static void start_rows(const struct hps_table *t, long long first, long long n, float *to)
{
    const struct hps_table_start *s = &t->start;

    hps_net_init_rows(s->net, s->index, s->key, first, n, to, t->stride);
    for (long long r = 0; r < n; r++, to += t->stride)
        hps_opt_init_states(&s->rule, (size_t)t->dim, to, to + t->dim);
}

/* One block of local rows, in host memory. */
static void fill_block(const struct hps_table *t, long long block, float *to)
{
    long long first = (block * t->parts + t->part) * HPS_CYCLIC_BLOCK;
    long long left = t->shape->rows - first;
    long long n = left < HPS_CYCLIC_BLOCK ? left : HPS_CYCLIC_BLOCK;

    start_rows(t, first, n, to);
}

/* Blocks from `first` on, in host memory, by all threads: each page is then near a thread that
 * works on it. */
static void fill_blocks(const struct hps_table *t, long long first, long long n, float *to)
{
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(t->dev->nthread)
#endif
    for (long long b = 0; b < n; b++)
        fill_block(t, first + b, to + (size_t)b * HPS_CYCLIC_BLOCK * t->stride);
}

/* Random bits for the rounding of a local row, in the update of that number; 0: its start. */
static uint32_t row_key(const struct hps_table *t, uint64_t update_key, long long row)
{
    uint64_t global = (uint64_t)hps_cyclic_global(row, t->part, t->parts);

    return (uint32_t)(hps_rng_bits(update_key, global) >> 32);
}

/* The rows' start, rounded. */
static void fill_encoded(struct hps_table *t)
{
    uint64_t key = hps_rng_sub(t->key, 0);
    long long nblock = (t->nrow + HPS_CYCLIC_BLOCK - 1) / HPS_CYCLIC_BLOCK;

#ifdef _OPENMP
#pragma omp parallel num_threads(t->dev->nthread)
#endif
    {
        float *x = hps_mem_new(HPS_CYCLIC_BLOCK * t->stride, sizeof *x);
#ifdef _OPENMP
#pragma omp for schedule(static)
#endif
        for (long long b = 0; b < nblock; b++) {
            long long first = b * HPS_CYCLIC_BLOCK, left = t->nrow - first;
            uint32_t keys[HPS_CYCLIC_BLOCK];
            size_t n = left < HPS_CYCLIC_BLOCK ? (size_t)left : HPS_CYCLIC_BLOCK;
            fill_block(t, b, x);
            for (size_t r = 0; r < n; r++)
                keys[r] = row_key(t, key, first + (long long)r);
            hps_row_encode(&t->format, n, x, keys, t->encoded + (size_t)first * t->format.bytes);
        }
        hps_mem_free(x);
    }
}

void hps_table_make(const struct hps_table *t, int row, float *x, unsigned char *to)
{
    uint32_t key = row_key(t, hps_rng_sub(t->key, 0), row);

    start_rows(t, hps_cyclic_global(row, t->part, t->parts), 1, x);
    hps_row_encode(&t->format, 1, x, &key, to);
}

static void fill(struct hps_table *t)
{
    size_t size = HPS_CYCLIC_BLOCK * t->stride, all = (size_t)t->nrow * t->stride;
    long long nblock = (t->nrow + HPS_CYCLIC_BLOCK - 1) / HPS_CYCLIC_BLOCK;
    float *host = t->tier->host(t), *buffer;

    if (t->encoded) {
        fill_encoded(t);
        return;
    }
    if (host) {
        fill_blocks(t, 0, nblock, host);
        return;
    }
    buffer = hps_mem_new(CHUNK * size, sizeof *buffer);
    for (long long first = 0; first < nblock; first += CHUNK) {
        size_t at = (size_t)first * size, max = CHUNK * size;
        fill_blocks(t, first, nblock - first < CHUNK ? nblock - first : CHUNK, buffer);
        t->dev->ops->copy_to_device(t->dev, t->row + at, buffer,
                                    (all - at < max ? all - at : max) * sizeof *buffer);
        t->dev->ops->sync(t->dev);
    }
    hps_mem_free(buffer);
}

enum hps_status hps_table_new(struct hps_table **out, const struct hps_net *net, int index,
                              struct hps_dev *dev, const struct hps_table_opt *opt)
{
    const struct hps_table_shape *shape = &net->table[index];
    long long nrow = hps_cyclic_nlocal(shape->rows, opt->part, opt->parts);
    struct hps_rule rule = hps_opt_rule(opt->train, &shape->override, hps_update_of(0, 1));
    bool made_on_demand = opt->tier == &hps_tier_file;
    struct hps_table *t;

    assert(0 <= opt->part && 0 < opt->parts);
    assert((opt->tier->fetch || made_on_demand) == (opt->slots != NULL));
    *out = NULL;
    if (nrow > INT_MAX) {
        HPS_SAY_ALL(HPS_ERROR,
                    "table '%s': %lld of its %lld rows come to one rank, the most is %d: "
                    "more ranks or fewer buckets are needed",
                    shape->name, nrow, shape->rows, INT_MAX);
        return HPS_DECK;
    }
    size_t dim = (size_t)shape->dim, stride = hps_rule_stride(&rule, shape->dim);
    struct hps_row_format format = hps_row_format_of(opt->weights, opt->states, dim, stride - dim);
    if (!dev->ops->rows->apply_encoded)
        format = hps_row_format_of(HPS_AS_FP32, HPS_AS_FP32, dim, stride - dim);
    t = hps_mem_new(1, sizeof *t);
    *t = (struct hps_table){ .shape = shape, .part = opt->part, .parts = opt->parts, .nrow = nrow,
                             .dim = shape->dim, .stride = stride,
                             .dev = dev, .tier = opt->tier, .slots = opt->slots,
                             .start = { net, index, rule,
                                        hps_net_rows_key(net, index, opt->seed) },
                             .format = format,
                             .key = hps_rng_sub(hps_rng_key(opt->seed, "rounding of rows"),
                                                (uint64_t)index) };
    t->tier->alloc(t);
    if (!made_on_demand) fill(t);
    *out = t;
    return HPS_OK;
}

void hps_table_free(struct hps_table *t)
{
    if (!t) return;
    t->tier->free(t);
    hps_mem_free(t->row_key);
    hps_mem_free(t->sample);
    hps_mem_free(t);
}

struct hps_shard hps_table_shard(const struct hps_table *t)
{
    return (struct hps_shard){ t->part, t->parts, t->nrow, t->stride };
}

static struct hps_row_list list_of(const struct hps_table *t, size_t n, const int *at)
{
    return (struct hps_row_list){ t->stride, t->dim, n, at };
}

void hps_table_read(const struct hps_table *t, long long first, long long n, float *x)
{
    size_t at = (size_t)first, some = (size_t)n;

    if (t->encoded)
        hps_row_decode(&t->format, some, t->encoded + at * t->format.bytes, x);
    else
        memcpy(x, t->row + at * t->stride, some * t->stride * sizeof *x);
}

void hps_table_write(struct hps_table *t, long long first, long long n, const float *x)
{
    size_t at = (size_t)first, some = (size_t)n;

    if (t->encoded)
        hps_row_encode(&t->format, some, x, NULL, t->encoded + at * t->format.bytes);
    else
        memcpy(t->row + at * t->stride, x, some * t->stride * sizeof *x);
}

static struct hps_encoded_rows encoded_of(const struct hps_table *t, size_t n, const int *at)
{
    return (struct hps_encoded_rows){ &t->format, t->encoded, n, at, NULL };
}

void hps_table_gather(struct hps_table *t, size_t n, const int *at, float *out)
{
    const struct hps_row_ops *ops = t->dev->ops->rows;

    if (n == 0) return;
    if (t->encoded)
        ops->gather_encoded(t->dev, encoded_of(t, n, at), out);
    else
        ops->gather(t->dev, t->row, list_of(t, n, at), out);
}

struct hps_rows hps_table_rows(const struct hps_table *t)
{
    if (t->format.weights != HPS_AS_FP32)
        return (struct hps_rows){ .encoded = t->encoded, .format = &t->format };
    if (!t->encoded) return (struct hps_rows){ .table = t->row, .stride = t->stride };
    return (struct hps_rows){ .table = (const float *)(const void *)t->encoded,
                              .stride = t->format.bytes / sizeof(float) };
}

void hps_table_sums(struct hps_table *t, size_t n, const int *begin, const int *row, float *out)
{
    struct hps_lookup lookup = { .nslot = 1,
                                 .B = (int)n,
                                 .nid = (size_t)begin[n],
                                 .offset = begin,
                                 .form = HPS_ROWS_IN_TABLE,
                                 .of.in_table = { row, true },
                                 .rows = hps_table_rows(t) };
    struct hps_tensor y = hps_tensor_of(out, t->dim);

    t->dev->ops->rows->bag_forward(t->dev, &lookup, t->dim, HPS_POOL_SUM, HPS_COMBINE_CONCAT, y);
}

/* The first rows of an update, as fp32 rows would be after it, in t->sample. Returns how many. */
static size_t update_sample(struct hps_table *t, const struct hps_rule *rule, size_t n,
                            const int *at, const struct hps_row_sums *grad)
{
    int own[SAMPLE];

    if (n > SAMPLE) n = SAMPLE;
    if (!t->sample) t->sample = hps_mem_new((SAMPLE + 1) * t->stride, sizeof *t->sample);
    for (size_t i = 0; i < n; i++) {
        own[i] = (int)i;
        hps_table_read(t, at[i], 1, t->sample + i * t->stride);
    }
    t->dev->ops->rows->apply(t->dev, rule, t->sample, list_of(t, n, own), grad);
    return n;
}

/* What was kept of the weights of the sample. */
static void count_rounding(struct hps_table *t, size_t n, const int *at)
{
    float *row = t->sample + SAMPLE * t->stride;

    for (size_t i = 0; i < n; i++) {
        hps_table_read(t, at[i], 1, row);
        hps_message_compare((size_t)t->dim, t->sample + i * t->stride, row, &t->rounding);
    }
}

/* A row is rounded at every update, by chance that its number and those of the update and of the
 * application address. */
static void apply_encoded(struct hps_table *t, const struct hps_rule *rule, size_t n, const int *at,
                          const struct hps_row_sums *grad)
{
    uint64_t key = hps_rng_sub(t->key, (uint64_t)rule->step);
    struct hps_encoded_rows rows = encoded_of(t, n, at);

    if (rule->application > 0) key = hps_rng_sub(key, (uint64_t)rule->application);
    hps_mem_grow(&t->row_key, &t->nrow_key, n, sizeof *t->row_key);
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(t->dev->nthread) if (n > MANY)
#endif
    for (size_t i = 0; i < n; i++)
        t->row_key[i] = row_key(t, key, t->slots ? hps_slots_row(t->slots, at[i]) : at[i]);
    rows.key = t->row_key;
    size_t nsample = update_sample(t, rule, n, at, grad);
    t->dev->ops->rows->apply_encoded(t->dev, rule, rows, grad);
    count_rounding(t, nsample, at);
}

void hps_table_apply(struct hps_table *t, const struct hps_rule *rule, size_t n, const int *at,
                     const struct hps_row_sums *grad)
{
    if (n == 0) return;
    if (t->snapshot) hps_snapshot_change(t->snapshot, n, at);
    if (t->encoded)
        apply_encoded(t, rule, n, at, grad);
    else
        t->dev->ops->rows->apply(t->dev, rule, t->row, list_of(t, n, at), grad);
    if (!t->snapshot) return;
    t->dev->ops->sync(t->dev);
    hps_snapshot_changed(t->snapshot);
}
