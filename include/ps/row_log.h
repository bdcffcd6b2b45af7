/* row_log.h - rows in a file on a node-local disk: the store under a table whose rows do not all
 * fit memory (design 6). Rows are appended to a log of segments, each row a new copy at a new
 * place; places are read many at a time, at the depth that a disk needs. Segments of which few
 * rows are still needed are cleaned: those rows are copied to the end of the log. The file is
 * scratch: it has no name where the file system can do so, is never flushed, and ends with the
 * process.
 *
 * Pages of 4 KiB (of several where a row is larger) have a checksum, the run's number and a
 * sequence number; a row never crosses a page, and is written with its number. The file grows to
 * about 1.75 times the pages of max_rows rows, and further only while more rows than that are
 * alive.
 *
 * All calls are Local, by one thread at a time. What goes wrong with the disk is said once (path,
 * offset, errno, bytes) and is a status, of that call and of all later ones: HPS_OUTPUT where a
 * write found no room or a read failed, HPS_DECK where a page is not what was written. A call that
 * waits for the disk for 10 s says so, and goes on waiting: the watchdog ends the run. */
#ifndef HPS_PS_ROW_LOG_H
#define HPS_PS_ROW_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct hps_row_log;

/* Where a row lies in the log: less than HPS_ROW_LOG_PLACES. */
#define HPS_ROW_LOG_PLACES (UINT32_C(1) << 31)
/* Bytes of memory for each of max_rows, at most, where these are many: a bit a place. */
#define HPS_ROW_LOG_BYTES 0.25

struct hps_row_log_opt {
    const char *directory;      /* that exists                                            */
    const char *what;           /* for messages: "table 'ads'"; copied                    */
    size_t row_bytes;           /* 1 to HPS_ROW_LOG_ROW_BYTES                             */
    long long max_rows;         /* rows alive at once, at most; at least 1                */
    uint64_t run;               /* in every page                                          */
    /* A row was copied to another place while its segment was cleaned; `from` is dropped. Called
     * inside append, never of a row that this very call appends. */
    void (*moved)(void *context, int row, uint32_t from, uint32_t to);
    void *context;
};
enum { HPS_ROW_LOG_ROW_BYTES = 1 << 18 };

/* HPS_OUTPUT: the directory cannot be written, or its file system has less space than max_rows
 * need; HPS_DECK: places for so many rows are more than HPS_ROW_LOG_PLACES. Both are said. */
enum hps_status hps_row_log_open(struct hps_row_log **log, const struct hps_row_log_opt *opt);
/* NULL is fine. Reads under way are waited for. */
void hps_row_log_close(struct hps_row_log *log);

/* n rows, data (n, row_bytes), get places; they can be read from there at once. Writes go on
 * behind; the call waits where too many are under way. */
enum hps_status hps_row_log_append(struct hps_row_log *log, size_t n, const int *row,
                                   const unsigned char *data, uint32_t *place);
/* What lies at these places, all of them alive, is not needed any more. */
void hps_row_log_drop(struct hps_row_log *log, size_t n, const uint32_t *place);

/* Reads of n places begin: row i of them comes to `to` + i * row_bytes, which is lent until
 * read_end; repeats are allowed, places of one page are one read. At most two such reads are under
 * way (a step and the next); a place that is read may be dropped meanwhile, or its row moved.
 * read_end waits for the one that began first; arrived: it would not wait. Between them, append may
 * be called. Pages that are near each other are one read of the disk.
 *
 * read_each hands each row to `came` in place of copying it; `row` is lent for that call. Rows that
 * were still in memory are handed on at once, by the caller's thread, the others by threads of the
 * reader as they come, by several at once. Of a read that fails, no row is. */
enum hps_status hps_row_log_read_begin(struct hps_row_log *log, size_t n, const uint32_t *place,
                                       unsigned char *to);
enum hps_status hps_row_log_read_each(struct hps_row_log *log, size_t n, const uint32_t *place,
                                      void (*came)(void *context, size_t i,
                                                   const unsigned char *row),
                                      void *context);
bool hps_row_log_read_arrived(struct hps_row_log *log);
enum hps_status hps_row_log_read_end(struct hps_row_log *log);

/* Since the log was opened. */
struct hps_row_log_count {
    double rows_read, pages_read;       /* rows that were still in memory are rows alone;
                                           pages that had some of them */
    double reads;                       /* of the disk, that brought these pages             */
    double rows_appended, rows_cleaned; /* by calls; copied while a segment was cleaned      */
    double bytes_written, waited_s;     /* to the file; for the disk, in append and read_end */
    double file_bytes, alive_rows;      /* now                                               */
    double index_bytes;                 /* of memory, that says which rows are alive; now    */
};
struct hps_row_log_count hps_row_log_counted(const struct hps_row_log *log);

#endif
