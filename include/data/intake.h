/* intake.h - what all importers share: passes over the inputs, bad lines, the split into train and
 * test file, the end of the files. A format converts one record to one row. */
#ifndef HPS_DATA_INTAKE_H
#define HPS_DATA_INTAKE_H

#include "data/import.h"
#include "data/text.h"
#include "data/writer.h"

/* SURVEY counts the good rows where the split or the format needs it, and stores their keys on
 * disk. LEARN collects the categories of train rows where test rows are between them. WRITE
 * writes. */
enum hps_pass { HPS_PASS_SURVEY, HPS_PASS_LEARN, HPS_PASS_WRITE };

/* The rows of the test file: the last ones; those with the highest keys, or keys not below a
 * threshold; each row by a seeded random number, whose stream continues when rows are appended. */
enum hps_split { HPS_SPLIT_NONE, HPS_SPLIT_FILE, HPS_SPLIT_KEY, HPS_SPLIT_RANDOM };

#define HPS_INTAKE_SHARE 0.2        /* of the test file, by default */

/* The destination of a row. */
struct hps_destination {
    struct hps_writer *writer;      /* NULL: this pass writes nothing                          */
    bool test;                      /* to the test file                                        */
    bool learn;                     /* new categories get ids                                  */
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

/* The functions of a format: `parse` and `put` where a record is a line, else `record`. */
struct hps_format {
    void *self;
    /* Called at the beginning of every input, to read its header for example; may be NULL. */
    enum hps_status (*begin)(void *self, struct hps_text *t);
    /* Set *skip where the line, which is not empty, is no record; may be NULL. */
    enum hps_status (*skip)(void *self, const struct hps_text *t, const char *line, size_t n,
                            bool *skip);
    /* Parse a line; it may be modified up to line[n]. Returns what is wrong with it, valid until
     * the next call, or NULL. Sets *key where the split is by key. */
    const char *(*parse)(void *self, const struct hps_intake *in, char *line, size_t n,
                         double *key);
    /* Put the line parsed last into the current row of dest.writer. */
    void (*put)(void *self, struct hps_destination dest);
    /* Read one record and write its row, with hps_intake_destination and hps_writer_row. *more
     * false: the input has ended. *why: as from `parse`. NULL: by lines. */
    enum hps_status (*record)(void *self, struct hps_text *t, struct hps_intake *in, bool *more,
                              const char **why);
    /* Complete the forms, after the pass SURVEY, if there is one, and before the files are
     * created; may be NULL. */
    enum hps_status (*ready)(void *self, struct hps_intake *in);
    /* Put the texts of categories into the forms, before the files are finished; may be NULL. */
    void (*end)(void *self, struct hps_intake *in);
};

/* Set the split by the options. Their defaults are `by`, "file", "random" or a column
 * (HPS_SPLIT_KEY; the format knows which column), and `share`. HPS_USAGE where options
 * contradict each other. */
enum hps_status hps_intake_split(struct hps_intake *in, const char *by, double share);

/* The same for a format without a column to split by: by default the last fifth of the rows. */
enum hps_status hps_intake_split_rows(struct hps_intake *in);

/* The destination of a good row; `key` where the split is by key. */
struct hps_destination hps_intake_destination(struct hps_intake *in, double key);

/* Read all inputs, write opt->output and opt->test_output. */
enum hps_status hps_intake_run(struct hps_intake *in, const struct hps_format *format, int ninput,
                               char *const *input, struct hps_import_result *result);

#endif
