/* import.h - imports text to datasets: the list of formats. */
#ifndef HPS_DATA_IMPORT_H
#define HPS_DATA_IMPORT_H

#include "base/deck.h"

struct hps_import_opt {
    const char *output, *test_output;   /* test_output "": none                               */
    const char *schema;                 /* csv: YAML file, data/schema.h                     */
    const char *scaling;                /* a dataset to take constants and categories from    */
    const char *source;                 /* text for the attribute; "" = the input names       */
    const char *split, *split_at;       /* file|random|COLUMN; a threshold of the column      */
    double test_share;                  /* of the rows for test_output; 0: as usual            */
    long long seed;                     /* of the random split                                */
    long long buckets;                  /* ids of a slot; not csv                             */
    const char *ids;                    /* slot, libsvm: keep|hash                            */
    const char *labels;                 /* slot, libsvm: binary|keep                          */
    const char *label_name, *dense_names;   /* slot: of the label; of the numbers              */
    long long dense_columns;            /* libsvm: indices 1..N are numbers                   */
    const char *dense;                  /* not csv: scaling, "auto" or words of data/scale.h */
    const char *header;                 /* criteo, avazu: auto|yes|no                         */
    const char *delimiter;              /* criteo: auto|tab|comma                             */
    double bad_share;                   /* of bad lines, at most                              */
    bool append;
    int nset;                           /* csv: changes of the schema, "KEY=VALUE"            */
    char *const *set;
};
/* All but `set`, in order of the manual. */
extern const struct hps_field hps_import_fields[];

struct hps_import_result {
    long long rows, test_rows, bad, missing, unknown;
    double seconds;
};

/* A format: one source and one line of the list. `run` streams the inputs ("-": standard input;
 * gzip is recognised by its magic) to opt->output, which is written as .part, renamed when
 * complete and removed on failure. Memory is below 200 MiB for any input: buffers of 65,536 rows
 * or 32 MiB a file, texts of categories of 8 MiB a slot at most, the rest on disk. Runs alone,
 * without MPI ranks. */
struct hps_import {
    const char *name, *help;
    const char *options;        /* "a|b": fields that this format has and not all others have */
    enum hps_status (*run)(const struct hps_import_opt *opt, int ninput, char *const *input,
                           struct hps_import_result *result);
};
extern const struct hps_import hps_import_csv, hps_import_criteo, hps_import_avazu, hps_import_slot,
    hps_import_libsvm;
const struct hps_import *hps_import_find(const char *name);
const char *hps_import_words(void);     /* "csv|criteo|..." */
/* Does this format have the field? Pure. */
bool hps_import_takes(const struct hps_import *format, const char *field);

#endif
