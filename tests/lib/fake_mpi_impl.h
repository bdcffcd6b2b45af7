/* fake_mpi_impl.h - communicators and operations under way. For tests/lib/fake_mpi*.c only. */
#ifndef HPS_TESTS_FAKE_MPI_IMPL_H
#define HPS_TESTS_FAKE_MPI_IMPL_H

#include "fake_mpi.h"
#include "fibers.h"

/* Memory in pieces: what a buffer, a count and a datatype mean. */
struct piece {
    char *at;
    size_t bytes;
};
struct area {
    int n;
    size_t bytes;
    struct piece *piece;        /* (n) */
};
struct area area_of(const void *buffer, size_t at, int count, MPI_Datatype type);
char *area_pack(const struct area *a);                      /* (bytes) to free; NULL: none */
void area_unpack(const struct area *a, const char *packed);

/* A message, seen from one side, or a rank's part in a collective. */
struct coll;
struct op {
    const char *name;
    int owner;                  /* fiber                                                    */
    bool done, tested;          /* tested: the request was given back                       */
    struct op *next;            /* all of the run                                           */
    /* a message */
    bool sends, eager;
    int peer, tag;              /* rank in the communicator                                 */
    struct area area;
    char *copy;
    struct op *match;
    struct op *waiting;         /* next without a match, of the communicator                */
    /* a collective */
    struct coll *coll;
    int member;
};

struct comm {
    int n, nfreed;
    int fiber[FIBERS_MAX];      /* (n) of each rank                                         */
    long long ncoll[FIBERS_MAX];    /* (n) collectives so far, by rank                      */
    struct op *waiting;         /* messages and receives without a match                    */
    struct coll *open;          /* collectives that not all members have begun              */
    struct comm *next;          /* all of the run                                           */
};

struct comm *fake_comm(MPI_Comm comm);
MPI_Comm fake_comm_new(struct comm **c);
int fake_rank(const struct comm *c);            /* of the fiber that runs */
int fake_host(int fiber);

/* An operation of the fiber that runs. */
struct op *fake_op(const char *name);
/* From now on it may complete, by what `arrives` does. */
enum arrival { FAKE_DELIVER, FAKE_SENT, FAKE_COLL };
void fake_under_way(struct op *op, enum arrival arrival);
void fake_done(struct op *op);
void fake_coll_arrive(struct op *op);
void fake_coll_end_run(void);

/* Give the request out; or wait for it. */
int fake_give(struct op *op, MPI_Request *request);
int fake_wait(struct op *op);

#endif
