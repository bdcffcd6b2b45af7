/* row_log.c - a log is opened and closed; rows are appended to it and dropped. */
#include "ps/row_log.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/say.h"
#include "ps/tier/row_log_impl.h"

/* A buffer is written at once; a segment has few of its own in a small log, so that it has many
 * segments. */
enum { BUFFER_BYTES = 1 << 20, SEGMENT_BYTES = 64 << 20, SEGMENTS = 128, MIN_PAGES = 4 };
/* The file's pages over those of max_rows, and some segments that are being filled or emptied. */
static const double spare = 1.75;
enum { MORE_SEGMENTS = 6 };

/* -- opening and closing ----------------------------------------------------------------------- */

static long long min_of(long long a, long long b) { return a < b ? a : b; }
static long long max_of(long long a, long long b) { return a > b ? a : b; }

/* How many pages a segment and a buffer have, and how many segments there are. */
static void set_sizes(struct hps_row_log *log)
{
    const long long bytes = (long long)log->page.bytes, rows = log->page.rows;
    const long long pages = (log->opt.max_rows + rows - 1) / rows;
    const long long most = max_of(SEGMENT_BYTES / bytes, 1);
    const long long want = min_of(max_of(pages / SEGMENTS, MIN_PAGES), most);

    log->buffer_pages = (int)min_of(max_of(BUFFER_BYTES / bytes, 1), want);
    log->segment_pages = (int)(want / log->buffer_pages * log->buffer_pages);
    log->max_segments = (size_t)(spare * (double)pages / log->segment_pages) + MORE_SEGMENTS;
}

static enum hps_status open_all(struct hps_row_log *log)
{
    if (hps_log_places(log, log->max_segments) > HPS_ROW_LOG_PLACES) {
        HPS_SAY_ALL(HPS_ERROR, "%s: %lld rows are more than the %u places of a row log",
                    log->opt.what, log->opt.max_rows, HPS_ROW_LOG_PLACES);
        return HPS_DECK;
    }
    log->reader = hps_deep_reader_get();
    if (!log->reader) {
        HPS_SAY_ALL(HPS_ERROR, "%s: no thread for the row log in %s", log->opt.what,
                    log->opt.directory);
        return HPS_FAIL;
    }
    enum hps_status st = hps_log_file_open(&log->file, &log->opt, &log->page,
                                           log->max_segments * hps_log_segment_bytes(log));
    if (st) hps_deep_reader_put(log->reader);
    return st;
}

/* All that the file is to have: arrays that grow step by step have room for more than they need. */
static void alloc_index(struct hps_row_log *log)
{
    log->cap_segment = log->max_segments;
    log->segment = hps_mem_new(log->cap_segment, sizeof *log->segment);
    log->cap_alive = (size_t)hps_log_places(log, log->max_segments) / 64 + 1;
    log->alive = hps_mem_new(log->cap_alive, sizeof *log->alive);
}

enum hps_status hps_row_log_open(struct hps_row_log **out, const struct hps_row_log_opt *opt)
{
    struct hps_row_log *log = hps_mem_new(1, sizeof *log);

    assert(1 <= opt->row_bytes && opt->row_bytes <= HPS_ROW_LOG_ROW_BYTES && opt->max_rows >= 1);
    log->opt = *opt;
    log->page = hps_log_page_of(opt->row_bytes, opt->run);
    set_sizes(log);
    for (int s = 0; s < HPS_LOG_STREAMS; s++)
        log->stream[s].segment = -1;
    log->victim.segment = -1;
    enum hps_status st = open_all(log);
    if (st) {
        hps_mem_free(log);
        return st;
    }
    alloc_index(log);
    log->opt.what = log->file.what;
    log->opt.directory = log->file.directory;
    *out = log;
    return HPS_OK;
}

static void free_read(struct hps_log_read *r)
{
    hps_mem_free(r->want);
    hps_mem_free(r->spare);
    hps_mem_free(r->first);
    hps_mem_free(r->at);
    hps_mem_free(r->sequence);
    hps_mem_free(r->size);
}

void hps_row_log_close(struct hps_row_log *log)
{
    if (!log) return;
    hps_log_release(log, true);
    hps_log_file_close(&log->file);
    hps_deep_reader_put(log->reader);
    for (int b = 0; b < HPS_LOG_BUFFERS; b++)
        hps_mem_free(log->buffer[b].pages);
    hps_mem_free(log->victim.pages);
    free_read(&log->read[0]);
    free_read(&log->read[1]);
    hps_mem_free(log->segment);
    hps_mem_free(log->alive);
    hps_mem_free(log);
}

struct hps_row_log_count hps_row_log_counted(const struct hps_row_log *log)
{
    struct hps_row_log_count count = log->count;

    count.file_bytes = (double)(log->nsegment * hps_log_segment_bytes(log));
    count.index_bytes = (double)(log->cap_segment * sizeof *log->segment) +
                        (double)(log->cap_alive * sizeof *log->alive);
    return count;
}

/* -- rows -------------------------------------------------------------------------------------- */

enum hps_status hps_row_log_append(struct hps_row_log *log, size_t n, const int *row,
                                   const unsigned char *data, uint32_t *place)
{
    log->call++;
    for (size_t i = 0; i < n && !log->broken; i++) {
        if (!log->stream[HPS_LOG_APPENDED].buffer && hps_log_clean(log)) break;
        hps_log_put(log, HPS_LOG_APPENDED, row[i], data + i * log->page.row_bytes, &place[i]);
    }
    if (!log->broken) log->count.rows_appended += (double)n;
    return log->broken;
}

void hps_log_drop(struct hps_row_log *log, uint32_t place)
{
    struct hps_log_segment *s = &log->segment[hps_log_segment_of(log, place)];

    assert(hps_log_is_alive(log, place));
    log->alive[place / 64] &= ~((uint64_t)1 << place % 64);
    log->count.alive_rows--;
    if (--s->alive == 0 && !s->busy) log->nempty++;
}

void hps_row_log_drop(struct hps_row_log *log, size_t n, const uint32_t *place)
{
    for (size_t i = 0; i < n; i++)
        hps_log_drop(log, place[i]);
}
