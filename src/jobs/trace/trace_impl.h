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
/* The same for a table without a header: its columns have these names (NULL-terminated). */
enum hps_status hps_trace_table_load_bare(struct hps_trace_table *t, const char *path,
                                          const char *const *names, char delimiter);
void hps_trace_table_done(struct hps_trace_table *t);
/* The column of this name; -1: there is none. */
int hps_trace_column(const struct hps_trace_table *t, const char *name);
/* HPS_DECK, said: it has not all of these (NULL-terminated). */
enum hps_status hps_trace_wants(const struct hps_trace_table *t, const char *const *columns);
/* The cell of a row from 0; of -1: the name of the column. */
const char *hps_trace_cell(const struct hps_trace_table *t, int row, int column);
/* The number in it, from min to max. HPS_DECK, said with line and column. */
enum hps_status hps_trace_real(const struct hps_trace_table *t, int row, const char *column,
                               double min, double max, double *x);
enum hps_status hps_trace_whole(const struct hps_trace_table *t, int row, const char *column,
                                double min, double max, double *x);

struct hps_trace_format {
    const char *name;
    const char *const *columns;         /* NULL-terminated: a table that has all of these is one */
    char bare;                          /* between its columns, if it has no header; else 0     */
    bool takes_speeds;                  /* from tables                                           */
    bool tells_pool;                    /* it makes its own where none is given; has clusters    */
    enum hps_status (*read)(struct hps_workload **w, const struct hps_trace_table *t,
                            const struct hps_trace_opt *opt);
};

/* ---- jobs of a trace ---- */

/* Calls `one` for each row; frees the workload where that fails. HPS_DECK, said. */
enum hps_status hps_trace_each(struct hps_workload **w, const struct hps_trace_table *t,
                               enum hps_status (*one)(struct hps_pool_job *job,
                                                      const struct hps_trace_table *t, int row,
                                                      const void *context),
                               const void *context);
/* The pool's type of this name, without regard to case; -1: it has none. */
int hps_trace_type(const struct hps_job_pool *pool, const char *name);

/* ---- speeds ---- */

/* The pool's type of each of a table's n names; -1: it has none. A pool of one type that has none
 * of them stands for the last. HPS_DECK, said. */
enum hps_status hps_trace_types(const struct hps_job_pool *pool, const char *const *name, int n,
                                int *type);
/* HPS_USAGE, said: not 1 to `max` tables were given. */
enum hps_status hps_speeds_wanted(const struct hps_trace_opt *opt, const char *format, int max);

/* How fast a model is on so many units of a type. */
struct hps_speed {
    char *model;
    int type, units;
    double step_s;              /* one step takes                                        */
    double steps;               /* all of a job's work has; 0: the job says               */
};

struct hps_speeds {
    size_t n, cap;
    struct hps_speed *row;
};

/* A row; the model is the table's from now on. */
void hps_speeds_add(struct hps_speeds *s, struct hps_speed row);
/* After the last row: sorts them by model, type, units. */
void hps_speeds_sort(struct hps_speeds *s);
void hps_speeds_done(struct hps_speeds *s);
/* The rows of a model, *n of them; NULL: there are none. */
const struct hps_speed *hps_speeds_of(const struct hps_speeds *s, const char *model, size_t *n);
/* A job's configurations: those of its model that fit the pool (all, if none does), of exactly
 * `asked` units if it is rigid. `steps`: of the job, where the table has none. What it asked for is
 * the fastest of so many units, or of the most below: all of a small pool. HPS_DECK, said: its
 * model has no speeds. */
enum hps_status hps_speeds_configs(struct hps_pool_job *job, const struct hps_speeds *s,
                                   const struct hps_job_pool *pool, double steps, int asked,
                                   bool rigid);

/* What the `one` of hps_trace_each_at_speeds is handed as its context. */
struct hps_trace_speeds {
    const struct hps_trace_opt *opt;
    struct hps_speeds speeds;
};
/* hps_trace_each, with the speeds that `load` finds. HPS_USAGE, HPS_INPUT, HPS_DECK, said. */
enum hps_status hps_trace_each_at_speeds(
    struct hps_workload **w, const struct hps_trace_table *t, const struct hps_trace_opt *opt,
    enum hps_status (*load)(struct hps_speeds *s, const struct hps_trace_opt *opt),
    enum hps_status (*one)(struct hps_pool_job *job, const struct hps_trace_table *t, int row,
                           const void *context));

#endif
