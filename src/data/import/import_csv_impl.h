/* import_csv_impl.h - the state of an import of delimited text, for its two sources. */
#ifndef HPS_DATA_IMPORT_IMPORT_CSV_IMPL_H
#define HPS_DATA_IMPORT_IMPORT_CSV_IMPL_H

#include "data/csv.h"
#include "data/dict.h"
#include "data/intake.h"
#include "data/join.h"
#include "data/schema.h"

/* The column of a cell in the record, or in the joined row; -1: not there. */
struct hps_csv_source {
    int main, joined;
};

/* A column of the schema while it is imported. */
struct hps_csv_column {
    const struct hps_schema_column *is;
    struct hps_csv_source from;
    int at;                         /* its number among the dense features or the slots */
    long long id;                   /* of the current record: a part of a date          */
    struct hps_dict dict;           /* of an index                                      */
};

struct hps_csv {
    const struct hps_import_opt *opt;
    struct hps_schema *schema;
    struct hps_record record;
    char *text;                     /* of the current record              */
    char **name;                    /* (nname) columns of the input       */
    int nname;
    struct hps_join join;
    bool joined;
    long long join_row;             /* of the current record, 0: none     */
    struct hps_csv_source label, key, on;   /* label, split by, join on           */
    char *rule;                     /* how a label is made, a text        */
    const char *split_by;           /* the column of the key; NULL: none  */
    const char *split_time;         /* its format of dates; NULL: numbers */
    struct hps_csv_column *column;          /* (schema->ncolumn)                  */
    int D, nslot;
    const char **dense_name;        /* (D)                                */
    struct hps_scale *scale[2];     /* (D)                                */
    struct hps_writer_slot *slot[2];    /* (nslot)                        */
    float *dense;                   /* (D) of the current record          */
    char why[256];
};

/* The `record` of this format (data/intake.h). */
enum hps_status hps_csv_record(void *self, struct hps_text *t, struct hps_intake *in, bool *more,
                               const char **why);

#endif
