/* row_twin.h - a log of rows beside a slow twin in memory, which has the same rows. What a row's
 * bytes are is made from its number and its version. */
#ifndef TEST_ROW_TWIN_H
#define TEST_ROW_TWIN_H

#include <stdbool.h>

#include "ps/row_log.h"

enum { ROW_TWIN_NONE = -1, ROW_TWIN_BATCH = 4096 };

/* Rows that are read, and what they were when the read began. */
struct row_expected {
    size_t n;
    int row[ROW_TWIN_BATCH];
    uint64_t version[ROW_TWIN_BATCH];
    unsigned char *to;
    size_t row_bytes;
};

struct row_twin {
    struct hps_row_log *log;
    size_t row_bytes;
    int nrow;                   /* not a multiple of 7                        */
    long long *place;           /* (nrow) ROW_TWIN_NONE: it is not in the log */
    uint64_t *version;          /* (nrow)                                     */
    uint64_t seed, draw, clock;
    long moves, alive;
    struct row_expected read[2];
    int nbegun, nended;
};

/* A log in the current directory for so many rows, and none of them in it. */
struct row_twin *row_twin_new(size_t row_bytes, int nrow, uint64_t seed);
void row_twin_free(struct row_twin *twin);
/* One that has all its rows; each was written twice, so that most are in the file. */
struct row_twin *row_twin_filled(size_t row_bytes, int nrow);

/* A random number below n. */
uint64_t row_twin_below(struct row_twin *twin, uint64_t n);
/* The bytes of a version of a row. */
void row_twin_fill(const struct row_twin *twin, unsigned char *to, int row, uint64_t version);
/* Append new versions of these rows, which are distinct; then drop their old ones. */
enum hps_status row_twin_append(struct row_twin *twin, size_t n, const int *row);
/* The same of about three quarters of n random rows. */
enum hps_status row_twin_write(struct row_twin *twin, size_t n);
void row_twin_drop(struct row_twin *twin, size_t n);
/* Begin to read n random rows, some repeatedly, every other time one by one; end the read that
 * began first: it brought what rows were when it began. */
void row_twin_begin_read(struct row_twin *twin, size_t n);
void row_twin_end_read(struct row_twin *twin);
/* Read n rows, whatever they are. */
enum hps_status row_twin_read(struct row_twin *twin, int first, int n);
/* No two rows have one place, and the log knows how many there are. */
void row_twin_check(const struct row_twin *twin);

#endif
