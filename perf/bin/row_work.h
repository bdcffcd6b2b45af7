/* row_work.h - the row work of a training by one store of rows or another, for programs that
 * compare them: of each batch of a dataset the distinct rows are read, updated by Adagrad, written back.
 *   PROGRAM DATASET.h5 BATCH DIM DIRECTORY BYTES GROUP THREADS WARM_S SECONDS
 *       DATASET.h5: its slots' rows, one slot after the other, are one table of rows of DIM weights
 *       and as many states; DIRECTORY: where the store's files are; BYTES: its memory;
 *       GROUP: the folder of a memory group that limits it, entered when the batches are in memory,
 *       or '-'; first all rows get one update, in their order, then steps warm the store up for
 *       WARM_S, then they are counted for SECONDS; the dataset comes again where it ends
 *   prints "NAME VALUE": steps, examples_s, rows_s, read_bytes, write_bytes (a step), check: of the
 *   rows in the first four steps, the same for all stores. */
#ifndef HPS_PERF_ROW_WORK_H
#define HPS_PERF_ROW_WORK_H

#include "net/net.h"
#include "net/opt.h"

struct row_work {
    const char *directory;
    double bytes;               /* of memory for the store                       */
    int threads;
    int nrow, dim;              /* of the table                                  */
    size_t stride, row_bytes;   /* floats and bytes of a row with its states     */
    struct hps_net net;         /* of this one table                             */
    struct hps_train_opt train;
    struct hps_rule rule;
    int nbatch, batch;          /* batches, examples of each                     */
    size_t *begin;              /* (nbatch + 1) where the rows of each begin ... */
    int *row;                   /* ... here, ascending                           */
};
/* The distinct rows of a step. */
struct row_work_step {
    long long number;
    size_t n;
    const int *row;             /* (n) ascending, borrowed */
};

/* The distinct rows of each batch of a dataset, in its order; of one table of all slots' rows, one
 * slot after the other, or one that they share. What goes wrong ends the program. Local. */
void row_work_read(struct row_work *work, const char *path, int batch, bool shared);
void row_work_done(struct row_work *work);
/* Of a step; the batches come again. Pure. */
struct row_work_step row_work_step(const struct row_work *work, long long number);

/* A store. What goes wrong ends the program. */
struct row_work_store {
    void *(*open)(const struct row_work *work);
    /* The n rows from `first` on are x (n, stride): once, in ascending order; nothing was there. */
    void (*fill)(void *store, int first, int n, const float *x);
    /* Each row of the step goes through row_work_update; the sum of what that returned. The step
     * that will come after it is known. */
    uint64_t (*step)(void *store, const struct row_work_step *now,
                     const struct row_work_step *next);
    void (*close)(void *store);
};

enum { ROW_WORK_SEED = 1 };

/* A row before its first update: x (stride). Pure. */
void row_work_make(const struct row_work *work, int row, float *x);
/* Its update in a step, by a gradient that is made up; some bits of the row. Pure. */
uint64_t row_work_update(const struct row_work *work, long long step, int row, float *x);

/* All of main. */
int row_work_main(int argc, char **argv, const struct row_work_store *store);

#endif
