/* request.h - which rows of the tables a rank needs in a step, each once, and who owns them: known
 * before the step, since ids are data.
 *
 * One request serves all tables with the same mapping from ids to rows (wide and deep part of
 * one network read the same slots). In each step every member finds its distinct rows,
 * micro-batch by micro-batch (the first micro-batch that needs a row requests it), and sends
 * their numbers to their owners once. Owners then know which rows to send, and nothing is
 * requested during the step. */
#ifndef HPS_PS_REQUEST_H
#define HPS_PS_REQUEST_H

#include "comm/messages.h"
#include "comm/shm.h"
#include "data/data.h"
#include "net/net.h"
#include "ps/merge.h"
#include "ps/row_cache.h"

/* Which ids: those of the embedding layers (of this rank's stages) that read tables of this
 * mapping; id i of slot j of a layer names row base[j] + i (% modulo). Layers that read the same
 * ids in the same way are named once: their bags are the same. */
struct hps_request_opt {
    int nlayer;
    const struct hps_layer *const *layer;
    bool index; /* bags need an index: a layer does not read them row by row    */
    bool sums;  /* owners send partial sums of bags; on hosts                    */
    int buffer; /* the first of HPS_REQUEST_BUFFERS buffers of `shm`, of one
                   number a row, that are for this request alone: members that
                   share memory read there what was requested of them. < 0, on
                   all members or none: all of it is sent in messages            */
    int owners; /* the first members own the rows; 0: all do                     */
    bool holds; /* gradients that members held back may come: equal on all of them,
                   not with sums                                                 */
    struct hps_row_cache *cache;    /* of this member, which then owns nothing; borrowed, or
                                       NULL                                          */
    bool delta; /* numbers are sent as differences (ps/delta.h): rows of a micro-batch at an
                   owner ascend, ids of bags do not. Equal on all members            */
};
/* A member that begins step s has taken step s-2, so all members began that and took s-4: what they
 * read for step s-6 is no longer needed. */
enum { HPS_REQUEST_BUFFERS = 6 };

/* What a member's cache has and gets in a step. Hits are the rows that the member has of itself:
 * nrecv counts them as its own. Other rows are named by their unique row index. */
struct hps_request_cached {
    size_t nrow;                /* of the batch                                                  */
    size_t nhit;                /* by micro-batch: whose values come from a slot, and whose ...  */
    const struct hps_row_cache_held *hit;
    const int *hit_slot;        /* (nhit) the same slots                                         */
    const bool *adds;           /* (nhit) ... gradients go there, or are added there             */
    size_t nput;                /* ascending: rows that are asked for, whose values go to a slot */
    const int *put, *put_slot;
    size_t nreturn;             /* those with which held gradients travel                        */
    const int *returned, *return_slot;
    size_t nalone;              /* of them: asked for to that end alone                          */
    int nslot;
};

/* The rows of one step at this rank. Unique row indices 0..nrow-1 number the distinct rows that it
 * reads: those that micro-batch m is the first to need are [first[m], first[m+1]), by owner. Counts
 * are in host memory; row, merged and what lookups point to are in the device's. Where owners send
 * partial sums (ps/pooled.h), sums have these indices and are counted; merged are the rows that are
 * in the sums that I send. */
struct hps_request_step {
    int M, parts;
    int *first;                 /* (M + 1)                                                       */
    int nrow;
    int *nrecv;      /* (M, parts) rows that each owner sends me for micro-batch m    */
    int *nsend;      /* (M, parts) rows that I send each member ...                   */
    int *send_index; /* (M, parts) ... and the first one's unique row index there     */
    size_t nsend_all;
    const int *row;              /* (nsend_all) my local rows that I send: by member, then
                                    micro-batch, in the order of their indices there              */
    struct hps_merge_list *sums; /* or the sums (parts, M) of them, whose numbers may be in a
                                   member's memory; else NULL                                    */
    const int *merged;           /* (nmerge) the distinct rows among them                         */
    int nmerge;
    const int *row_host, *merged_host;  /* row and merged in host memory                         */
    const int *merge_start;    /* (nmerge + 1) CSR segments: merged row i gets the gradients    */
    const int *merge_from;     /* merge_from[merge_start[i]] and so on, by member: mine by unique
                                  row index, those of members that share memory by the index
                                  there, those of the rest behind all of mine, in the order of
                                  `row`; of sums by their number as sent. Both NULL where I am the
                                  only reader: then merged is row                               */
    const struct hps_request_cached *cached;    /* NULL: no cache                                */
    const int *held;           /* (nheld) local rows that I send, whose gradients will be those of
                                  earlier clocks too; a row may be there twice                   */
    size_t nheld;
    struct hps_lookup *lookup; /* (M, nlayer) bags of each layer: index, order or table rows    */
};

struct hps_request;
/* comm: all members (owners and readers of the tables), dup'ed inside; MPI_COMM_NULL: alone. Owner
 * of a row: hps_cyclic_owner(row, owners). A member that reads nothing passes
 * nlayer 0. rows: of the tables (hps_table_new refuses more than an int can number at an owner),
 * the same on all members, as is M. shm: the members that share memory with me, borrowed; NULL:
 * none. Collective over comm. */
enum hps_status hps_request_new(struct hps_request **request, const struct hps_request_opt *use,
                                long long rows, int M, struct hps_dev *dev, struct hps_shm *shm,
                                MPI_Comm comm);
/* Steps begun and not taken are waited for: all members began as many. Collective over comm. */
void hps_request_free(struct hps_request *request);
/* Start the requests of the next step from its batches (M; NULL when this member reads nothing, or
 * could not read: then it requests nothing, and its bags are of no use). Finds distinct rows, posts
 * the exchange; begin of step s+1 may come while step s trains, at most two steps are begun and not
 * taken. The batches are not needed afterwards. Collective over comm in the same order on all
 * members; does not wait for others. */
void hps_request_begin(struct hps_request *request, const struct hps_batch *batch);
/* Let exchanges make progress; where there is `time`, what has come is put in order, which takes as
 * long as it takes. Never blocks. */
void hps_request_poll(struct hps_request *request, bool time);
/* The step that the next take gives, where all of it has come and is in order; else NULL. Local. */
const struct hps_request_step *hps_request_next(const struct hps_request *request);
/* Has the exchange of the oldest step begun and not yet taken come? Never blocks. */
bool hps_request_arrived(struct hps_request *request);
/* A step like those of begin, which reads nothing, but returns all gradients that caches hold; they
 * are empty then. A step that is begun and not taken would use them: it is dropped, and may be
 * begun again behind this one. Returns whether there was one; there may be no more. Collective over
 * comm; waits for the exchange of that one. */
bool hps_request_flush(struct hps_request *request);
/* The oldest step begun and not yet taken: wait for its exchange. It stays valid until the
 * next-but-one take. */
const struct hps_request_step *hps_request_take(struct hps_request *request);
double hps_request_bytes(const struct hps_request *request); /* sent by this rank so far */
/* What of it was sent as differences; borrowed. */
const struct hps_message_count *hps_request_count(const struct hps_request *request);

#endif
