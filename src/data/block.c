/* block.c - a cache of blocks of a dataset: read by pread, checked, stored by rows. */
#include "data/block.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/finite.h"
#include "base/mem.h"
#include "base/multiversion.h"
#include "base/rng.h"

static size_t take(size_t *end, bool wanted, size_t bytes)
{
    size_t at = (*end + bytes - 1) & ~(bytes - 1);      /* a number at a multiple of its size */

    if (!wanted) return SIZE_MAX;
    *end = at + bytes;
    return at;
}

void hps_blocks_new(struct hps_blocks *b, const struct hps_data *data, bool label, bool dense,
                    const bool *slot)
{
    size_t rows = HPS_BLOCK_ROWS, nsingle = 0, D = dense ? (size_t)data->D : 0;

    *b = (struct hps_blocks){ .data = data, .mask = 1023, .dense_at = SIZE_MAX };
    for (int j = 0; j < data->nslot; j++)
        b->wide |= data->slot[j].buckets - 1 > (long long)UINT32_MAX;
    b->slot_at = hps_mem_new((size_t)data->nslot, sizeof *b->slot_at);
    b->slot = hps_mem_new((size_t)data->nslot, sizeof *b->slot);
    for (int j = 0; j < data->nslot; j++) {
        b->slot[j] = slot && slot[j];
        bool single = b->slot[j] && !data->slot[j].multi;
        b->slot_at[j] = take(&b->record_bytes, single, hps_ids_size(b->wide));
        nsingle += single;
    }
    b->label_at = take(&b->record_bytes, label, sizeof(float));
    if (D) {
        b->dense_at = b->record_bytes;
        b->record_bytes += D * sizeof(float);
    }
    b->record_bytes = (b->record_bytes + 7) & ~(size_t)7;
    b->column_bytes = rows * sizeof(long long) + 64;
    b->column = hps_mem_new((nsingle + 1) * b->column_bytes + rows * D * sizeof(float), 1);
    b->table = hps_mem_new((size_t)b->mask + 1, sizeof *b->table);
    memset(b->table, -1, ((size_t)b->mask + 1) * sizeof *b->table);
}

static struct hps_block *new_block(const struct hps_blocks *b)
{
    struct hps_block *k = hps_mem_new(1, sizeof *k);
    size_t nslot = (size_t)b->data->nslot;

    k->record = hps_mem_new(HPS_BLOCK_ROWS, b->record_bytes);
    k->ids = hps_mem_new(nslot, sizeof *k->ids);
    k->offset = hps_mem_new(nslot, sizeof *k->offset);
    k->ids_cap = hps_mem_new(nslot, sizeof *k->ids_cap);
    for (size_t j = 0; j < nslot; j++)
        if (b->slot[j] && b->data->slot[j].multi)
            k->offset[j] = hps_mem_new(HPS_BLOCK_ROWS + 1, sizeof **k->offset);
    return k;
}

static void free_block(const struct hps_blocks *b, struct hps_block *k)
{
    for (int j = 0; j < b->data->nslot; j++) {
        hps_mem_free(k->ids[j]);
        hps_mem_free(k->offset[j]);
    }
    hps_mem_free(k->ids_cap);
    hps_mem_free(k->offset);
    hps_mem_free(k->ids);
    hps_mem_free(k->record);
    hps_mem_free(k);
}

void hps_blocks_free(struct hps_blocks *b)
{
    for (int i = 0; i < b->nlive; i++)
        free_block(b, b->live[i]);
    for (int i = 0; i < b->nspare; i++)
        free_block(b, b->spare[i]);
    hps_mem_free(b->column);
    hps_mem_free(b->id);
    hps_mem_free(b->table);
    hps_mem_free(b->live);
    hps_mem_free(b->spare);
    hps_mem_free(b->slot_at);
    hps_mem_free(b->slot);
}

long long hps_blocks_of(const struct hps_data *data, long long example)
{
    int f = hps_files_find(data->files.first, data->files.n, example);

    return data->files.block[f] + (example - data->files.first[f]) / HPS_BLOCK_ROWS;
}

/* The file and the rows of a block. */
static void find_block(const struct hps_blocks *b, long long number, struct hps_block *k)
{
    const struct hps_files *files = &b->data->files;
    int f = hps_files_find(files->block, files->n, number);
    long long left;

    k->file = b->data->file[f];
    k->number = number;
    k->in_file = (number - files->block[f]) * HPS_BLOCK_ROWS;
    k->first = files->first[f] + k->in_file;
    left = k->file->N - k->in_file;
    k->rows = left < HPS_BLOCK_ROWS ? (int)left : HPS_BLOCK_ROWS;
}

/* The entry of a block number in the hash table, or the free entry for it. */
static int probe(const struct hps_blocks *b, long long number)
{
    int at = (int)(hps_rng_mix((uint64_t)number) & (uint64_t)b->mask);

    while (b->table[at].index >= 0 && b->table[at].number != number)
        at = (at + 1) & b->mask;
    return at;
}

static void put_place(struct hps_blocks *b, long long number, int index)
{
    b->table[probe(b, number)] = (struct hps_block_entry){ number, index };
}

static void place_all(struct hps_blocks *b)
{
    if (2 * b->nlive > b->mask) {
        hps_mem_free(b->table);
        b->mask = 4 * b->mask + 3;
        b->table = hps_mem_new((size_t)b->mask + 1, sizeof *b->table);
    }
    memset(b->table, -1, ((size_t)b->mask + 1) * sizeof *b->table);
    for (int i = 0; i < b->nlive; i++)
        put_place(b, b->live[i]->number, i);
}

static enum hps_status cannot_read(struct hps_blocks *b, const struct hps_data *file,
                                   uint64_t offset, ssize_t got)
{
    snprintf(b->why, sizeof b->why, "%s: at byte %llu: %s", file->path,
             (unsigned long long)offset, got == 0 ? "the file ends here" : strerror(errno));
    return HPS_INPUT;
}

static enum hps_status read_bytes(struct hps_blocks *b, const struct hps_data *file,
                                  uint64_t offset, size_t n, char *to)
{
    while (n > 0) {
        ssize_t got = pread(file->fd, to, n, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return cannot_read(b, file, offset, got);
        to += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return HPS_OK;
}

/* Read rows first..first+n-1 of a column, which may be in several chunks. */
static enum hps_status read_rows(struct hps_blocks *b, const struct hps_data *file,
                                 const struct hps_h5_extent *e, long long first, long long n,
                                 void *to)
{
    size_t row = (size_t)e->width * (size_t)e->size;
    char *at = to;
    enum hps_status s = HPS_OK;

    while (n > 0 && !s) {
        long long skipped = first % e->chunk, left = e->chunk - skipped, here = left < n ? left : n;
        uint64_t offset = e->offset[first / e->chunk];
        size_t bytes = (size_t)here * row;
        if (offset == UINT64_MAX)
            memset(at, 0, bytes);
        else
            s = read_bytes(b, file, offset + (uint64_t)skipped * row, bytes, at);
        at += bytes;
        first += here;
        n -= here;
    }
    return s;
}

/* Advise the system of rows that will be read soon; a failure does not matter. */
static void advise_rows(const struct hps_data *file, const struct hps_h5_extent *e, long long first,
                        long long n)
{
    long long row = (long long)e->width * e->size, skipped = first % e->chunk;
    uint64_t offset = e->offset[first / e->chunk];

    if (e->chunk - skipped < n) n = e->chunk - skipped;
    if (offset != UINT64_MAX)
        posix_fadvise(file->fd, (off_t)offset + skipped * row, n * row, POSIX_FADV_WILLNEED);
}

void hps_blocks_prefetch(const struct hps_blocks *b, long long number)
{
    struct hps_block k;

    find_block(b, number, &k);
    if (b->label_at != SIZE_MAX) advise_rows(k.file, &k.file->label, k.in_file, k.rows);
    if (b->dense_at != SIZE_MAX) advise_rows(k.file, &k.file->dense, k.in_file, k.rows);
    for (int j = 0; j < b->data->nslot; j++)
        if (b->slot[j])
            advise_rows(k.file, b->slot_at[j] == SIZE_MAX ? &k.file->slot[j].offsets
                                                          : &k.file->slot[j].ids,
                        k.in_file, k.rows);
}

static enum hps_status read_label(struct hps_blocks *b, struct hps_block *k)
{
    float *x = (float *)(void *)b->column;
    enum hps_status s = read_rows(b, k->file, &k->file->label, k->in_file, k->rows, x);
    long long bad = s ? k->rows : (long long)hps_first_not_finite(x, (size_t)k->rows);

    for (int i = 0; i < k->rows && !s; i++)
        memcpy(k->record + (size_t)i * b->record_bytes + b->label_at, x + i, sizeof *x);
    if (bad == k->rows) return s;
    snprintf(b->why, sizeof b->why, "%s: label, example %lld: %g is not a finite number",
             k->file->path, k->in_file + bad, (double)x[bad]);
    return HPS_DECK;
}

static enum hps_status read_dense(struct hps_blocks *b, struct hps_block *k)
{
    float *x = (float *)(void *)b->column;
    long long D = b->data->D, n = k->rows * D;
    enum hps_status s = read_rows(b, k->file, &k->file->dense, k->in_file, k->rows, x);
    long long bad = s ? n : (long long)hps_first_not_finite(x, (size_t)n);

    for (int i = 0; i < k->rows && !s; i++)
        memcpy(k->record + (size_t)i * b->record_bytes + b->dense_at, x + i * D,
               (size_t)D * sizeof *x);
    if (bad == n) return s;
    snprintf(b->why, sizeof b->why, "%s: dense %s, example %lld: %g is not a finite number",
             k->file->path, b->data->dense_name[bad % D], k->in_file + bad / D, (double)x[bad]);
    return HPS_DECK;
}

/* Index of the first id outside 0..buckets-1; n: none. */
static long long first_outside(const long long *id, long long n, long long buckets)
{
    uint64_t worst = 0;

    for (long long i = 0; i < n; i++)
        worst = (uint64_t)id[i] > worst ? (uint64_t)id[i] : worst;
    for (long long i = 0; worst >= (uint64_t)buckets && i < n; i++)
        if ((uint64_t)id[i] >= (uint64_t)buckets) return i;
    return n;
}

static enum hps_status check_ids(struct hps_blocks *b, const struct hps_block *k, int j,
                                 const long long *id, long long n)
{
    const struct hps_slot *slot = &b->data->slot[j];
    long long bad = first_outside(id, n, slot->buckets), row = bad;

    if (bad == n) return HPS_OK;
    if (slot->multi)
        for (row = 0; k->offset[j][row + 1] <= bad; row++)
            continue;
    snprintf(b->why, sizeof b->why, "%s: slot %s, example %lld: id %lld is outside 0..%lld",
             k->file->path, slot->name, k->in_file + row, id[bad], slot->buckets - 1);
    return HPS_DECK;
}

/* n ids of slot j into b->id, checked. */
static enum hps_status read_ids(struct hps_blocks *b, const struct hps_block *k, int j,
                                long long first, long long n)
{
    enum hps_status s;

    hps_mem_grow(&b->id, &b->id_cap, (size_t)n, sizeof *b->id);
    s = read_rows(b, k->file, &k->file->slot[j].ids, first, n, b->id);
    return s ? s : check_ids(b, k, j, b->id, n);
}

/* Copy n of them, narrowed unless b->wide. */
static void keep_ids(const struct hps_blocks *b, size_t n, void *to)
{
    uint32_t *narrow = to;

    if (n > 0 && b->wide) memcpy(to, b->id, n * sizeof *b->id);
    for (size_t i = 0; i < n && !b->wide; i++)
        narrow[i] = (uint32_t)b->id[i];
}

/* Copy n ids from their columns to the records. */
HPS_INLINE void record_ids(const char *from, size_t stride, size_t n, char *to, size_t size)
{
    for (size_t j = 0; j < n; j++)
        memcpy(to + j * size, from + j * stride, size);
}

static enum hps_status read_singles(struct hps_blocks *b, struct hps_block *k)
{
    size_t n = 0, stride = b->column_bytes, rows = (size_t)k->rows, size = hps_ids_size(b->wide);
    enum hps_status s = HPS_OK;

    for (int j = 0; j < b->data->nslot && !s; j++) {
        if (b->slot_at[j] == SIZE_MAX) continue;
        s = read_ids(b, k, j, k->in_file, k->rows);
        if (!s) keep_ids(b, rows, b->column + n++ * stride);
    }
    for (size_t i = 0; i < rows && !s; i++) {           /* single slots come first in a record */
        char *to = k->record + i * b->record_bytes;
        if (b->wide)
            record_ids(b->column + i * size, stride, n, to, sizeof(long long));
        else
            record_ids(b->column + i * size, stride, n, to, sizeof(uint32_t));
    }
    return s;
}

/* Offsets become relative to the block. */
static enum hps_status read_multi(struct hps_blocks *b, struct hps_block *k, int j)
{
    const struct hps_slot *slot = &k->file->slot[j];
    long long *offset = k->offset[j], before, n;
    enum hps_status s = read_rows(b, k->file, &slot->offsets, k->in_file, k->rows + 1, offset);

    if (s) return s;
    before = offset[0];
    for (int i = 0; i <= k->rows; i++)
        if (offset[i] < (i ? offset[i - 1] : 0) || offset[i] > slot->ids.nrow) {
            snprintf(b->why, sizeof b->why, "%s: slot %s, example %lld: the offsets do not rise",
                     k->file->path, slot->name, k->in_file + i - (i > 0));
            return HPS_DECK;
        }
    n = offset[k->rows] - before;
    for (int i = k->rows; i >= 0; i--)
        offset[i] -= before;
    s = read_ids(b, k, j, before, n);
    if (s) return s;
    hps_mem_grow(&k->ids[j], &k->ids_cap[j], (size_t)n, hps_ids_size(b->wide));
    keep_ids(b, (size_t)n, k->ids[j]);
    return HPS_OK;
}

static enum hps_status read_block(struct hps_blocks *b, struct hps_block *k)
{
    enum hps_status s = HPS_OK;

    if (b->label_at != SIZE_MAX) s = read_label(b, k);
    if (!s && b->dense_at != SIZE_MAX) s = read_dense(b, k);
    if (!s) s = read_singles(b, k);
    for (int j = 0; j < b->data->nslot && !s; j++)
        if (b->slot[j] && b->data->slot[j].multi) s = read_multi(b, k, j);
    return s;
}

static void keep_spare(struct hps_blocks *b, struct hps_block *k)
{
    hps_mem_grow(&b->spare, &b->spare_cap, (size_t)b->nspare + 1, sizeof *b->spare);
    b->spare[b->nspare++] = k;
}

enum hps_status hps_blocks_get(struct hps_blocks *b, long long number, long long stamp,
                               const struct hps_block **block)
{
    int at = probe(b, number);
    enum hps_status s;

    if (b->table[at].index >= 0) {
        *block = b->live[b->table[at].index];
        b->live[b->table[at].index]->stamp = stamp;
        return HPS_OK;
    }
    struct hps_block *k = b->nspare ? b->spare[--b->nspare] : new_block(b);
    find_block(b, number, k);
    k->stamp = stamp;
    s = read_block(b, k);
    if (s) {
        keep_spare(b, k);
        return s;
    }
    hps_mem_grow(&b->live, &b->live_cap, (size_t)b->nlive + 1, sizeof *b->live);
    b->table[at] = (struct hps_block_entry){ number, b->nlive };
    b->live[b->nlive++] = k;
    if (2 * b->nlive > b->mask) place_all(b);
    *block = k;
    return HPS_OK;
}

void hps_blocks_drop(struct hps_blocks *b, long long stamp)
{
    int kept = 0;

    if (stamp == b->drop_stamp) return;
    b->drop_stamp = stamp;
    for (int i = 0; i < b->nlive; i++) {
        if (b->live[i]->stamp < stamp)
            keep_spare(b, b->live[i]);
        else
            b->live[kept++] = b->live[i];
    }
    b->nlive = kept;
    place_all(b);
}
