/* row_log_read.c - rows of many places: those in memory are copied at once, the pages of others are
 * read together, and each is taken apart when it comes. */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/key_sort.h"
#include "base/mem.h"
#include "ps/tier/row_log_impl.h"

/* Pages that are as near as GAP bytes to each other are read together, up to MERGED bytes: a read
 * of 32 KiB costs a processor as much as one of 4 KiB, and a disk less than two of these. */
enum { GAP = 8 << 10, MERGED = 32 << 10 };

static uint32_t page_of(const struct hps_row_log *log, const struct hps_log_read *r, uint32_t k)
{
    return r->want[k].place / (uint32_t)log->page.rows;
}

/* Hand on the rows [k, end) of the list, which are of one page. */
static void hand_on(const struct hps_row_log *log, const struct hps_log_read *r,
                    const unsigned char *page, uint32_t k, uint32_t end)
{
    const size_t bytes = log->page.row_bytes;

    for (; k < end; k++) {
        int slot = (int)(r->want[k].place % (uint32_t)log->page.rows);
        const unsigned char *row = hps_log_page_data(&log->page, page, slot);
        if (r->to.memory)
            memcpy(r->to.memory + r->want[k].i * bytes, row, bytes);
        else
            r->to.came(r->to.context, r->want[k].i, row);
    }
}

/* The first that failed is kept. */
static void note_bad(struct hps_log_read *r, int error, uint64_t at, size_t bytes, int row)
{
    if (atomic_exchange(&r->failed, true)) return;
    r->error = error;
    r->bad_at = at;
    r->bad_bytes = bytes;
    r->bad_row = row;
}

/* Some pages have come. By threads of the reader. */
static void arrived(void *context, size_t i, const unsigned char *pages, int error)
{
    struct hps_log_read *r = context;
    const struct hps_row_log *log = r->log;
    const size_t bytes = log->page.bytes;
    const uint32_t first = (uint32_t)(r->at[i] / bytes), last = r->first[i + 1];

    if (error) note_bad(r, error, r->at[i], r->size[i], 0);
    for (uint32_t k = r->first[i], end; !error && k < last; k = end) {
        const uint32_t page = page_of(log, r, k), behind = page - first;
        const unsigned char *one = pages + behind * bytes;
        for (end = k; end < last && page_of(log, r, end) == page; end++)
            continue;
        if (hps_log_page_good(&log->page, one, r->sequence[i] + behind))
            hand_on(log, r, one, k, end);
        else
            note_bad(r, 0, r->at[i] + behind * bytes, bytes,
                     hps_log_page_row(one, (int)(r->want[k].place % (uint32_t)log->page.rows)));
    }
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

/* May the last of n reads go on to this page, which is behind it? */
static bool is_near(const struct hps_row_log *log, const struct hps_log_read *r, size_t n,
                    uint32_t page)
{
    if (n == 0) return false;
    const uint64_t bytes = log->page.bytes, at = page * bytes, first = r->at[n - 1];
    const uint64_t segment = hps_log_segment_bytes(log);

    return at / segment == first / segment && at + bytes - first <= MERGED &&
           at - (first + r->size[n - 1]) <= GAP;
}

/* One page of the list, of which the first place is `want` k. */
static void add_page(struct hps_row_log *log, struct hps_log_read *r, uint32_t page, uint32_t k,
                     size_t *n)
{
    struct hps_log_segment *s = &log->segment[page / (uint32_t)log->segment_pages];
    const uint64_t at = page * (uint64_t)log->page.bytes;

    s->last_read = log->nbegun;
    log->count.pages_read++;
    if (!is_near(log, r, *n, page)) {
        r->at[*n] = at;
        r->sequence[*n] = s->sequence + page % (uint32_t)log->segment_pages;
        r->first[(*n)++] = k;
    }
    r->size[*n - 1] = (size_t)(at - r->at[*n - 1]) + log->page.bytes;
}

/* The reads that bring the pages. Rows in memory are handed on, and their places leave the list. */
static size_t list_reads(struct hps_row_log *log, struct hps_log_read *r, size_t n)
{
    size_t reads = 0;
    uint32_t left = 0;

    for (uint32_t k = 0, end; k < n; k = end) {
        const uint32_t page = page_of(log, r, k);
        const unsigned char *here = in_memory(log, page);
        for (end = k; end < n && page_of(log, r, end) == page; end++)
            continue;
        if (here) {
            hand_on(log, r, here, k, end);
            continue;
        }
        add_page(log, r, page, left, &reads);
        memmove(r->want + left, r->want + k, (end - k) * sizeof *r->want);
        left += end - k;
    }
    r->first[reads] = left;
    return reads;
}

static enum hps_status begin(struct hps_row_log *log, size_t n, const uint32_t *place,
                             struct hps_log_target to)
{
    struct hps_log_read *r = &log->read[log->nbegun % 2];

    assert(log->nbegun - log->nended < 2 && n < UINT32_MAX);
    if (hps_log_collect(log, false)) return log->broken;
    log->nbegun++;
    hps_mem_grow(&r->first, &r->cap_first, n + 1, sizeof *r->first);
    hps_mem_grow(&r->at, &r->cap_at, n, sizeof *r->at);
    hps_mem_grow(&r->sequence, &r->cap_sequence, n, sizeof *r->sequence);
    hps_mem_grow(&r->size, &r->cap_size, n, sizeof *r->size);
    r->to = to;
    r->log = log;
    r->ended = false;
    r->failed = false;
    sort_places(r, log, n, place);
    r->batch = (struct hps_deep_batch){ .fd = log->file.fd, .at = r->at, .size = r->size,
                                        .n = list_reads(log, r, n), .arrived = arrived,
                                        .context = r };
    log->count.rows_read += (double)n;
    log->count.reads += (double)r->batch.n;
    hps_deep_begin(log->reader, &r->batch);
    return HPS_OK;
}

enum hps_status hps_row_log_read_begin(struct hps_row_log *log, size_t n, const uint32_t *place,
                                       unsigned char *to)
{
    return begin(log, n, place, (struct hps_log_target){ .memory = to });
}

enum hps_status hps_row_log_read_each(struct hps_row_log *log, size_t n, const uint32_t *place,
                                      void (*came)(void *context, size_t i,
                                                   const unsigned char *row),
                                      void *context)
{
    return begin(log, n, place, (struct hps_log_target){ .came = came, .context = context });
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
    if (r->error) return hps_log_file_failed(&log->file, "read", r->bad_bytes, r->bad_at, r->error);
    return hps_log_file_bad_page(&log->file, r->bad_at, r->bad_row);
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
