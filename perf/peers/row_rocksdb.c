/* row_rocksdb.c - the row work of a training (perf/bin/row_work.h) by RocksDB with the options of
 * FBGEMM's SSD tables: universal compaction with a size amplification of 400 %, direct I/O, no
 * compression, no checksums, no write-ahead log, a Bloom filter of 10 bits a key, blocks with a
 * hash index. An eighth of the memory is for write buffers, as much is in a file at most (a filter
 * is made in memory), half of it is for the block cache, with indices and filters: with six tenths
 * it did not keep to the limit. The threads read and write slices of a step. Built by
 * `make perf/peers/row_rocksdb`. */
#include <rocksdb/c.h>
#include <string.h>

#include "../bin/row_work.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"

enum { BUFFERS = 4, KEYS = 1024, KEY = 8 };     /* write buffers; keys of one call; bytes of a key */

struct store {
    const struct row_work *work;
    rocksdb_options_t *options;
    rocksdb_readoptions_t *read;
    rocksdb_writeoptions_t *write;
    rocksdb_cache_t *cache;
    rocksdb_t *db;
    rocksdb_column_family_handle_t *rows;
};

static void good(char *error)
{
    if (error) HPS_DIE("RocksDB: %s", error);
}

static rocksdb_block_based_table_options_t *blocks(struct store *s)
{
    rocksdb_block_based_table_options_t *b = rocksdb_block_based_options_create();

    s->cache = rocksdb_cache_create_lru((size_t)(0.5 * s->work->bytes));
    rocksdb_block_based_options_set_block_cache(b, s->cache);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(b, 1);
    rocksdb_block_based_options_set_filter_policy(b, rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_block_based_options_set_checksum(b, 0);
    rocksdb_block_based_options_set_data_block_index_type(
        b, rocksdb_block_based_table_data_block_index_type_binary_search_and_hash);
    rocksdb_block_based_options_set_data_block_hash_ratio(b, 0.75);
    rocksdb_block_based_options_set_format_version(b, 5);
    return b;
}

static rocksdb_options_t *options(struct store *s)
{
    rocksdb_options_t *o = rocksdb_options_create();
    rocksdb_universal_compaction_options_t *u = rocksdb_universal_compaction_options_create();
    rocksdb_block_based_table_options_t *b = blocks(s);

    rocksdb_universal_compaction_options_set_max_size_amplification_percent(u, 400);
    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_options_set_write_buffer_size(o, (size_t)(s->work->bytes / 8 / BUFFERS));
    rocksdb_options_set_max_write_buffer_number(o, BUFFERS);
    rocksdb_options_set_min_write_buffer_number_to_merge(o, 2);
    rocksdb_options_set_target_file_size_base(o, (uint64_t)(s->work->bytes / 8));
    rocksdb_options_set_compaction_style(o, rocksdb_universal_compaction);
    rocksdb_options_set_universal_compaction_options(o, u);
    rocksdb_options_set_compression(o, rocksdb_no_compression);
    rocksdb_options_set_use_direct_reads(o, 1);
    rocksdb_options_set_use_direct_io_for_flush_and_compaction(o, 1);
    rocksdb_options_set_memtable_whole_key_filtering(o, 1);
    rocksdb_options_set_memtable_prefix_bloom_size_ratio(o, 0.05);
    rocksdb_options_set_max_background_jobs(o, s->work->threads);
    rocksdb_options_set_block_based_table_factory(o, b);
    rocksdb_block_based_options_destroy(b);
    rocksdb_universal_compaction_options_destroy(u);
    return o;
}

static void *open_store(const struct row_work *w)
{
    struct store *s = hps_mem_new(1, sizeof *s);
    const char *name[] = { "default" };
    char *error = NULL;

    s->work = w;
    s->options = options(s);
    s->read = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(s->read, 0);
    s->write = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(s->write, 1);
    const rocksdb_options_t *of_rows[] = { s->options };
    s->db = rocksdb_open_column_families(s->options, w->directory, 1, name, of_rows, &s->rows,
                                         &error);
    good(error);
    return s;
}

static void close_store(void *context)
{
    struct store *s = context;

    rocksdb_column_family_handle_destroy(s->rows);
    rocksdb_close(s->db);
    rocksdb_readoptions_destroy(s->read);
    rocksdb_writeoptions_destroy(s->write);
    rocksdb_options_destroy(s->options);
    rocksdb_cache_destroy(s->cache);
    hps_mem_free(s);
}

/* In the order of their bytes as in that of the rows. */
static void key_of(int row, char *key)
{
    for (int i = 0; i < KEY; i++)
        key[i] = (char)((uint64_t)row >> 8 * (KEY - 1 - i) & 0xff);
}

static void put(const struct store *s, rocksdb_writebatch_t *batch, int row, const float *x)
{
    char key[KEY];

    key_of(row, key);
    rocksdb_writebatch_put(batch, key, KEY, (const char *)x, s->work->row_bytes);
}

static void write_batch(const struct store *s, rocksdb_writebatch_t *batch)
{
    char *error = NULL;

    rocksdb_write(s->db, s->write, batch, &error);
    good(error);
    rocksdb_writebatch_destroy(batch);
}

static void fill(void *context, int first, int n, const float *x)
{
    struct store *s = context;
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();

    for (int i = 0; i < n; i++)
        put(s, batch, first + i, x + (size_t)i * s->work->stride);
    write_batch(s, batch);
}

/* At most KEYS rows of a step. */
static uint64_t slice(const struct store *s, long long number, size_t n, const int *row)
{
    char key[KEYS][KEY], *error[KEYS];
    const char *at[KEYS];
    rocksdb_pinnableslice_t *value[KEYS];
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    float *x = hps_mem_new(s->work->stride, sizeof *x);
    uint64_t sum = 0;
    size_t size[KEYS], bytes;

    for (size_t i = 0; i < n; i++) {
        key_of(row[i], key[i]);
        at[i] = key[i];
        size[i] = KEY;
    }
    rocksdb_batched_multi_get_cf(s->db, s->read, s->rows, n, at, size, value, error, true);
    for (size_t i = 0; i < n; i++) {
        good(error[i]);
        const char *old = value[i] ? rocksdb_pinnableslice_value(value[i], &bytes) : NULL;
        if (!old || bytes != s->work->row_bytes) HPS_DIE("RocksDB has not row %d", row[i]);
        memcpy(x, old, bytes);
        rocksdb_pinnableslice_destroy(value[i]);
        sum += row_work_update(s->work, number, row[i], x);
        put(s, batch, row[i], x);
    }
    write_batch(s, batch);
    hps_mem_free(x);
    return sum;
}

static uint64_t step(void *context, const struct row_work_step *now,
                     const struct row_work_step *next)
{
    struct store *s = context;
    uint64_t sum = 0;
    (void)next;

#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) num_threads(s->work->threads) reduction(+ : sum)
#endif
    for (size_t first = 0; first < now->n; first += KEYS)
        sum += slice(s, now->number, now->n - first < KEYS ? now->n - first : KEYS,
                     now->row + first);
    return sum;
}

int main(int argc, char **argv)
{
    static const struct row_work_store store = { open_store, fill, step, close_store };

    return row_work_main(argc, argv, &store);
}
