/* trace_impl.h - the formats, and the table that all of them are read from. */
#ifndef HPS_JOBS_TRACE_IMPL_H
#define HPS_JOBS_TRACE_IMPL_H

#include <stdbool.h>

#include "jobs/trace.h"

/* A table of text with a header, whole in memory. */
struct hps_trace_table {
    const char *path;
    int ncolumn, nrow, row_cap;
    char **cell;                /* (nrow + 1, ncolumn): the header first         */
    size_t cap;
    long long *line;            /* (nrow + 1) of the file                        */
    size_t line_cap;
};

/* HPS_INPUT, HPS_DECK, with one message: a row has more or fewer cells than the header. */
enum hps_status hps_trace_table_load(struct hps_trace_table *t, const char *path);
void hps_trace_table_done(struct hps_trace_table *t);
/* The column of this name; -1: there is none. */
int hps_trace_column(const struct hps_trace_table *t, const char *name);
/* The cell of a row from 0. */
const char *hps_trace_cell(const struct hps_trace_table *t, int row, int column);
/* The number in it, from min to max. HPS_DECK, said with line and column. */
enum hps_status hps_trace_real(const struct hps_trace_table *t, int row, const char *column,
                               double min, double max, double *x);
enum hps_status hps_trace_whole(const struct hps_trace_table *t, int row, const char *column,
                                double min, double max, double *x);

struct hps_trace_format {
    const char *name;
    const char *const *columns;         /* NULL-terminated: a table that has all of these is one */
    enum hps_status (*read)(struct hps_workload **w, const struct hps_trace_table *t,
                            const struct hps_trace_opt *opt);
};

#endif
