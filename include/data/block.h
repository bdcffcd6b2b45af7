/* block.h - a cache of blocks of a dataset: read by pread when first needed, checked, dropped. */
#ifndef HPS_DATA_BLOCK_H
#define HPS_DATA_BLOCK_H

#include "data/data.h"

/* A block has HPS_BLOCK_ROWS rows (the last of a dataset fewer) of the columns that are read. The
 * file is stored by columns, a block by rows, so that a row takes few cache lines. */
struct hps_block {
    const struct hps_data *file;    /* the file of the block                               */
    long long number;               /* among the blocks of all files                       */
    long long first, in_file;       /* its first example, among all and in its file        */
    int rows;
    long long stamp;                /* of the last hps_blocks_get of it                    */
    char *record;                   /* (rows) the values of each row, record_bytes each    */
    void **ids;                 /* (nslot) for multi slots that are read, else NULL       */
    long long **offset;         /* (nslot) each (rows + 1), from 0                        */
    size_t *ids_cap;            /* (nslot) */
};

struct hps_block_entry {
    long long number;
    int index;                  /* -1: free */
};

struct hps_blocks {
    const struct hps_data *data;    /* borrowed */
    size_t label_at, dense_at;      /* offsets in a record; SIZE_MAX: not read         */
    size_t *slot_at;                /* (nslot) the same; SIZE_MAX for multi slots too  */
    bool *slot;                     /* (nslot) whether it is read                      */
    size_t record_bytes;            /* multiple of 8                                   */
    bool wide;                      /* of ids, as in struct hps_ids                    */
    long long *id;                  /* scratch: ids of a slot before they are narrowed */
    size_t id_cap;
    char *column;                   /* scratch: columns of a block while it is read    */
    size_t column_bytes;            /* distance of columns, no multiple of 4 KiB       */
    struct hps_block **live;        /* (nlive) in memory                               */
    struct hps_block **spare;       /* (nspare) dropped, to be used again              */
    int nlive, nspare;
    size_t live_cap, spare_cap;
    struct hps_block_entry *table;  /* (mask + 1) hash table: number -> index in live  */
    int mask;
    long long drop_stamp;           /* of the last drop                                */
    char why[512];                  /* the reason of a failure                         */
};

void hps_blocks_new(struct hps_blocks *b, const struct hps_data *data, bool label, bool dense,
                    const bool *slot);
void hps_blocks_free(struct hps_blocks *b);

/* The block that has this example. Pure. */
long long hps_blocks_of(const struct hps_data *data, long long example);

/* Get block `number`, reading it unless it is in memory; valid until dropped. Callers number their
 * uses by an ascending `stamp`. Ids out of range and numbers that are not finite: HPS_DECK; a read
 * error or a truncated file: HPS_INPUT; b->why has the reason. Uses neither HDF5 nor MPI, so that a
 * thread can call it. Local. */
enum hps_status hps_blocks_get(struct hps_blocks *b, long long number, long long stamp,
                               const struct hps_block **block);
/* Advise the system to read block `number` (of multi slots the offsets alone). Does not wait.
 * Local. */
void hps_blocks_prefetch(const struct hps_blocks *b, long long number);
/* Drop the blocks whose stamp is less. */
void hps_blocks_drop(struct hps_blocks *b, long long stamp);

#endif
