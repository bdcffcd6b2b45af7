/* row_twin.c - see row_twin.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "row_twin.h"

uint64_t row_twin_below(struct row_twin *t, uint64_t n)
{
    return hps_rng_below(t->seed, t->draw++, n);
}

void row_twin_fill(const struct row_twin *t, unsigned char *to, int row, uint64_t version)
{
    uint64_t key = hps_rng_sub(version, (uint64_t)row);

    for (size_t k = 0; k < t->row_bytes; k += 8) {
        uint64_t bits = hps_rng_bits(key, k);
        size_t some = t->row_bytes - k < 8 ? t->row_bytes - k : 8;
        memcpy(to + k, &bits, some);
    }
}

static void moved(void *context, int row, uint32_t from, uint32_t to)
{
    struct row_twin *t = context;

    assert_in_range(row, 0, t->nrow - 1);
    assert_int_equal(t->place[row], from);
    t->place[row] = to;
    t->moves++;
}

struct row_twin *row_twin_new(size_t row_bytes, int nrow, uint64_t seed)
{
    struct row_twin *t = hps_mem_new(1, sizeof *t);
    const struct hps_row_log_opt opt = { .directory = ".", .what = "table 'ads'",
                                         .row_bytes = row_bytes, .max_rows = nrow, .run = seed,
                                         .moved = moved, .context = t };

    t->row_bytes = row_bytes;
    t->nrow = nrow;
    t->seed = hps_rng_key(seed, "twin");
    t->place = hps_mem_new((size_t)nrow, sizeof *t->place);
    t->version = hps_mem_new((size_t)nrow, sizeof *t->version);
    for (int r = 0; r < nrow; r++)
        t->place[r] = ROW_TWIN_NONE;
    for (int k = 0; k < 2; k++)
        t->read[k].to = hps_mem_new(ROW_TWIN_BATCH, row_bytes);
    assert_int_equal(hps_row_log_open(&t->log, &opt), HPS_OK);
    return t;
}

void row_twin_free(struct row_twin *t)
{
    hps_row_log_close(t->log);
    hps_mem_free(t->place);
    hps_mem_free(t->version);
    hps_mem_free(t->read[0].to);
    hps_mem_free(t->read[1].to);
    hps_mem_free(t);
}

enum hps_status row_twin_append(struct row_twin *t, size_t n, const int *row)
{
    unsigned char *data = hps_mem_new(n, t->row_bytes);
    uint32_t *place = hps_mem_new(n, sizeof *place), old;

    t->clock++;
    for (size_t i = 0; i < n; i++)
        row_twin_fill(t, data + i * t->row_bytes, row[i], t->clock);
    enum hps_status st = hps_row_log_append(t->log, n, row, data, place);
    for (size_t i = 0; !st && i < n; i++) {
        assert_true(place[i] < HPS_ROW_LOG_PLACES);
        old = (uint32_t)t->place[row[i]];
        if (t->place[row[i]] != ROW_TWIN_NONE)
            hps_row_log_drop(t->log, 1, &old);
        else
            t->alive++;
        t->place[row[i]] = place[i];
        t->version[row[i]] = t->clock;
    }
    hps_mem_free(data);
    hps_mem_free(place);
    return st;
}

/* Rows at equal distances, from a random one on, of which some are left out. They are distinct,
 * since the distance and the number of rows have no common divisor. */
static size_t draw_rows(struct row_twin *t, size_t n, int *row)
{
    size_t got = 0;
    int first = (int)row_twin_below(t, (uint64_t)t->nrow);

    assert_true(t->nrow % 7 != 0);
    if (n > (size_t)t->nrow) n = (size_t)t->nrow;
    for (size_t k = 0; k < n; k++)
        if (row_twin_below(t, 4) > 0) row[got++] = (first + (int)k * 7) % t->nrow;
    return got;
}

enum hps_status row_twin_write(struct row_twin *t, size_t n)
{
    int row[ROW_TWIN_BATCH];

    return row_twin_append(t, draw_rows(t, n, row), row);
}

void row_twin_drop(struct row_twin *t, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        int row = (int)row_twin_below(t, (uint64_t)t->nrow);
        uint32_t place = (uint32_t)t->place[row];
        if (t->place[row] == ROW_TWIN_NONE) continue;
        hps_row_log_drop(t->log, 1, &place);
        t->place[row] = ROW_TWIN_NONE;
        t->alive--;
    }
}

static void came(void *context, size_t i, const unsigned char *row)
{
    struct row_expected *x = context;

    memcpy(x->to + i * x->row_bytes, row, x->row_bytes);
}

void row_twin_begin_read(struct row_twin *t, size_t n)
{
    const bool each = t->nbegun % 2;
    struct row_expected *x = &t->read[t->nbegun++ % 2];
    uint32_t place[ROW_TWIN_BATCH];

    x->n = 0;
    for (size_t k = 0; k < n; k++) {
        int row = (int)row_twin_below(t, (uint64_t)t->nrow);
        if (t->place[row] == ROW_TWIN_NONE) continue;
        x->row[x->n] = row;
        x->version[x->n] = t->version[row];
        place[x->n++] = (uint32_t)t->place[row];
    }
    memset(x->to, 0xee, x->n * t->row_bytes);
    x->row_bytes = t->row_bytes;
    assert_int_equal(each ? hps_row_log_read_each(t->log, x->n, place, came, x)
                          : hps_row_log_read_begin(t->log, x->n, place, x->to), HPS_OK);
}

void row_twin_end_read(struct row_twin *t)
{
    struct row_expected *x = &t->read[t->nended++ % 2];
    unsigned char *want = hps_mem_new(1, t->row_bytes);

    assert_int_equal(hps_row_log_read_end(t->log), HPS_OK);
    for (size_t i = 0; i < x->n; i++) {
        row_twin_fill(t, want, x->row[i], x->version[i]);
        assert_memory_equal(x->to + i * t->row_bytes, want, t->row_bytes);
    }
    hps_mem_free(want);
}

void row_twin_check(const struct row_twin *t)
{
    unsigned char *taken = hps_mem_new(HPS_ROW_LOG_PLACES / 8, 1);

    for (int r = 0; r < t->nrow; r++) {
        long long p = t->place[r];
        if (p == ROW_TWIN_NONE) continue;
        assert_false(taken[p / 8] >> p % 8 & 1);
        taken[p / 8] |= (unsigned char)(1 << p % 8);
    }
    hps_mem_free(taken);
    assert_int_equal(hps_row_log_counted(t->log).alive_rows, t->alive);
}

struct row_twin *row_twin_filled(size_t bytes, int rows)
{
    struct row_twin *t = row_twin_new(bytes, rows, 9);
    int *row = hps_mem_new((size_t)rows, sizeof *row);

    for (int r = 0; r < rows; r++)
        row[r] = r;
    for (int k = 0; k < 2; k++)
        assert_int_equal(row_twin_append(t, (size_t)rows, row), HPS_OK);
    hps_mem_free(row);
    return t;
}

enum hps_status row_twin_read(struct row_twin *t, int first, int n)
{
    uint32_t *place = hps_mem_new((size_t)n, sizeof *place);
    unsigned char *to = hps_mem_new((size_t)n, t->row_bytes);

    for (int i = 0; i < n; i++)
        place[i] = (uint32_t)t->place[first + i];
    enum hps_status st = hps_row_log_read_begin(t->log, (size_t)n, place, to);
    if (!st) st = hps_row_log_read_end(t->log);
    hps_mem_free(place);
    hps_mem_free(to);
    return st;
}
