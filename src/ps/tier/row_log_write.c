/* row_log_write.c - rows are put to the end of a stream, whose full buffers are written behind. */
#include <assert.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/say.h"
#include "ps/tier/row_log_impl.h"

/* -- segments ---------------------------------------------------------------------------------- */

void hps_log_idle(struct hps_row_log *log, size_t segment)
{
    log->segment[segment].busy = false;
    log->nempty += log->segment[segment].alive == 0;
}

/* Another segment at the end of the file. */
static enum hps_status add_segment(struct hps_row_log *log)
{
    size_t n = log->nsegment + 1;

    if (hps_log_places(log, n) > HPS_ROW_LOG_PLACES) {
        HPS_SAY_ALL(HPS_ERROR, "%s: the row log in %s has no place left", log->opt.what,
                    log->opt.directory);
        return log->broken = HPS_OUTPUT;
    }
    hps_mem_grow(&log->segment, &log->cap_segment, n, sizeof *log->segment);
    hps_mem_grow(&log->alive, &log->cap_alive, (size_t)hps_log_places(log, n) / 64 + 1,
                 sizeof *log->alive);
    log->nsegment = n;
    log->nempty++;
    return HPS_OK;
}

/* A segment that may be written; -1: there is none now. */
static long long find_empty(struct hps_row_log *log)
{
    for (size_t k = 0; log->nempty > 0 && k < log->nsegment; k++) {
        size_t at = (log->hand + k) % log->nsegment;
        const struct hps_log_segment *s = &log->segment[at];
        if (s->alive > 0 || s->busy || s->unwritten > 0 || s->last_read > log->nreleased) continue;
        log->hand = at + 1;
        return (long long)at;
    }
    return -1;
}

/* The same; where the file has its size, reads and writes that hold empty ones are waited for. */
static long long await_empty(struct hps_row_log *log)
{
    long long at = find_empty(log);

    if (at >= 0 || log->nempty == 0) return at;
    hps_log_release(log, false);
    at = find_empty(log);
    if (at >= 0 || log->nsegment < log->max_segments) return at;
    hps_log_release(log, true);
    while ((at = find_empty(log)) < 0 && log->nwriting > 0 && hps_log_collect(log, true) == HPS_OK)
        continue;
    return at;
}

/* The next segment of a stream: an empty one; else the file grows. */
static enum hps_status next_segment(struct hps_row_log *log, struct hps_log_stream *stream)
{
    long long at = await_empty(log);

    if (at < 0 && !log->broken && add_segment(log) == HPS_OK) at = (long long)log->nsegment - 1;
    if (log->broken) return log->broken;
    log->nempty--;
    log->segment[at] = (struct hps_log_segment){ .busy = true, .sequence = log->sequence };
    log->sequence += (uint64_t)log->segment_pages;
    *stream = (struct hps_log_stream){ .segment = at };
    return HPS_OK;
}

/* -- buffers ----------------------------------------------------------------------------------- */

/* The buffer that has been written for longest; NULL: none is being written. */
static struct hps_log_buffer *oldest(struct hps_row_log *log)
{
    struct hps_log_buffer *found = NULL;

    for (int k = 0; k < HPS_LOG_BUFFERS; k++) {
        struct hps_log_buffer *b = &log->buffer[k];
        if (b->state == HPS_LOG_WRITING && (!found || b->order < found->order)) found = b;
    }
    return found;
}

/* The write of a buffer has ended. */
static void recycle(struct hps_row_log *log, struct hps_log_buffer *b)
{
    b->state = HPS_LOG_FREE;
    log->nwriting--;
    log->segment[b->first / (uint32_t)log->segment_pages].unwritten--;
    if (!b->job.error) log->count.bytes_written += (double)b->job.bytes;
    if (b->job.error && !log->broken)
        log->broken = hps_log_file_failed(&log->file, "write", b->job.bytes, b->job.at,
                                          b->job.error);
}

enum hps_status hps_log_collect(struct hps_row_log *log, bool wait)
{
    double began_s = wait ? hps_steady_s() : 0;
    struct hps_log_buffer *b;

    for (bool first = wait; (b = oldest(log)) != NULL; first = false) {
        if (!hps_log_file_ended(&log->file, &b->job, first)) break;
        recycle(log, b);
    }
    if (wait) log->count.waited_s += hps_steady_s() - began_s;
    return log->broken;
}

static struct hps_log_buffer *find_free(struct hps_row_log *log)
{
    for (int k = 0; k < HPS_LOG_BUFFERS; k++)
        if (log->buffer[k].state == HPS_LOG_FREE) return &log->buffer[k];
    return NULL;
}

/* A buffer for the next pages of a stream, in a segment that is not full. */
static enum hps_status next_buffer(struct hps_row_log *log, struct hps_log_stream *stream)
{
    bool full = stream->segment >= 0 && stream->page == log->segment_pages;

    if (full) hps_log_idle(log, (size_t)stream->segment);
    if (full) stream->segment = -1;
    if (stream->segment < 0 && next_segment(log, stream)) return log->broken;
    if (hps_log_collect(log, !find_free(log))) return log->broken;
    struct hps_log_buffer *b = find_free(log);
    if (!b->pages) b->pages = hps_mem_pages((size_t)log->buffer_pages * log->page.bytes);
    b->state = HPS_LOG_FILLING;
    b->first = (uint32_t)(stream->segment * log->segment_pages + stream->page);
    log->segment[stream->segment].unwritten++;
    stream->buffer = b;
    return HPS_OK;
}

/* A stream's buffer is full: it is written behind. */
static void begin_write(struct hps_row_log *log, struct hps_log_stream *stream)
{
    struct hps_log_buffer *b = stream->buffer;
    const uint64_t first = log->segment[stream->segment].sequence;

    b->state = HPS_LOG_WRITING;
    b->order = ++log->nwrite;
    b->job = (struct hps_log_job){ .pages = b->pages, .at = b->first * (uint64_t)log->page.bytes,
                                   .bytes = (size_t)log->buffer_pages * log->page.bytes,
                                   .sequence = first + b->first % (uint32_t)log->segment_pages };
    log->nwriting++;
    hps_log_file_begin(&log->file, &b->job);
    stream->buffer = NULL;
}

enum hps_status hps_log_put(struct hps_row_log *log, int which, int row, const unsigned char *data,
                            uint32_t *place)
{
    struct hps_log_stream *s = &log->stream[which];

    if (!s->buffer && next_buffer(log, s)) return log->broken;
    struct hps_log_segment *segment = &log->segment[s->segment];
    const uint32_t page = (uint32_t)(s->segment * log->segment_pages + s->page);
    *place = page * (uint32_t)log->page.rows + (uint32_t)s->slot;
    hps_log_page_put(&log->page, s->buffer->pages + (page - s->buffer->first) * log->page.bytes,
                     s->slot, row, data);
    assert(!hps_log_is_alive(log, *place));
    log->alive[*place / 64] |= (uint64_t)1 << *place % 64;
    log->count.alive_rows++;
    segment->alive++;
    segment->last_append = log->call;
    if (++s->slot < log->page.rows) return HPS_OK;
    s->slot = 0;
    s->page++;
    if (s->page % log->buffer_pages == 0) begin_write(log, s);
    return HPS_OK;
}
