/* request_impl.h - what the files of ps/request share: the state of a request, and what is sent to
 * owners. For src/ps/request/request*.c only. */
#ifndef HPS_PS_REQUEST_REQUEST_IMPL_H
#define HPS_PS_REQUEST_REQUEST_IMPL_H

#include "ps/request.h"
#include "ps/unique.h"

/* Counts of a micro-batch that are sent to an owner: rows, the unique row index of the first,
 * numbers of the message, where the first of all its numbers begins. */
enum { HPS_REQUEST_NCOUNT = 4 };
enum hps_request_state { HPS_REQUEST_READY, HPS_REQUEST_COUNTS, HPS_REQUEST_NUMBERS };

/* A step, on its way or in use. */
struct hps_request_slot {
    struct hps_request_step step;
    enum hps_request_state state;
    MPI_Request request;
    int *nrecv, *nsend;   /* (parts, M, HPS_REQUEST_NCOUNT) counts to owners, from members */
    int *length;          /* (M, parts) numbers that I send each owner ...                 */
    size_t *at;           /* (M, parts) ... and where they begin in `outgoing`             */
    int *nout, *out_at;   /* (parts) numbers to each owner, and where they begin; and those
                             from each member, in `incoming`: none, once it is known that
                             they do not travel                                            */
    int *nin, *in_at;     /* (parts)                                                       */
    const int **received; /* (parts) where a member's numbers are, once they have come     */
    struct hps_int_mirror outgoing; /* numbers to owners: an owner's together, by micro-batch */
    struct hps_request_lent { /* whose memory that is, where members that share it read there  */
        struct hps_shm *shm;
        int me, buffer;
    } lent;
    struct hps_unique_room room;
    struct hps_int_mirror incoming;
    struct hps_merged merged;
};

/* What is sent to owners, and what they make of it. */
struct hps_request_ops {
    void *(*open)(const struct hps_request_use *use, long long rows, struct hps_request *r);
    void (*close)(void *context);
    /* From the batches (M; NULL: none): first, nrecv and lookups of the step, and what is sent to
     * owners: outgoing, length, at. */
    void (*find)(struct hps_request *r, struct hps_request_slot *t, const struct hps_batch *batch);
    /* From nsend, send_index and what was received: the rest of the step. */
    void (*merge)(struct hps_request *r, struct hps_request_slot *t);
};
extern const struct hps_request_ops hps_request_by_rows; /* rows, each once                       */
extern const struct hps_request_ops hps_request_by_sums; /* the ids of bags, for partial sums     */

enum { HPS_REQUEST_KEPT = 4 }; /* steps: two valid after a take, two begun and not taken */

struct hps_request {
    MPI_Comm count_comm, number_comm;   /* owned; MPI_COMM_NULL when alone         */
    struct hps_dev *dev;
    struct hps_shm *shm; /* borrowed, or NULL                       */
    bool direct;         /* who shares memory reads numbers where they are written */
    int buffer;          /* ... in buffers of `shm` from this one on        */
    bool silent;         /* all members share memory: no numbers travel     */
    int parts, me, M;
    const struct hps_request_ops *ops;
    void *context;
    struct hps_request_slot slot[HPS_REQUEST_KEPT];
    long long begun, taken;
    double bytes;
};

/* The merged rows, as the device sees them. */
void hps_request_show(struct hps_request *r, struct hps_request_slot *t);

#endif
