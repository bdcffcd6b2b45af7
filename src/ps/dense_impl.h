/* dense_impl.h - what the sources of dense weights share. For src/ps/dense*.c only. */
#ifndef HPS_PS_DENSE_IMPL_H
#define HPS_PS_DENSE_IMPL_H

#include "comm/shm.h"
#include "ps/dense.h"

struct hps_dense_weights {
    struct hps_slice *slice;            /* of all layers                          */
    int me, n;                          /* server `me` of n                       */
    size_t first, end;                  /* its share                              */
    long long version, held;            /* gradients applied to it; in its grad   */
};

/* Where the share of server j of n begins in the weights of all layers. Pure. */
size_t hps_dense_share_of(size_t nparam, int n, int j);

/* What one rank of the worker and one server exchange for a stage: weights [first, end) of the
 * stage's, of which the rank pushes gradients [push, push_end). */
struct hps_dense_piece {
    int peer, tag;                      /* rank in comm; of its messages          */
    int part;                           /* stage, by hps_team_part                */
    size_t first, end, push, push_end;
    size_t at;                          /* where `first` lies in the server's share */
    bool shared;                        /* in memory that both see                */
    unsigned char *code;                /* its gradients encoded; NULL: as fp32   */
};

/* Running states of a stage, which the first server has. */
struct hps_dense_states {
    int peer, tag, part;
    size_t n, base;                     /* numbers; where they begin in all       */
    bool pushes;                        /* the rank is the first replica          */
    double *pair;                       /* (2, n) as pushed                       */
    float *value;                       /* (n) as pulled                          */
};

enum { HPS_DENSE_WEIGHTS, HPS_DENSE_STATES, HPS_DENSE_READ, HPS_DENSE_NTAG };

/* A server's buffers that the ranks of its host see too, in rows of so many numbers: copies of its
 * share, by turns, since a rank may still read those of the pull before, and gradients. */
enum { HPS_DENSE_OUT, HPS_DENSE_OUT_TOO, HPS_DENSE_IN, HPS_DENSE_BUFFERS };
enum { HPS_DENSE_ROW = 16 };

struct hps_dense {
    MPI_Comm comm;                      /* servers in order, then ranks; owned    */
    struct hps_dense_weights *weights;  /* of a server; else NULL                 */
    struct hps_slice *stage[HPS_MY_STAGES];     /* of a rank                      */
    struct hps_shm *shm;                /* NULL: all travels in messages          */
    int slot;                           /* of the buffers, that of this pull      */
    int npiece, nstates, nrequest;
    struct hps_dense_piece *piece;
    struct hps_dense_states *states;
    MPI_Request *request;               /* (2 npiece + nstates) of either kind    */
    float *out, *in;                    /* of a server: copies of its share, gradients; of a
                                           rank of a GPU: weights and gradients in host memory */
    float *own_out, *own_in;            /* of these what is memory of its own     */
    long long version;                  /* of a server: at the pull               */
    const struct hps_codec_ops *codec;  /* of gradients                           */
    bool coded;                         /* of a server: they are to be decoded    */
    double bytes;
    struct hps_message_count count;
};

#endif
