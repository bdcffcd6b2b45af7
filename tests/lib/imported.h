/* imported.h - what tests of importers share: text in, an import, what the dataset must hold. */
#ifndef HPS_TESTS_IMPORTED_H
#define HPS_TESTS_IMPORTED_H

#include "data/import.h"

/* A file of that text. */
void put(const char *path, const char *text);

/* Into o.h5, with the defaults of the command line but for 1,000 buckets. */
struct hps_import_opt defaults(void);

/* Import "in.txt"; what was said is in `said`. Nothing may be held behind it. */
extern char said[4096];
enum hps_status import(const char *format, const struct hps_import_opt *opt,
                       struct hps_import_result *r);

/* A column of a file: n numbers (width 0 or more) or ids. */
void expect_reals(const char *path, const char *name, int width, int n, const double *want);
void expect_ids(const char *path, const char *name, int n, const long long *want);

/* So many rows, and its checksum is right. */
void expect_whole(const char *path, long long rows);
void expect_nothing_left(void);

#endif
