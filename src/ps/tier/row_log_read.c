/* row_log_read.c - rows of many places: those in memory are copied at once, the pages of others are
 * read together, and each is taken apart when it comes. */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/key_sort.h"
#include "base/mem.h"
#include "ps/tier/row_log_impl.h"

static void copy_rows(const struct hps_row_log *log, const struct hps_log_read *r,
                      const unsigned char *page, uint32_t first, uint32_t end)
{
    const size_t bytes = log->page.row_bytes;

    for (uint32_t k = first; k < end; k++) {
        int slot = (int)(r->want[k].place % (uint32_t)log->page.rows);
        memcpy(r->to + r->want[k].i * bytes, hps_log_page_data(&log->page, page, slot), bytes);
    }
}

/* A page has come. By threads of the reader. */
static void arrived(void *context, size_t i, const unsigned char *page, int error)
{
    struct hps_log_read *r = context;
    const struct hps_row_log *log = r->log;

    if (!error && hps_log_page_good(&log->page, page, r->sequence[i])) {
        copy_rows(log, r, page, r->first[i], r->first[i + 1]);
        return;
    }
    if (atomic_exchange(&r->failed, true)) return;
    r->error = error;
    r->bad = i;
    int slot = (int)(r->want[r->first[i]].place % (uint32_t)log->page.rows);
    r->bad_row = error ? 0 : hps_log_page_row(page, slot);
}

/* The page in memory, where it has not been written yet. */
static const unsigned char *in_memory(const struct hps_row_log *log, uint32_t page)
{
    for (int k = 0; k < HPS_LOG_BUFFERS; k++) {
        const struct hps_log_buffer *b = &log->buffer[k];
        if (b->state != HPS_LOG_FREE && page - b->first < (uint32_t)log->buffer_pages)
            return b->pages + (page - b->first) * log->page.bytes;
    }
    return NULL;
}

static void sort_places(struct hps_log_read *r, const struct hps_row_log *log, size_t n,
                        const uint32_t *place)
{
    hps_mem_grow(&r->want, &r->cap_want, n, sizeof *r->want);
    hps_mem_grow(&r->spare, &r->cap_spare, n, sizeof *r->spare);
    for (size_t i = 0; i < n; i++) {
        assert(hps_log_is_alive(log, place[i]));
        r->want[i] = (struct hps_log_want){ place[i], (uint32_t)i };
    }
    struct hps_log_want *sorted = hps_key_sort(r->want, r->spare, n, sizeof *r->want, false);
    if (sorted != r->want) {
        r->spare = r->want;
        r->want = sorted;
        size_t cap = r->cap_want;
        r->cap_want = r->cap_spare;
        r->cap_spare = cap;
    }
}

/* One page of the list, of which places [k, end) are wanted. */
static void add_page(struct hps_row_log *log, struct hps_log_read *r, uint32_t page, uint32_t k,
                     size_t *n)
{
    struct hps_log_segment *s = &log->segment[page / (uint32_t)log->segment_pages];

    s->last_read = log->nbegun;
    r->at[*n] = page * (uint64_t)log->page.bytes;
    r->sequence[*n] = s->sequence + page % (uint32_t)log->segment_pages;
    r->first[(*n)++] = k;
}

/* The pages to read. Rows in memory are copied, and their places leave the list. */
static size_t list_pages(struct hps_row_log *log, struct hps_log_read *r, size_t n)
{
    const uint32_t rows = (uint32_t)log->page.rows;
    size_t pages = 0;
    uint32_t left = 0;

    for (size_t k = 0, end; k < n; k = end) {
        const uint32_t page = r->want[k].place / rows;
        const unsigned char *here = in_memory(log, page);
        for (end = k; end < n && r->want[end].place / rows == page; end++)
            continue;
        if (here) {
            copy_rows(log, r, here, (uint32_t)k, (uint32_t)end);
            continue;
        }
        add_page(log, r, page, left, &pages);
        memmove(r->want + left, r->want + k, (end - k) * sizeof *r->want);
        left += (uint32_t)(end - k);
    }
    r->first[pages] = left;
    return pages;
}

enum hps_status hps_row_log_read_begin(struct hps_row_log *log, size_t n, const uint32_t *place,
                                       unsigned char *to)
{
    struct hps_log_read *r = &log->read[log->nbegun % 2];

    assert(log->nbegun - log->nended < 2 && n < UINT32_MAX);
    if (hps_log_collect(log, false)) return log->broken;
    log->nbegun++;
    hps_mem_grow(&r->first, &r->cap_first, n + 1, sizeof *r->first);
    hps_mem_grow(&r->at, &r->cap_at, n, sizeof *r->at);
    hps_mem_grow(&r->sequence, &r->cap_sequence, n, sizeof *r->sequence);
    r->to = to;
    r->log = log;
    r->ended = false;
    r->failed = false;
    sort_places(r, log, n, place);
    r->batch = (struct hps_deep_batch){ .fd = log->file.fd, .bytes = log->page.bytes, .at = r->at,
                                        .n = list_pages(log, r, n), .arrived = arrived,
                                        .context = r };
    log->count.rows_read += (double)n;
    log->count.pages_read += (double)r->batch.n;
    hps_deep_begin(log->reader, &r->batch);
    return HPS_OK;
}

static bool come(struct hps_row_log *log, struct hps_log_read *r, bool wait)
{
    struct hps_log_patience patience = hps_log_patience();
    double began_s = patience.began_s;

    if (!r->ended) r->ended = hps_deep_wait(log->reader, &r->batch, wait ? patience.until_s : 0);
    while (wait && !r->ended) {
        hps_log_patience_out(&patience, &log->file, "reads of");
        r->ended = hps_deep_wait(log->reader, &r->batch, patience.until_s);
    }
    if (wait) log->count.waited_s += hps_steady_s() - began_s;
    return r->ended;
}

void hps_log_release(struct hps_row_log *log, bool wait)
{
    while (log->nreleased < log->nbegun && come(log, &log->read[log->nreleased % 2], wait))
        log->nreleased++;
}

/* What went wrong with a read. */
static enum hps_status verdict(const struct hps_row_log *log, const struct hps_log_read *r)
{
    if (!r->failed) return HPS_OK;
    if (r->error)
        return hps_log_file_failed(&log->file, "read", log->page.bytes, r->at[r->bad], r->error);
    return hps_log_file_bad_page(&log->file, r->at[r->bad], r->bad_row);
}

bool hps_row_log_read_arrived(struct hps_row_log *log)
{
    return log->nended == log->nbegun || come(log, &log->read[log->nended % 2], false);
}

enum hps_status hps_row_log_read_end(struct hps_row_log *log)
{
    struct hps_log_read *r = &log->read[log->nended % 2];

    if (log->nended == log->nbegun) return log->broken;         /* it did not begin */
    come(log, r, true);
    log->nended++;
    if (log->nreleased < log->nended) log->nreleased = log->nended;
    if (!log->broken) log->broken = verdict(log, r);
    return log->broken;
}
