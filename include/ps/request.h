/* request.h - which rows of the tables a rank needs in a step, each once, and who owns them: known
 * before the step, since ids are data.
 *
 * One route serves all tables with the same mapping from ids to rows (wide and deep part of one
 * network read the same slots). Per step every member finds its distinct rows, micro-batch by
 * micro-batch (a row is asked for by the first micro-batch that needs it), and tells their owners
 * once. Then owners know what to send, and no request travels during the step. */
#ifndef HPS_PS_REQUEST_H
#define HPS_PS_REQUEST_H

#include "comm/shm.h"
#include "data/data.h"
#include "net/net.h"
#include "ps/merge.h"

/* Which ids: the embedding layers (of this rank's stage) that read tables of this mapping; rows of
 * slot i of layer j are base + id (% modulo). Layers that read the same ids in the same way need to
 * be named once only: their bags are the same. */
struct hps_request_use {
    int nlayer;
    const struct hps_layer *const *layer;
    bool index;                 /* bags must have one: somebody does not read them by row */
    bool sums;                  /* owners give partial sums of bags; on hosts */
    int told;                   /* the first of HPS_REQUEST_BUFFERS of `near`, one number a row and
                                   nobody else's: members who are near read there what they are
                                   told. < 0, on all or none: all of it travels                 */
};
/* Who begins step s took s-2, so all began that and took s-4: what they were told for s-6 is no
 * longer valid. */
enum { HPS_REQUEST_BUFFERS = 6 };

/* The rows of one step at this rank. Positions ("place") number the distinct rows 0..nplace-1:
 * those first needed by micro-batch m are [first[m], first[m+1]), inside that sorted by owner.
 * Counts lie on the host; row, merge, merged and what the bags point to on the device.
 * Where owners give partial sums (ps/pooled.h), these are what has places, is asked and given;
 * merged are the rows that are in them. */
struct hps_request_step {
    int M, parts;
    int *first;                 /* (M + 1)                                                       */
    int nplace;
    int *ask;                   /* (M, parts) rows asked of each owner for micro-batch m          */
    int *give;                  /* (M, parts) rows each member asked of me ...                    */
    int *give_place;            /* (M, parts) ... and the first of their places there             */
    size_t ngive;
    const int *row;             /* (ngive) my local rows, by member, then micro-batch, as asked   */
    struct hps_merge_list *sums;        /* or the sums (parts, M) of them, whose numbers may lie
                                   in a member's memory; else NULL                               */
    const int *merged;          /* (nmerge) the distinct ones among them                         */
    int nmerge;
    const int *row_host, *merged_host;  /* row and merged in host memory                         */
    const int *merge_start;     /* (nmerge + 1) the gradients that merged row i gets are          */
    const int *merge_from;      /* merge_from[merge_start[i]] and so on, by member: mine
                                   by place, those of members who are near by the places that they
                                   have there, those of the rest behind all places of mine, in the
                                   order of `row`; of sums by their number as asked. Both NULL where
                                   one alone asks for rows: merged is row                        */
    struct hps_lookup *lookup;  /* (M, nlayer) bags of each layer, positions = places             */
};

struct hps_request;
/* comm: all members (owners and readers of the tables), dup'ed inside; MPI_COMM_NULL: alone. Owner
 * of a row: hps_cyclic_owner(row, parts), parts = size of comm. A member that reads nothing passes
 * nlayer 0. rows: of the tables (hps_table_new refuses more than an int can number at an owner),
 * the same on all members, as is M. near: who of comm is near, borrowed; NULL: nobody. Collective
 * over comm. */
enum hps_status hps_request_new(struct hps_request **route, const struct hps_request_use *use,
                                long long rows, int M, struct hps_dev *dev, struct hps_shm *near,
                                MPI_Comm comm);
/* Steps begun and not taken are waited for: all members began as many. Collective over comm. */
void hps_request_free(struct hps_request *route);
/* Start routing the next step from its batches (M; NULL when this member reads nothing, or could
 * not read: then it asks for nothing, its bags are of no use). Finds distinct rows, posts the
 * exchange; begin of step s+1 may come while step s trains, at most two steps are begun and not
 * taken. The batches are not needed afterwards. Collective over comm in the same order on all
 * members; does not wait for others. */
void hps_request_begin(struct hps_request *route, const struct hps_batch *batch);
/* Let exchanges make progress; where there is `time`, what has come is put in order, which takes as
 * long as it takes. Never blocks. */
void hps_request_poll(struct hps_request *route, bool time);
/* The oldest step begun and not yet taken: wait for its exchange. It stays valid until the
 * next-but-one take. */
const struct hps_request_step *hps_request_take(struct hps_request *route);
double hps_request_bytes(const struct hps_request *route); /* sent by this rank so far */

#endif
