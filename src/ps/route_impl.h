/* route_impl.h - what the files of ps/route share: a route's state, and what it tells owners. For
 * src/comm/route*.c only. */
#ifndef HPS_PS_ROUTE_IMPL_H
#define HPS_PS_ROUTE_IMPL_H

#include "ps/places.h"
#include "ps/route.h"

enum { HPS_ROUTE_TOLD = 4 };    /* counts of a micro-batch to an owner: places, the first of them,
                                   numbers of the message, where (the first of all) begins     */
enum hps_route_state { HPS_ROUTE_READY, HPS_ROUTE_COUNTS, HPS_ROUTE_NUMBERS };

/* A step, on its way or in use. */
struct hps_route_turn {
    struct hps_route_step step;
    enum hps_route_state state;
    MPI_Request request;
    int *ask, *give;            /* (parts, M, HPS_ROUTE_TOLD) counts as they travel            */
    int *length;                /* (M, parts) numbers that I tell each owner ...               */
    size_t *at;                 /* (M, parts) ... and where they begin in `want`               */
    int *nask, *nask_at;        /* (parts) numbers to each owner, and where they begin ...     */
    int *ngive, *ngive_at;      /* likewise what each member tells me, in `told`; none of these
                                   once it is known that they do not travel                    */
    const int **heard;          /* (parts) where what it tells is, when it has come            */
    struct hps_int_mirror want; /* numbers to owners, those of one together, by micro-batch    */
    struct hps_route_lent {     /* whose memory that is, where those who are near read it      */
        struct hps_near *near;
        int me, buffer;
    } lent;
    struct hps_places_room room;
    struct hps_int_mirror told;
    struct hps_merged merged;
};

/* What owners are told, and what they make of it. */
struct hps_route_way {
    void *(*open)(const struct hps_route_use *use, long long rows, struct hps_route *r);
    void (*close)(void *with);
    /* From the batches (M; NULL: none): first, ask and bags of the step and what owners are told:
     * want, length, at. */
    void (*find)(struct hps_route *r, struct hps_route_turn *t, const struct hps_batch *batch);
    /* From give, give_place and what was heard: the rest of the step. */
    void (*merge)(struct hps_route *r, struct hps_route_turn *t);
};
extern const struct hps_route_way hps_route_by_rows;    /* rows, each once                       */
extern const struct hps_route_way hps_route_by_sums;    /* the ids of bags, for partial sums     */

enum { HPS_ROUTE_KEPT = 4 };    /* steps: two valid after a take, two begun and not taken */

struct hps_route {
    MPI_Comm count_comm, number_comm;   /* owned; MPI_COMM_NULL when alone         */
    struct hps_dev *dev;
    struct hps_near *near;              /* borrowed, or NULL                       */
    bool direct;                        /* who is near reads what it is told ...           */
    int told;                           /* ... in buffers of `near` from this one on       */
    bool quiet;                         /* all are near all: no numbers travel             */
    int parts, me, M;
    const struct hps_route_way *way;
    void *with;
    struct hps_route_turn turn[HPS_ROUTE_KEPT];
    long long begun, taken;
    double bytes;
};

/* The merged rows, as the device sees them. */
void hps_route_show(struct hps_route *r, struct hps_route_turn *t);

#endif
