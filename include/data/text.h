/* text.h - text inputs line by line: plain files, gzip (known by its first bytes), standard input.
 * Memory is bounded by the longest line, at most HPS_TEXT_LINE. */
#ifndef HPS_DATA_TEXT_H
#define HPS_DATA_TEXT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Set by a signal handler: reading ends with HPS_AGAIN and no word, and so does an import, which
 * leaves nothing. */
extern volatile sig_atomic_t hps_text_stop;

enum {
    HPS_TEXT_LINE = 16 << 20,       /* bytes of the longest line                          */
    HPS_TEXT_RECORD = 64 << 10,     /* bytes that hps_text_more goes on to                */
    HPS_TEXT_SLACK = 64             /* bytes behind a line that may be read, with any content */
};

struct hps_text {
    const char *path;               /* borrowed; for messages                             */
    long long line;                 /* number of the line last given, from 1              */
    /* the rest is the room's own */
    int fd;
    bool ended;
    enum hps_status status;         /* of the trouble that was said                      */
    struct hps_unpack *gzip;        /* NULL: plain                                        */
    char *buffer;
    size_t cap, end;                /* read so far: buffer[..end)                         */
    size_t begin, next, first_next; /* the record; behind it; behind its first line       */
    long long first_line;
};

/* "-" is standard input. Missing or unreadable: HPS_INPUT. */
enum hps_status hps_text_open(struct hps_text *t, const char *path);
/* The same for an open file, from its beginning; `fd` stays the caller's. */
enum hps_status hps_text_open_fd(struct hps_text *t, int fd, const char *path);
/* May standard input be read: is it open (else HPS_INPUT), and no output (else HPS_USAGE)? */
enum hps_status hps_text_standard(void);
void hps_text_close(struct hps_text *t);

/* The next line without its end (\n or \r\n), in memory that may be changed until the next call;
 * NULL at the end. A read error: HPS_INPUT; damaged or cut gzip, too long a line: HPS_DECK. */
enum hps_status hps_text_next(struct hps_text *t, char **line, size_t *n);

/* The record given last, and the line after it too (a quoted field may hold line ends). *line is
 * NULL when there is no such line or the record would become longer than HPS_TEXT_RECORD: what
 * hps_text_next gives then is the second line of the record. */
enum hps_status hps_text_more(struct hps_text *t, char **line, size_t *n);

#endif
