/* request_impl.h - what the files of ps/request share: a route's state, and what it tells owners.
 * For src/comm/route*.c only. */
#ifndef HPS_PS_REQUEST_IMPL_H
#define HPS_PS_REQUEST_IMPL_H

#include "ps/request.h"
#include "ps/unique.h"

enum {
    HPS_REQUEST_TOLD = 4
}; /* counts of a micro-batch to an owner: places, the first of them,
    numbers of the message, where (the first of all) begins     */
enum hps_request_state { HPS_REQUEST_READY, HPS_REQUEST_COUNTS, HPS_REQUEST_NUMBERS };

/* A step, on its way or in use. */
struct hps_request_turn {
    struct hps_request_step step;
    enum hps_request_state state;
    MPI_Request request;
    int *ask, *give;            /* (parts, M, HPS_REQUEST_TOLD) counts as they travel            */
    int *length;                /* (M, parts) numbers that I tell each owner ...               */
    size_t *at;                 /* (M, parts) ... and where they begin in `want`               */
    int *nask, *nask_at;        /* (parts) numbers to each owner, and where they begin ...     */
    int *ngive, *ngive_at;      /* likewise what each member tells me, in `told`; none of these
                                   once it is known that they do not travel                    */
    const int **heard;          /* (parts) where what it tells is, when it has come            */
    struct hps_int_mirror want; /* numbers to owners, those of one together, by micro-batch    */
    struct hps_request_lent {   /* whose memory that is, where those who are near read it      */
        struct hps_shm *near;
        int me, buffer;
    } lent;
    struct hps_unique_room room;
    struct hps_int_mirror told;
    struct hps_merged merged;
};

/* What owners are told, and what they make of it. */
struct hps_request_way {
    void *(*open)(const struct hps_request_use *use, long long rows, struct hps_request *r);
    void (*close)(void *with);
    /* From the batches (M; NULL: none): first, ask and bags of the step and what owners are told:
     * want, length, at. */
    void (*find)(struct hps_request *r, struct hps_request_turn *t, const struct hps_batch *batch);
    /* From give, give_place and what was heard: the rest of the step. */
    void (*merge)(struct hps_request *r, struct hps_request_turn *t);
};
extern const struct hps_request_way hps_request_by_rows; /* rows, each once                       */
extern const struct hps_request_way hps_request_by_sums; /* the ids of bags, for partial sums     */

enum { HPS_REQUEST_KEPT = 4 }; /* steps: two valid after a take, two begun and not taken */

struct hps_request {
    MPI_Comm count_comm, number_comm;   /* owned; MPI_COMM_NULL when alone         */
    struct hps_dev *dev;
    struct hps_shm *near;               /* borrowed, or NULL                       */
    bool direct;                        /* who is near reads what it is told ...           */
    int told;                           /* ... in buffers of `near` from this one on       */
    bool quiet;                         /* all are near all: no numbers travel             */
    int parts, me, M;
    const struct hps_request_way *way;
    void *with;
    struct hps_request_turn turn[HPS_REQUEST_KEPT];
    long long begun, taken;
    double bytes;
};

/* The merged rows, as the device sees them. */
void hps_request_show(struct hps_request *r, struct hps_request_turn *t);

#endif
