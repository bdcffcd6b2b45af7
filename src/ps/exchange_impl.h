/* exchange_impl.h - what the files of ps/ps share: its state, and the ways that rows travel. For
 * src/comm/ps*.c only. */
#ifndef HPS_PS_EXCHANGE_IMPL_H
#define HPS_PS_EXCHANGE_IMPL_H

#include "ps/mirror.h"
#include "hw/gpu_group.h"
#include "ps/exchange.h"

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
    /* push: gradients of the first nplace rows leave, those of the others come behind them. */
    void (*push)(struct hps_exchange *ps);
    void (*pushed)(struct hps_exchange *ps);
    void (*poll)(struct hps_exchange *ps);
};
extern const struct hps_exchange_ops hps_exchange_mpi;  /* messages of MPI, in host memory       */
extern const struct hps_exchange_ops hps_exchange_nccl; /* NCCL, from GPU to GPU                 */

struct hps_exchange {
    const struct hps_exchange_ops *way; /* NULL when alone; its own state is `with`      */
    void *with;
    const struct hps_gpu_group *cards;
    struct hps_shm *near;       /* who sees my rows and gradients; borrowed, NULL: nobody */
    int buffer;                 /* the first of mine there                               */
    int turn;                   /* which one has the rows of this pull                   */
    MPI_Comm comm;              /* owned; MPI_COMM_NULL when alone                       */
    int me, parts, dim;
    struct hps_table *table;
    struct hps_dev *dev;
    const struct hps_request_step *r;
    struct hps_mirror rows;     /* (nplace, dim)                                         */
    struct hps_mirror grad;     /* (nplace + nfar, dim): theirs by member, then micro-batch */
    struct hps_mirror out;      /* (nfar, dim) rows to those who are not near, likewise  */
    struct hps_mirror sum;      /* (nmerge, dim) gradients merged, where their norm is asked */
    struct hps_mirror all;      /* (ngive, dim) gradients of the sums that I gave to several */
    bool in_place;              /* my rows are read in the table                         */
    int *at;                    /* (nplace) then: their numbers there, < 0 those of others */
    struct hps_row_grad read;   /* gradients of the rows that I read: grad, or deferred  */
    bool pushed, summed;        /* of this step: all are there; they are in `sum`        */
    int *place;                 /* (M, parts) first place of each owner's rows            */
    int *given, *given_at;      /* (parts) what a member asked, the first's number as asked */
    size_t *far_at, nfar;       /* (parts) where `out` and the end of grad have a member's */
    int mine_at, next;          /* my own row and the micro-batch that pull_end takes next */
    size_t place_cap, at_cap;
    double bytes;
};

/* Do member q and I send messages with what is meant? */
static inline bool hps_exchange_is_far(const struct hps_exchange *p, int q)
{
    return q != p->me && !hps_shm_is(p->near, q);
}

/* A table's buffers that members who are near see: rows of a pull, which the next one leaves alone,
 * since a member may still read them then, and gradients. */
enum { HPS_EXCHANGE_ROWS, HPS_EXCHANGE_ROWS_TOO, HPS_EXCHANGE_GRAD };

/* The piece of member q's buffer, who is near, with the rows of mine that it asked for
 * micro-batch m. */
static inline float *hps_exchange_piece(struct hps_exchange *p, int q, int m, int buffer)
{
    int i = m * p->parts + q;
    size_t first = (size_t)p->r->give_place[i], end = first + (size_t)p->r->give[i];

    return hps_shm_at(p->near, q, p->buffer + buffer, end) + first * (size_t)p->dim;
}

/* Partial sums, on a host: those that I, or the others, asked of me are made where they leave, or
 * are read; the gradients of all, which have come, are put together. */
void hps_exchange_give_mine(struct hps_exchange *ps);
void hps_exchange_give_others(struct hps_exchange *ps);
void hps_exchange_take_sums(struct hps_exchange *ps);

/* Rows that the others asked of me. */
static inline size_t hps_exchange_others(const struct hps_exchange *p)
{
    return p->r->ngive - (size_t)p->given[p->me];
}

#endif
