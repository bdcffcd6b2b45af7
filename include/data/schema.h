/* schema.h - the meaning of the columns of a delimited text file, in a YAML file:
 *
 *     text:    {delimiter: ",", header: true, names: [...], missing: ["?"]}
 *     label:   {column: Salary, equals: ">50K"}       # or at_least: 4; neither: a number as is
 *     columns:
 *       - {column: age, dense: zscore}                # a number; the words of data/scale.h
 *       - {column: sex, category: {index: 8}}         # one id: at most 8 known texts
 *       - {column: user, category: {hash: 100000}}    #   or a hash of the text to buckets
 *       - {column: genres, multi: {separator: "|", index: 32}, name: genre}   # many ids
 *       - {column: when, time: iso, category: hour}                  # a part of a date
 *       - {column: when, time: iso, since: 2014-01-01, dense: zscore, name: age}  # seconds
 *     join:    {file: movies.csv.gz, on: movieId, key: movieId}     # columns of a second file
 *     split:   {by: file, share: 0.2}                 # the last fifth, or by: COLUMN, the highest
 *                                                     # (of dates: time: FORMAT)
 *
 * inputs/census.schema.yaml explains all keys. */
#ifndef HPS_DATA_SCHEMA_H
#define HPS_DATA_SCHEMA_H

#include "base/deck.h"
#include "data/date.h"
#include "data/scale.h"

enum hps_column_kind { HPS_COLUMN_DENSE, HPS_COLUMN_CATEGORY, HPS_COLUMN_MULTI };

struct hps_schema_column {
    const char *column, *name;      /* in the text, in the dataset                     */
    enum hps_column_kind kind;
    struct hps_scale scale;         /* DENSE                                           */
    long long hash, index;          /* else: buckets, or texts at most; one is 0       */
    const char *separator;          /* MULTI: one or more characters                   */
    const char *time;               /* a format of data/date.h; "": no dates          */
    enum hps_date_part part;        /* CATEGORY of a date                              */
    double since_s;                 /* DENSE of a date: seconds since 1970 of its zero */
};

struct hps_schema {
    struct hps_deck *deck;          /* owner of all text */
    char delimiter;
    bool header;                    /* the first line of each file has the names      */
    struct hps_list names, missing; /* names instead of the header's; missing values  */
    const char *label;
    bool has_at_least, has_equals;
    double at_least;
    struct hps_list equals;         /* label 1 is any of these                        */
    int ncolumn;
    struct hps_schema_column *column;
    const char *join_file, *join_on, *join_key;     /* "": no join                    */
    const char *split_by;           /* "file", "random" or a column; "": no split      */
    const char *split_time;         /* a format of that column's dates; "": none given */
    double split_share;
};

/* Read and check; `set` as in base/deck.h. HPS_INPUT, HPS_DECK, HPS_USAGE with a message. Local. */
enum hps_status hps_schema_load(struct hps_schema **schema, const char *path, int nset,
                                char *const *set);
/* The same from memory. Pure but for messages. */
enum hps_status hps_schema_parse(struct hps_schema **schema, const char *file, const char *text,
                                 size_t length, int nset, char *const *set);
/* The date format of a column, as the split or a column states it; NULL: it has no dates. Pure. */
const char *hps_schema_time(const struct hps_schema *schema, const char *column);
void hps_schema_free(struct hps_schema *schema);

#endif
