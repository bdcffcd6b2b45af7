/* reader_impl.h - a reader, and a step while it is assembled. */
#ifndef HPS_DATA_READER_IMPL_H
#define HPS_DATA_READER_IMPL_H

#include <pthread.h>

#include "data/block.h"
#include "data/data.h"

/* The columns of one step, with its micro-batches one after the other. */
struct hps_batch_buffer {
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
    int worker, part, parts, nbuffer;
    bool label, dense, yields;
    long long next_step;            /* to assemble; of the thread                */
    struct hps_blocks blocks;
    struct hps_order_memo memo, next;   /* of the current window and the next one */
    long long window;               /* the last one entered, counted over all epochs */
    long long *example, *spare;     /* (rows of a micro-batch) for sorting       */
    const struct hps_block **block; /* (rows of the share) the block of each row, */
    const char **record;            /* its record in it,                          */
    const char **bag;               /* and its ids of the current slot            */
    int nsingle, *single_slot;      /* the slots in a record                      */
    void **single;                  /* (nsingle) the output column of each        */
    struct hps_batch_buffer *buffer;    /* (nbuffer) ring: 2 in use, others ahead */
    pthread_t thread;
    pthread_mutex_t lock;           /* of the fields below                        */
    pthread_cond_t changed;
    long long filled_steps, taken_steps;    /* steps assembled; calls of take     */
    bool stop, said, ended;         /* ended: all steps are assembled             */
    enum hps_status status;
};

/* A step while it is assembled: where the next micro-batch goes. */
struct hps_reader_fill_state {
    struct hps_batch_buffer *buffer;
    long long row;                  /* rows filled                       */
    size_t *nid;                    /* (nslot) ids filled, multi slots   */
};

/* Assemble a step in f->buffer, on the reader's thread. r->blocks.why has the reason of a
 * failure. */
enum hps_status hps_reader_fill(struct hps_reader *r, struct hps_reader_fill_state *f,
                                long long step);

#endif
