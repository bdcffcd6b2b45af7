/* row_log_clean.c - a segment of which little is needed is read, chunk by chunk, and its rows that
 * are alive go to the end of the log; the next chunk is read meanwhile. */
#include "base/clock.h"
#include "base/mem.h"
#include "ps/tier/row_log_impl.h"

/* With fewer free segments some chunks are cleaned for each buffer that is appended; with very few
 * as many as it takes. A segment with a larger share of rows is not worth it. */
enum { FEW = 4, VERY_FEW = 2 };
static const double max_share = 0.95;

static size_t free_segments(const struct hps_row_log *log)
{
    size_t more = log->nsegment < log->max_segments ? log->max_segments - log->nsegment : 0;

    return log->nempty + more;
}

/* What cleaning a segment is worth: the places that it frees for each row that is copied, times its
 * age. A young segment that is half empty will soon be emptier; an old one has rows that live long
 * (Rosenblum and Ousterhout 1992). Where rows are updated by Zipf 1.05, 0.4 rows are copied for one
 * appended, and 0.64 where the emptiest segment is chosen; as many where all are alike. */
static double worth(const struct hps_row_log *log, const struct hps_log_segment *s)
{
    const double age = (double)(log->sequence - s->sequence);

    return (hps_log_places(log, 1) - s->alive) / s->alive * age;
}

/* The segment to clean; -1: none is worth it. Not one that this call has put rows into: its caller
 * does not have their places yet. One that is still being written may be taken, since jobs of the
 * file are done in order. */
static long long find_victim(const struct hps_row_log *log)
{
    const int max = (int)(max_share * hps_log_places(log, 1));
    long long found = -1;
    double most = 0;

    for (size_t k = 0; k < log->nsegment; k++) {
        const struct hps_log_segment *s = &log->segment[k];
        if (s->busy || s->alive == 0 || s->alive > max || s->last_append == log->call) continue;
        if (worth(log, s) <= most) continue;
        most = worth(log, s);
        found = (long long)k;
    }
    return found;
}

static uint32_t first_page(const struct hps_row_log *log)
{
    return (uint32_t)(log->victim.segment * log->segment_pages + log->victim.page);
}

/* Is a row of these pages alive? */
static bool any_alive(const struct hps_row_log *log, uint32_t page, int pages)
{
    const uint32_t begin = page * (uint32_t)log->page.rows;
    const uint32_t end = begin + (uint32_t)(pages * log->page.rows);

    for (uint32_t place = begin; place < end; place++)
        if (hps_log_is_alive(log, place)) return true;
    return false;
}

/* Begin to read the next chunk with rows that are alive; where there is none, the segment is
 * done. */
static void read_next(struct hps_row_log *log)
{
    size_t bytes = (size_t)log->buffer_pages * log->page.bytes;

    while (log->victim.page < log->segment_pages &&
           !any_alive(log, first_page(log), log->buffer_pages))
        log->victim.page += log->buffer_pages;
    if (log->victim.page == log->segment_pages) {
        hps_log_idle(log, (size_t)log->victim.segment);
        log->victim.segment = -1;
        return;
    }
    if (!log->victim.pages) log->victim.pages = hps_mem_pages(bytes);
    log->victim.job = (struct hps_log_job){ .reads = true, .pages = log->victim.pages,
                                            .bytes = bytes,
                                            .at = first_page(log) * (uint64_t)log->page.bytes };
    hps_log_file_begin(&log->file, &log->victim.job);
}

static bool choose(struct hps_row_log *log)
{
    log->victim.segment = find_victim(log);
    if (log->victim.segment < 0) return false;
    log->victim.page = 0;
    log->segment[log->victim.segment].busy = true;
    read_next(log);
    return true;
}

/* Copy the rows of a page that are alive, and tell their owner. */
static enum hps_status copy_page(struct hps_row_log *log, uint32_t number, uint64_t sequence,
                                 const unsigned char *page)
{
    if (!hps_log_page_good(&log->page, page, sequence))
        return log->broken = hps_log_file_bad_page(&log->file,
                                                   number * (uint64_t)log->page.bytes,
                                                   hps_log_page_row(page, 0));
    for (int slot = 0; slot < log->page.rows; slot++) {
        uint32_t from = number * (uint32_t)log->page.rows + (uint32_t)slot, to;
        int row = hps_log_page_row(page, slot);
        if (!hps_log_is_alive(log, from)) continue;
        if (hps_log_put(log, HPS_LOG_CLEANED, row, hps_log_page_data(&log->page, page, slot), &to))
            return log->broken;
        hps_log_drop(log, from);
        log->opt.moved(log->opt.context, row, from, to);
        log->count.rows_cleaned++;
    }
    return HPS_OK;
}

static enum hps_status clean_chunk(struct hps_row_log *log)
{
    struct hps_log_job *job = &log->victim.job;
    const uint32_t first = first_page(log);
    const uint64_t sequence = log->segment[log->victim.segment].sequence +
                              (uint64_t)log->victim.page;
    double began_s = hps_steady_s();

    hps_log_file_ended(&log->file, job, true);
    log->count.waited_s += hps_steady_s() - began_s;
    if (job->error)
        return log->broken = hps_log_file_failed(&log->file, "read", job->bytes, job->at,
                                                 job->error);
    for (int k = 0; k < log->buffer_pages; k++)
        if (any_alive(log, first + (uint32_t)k, 1) &&
            copy_page(log, first + (uint32_t)k, sequence + (uint64_t)k,
                      job->pages + (size_t)k * log->page.bytes))
            return log->broken;
    log->victim.page += log->buffer_pages;
    read_next(log);
    return HPS_OK;
}

/* How many chunks of the victim free one. */
static int chunks_for_one(const struct hps_row_log *log)
{
    double share = log->segment[log->victim.segment].alive / hps_log_places(log, 1);

    return share < max_share ? (int)(1 / (1 - share)) + 1 : 1;
}

enum hps_status hps_log_clean(struct hps_row_log *log)
{
    for (int done = 0; !log->broken && free_segments(log) < FEW; done++) {
        if (log->victim.segment < 0 && !choose(log)) break;
        if (done >= chunks_for_one(log) && free_segments(log) > VERY_FEW) break;
        clean_chunk(log);
    }
    return log->broken;
}
