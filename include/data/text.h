/* text.h - reads text line by line: plain files, gzip (by its magic), standard input. Memory is
 * bounded by the longest line, at most HPS_TEXT_LINE. */
#ifndef HPS_DATA_TEXT_H
#define HPS_DATA_TEXT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Set by a signal handler: then reading, and an import, end with HPS_AGAIN without a message. */
extern volatile sig_atomic_t hps_text_stop;

enum {
    HPS_TEXT_LINE = 16 << 20,       /* bytes of the longest line                          */
    HPS_TEXT_RECORD = 64 << 10,     /* bytes of the longest record of several lines       */
    HPS_TEXT_SLACK = 64             /* bytes behind a line that may be read               */
};

struct hps_text {
    const char *path;               /* borrowed; for messages                             */
    long long line;                 /* number of the last line returned, from 1           */
    /* the rest is private */
    int fd;
    bool ended;
    enum hps_status status;         /* of an error that was reported                      */
    struct hps_unpack *gzip;        /* NULL: plain                                        */
    char *buffer;
    size_t cap, end;                /* read so far: buffer[..end)                         */
    size_t begin, next, first_next; /* begin and end of the record; end of its first line */
    long long first_line;
};

/* "-" is standard input. Missing or unreadable: HPS_INPUT. */
enum hps_status hps_text_open(struct hps_text *t, const char *path);
/* The same for an open file, from its beginning; `fd` stays the caller's. */
enum hps_status hps_text_open_fd(struct hps_text *t, int fd, const char *path);
/* Can standard input be read: is it open (else HPS_INPUT), and no output (else HPS_USAGE)? */
enum hps_status hps_text_standard(void);
void hps_text_close(struct hps_text *t);

/* The next line without its end (\n or \r\n); the caller may change it until the next call. NULL at
 * the end. A read error: HPS_INPUT; damaged or truncated gzip, too long a line: HPS_DECK. */
enum hps_status hps_text_next(struct hps_text *t, char **line, size_t *n);

/* The last record extended by the next line, since a quoted field may contain line ends. *line
 * is NULL when there is no such line or the record would exceed HPS_TEXT_RECORD: then
 * hps_text_next returns the second line of the record. */
enum hps_status hps_text_more(struct hps_text *t, char **line, size_t *n);

#endif
