/* row_log_impl.h - what the sources of the row log share: the form of a page, the file and the
 * thread that writes it, segments with the bits of alive rows, streams of appended rows. */
#ifndef HPS_PS_ROW_LOG_IMPL_H
#define HPS_PS_ROW_LOG_IMPL_H

#include "ps/row_log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/deep_read.h"

/* -- a page: a head, the numbers of its rows, the rows ----------------------------------------- */

struct hps_log_page {
    size_t bytes;               /* a multiple of 4096              */
    size_t row_bytes;
    int rows;                   /* of a page                       */
    uint64_t run;
};

/* The form of pages for rows of so many bytes. Pure. */
struct hps_log_page hps_log_page_of(size_t row_bytes, uint64_t run);
void hps_log_page_put(const struct hps_log_page *form, unsigned char *page, int slot, int row,
                      const unsigned char *data);
/* The number of the row in a slot, as the page has it; the row's bytes, borrowed. Pure. */
int hps_log_page_row(const unsigned char *page, int slot);
const unsigned char *hps_log_page_data(const struct hps_log_page *form, const unsigned char *page,
                                       int slot);
/* Write the head of a full page; is a page what was sealed with this sequence number? */
void hps_log_page_seal(const struct hps_log_page *form, unsigned char *page, uint64_t sequence);
bool hps_log_page_good(const struct hps_log_page *form, const unsigned char *page,
                       uint64_t sequence);

/* -- the file ---------------------------------------------------------------------------------- */

/* Whole pages to write, or to read: `pages` is lent until hps_log_file_wait. */
struct hps_log_job {
    bool reads;
    unsigned char *pages;
    size_t bytes;
    uint64_t at, sequence;      /* of the first page; a write seals its pages */
    int error;                  /* errno; valid when it has ended             */
    bool ended;
    struct hps_log_job *next;
};

struct hps_log_file {
    int fd;
    bool direct;
    char *what, *directory;     /* for messages                               */
    struct hps_log_page page;
    pthread_t thread;
    pthread_mutex_t mutex;      /* of the queue, and of jobs in it            */
    pthread_cond_t work, ended;
    struct hps_log_job *first, **last;
    bool closes;
};

/* A scratch file with room for `bytes`. HPS_OUTPUT, said. */
enum hps_status hps_log_file_open(struct hps_log_file *file, const struct hps_row_log_opt *opt,
                                  const struct hps_log_page *page, uint64_t bytes);
void hps_log_file_close(struct hps_log_file *file);
/* Jobs are done one after the other, in the order of these calls, by a thread. */
void hps_log_file_begin(struct hps_log_file *file, struct hps_log_job *job);
/* Has it ended? With `wait`: when it has. */
bool hps_log_file_ended(struct hps_log_file *file, struct hps_log_job *job, bool wait);
/* What failed: HPS_OUTPUT, said. */
enum hps_status hps_log_file_failed(const struct hps_log_file *file, const char *doing,
                                    size_t bytes, uint64_t at, int error);
enum hps_status hps_log_file_bad_page(const struct hps_log_file *file, uint64_t at, int row);
/* For the waits for the disk: say, after some seconds, that this one lasts. */
struct hps_log_patience { double until_s, began_s; };
struct hps_log_patience hps_log_patience(void);
void hps_log_patience_out(struct hps_log_patience *patience, const struct hps_log_file *file,
                          const char *doing);

/* -- the log ----------------------------------------------------------------------------------- */

struct hps_log_segment {
    int alive;                  /* rows                                              */
    int unwritten;              /* buffers of it that are not in the file yet        */
    bool busy;                  /* it is being filled, or cleaned                    */
    uint64_t sequence;          /* of its first page                                 */
    uint64_t last_read;         /* the last read that needs it; the first has 1      */
    uint64_t last_append;       /* the last call of append that put rows into it     */
};

/* Pages of a segment, filled in memory and then written. */
struct hps_log_buffer {
    struct hps_log_job job;
    unsigned char *pages;
    uint32_t first;             /* page of the log           */
    uint64_t order;             /* in which they are written */
    enum { HPS_LOG_FREE, HPS_LOG_FILLING, HPS_LOG_WRITING } state;
};

/* Appended rows and cleaned ones fill segments of their own: rows that live long stay together. */
enum { HPS_LOG_APPENDED, HPS_LOG_CLEANED, HPS_LOG_STREAMS };
struct hps_log_stream {
    struct hps_log_buffer *buffer;      /* NULL: none yet                        */
    long long segment;                  /* -1: none yet                          */
    int page, slot;                     /* the next free: page of the segment    */
};

enum { HPS_LOG_BUFFERS = 6 };           /* two are filled while others are written */

struct hps_log_want {
    uint32_t place, i;
};
/* Where a row that has been read goes: to memory, or to a function. */
struct hps_log_target {
    unsigned char *memory;              /* (n, row_bytes); or NULL                 */
    void (*came)(void *context, size_t i, const unsigned char *row);
    void *context;
};
/* Reads of pages that are near each other are one. */
struct hps_log_read {
    struct hps_log_target to;
    struct hps_log_want *want, *spare;  /* (n) in order of places                  */
    uint32_t *first;                    /* (reads + 1) the first `want` of a read   */
    uint64_t *at, *sequence;            /* (reads) of the first page of each       */
    size_t *size;                       /* (reads) bytes                           */
    size_t cap_want, cap_spare, cap_first, cap_at, cap_sequence, cap_size;
    struct hps_deep_batch batch;
    const struct hps_row_log *log;
    bool ended;                         /* all pages have come                     */
    atomic_bool failed;                 /* what failed first is below              */
    int error;                          /* errno; 0: not what was written          */
    uint64_t bad_at;                    /* in the file, and bytes from there on    */
    size_t bad_bytes;
    int bad_row;
};

struct hps_row_log {
    struct hps_row_log_opt opt;
    struct hps_log_page page;
    struct hps_log_file file;
    struct hps_deep_reader *reader;
    enum hps_status broken;             /* what went wrong; said                   */
    int segment_pages, buffer_pages;
    size_t nsegment, max_segments;      /* more only where rows have no room       */
    struct hps_log_segment *segment;    /* (nsegment)                              */
    uint64_t *alive;                    /* a bit a place                           */
    size_t cap_segment, cap_alive;
    size_t nempty;                      /* segments without rows that are not busy */
    size_t hand;                        /* where the search for one goes on        */
    uint64_t sequence;                  /* of the next segment's first page        */
    uint64_t call;                      /* of append                               */
    struct hps_log_stream stream[HPS_LOG_STREAMS];
    struct hps_log_buffer buffer[HPS_LOG_BUFFERS];
    uint64_t nwrite;                    /* begun                                   */
    int nwriting;                       /* buffers                                 */
    struct {
        long long segment;              /* -1: none                                */
        int page;                       /* of the chunk that is read               */
        struct hps_log_job job;
        unsigned char *pages;
    } victim;
    struct hps_log_read read[2];
    uint64_t nbegun, nended, nreleased; /* reads; those that need no segment       */
    struct hps_row_log_count count;
};

static inline bool hps_log_is_alive(const struct hps_row_log *log, uint32_t place)
{
    return log->alive[place / 64] >> place % 64 & 1;
}
static inline double hps_log_places(const struct hps_row_log *log, size_t segments)
{
    return (double)segments * log->segment_pages * log->page.rows;
}
static inline uint64_t hps_log_segment_bytes(const struct hps_row_log *log)
{
    return (uint64_t)log->segment_pages * log->page.bytes;
}
static inline size_t hps_log_segment_of(const struct hps_row_log *log, uint32_t place)
{
    return place / (uint32_t)log->page.rows / (uint32_t)log->segment_pages;
}
void hps_log_drop(struct hps_row_log *log, uint32_t place);
/* A segment of which nothing is written or read any more. */
void hps_log_idle(struct hps_row_log *log, size_t segment);

/* One row to the end of a stream. A status of the log. */
enum hps_status hps_log_put(struct hps_row_log *log, int stream, int row,
                            const unsigned char *data, uint32_t *place);
/* Writes that have ended are noted; with `wait` that of the oldest buffer has. */
enum hps_status hps_log_collect(struct hps_row_log *log, bool wait);
/* Copy rows out of segments of which little is needed, where free ones are few. A status. */
enum hps_status hps_log_clean(struct hps_row_log *log);
/* Reads whose pages have all come need their segments no more; with `wait` that holds for all. */
void hps_log_release(struct hps_row_log *log, bool wait);

#endif
