/* csv.h - one record of delimited text cut into cells (RFC 4180 quotes, blanks around cells). */
#ifndef HPS_DATA_CSV_H
#define HPS_DATA_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "data/text.h"

/* A cell, counted from the record's first byte, without the quotes and blanks around it. */
struct hps_cell {
    size_t at, n;
    bool quoted, doubled;       /* in quotes; with "" inside, an escaped quote */
};

struct hps_record {
    struct hps_cell *cell;      /* (n) */
    int n;
    size_t cap;
    size_t at, start;           /* where parsing continues; where the current cell began  */
    bool inside;                /* in quotes                                              */
    char delimiter;
};

void hps_record_init(struct hps_record *r, char delimiter);
void hps_record_done(struct hps_record *r);

/* Split text[0..n) into cells. False: it ends inside quotes; then call again with `again` and the
 * same text with more appended, or give up. The text is not changed. Local. */
bool hps_record_cut(struct hps_record *r, const char *text, size_t n, bool again);

/* Guess another delimiter of text[0..n), by its name in a schema: "tab", ";" ..; NULL: none.
 * Pure. */
const char *hps_record_guess(const char *text, size_t n, char delimiter);

/* Read the next record of a text, skipping blank lines; NULL at the end. *whole false: a quote is
 * never closed, and the record is its first line alone. The status is that of data/text.h. */
enum hps_status hps_record_next(struct hps_record *r, struct hps_text *t, char **text, bool *whole);

/* The text of cell i, *n bytes; escaped quotes are unescaped in place. */
const char *hps_record_text(struct hps_record *r, char *text, int i, size_t *n);

#endif
