/* reader_impl.h - for src/model/reader*.c only: a reader, and a step while it is put together. */
#ifndef HPS_DATA_READER_IMPL_H
#define HPS_DATA_READER_IMPL_H

#include <pthread.h>

#include "data/block.h"
#include "data/data.h"

/* One step: its micro-batches one after the other in each column. */
struct hps_tray {
    struct hps_batch *batch;        /* (M) */
    long long *example;             /* (rows) */
    float *label, *dense;           /* (rows), (rows, D); NULL: not wanted */
    void **ids;                     /* (nslot) */
    size_t *ids_cap;                /* (nslot) */
    int **offset;                   /* (nslot) */
    struct hps_ids *ids_of;         /* (M, nslot) */
    const int **offset_of;          /* (M, nslot) */
};

struct hps_reader {
    const struct hps_data *data;    /* borrowed */
    struct hps_order order;
    struct hps_steps steps;
    int part, parts, ntray;
    bool label, dense, yields;
    long long first_step;
    struct hps_blocks blocks;
    struct hps_order_memo memo, next;   /* of the window read, and the one behind it */
    long long entered;              /* the window that was entered last, over all epochs */
    long long *example, *spare;     /* (rows of a micro-batch) for sorting       */
    const struct hps_block **block; /* (rows of my share) where each row is,      */
    const char **record;            /* and its record there,                      */
    const char **bag;               /* and its ids of the slot at work            */
    int nsingle, *single_slot;      /* slots in a record, in turn                 */
    void **single;                  /* (nsingle) where the ids of each go         */
    struct hps_tray *tray;              /* (ntray) ring: 2 live, the rest ahead       */
    pthread_t thread;
    pthread_mutex_t lock;           /* of what follows                            */
    pthread_cond_t moved;
    long long made, asked;          /* steps put together; calls of take          */
    bool stop, said;
    enum hps_status status;
};

/* A step while it is put together: where the next micro-batch goes. */
struct hps_reader_filling {
    struct hps_tray *tray;
    long long row;                  /* rows filled                       */
    size_t *nid;                    /* (nslot) ids filled, multi slots   */
};

/* Put a step of the run together in f->tray. What is wrong in the data: r->blocks.why. By the
 * reader's thread. */
enum hps_status hps_reader_fill(struct hps_reader *r, struct hps_reader_filling *f, long long step);

#endif
