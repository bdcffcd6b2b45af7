/* request_impl.h - the state of requests; for src/ps/request/request*.c only. */
#ifndef HPS_PS_REQUEST_REQUEST_IMPL_H
#define HPS_PS_REQUEST_REQUEST_IMPL_H

#include "ps/delta.h"
#include "ps/request.h"
#include "ps/unique.h"

/* The counts that an owner receives for each micro-batch: rows, the unique row index of the first,
 * numbers of the message, where they begin in the memory of the sender, or their bytes as sent
 * where they are encoded. */
enum { HPS_REQUEST_NCOUNT = 4 };
enum hps_request_state { HPS_REQUEST_READY, HPS_REQUEST_COUNTS, HPS_REQUEST_NUMBERS };

/* What the cache of this member has and gets in a step. */
struct hps_request_cache {
    struct hps_request_cached step;
    struct hps_row_cache_held *hit;
    int *list[5];         /* hit_slot, put, put_slot, returned, return_slot             */
    bool *adds;
    struct hps_row_cache_use *use;  /* scratch, by unique index: what becomes of a row,   */
    int *index, *to;                /* its new index; and by new index the number as sent */
    size_t hit_cap, adds_cap, list_cap[5], use_cap, index_cap, to_cap;
};

/* The numbers of a step in bytes (ps/delta.h). */
struct hps_request_coded {
    unsigned char *out, *in;
    int *nout, *out_at, *nin, *in_at;   /* (parts) bytes to and from each member, their beginning */
    size_t out_cap, in_cap;
};

/* An in-flight slot: a step that is requested or in use. */
struct hps_request_slot {
    struct hps_request_step step;
    enum hps_request_state state;
    MPI_Request request;
    int *nrecv, *nsend;   /* (parts, M, HPS_REQUEST_NCOUNT) counts to owners, from members */
    int *length;          /* (M, parts) numbers for each owner                             */
    size_t *at;           /* (M, parts) where they begin in `outgoing`                     */
    int *nout, *out_at;   /* (parts) numbers for each owner, and where they begin          */
    int *nin, *in_at;     /* (parts) numbers from each member, and where they begin in
                             `incoming`; 0 of those that are read in place                 */
    const int **received; /* (parts) the received numbers of each member                   */
    struct hps_request_coded coded; /* what is sent, where that is encoded                      */
    struct hps_int_mirror outgoing; /* numbers for owners, by owner, then micro-batch */
    struct hps_request_shared { /* the buffer of shared memory that `outgoing` is in, if it is   */
        struct hps_shm *shm;
        int me, buffer;
    } shared;
    struct hps_unique_memory memory;
    struct hps_request_cache cache;
    struct hps_int_mirror incoming;
    int *held;            /* (nheld) of the step                                          */
    size_t held_cap;
    struct hps_merged merged;
};

/* What a request sends to owners, and how they merge what they receive. */
struct hps_request_ops {
    void *(*open)(const struct hps_request_opt *use, long long rows, struct hps_request *r);
    void (*close)(void *context);
    /* From the batches (M; NULL: none) set first, nrecv and lookup of the step, and outgoing,
     * length and at of the messages to owners; of members that own nothing they are 0. */
    void (*find)(struct hps_request *r, struct hps_request_slot *t, const struct hps_batch *batch);
    /* From nsend, send_index and the received numbers set the rest of the step. */
    void (*merge)(struct hps_request *r, struct hps_request_slot *t);
};
extern const struct hps_request_ops hps_request_by_rows; /* the numbers of unique rows            */
extern const struct hps_request_ops hps_request_by_sums; /* the ids of bags, for pooled sums      */

enum { HPS_REQUEST_NSLOT = 4 }; /* two valid after a take, two begun and not taken */

struct hps_request {
    MPI_Comm count_comm, number_comm;   /* owned; MPI_COMM_NULL when alone         */
    struct hps_dev *dev;
    struct hps_shm *shm; /* borrowed, or NULL                       */
    bool direct;         /* members that share memory read numbers in place */
    int buffer;          /* first of the buffers of `shm` for that  */
    bool no_messages;    /* all members share memory: no numbers are sent   */
    int parts, owners, me, M;   /* members; the first of them own the rows         */
    size_t nlayer;
    const struct hps_request_ops *ops;
    void *context;
    bool holds;                 /* received numbers say of which rows gradients are held */
    struct hps_row_cache *cache;    /* borrowed, or NULL                                 */
    bool delta;                 /* numbers are sent as differences ...                   */
    enum hps_delta list;        /* ... of such lists                                     */
    struct hps_message_count count;     /* of these                                      */
    bool flushes;               /* the step that is begun returns what is held           */
    struct hps_request_slot slot[HPS_REQUEST_NSLOT];
    long long begun, taken;
    double bytes;
};

/* Does member q read my numbers in my memory, and I its? */
static inline bool hps_request_is_direct(const struct hps_request *r, int q)
{
    return r->direct && hps_shm_is(r->shm, q);
}

/* Numbers as differences, to and from the members that do not read them so: encode them once the
 * counts are known, which then have the bytes; send them once those of others have come; decode
 * what came to where numbers would have. */
void hps_request_coded_new(const struct hps_request *r, struct hps_request_coded *coded);
void hps_request_coded_free(struct hps_request_coded *coded);
void hps_request_encode(struct hps_request *r, struct hps_request_slot *t);
void hps_request_send_coded(struct hps_request *r, struct hps_request_slot *t);
void hps_request_decode(struct hps_request *r, struct hps_request_slot *t);

/* Numbers (M, owners) of `size` bytes become (M, members), in place; 0 of members that own
 * nothing. */
void hps_request_spread(const struct hps_request *r, void *x, size_t size);

/* So many rows are asked for of i = m * parts + member: hits, which a member with a cache has of
 * itself, are not. */
static inline int hps_request_asked(const struct hps_request *r, const struct hps_request_slot *t,
                                    int i)
{
    return r->cache && i % r->parts == r->me ? 0 : t->step.nrecv[i];
}

/* Of the unique rows of a step, which the owners would send, leave out those that the cache has,
 * and add those whose gradients it must return: first, nrecv, memory.row and what lookups point to
 * are written anew. Of a row with which held gradients come, the number is sent as ~row. */
void hps_request_split(struct hps_request *r, struct hps_request_slot *t);
void hps_request_cache_free(struct hps_request_cache *cache);

/* Copy the merged rows to the device. */
void hps_request_to_device(struct hps_request *r, struct hps_request_slot *t);

#endif
