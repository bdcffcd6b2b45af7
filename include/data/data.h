/* data.h - the dataset format, and readers of its rows by global example number.
 *
 * File: /label (N) float32; /dense (N, D) float32, absent where D = 0; per slot /slots/NAME/ids
 * int64, (N) for exactly one id an example or, with /slots/NAME/offsets int64 (N + 1), any number.
 * All little-endian, contiguous or chunked by rows, without filters.
 * Required attributes: on / format "heterps-dataset-1", slots and dense (names in their
 * order, joined by ','; may be empty); on each /slots/NAME buckets (ids are 0..buckets-1).
 * Optional attributes: on / examples, positives (a count: class balance),
 * source, checksum (see data/writer.h), teacher_auc; on slots multi, missing; on /dense the scaling
 * (data/scale.h); on /label and on slots rule, a text that says how they were made: only files with
 * equal rules are appended to each other or read as one dataset. */
#ifndef HPS_DATA_DATA_H
#define HPS_DATA_DATA_H

#include "base/deck.h"
#include "base/h5.h"

struct hps_data_opt {
    struct hps_list train, test;    /* paths or patterns; test without a name: none    */
    long long batch;
    int microbatches, prefetch;
    bool shuffle;
    const char *files;              /* mixed|in_turn                                   */
};
extern const struct hps_field hps_data_fields[];

struct hps_slot {
    const char *name;
    long long buckets;          /* ids are in [0, buckets)             */
    bool multi;                 /* any number of ids an example (CSR)   */
    struct hps_h5_extent ids, offsets;
};

/* Prefix sums over the files: entry f of each list is the count in the files before f, entry n the
 * total. A block is HPS_BLOCK_ROWS examples of one file; the last one of a file may be shorter. */
struct hps_files {
    int n;
    long long *first;           /* (n + 1) examples                      */
    long long *block, *whole;   /* (n + 1) blocks; full blocks           */
    long long *window;          /* (n + 1) windows, where files are shuffled one by one */
};

/* The last f with begin[f] <= x < begin[f + 1], 0 <= x < begin[n]. Pure. */
int hps_files_find(const long long *begin, int n, long long x);

/* A dataset of one or several files. Of several files, label, dense, fd and the slots' extents
 * are in file[], but for the number of ids of a slot. */
struct hps_data {
    char *path;                 /* for messages where there are several  */
    struct hps_files files;
    struct hps_data **file;     /* (files.n) itself where it is one      */
    long long N;                /* of all files                          */
    int D, nslot;
    const char **dense_name;    /* (D) */
    struct hps_slot *slot;      /* (nslot) */
    struct hps_h5_extent label, dense;
    double positives;           /* share of label > 0.5                  */
    uint64_t constants;         /* hash of the scaling constants; 0: the file has none  */
    uint64_t rule;              /* hash of the labels' rule; 0: the file has none       */
    int fd;                     /* for pread                             */
    char *slot_text, *dense_text;   /* owners of the names               */
};

/* Open a dataset and check its shape: lengths, sizes, no filters, the ends of offsets. Missing:
 * HPS_INPUT; of another format, truncated or without rows: HPS_DECK. Rank 0 opens first and reports
 * errors, then the others; the status is equal on all. Collective over world (MPI_COMM_NULL:
 * alone). */
enum hps_status hps_data_open(struct hps_data **data, const char *path, MPI_Comm world);
/* Open several files as one dataset, with examples numbered consecutively. A name with *, ? or [
 * that is no file is a pattern for all files that match, in the order of their names; without a
 * match HPS_INPUT. Files with different columns, slots or scaling constants: HPS_DECK. */
enum hps_status hps_data_open_all(struct hps_data **data, const struct hps_list *names,
                                  MPI_Comm world);
/* A text that identifies the order of examples, to compare on a restart: data.shuffle, and of
 * several shuffled files how they are mixed, and their lengths. To free. Pure. */
char *hps_data_order_text(const struct hps_data *data, const struct hps_data_opt *opt);
bool hps_data_interleaved(const struct hps_data_opt *opt);
void hps_data_close(struct hps_data *data);

/* The file that has global example e, for messages: its path, *row in it. Pure. */
const char *hps_data_locate(const struct hps_data *data, long long e, long long *row);

/* An array of ids: 8 bytes each (wide), or 4 where all are below 2^32. */
struct hps_ids {
    const void *at;                     /* long long or uint32_t; NULL: none */
    bool wide;
};

static inline size_t hps_ids_size(bool wide)
{
    return wide ? sizeof(long long) : sizeof(uint32_t);
}

static inline long long hps_ids_get(struct hps_ids ids, size_t i)
{
    return ids.wide ? ((const long long *)ids.at)[i] : ((const uint32_t *)ids.at)[i];
}

/* This rank's rows of one micro-batch, in memory of the reader. */
struct hps_batch {
    int B;
    const struct hps_data *data;        /* where they are from                */
    const long long *example;           /* (B) global example numbers         */
    const float *label;                 /* (B), NULL when not wanted          */
    const float *dense;                 /* (B, D), NULL when not wanted       */
    const struct hps_ids *ids;          /* (nslot) each (nid); none: slot not wanted */
    const int *const *offset;           /* (nslot) each (B + 1), NULL for single slots  */
};

enum {
    HPS_BLOCK_ROWS = 256,               /* examples that stay together on disk         */
    HPS_WINDOW_ROWS = 256 * 256         /* examples that are mixed with each other     */
};

/* Example numbers in training order: pure, O(1) memory, the same on every rank. Shuffled: blocks of
 * consecutive examples are permuted (a short last block stays last), then examples inside a window
 * of blocks, so that reading stays local on disk; another order every epoch. */
struct hps_order {
    long long N;
    bool shuffle, in_turn;          /* in_turn: files in their order, each mixed in itself */
    uint64_t key;
    const struct hps_files *files;  /* borrowed; NULL: one                             */
};
struct hps_order hps_order_of(long long N, bool shuffle, uint64_t seed);
/* Of all files of a dataset; of one file it is the same as above. Blocks of several files are
 * permuted as if they were one file's, their short last blocks come after all others. */
struct hps_order hps_order_of_data(const struct hps_data *data, bool shuffle, bool in_turn,
                                   uint64_t seed);
long long hps_order_at(const struct hps_order *order, long long epoch, long long position);

/* The same for n consecutive positions. `memo` caches the blocks of the last window: initialise it
 * with { .window = -1 }, one memo for each order. */
struct hps_order_memo {
    long long epoch, window;
    uint64_t key;
    long long start[HPS_WINDOW_ROWS / HPS_BLOCK_ROWS];  /* its blocks' first examples; < 0: none */
};
void hps_order_rows(const struct hps_order *order, struct hps_order_memo *memo, long long epoch,
                    long long position, long long n, long long *example);

/* The number of windows of an epoch; the window of a position; the number of positions of a window,
 * *first [out] its first one. Pure. */
long long hps_order_windows(const struct hps_order *order);
long long hps_order_window(const struct hps_order *order, long long position);
long long hps_order_span(const struct hps_order *order, long long window, long long *first);

/* Block distribution of n things over k parts: part p has hps_share(n, k, p) up to
 * hps_share(n, k, p + 1). Parts differ by one at most, and may be empty. */
static inline long long hps_share(long long n, int k, int p)
{
    return n / k * p + n % k * p / k;   /* floor(n p / k) without overflow */
}

/* The batches of a run: ceil(N / batch) an epoch, the last one smaller. Micro-batch m of a batch of
 * n begins at hps_share(n, M, m). The run ends after `epochs` or `steps` batches, whichever comes
 * first; 0: unset.
 *
 * W workers take one batch each in a clock, worker w the w-th from where the clock begins; the last
 * clock of an epoch has short batches, and empty ones. Steps count batches; a clock has the number
 * of its first batch. */
struct hps_steps {
    long long N, batch, per_epoch, total;
    int M, W;
    long long ndone;                    /* batches that were trained before their turn ...     */
    const long long *done;              /* (ndone) ... ascending, and are empty now; borrowed  */
};
/* Of one worker. */
struct hps_steps hps_steps_of(long long N, long long batch, int M, long long epochs,
                              long long steps);
/* Epoch and first position of the clock at `step` (0-based), and its examples, of all workers. */
long long hps_steps_batch(const struct hps_steps *s, long long step, long long *epoch,
                          long long *position);
/* The same of the batch of worker w in it; of an empty one the position is that of the clock. */
long long hps_steps_of_worker(const struct hps_steps *s, long long step, int w, long long *epoch,
                              long long *position);
/* Examples of all batches together, those of every epoch counted anew. */
double hps_steps_examples(const struct hps_steps *s);
/* How many clocks of a worker are before that at `step`, where they began with an epoch. */
long long hps_steps_clock(const struct hps_steps *s, long long step);
/* The clock behind it. */
long long hps_steps_next(const struct hps_steps *s, long long step);

/* The columns that a reader reads, and its share of each micro-batch: part `part` of `parts`. */
struct hps_reader_opt {
    bool label, dense;
    const bool *slot;                   /* (nslot), NULL: none                 */
    int worker;                         /* whose batches                       */
    int part, parts;
    int ahead;                          /* batches read ahead by the reader thread, >= 1 */
    bool yields;                        /* the reader thread has a low priority: for callers with
                                           several threads, which balance their work. A caller with
                                           one thread had better lose its core at once, when its
                                           peers lose theirs */
};

/* A thread that reads steps ahead by pread, without HDF5, MPI or signals. The rows of a micro-batch
 * are sorted by their position in the file (the order of examples decides which rows it has, not
 * their order within), then divided into shares. `data` is borrowed. */
struct hps_reader;
enum hps_status hps_reader_new(struct hps_reader **reader, const struct hps_data *data,
                               const struct hps_order *order, const struct hps_steps *steps,
                               const struct hps_reader_opt *opt, long long first_step);
/* Take the M micro-batches of the next step, from first_step on. They are valid until the call
 * after the next one, so that requests for the next step can be made while this one trains.
 * Blocks until they are read. An id out of range, NaN in label or dense: HPS_DECK with file,
 * slot or column, and example; a read error: HPS_INPUT; the message comes with the first such
 * status. After the last step *batch = NULL. Local. */
enum hps_status hps_reader_next(struct hps_reader *reader, const struct hps_batch **batch);
/* The same in two calls: take does not wake the reader thread while steps are ready, and the caller
 * wakes it when the core is free. A forgotten wake costs time only, since a take that finds nothing
 * ready wakes the thread too. */
enum hps_status hps_reader_take(struct hps_reader *reader, const struct hps_batch **batch);
void hps_reader_wake(struct hps_reader *reader);
void hps_reader_free(struct hps_reader *reader);

#endif
