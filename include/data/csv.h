/* csv.h - one record of delimited text cut into cells (RFC 4180 quotes, blanks around cells). */
#ifndef HPS_DATA_CSV_H
#define HPS_DATA_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "data/text.h"

/* A cell, from the record's first byte: quotes and blanks around it left out. */
struct hps_cell {
    size_t at, n;
    bool quoted, doubled;       /* in quotes; with "" inside, which stands for one quote */
};

struct hps_record {
    struct hps_cell *cell;      /* (n) */
    int n;
    size_t cap;
    size_t at, start;           /* where cutting goes on; where the cell under way began  */
    bool inside;                /* in quotes                                              */
    char delimiter;
};

void hps_record_init(struct hps_record *r, char delimiter);
void hps_record_done(struct hps_record *r);

/* Cut text[0..n). False: it ends inside quotes; then call again with the same text and more behind
 * it and `again`, or give it up. Text is not changed. Local. */
bool hps_record_cut(struct hps_record *r, const char *text, size_t n, bool again);

/* What text[0..n) may be separated by instead, as the schema calls it: "tab", ";" ...; NULL: it has
 * nothing that looks so. Pure. */
const char *hps_record_guess(const char *text, size_t n, char delimiter);

/* The next record of a text, blank lines left out; NULL at the end. *whole false: a quote is never
 * closed, and the record is its first line only. The status is that of data/text.h. */
enum hps_status hps_record_next(struct hps_record *r, struct hps_text *t, char **text, bool *whole);

/* The text of cell i, *n bytes; doubled quotes are made single in place. */
const char *hps_record_text(struct hps_record *r, char *text, int i, size_t *n);

#endif
