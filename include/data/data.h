/* data.h - the dataset format; its rows by global example number, the same on any number of ranks.
 *
 * File: /label (N) float32; /dense (N, D) float32, absent where D = 0; per slot /slots/NAME/ids
 * int64, (N) for exactly one id an example or, with /slots/NAME/offsets int64 (N + 1), any number.
 * All little-endian, contiguous or chunked by rows, without filters.
 * Attributes that are needed: on / format "heterps-dataset-1", slots and dense (names in their
 * order, joined by ','; may be empty); on each /slots/NAME buckets (ids are 0..buckets-1).
 * Attributes that are used where they are: on / examples, positives (a count: class balance),
 * source, checksum (data/writer.h says of what), teacher_auc; on slots multi, missing; on /dense
 * the scaling (data/scale.h); on /label and on slots rule, which says in words how they were made:
 * only what is made in the same way is appended, or read as one dataset. */
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

/* Files one after the other: entry f of each list counts what the files before f have, entry n what
 * all have. A block is HPS_BLOCK_ROWS examples of one file, its last one shorter. */
struct hps_files {
    int n;
    long long *first;           /* (n + 1) examples                      */
    long long *block, *whole;   /* (n + 1) blocks, and those that are not shorter */
    long long *window;          /* (n + 1) windows where each file has its own    */
};

/* The last f with begin[f] <= x < begin[f + 1], 0 <= x < begin[n]. Pure. */
int hps_files_find(const long long *begin, int n, long long x);

/* A dataset, of one file or of several. Of several, label, dense, the slots' extents and fd are not
 * set, but for how many ids a slot has: those of each file are. */
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
    uint64_t constants;         /* what dense was scaled by, hashed; 0: the file does not tell */
    uint64_t rule;              /* what the labels are, hashed; 0: the file does not tell      */
    int fd;                     /* for pread                             */
    char *slot_text, *dense_text;   /* owners of the names               */
};

/* Open a dataset and check its shape (all lengths agree, sizes fit the file, no filters, offsets'
 * ends). Missing HPS_INPUT; foreign, truncated, zero rows HPS_DECK. Collective over world (rank 0
 * opens first and speaks, then the others; the verdict is shared); MPI_COMM_NULL: alone. */
enum hps_status hps_data_open(struct hps_data **data, const char *path, MPI_Comm world);
/* Several files as one: their examples are numbered through. Names with *, ? or [ that are no files
 * are patterns, which stand for what they match in the order of its names; nothing matches:
 * HPS_INPUT. All must have the same columns, slots and scaling constants: HPS_DECK. */
enum hps_status hps_data_open_all(struct hps_data **data, const struct hps_list *names,
                                  MPI_Comm world);
/* The order of examples as a text that must be equal on a restart: data.shuffle, and for several
 * shuffled files how they are mixed, and their lengths. To free. Pure. */
char *hps_data_order_text(const struct hps_data *data, const struct hps_data_opt *opt);
bool hps_data_in_turn(const struct hps_data_opt *opt);
void hps_data_close(struct hps_data *data);

/* The file that has global example e, for messages: its path, *row in it. Pure. */
const char *hps_data_locate(const struct hps_data *data, long long e, long long *row);

/* Ids in a row: 8 bytes each (wide), or 4 where all are below 2^32. */
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

/* Rows of one micro-batch that this rank works on. Memory of the reader. */
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

/* The same for n positions in a row. `memo` remembers the blocks of the window last used: begin
 * with { .window = -1 }, one order a memo. */
struct hps_order_memo {
    long long epoch, window;
    uint64_t key;
    long long start[HPS_WINDOW_ROWS / HPS_BLOCK_ROWS];  /* its blocks' first examples; < 0: none */
};
void hps_order_rows(const struct hps_order *order, struct hps_order_memo *memo, long long epoch,
                    long long position, long long n, long long *example);

/* The windows of an epoch, that of a position, and the positions of one: *first, how many. Pure. */
long long hps_order_windows(const struct hps_order *order);
long long hps_order_window(const struct hps_order *order, long long position);
long long hps_order_span(const struct hps_order *order, long long window, long long *first);

/* A share: part p of n things in k parts is [hps_share(n,k,p), hps_share(n,k,p+1)): contiguous,
 * even, some may be empty. */
static inline long long hps_share(long long n, int k, int p)
{
    return n / k * p + n % k * p / k;   /* floor(n p / k) without overflow */
}

/* The steps of a run, agreed beforehand: ceil(N/batch) an epoch, the last batch of an epoch short;
 * micro-batch m of a batch of n is hps_share(n, M, m). `epochs` and `steps`: whichever comes first,
 * 0 is unset. */
struct hps_steps {
    long long N, batch, per_epoch, total;
    int M;
};
struct hps_steps hps_steps_of(long long N, long long batch, int M, long long epochs,
                              long long steps);
/* Epoch and first position of a step (0-based) and its number of examples. */
long long hps_steps_batch(const struct hps_steps *s, long long step, long long *epoch,
                          long long *position);

/* What a reader fetches: columns, and which share of each micro-batch (part `part` of `parts`). */
struct hps_reader_opt {
    bool label, dense;
    const bool *slot;                   /* (nslot), NULL: none                 */
    int part, parts;
    int ahead;                          /* batches read ahead by the reader thread, >= 1 */
    bool yields;                        /* the reader thread waits for a free core or its share of
                                           one: for callers whose threads balance work meanwhile. A
                                           caller with one thread had better lose its core at once,
                                           when its peers lose theirs */
};

/* Reads step after step in its own thread by pread, never HDF5 nor MPI; signals stay with the
 * caller's threads. Rows of a micro-batch are sorted by place in the file (which rows are in it is
 * the order's business, their order inside is free), then cut into shares. `data` is borrowed. */
struct hps_reader;
enum hps_status hps_reader_new(struct hps_reader **reader, const struct hps_data *data,
                               const struct hps_order *order, const struct hps_steps *steps,
                               const struct hps_reader_opt *opt, long long first_step);
/* The M micro-batches of the next step, in turn from first_step; valid until the call after the
 * next one (two steps live at once, so that the ids of the next step can be looked at while this
 * one trains). Blocks until read. An id out of range, NaN in label or dense: HPS_DECK naming file,
 * slot or column, example; a read error: HPS_INPUT; the message is said when the status is first
 * returned. After the last step: *batch = NULL. Local. */
enum hps_status hps_reader_next(struct hps_reader *reader, const struct hps_batch **batch);
/* The same in two calls: while steps are ready the reader thread stays asleep until the caller
 * wakes it, at a moment when the core is free. Each take has its wake; one that is forgotten costs
 * time only, since a take that finds nothing ready wakes the thread too. */
enum hps_status hps_reader_take(struct hps_reader *reader, const struct hps_batch **batch);
void hps_reader_wake(struct hps_reader *reader);
void hps_reader_free(struct hps_reader *reader);

#endif
