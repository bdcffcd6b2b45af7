/* intake.h - what all importers share: passes over the inputs, bad lines, the split into two files,
 * the files' end. A format only turns one record into one row. */
#ifndef HPS_DATA_INTAKE_H
#define HPS_DATA_INTAKE_H

#include "data/import.h"
#include "data/text.h"
#include "data/writer.h"

/* SURVEY counts the good rows where the split or the format needs it (and stores their keys on
 * disk), LEARN collects the categories of the train rows where test rows come between them, WRITE
 * writes.
 * */
enum hps_pass { HPS_PASS_SURVEY, HPS_PASS_LEARN, HPS_PASS_WRITE };

/* Which rows are for the test file: the last ones; those of the highest keys, or of keys not below
 * a threshold; each row by a seeded random number (rows that are appended later continue its
 * stream).
 * */
enum hps_split { HPS_SPLIT_NONE, HPS_SPLIT_FILE, HPS_SPLIT_KEY, HPS_SPLIT_RANDOM };

#define HPS_INTAKE_SHARE 0.2        /* of the rows for the test file, unless the user says else */

/* Where a row goes to. */
struct hps_destination {
    struct hps_writer *writer;      /* NULL: this pass writes nothing                          */
    bool test;                      /* to the test file                                        */
    bool learn;                     /* its categories may be new                               */
};

struct hps_intake {
    const struct hps_import_opt *opt;
    struct hps_writer_form form[2]; /* of the train and the test file; set by the format       */
    enum hps_split split;           /* set by hps_intake_split                                  */
    double share;                   /* of the rows for the test file                            */
    const char *key_time;           /* set by the format before hps_intake_split: the keys are
                                       dates of this one; NULL: numbers                         */
    bool has_at;                    /* by key: rows at or above `threshold` are for the test file */
    bool survey;                    /* set by the format: it needs the pass SURVEY itself       */
    bool relearn;                   /* set by the format: categories need the pass LEARN        */
    enum hps_pass pass;
    struct hps_writer *writer[2];
    long long row, rows, ntest;     /* good rows so far, in all, for the test file               */
    long long before;               /* rows of the files that are appended to                    */
    uint64_t random;                /* the key of the random numbers                             */
    double threshold;               /* by key: rows above it are for the test file ...           */
    long long ties;                 /* ... and of those at it all but this many                  */
    int keys, spool;                /* unnamed files: keys; standard input; -1: none              */
    double *key;                    /* (nkey) keys that are still to be written there            */
    long long nkey;
    long long bad, lines;
    bool named, judged;             /* bad lines were named, and counted, in an earlier pass     */
    enum hps_status status;         /* of the disk, where a row could not be kept                */
};

/* How a format reads its records: one a line by `parse` and `put`, or in another way by `record`.
 */
struct hps_format {
    void *self;
    /* At the beginning of every input, for instance its header line; may be NULL. */
    enum hps_status (*begin)(void *self, struct hps_text *t);
    /* *skip: the line, which is not empty, is no record; may be NULL. */
    enum hps_status (*skip)(void *self, const struct hps_text *t, const char *line, size_t n,
                            bool *skip);
    /* A line, whose end (line[n] too) may be written to. What is wrong with it, a text that lives
     * until the next call; NULL: it is good. *key where the split is by key. */
    const char *(*parse)(void *self, const struct hps_intake *in, char *line, size_t n,
                         double *key);
    /* The line that was parsed last into the row under way of dest.writer. */
    void (*put)(void *self, struct hps_destination dest);
    /* One record into one row, with hps_intake_destination and hps_writer_row. *more false: the
     * input has ended. *why: as from `parse`. NULL: by lines. */
    enum hps_status (*record)(void *self, struct hps_text *t, struct hps_intake *in, bool *more,
                              const char **why);
    /* After the pass SURVEY, where there was one, and before the files begin: the forms are
     * complete when it returns; may be NULL. */
    enum hps_status (*ready)(void *self, struct hps_intake *in);
    /* Before the files are finished (the texts of categories go into the forms); may be NULL. */
    void (*end)(void *self, struct hps_intake *in);
};

/* Set the split that the options ask for. `by` is for where they do not say: "file", "random" or a
 * column (HPS_SPLIT_KEY; which column, the format knows); `share` likewise. HPS_USAGE where they
 * contradict each other. */
enum hps_status hps_intake_split(struct hps_intake *in, const char *by, double share);

/* The same for a format without a column to split by: the last fifth of the rows unless the options
 * say otherwise. */
enum hps_status hps_intake_split_rows(struct hps_intake *in);

/* The destination of a row that is good in all respects; `key` where the split is by key. */
struct hps_destination hps_intake_destination(struct hps_intake *in, double key);

/* Read all inputs, write opt->output and opt->test_output. */
enum hps_status hps_intake_run(struct hps_intake *in, const struct hps_format *format, int ninput,
                               char *const *input, struct hps_import_result *result);

#endif
