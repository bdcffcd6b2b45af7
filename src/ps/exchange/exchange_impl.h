/* exchange_impl.h - what the files of ps/exchange share: its state, and how rows travel. For
 * src/ps/exchange/exchange*.c only. */
#ifndef HPS_PS_EXCHANGE_EXCHANGE_IMPL_H
#define HPS_PS_EXCHANGE_EXCHANGE_IMPL_H

#include "hw/codec.h"
#include "hw/gpu_group.h"
#include "ps/exchange.h"
#include "ps/mirror.h"

/* How rows and gradients go from member to member; none is needed by one alone. */
struct hps_exchange_ops {
    void *(*open)(struct hps_exchange *ps);
    void (*close)(struct hps_exchange *ps);
    /* What was sent has left: its memory may be written. */
    void (*settle)(struct hps_exchange *ps);
    /* pull: rows of mine, in `out`, leave for the others, theirs come to `rows`; pulled: those of
     * micro-batch m are there for the device's next work. */
    void (*pull)(struct hps_exchange *ps);
    void (*pulled)(struct hps_exchange *ps, int m);
    /* push: gradients of the first nrow rows leave, those of the others come behind them. */
    void (*push)(struct hps_exchange *ps);
    void (*pushed)(struct hps_exchange *ps);
    bool (*arrived)(struct hps_exchange *ps);
    void (*poll)(struct hps_exchange *ps);
};
extern const struct hps_exchange_ops hps_exchange_mpi;  /* messages of MPI, in host memory       */
extern const struct hps_exchange_ops hps_exchange_nccl; /* NCCL, from GPU to GPU                 */

struct hps_exchange {
    const struct hps_exchange_ops *ops; /* NULL when alone; its own state is `context`   */
    void *context;
    struct hps_exchange_opt codec;      /* in which rows and gradients travel            */
    struct hps_message_count count[HPS_MESSAGES];
    const struct hps_gpu_group *gpus;
    struct hps_shm *shm;        /* who reads my rows and gradients there; borrowed, or NULL */
    int buffer;                 /* the first of mine there                               */
    int slot;                   /* which one has the rows of this pull                   */
    MPI_Comm comm;              /* owned; MPI_COMM_NULL when alone                       */
    int me, parts, dim;
    struct hps_table *table;
    struct hps_dev *dev;
    const struct hps_request_step *r;
    struct hps_mirror rows;     /* (nrow, dim)                                         */
    struct hps_mirror grad;     /* (nrow + nremote, dim): theirs by member, then micro-batch */
    struct hps_mirror out;      /* (nremote, dim) rows to members that share no memory  */
    struct hps_mirror sum;      /* (nmerge, dim) gradients merged, where their norm is asked */
    struct hps_mirror all;      /* (nsend_all, dim) gradients of the sums that I sent */
    bool in_place;              /* my rows are read in the table                         */
    int *at;                    /* (nrow) then: their numbers there, < 0 those of others */
    struct hps_row_grad read;   /* gradients of the rows that I read: grad, or deferred  */
    bool pushed, summed;        /* of this step: all are there; they are in `sum`        */
    int *first_of;              /* (M, parts) first unique row index of each owner's rows */
    int *sent, *sent_first;     /* (parts) rows sent to a member, and the first one's number */
    size_t *remote_first, nremote; /* (parts) where `out` and the end of grad have a member's */
    int mine_at, next;          /* my own row and the micro-batch that pull_end takes next */
    int *some, *some_start;     /* scratch: rows that are updated by themselves, CSR starts */
    size_t first_cap, at_cap, some_cap, some_start_cap;
    struct hps_exchange_cache {  /* of the rows that this member keeps for some clocks    */
        float *value, *held;    /* (slots, dim) they themselves; gradients held back      */
        size_t value_cap, held_cap;
        size_t hit, put;        /* of the step: the next ones                             */
    } cache;
    double bytes;
};

/* Where a step says what the cache has: at pull_begin, in pull_end of micro-batch m, before
 * gradients leave, which are then in host memory, held ones among them. Of a GPU too the cache is
 * in host memory: rows come through it anyway. */
void hps_exchange_cache_begin(struct hps_exchange *p);
void hps_exchange_cache_pulled(struct hps_exchange *p, int m);
void hps_exchange_cache_push(struct hps_exchange *p);

/* Does what member q needs of me travel in messages? */
static inline bool hps_exchange_is_remote(const struct hps_exchange *p, int q)
{
    return q != p->me && !hps_shm_is(p->shm, q);
}

/* A table's buffers in shared memory: rows of a pull, which the next pull leaves alone, since a
 * member may still read them then, and gradients. */
enum { HPS_EXCHANGE_ROWS, HPS_EXCHANGE_ROWS_TOO, HPS_EXCHANGE_GRAD };

/* In the buffer of member q, which shares memory with me: the rows of mine that it needs for
 * micro-batch m. */
static inline float *hps_exchange_piece(struct hps_exchange *p, int q, int m, int buffer)
{
    int i = m * p->parts + q;
    size_t first = (size_t)p->r->send_index[i], end = first + (size_t)p->r->nsend[i];

    return hps_shm_at(p->shm, q, p->buffer + buffer, end) + first * (size_t)p->dim;
}

/* Partial sums, on a host: those that I need of my own rows, or that the others need, are made
 * where they are read, or sent from; the gradients of all, which have come, are put together. */
void hps_exchange_sum_mine(struct hps_exchange *ps);
void hps_exchange_sum_others(struct hps_exchange *ps);
void hps_exchange_merge_sums(struct hps_exchange *ps);

/* How many rows the others need of me. */
static inline size_t hps_exchange_others(const struct hps_exchange *p)
{
    return p->r->nsend_all - (size_t)p->sent[p->me];
}

#endif
