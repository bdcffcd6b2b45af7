/* block.h - blocks of a dataset in memory: read by pread when first needed, checked, dropped. */
#ifndef HPS_DATA_BLOCK_H
#define HPS_DATA_BLOCK_H

#include "data/data.h"

/* HPS_BLOCK_ROWS rows (the last block of a dataset: fewer) of the columns that are read. The file
 * is stored by columns, a block by rows: a row then takes few cache lines, not one for each column.
 */
struct hps_block {
    const struct hps_data *file;    /* that it is a part of                               */
    long long number;           /* among the blocks of all files                          */
    long long first, inside;    /* its first example, among all and in its file           */
    int rows;
    long long mark;             /* the mark of the caller's last hps_blocks_get           */
    char *record;               /* (rows) each hps_blocks.record_bytes: the values of a row   */
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
    size_t *slot_at;                /* (nslot) the same, SIZE_MAX for multi slots too  */
    bool *slot;                     /* (nslot) is it read?                             */
    size_t record_bytes;            /* multiple of 8                                   */
    bool wide;                      /* ids in records and in `ids`, as in struct hps_ids */
    long long *id;                  /* ids of a slot while they are made narrow        */
    size_t id_cap;
    char *column;                   /* columns of a block while it is read             */
    size_t column_bytes;            /* from one to the next, not a multiple of 4 KiB   */
    struct hps_block **live;        /* (nlive) in memory                               */
    struct hps_block **spare;       /* (nspare) read before, dropped                   */
    int nlive, nspare;
    size_t live_cap, spare_cap;
    struct hps_block_entry *place;  /* (mask + 1) hash table: number -> index in live  */
    int mask;
    long long dropped;              /* the mark of the last drop                       */
    char why[512];                  /* what was wrong, where a verb failed             */
};

void hps_blocks_new(struct hps_blocks *b, const struct hps_data *data, bool label, bool dense,
                    const bool *slot);
void hps_blocks_free(struct hps_blocks *b);

/* The block that has this example. Pure. */
long long hps_blocks_of(const struct hps_data *data, long long example);

/* Block `number`, read unless it is in memory; valid until dropped. Ids out of range and numbers
 * that are not finite: HPS_DECK; a read error or a file cut short: HPS_INPUT; b->why says what. No
 * HDF5, no MPI: fit for a thread. Local. */
enum hps_status hps_blocks_get(struct hps_blocks *b, long long number, long long mark,
                               const struct hps_block **block);
/* Block `number` will be needed soon: the system may begin to read it (of multi slots only the
 * offsets). Local, does not wait. */
void hps_blocks_expect(const struct hps_blocks *b, long long number);
/* Drop the blocks whose mark is less; their memory is used again. */
void hps_blocks_drop(struct hps_blocks *b, long long mark);

#endif
