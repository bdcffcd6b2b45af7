/* fake_mpi_all.c - communicators and collectives. The n-th collective of a member on a communicator
 * meets the n-th of each other member. When all have begun, what they send is read; then each
 * member has its result at a moment of its own. */
#include <stdlib.h>
#include <string.h>

#include "base/quit.h"
#include "fake_mpi_impl.h"

enum kind { MOVE, FOLD, SPLIT };

/* A member's part: what it sends to each, what it gets from each. */
struct part {
    struct op *op;
    const char *name;
    struct area out[FIBERS_MAX], in[FIBERS_MAX];
    char *packed[FIBERS_MAX];           /* by receiver */
    int color, key;                     /* of a split  */
    MPI_Comm *made, result;
};

struct coll {
    struct comm *comm;
    enum kind kind;
    long long number;
    int nbegun, ndone;
    bool packed, scan;
    MPI_Datatype type;
    MPI_Op op;
    struct part part[FIBERS_MAX];
    struct coll *next;          /* open ones of the communicator */
};

static int unfinished;

/* ---- begin ---- */

static struct coll *find(struct comm *c, enum kind kind, long long number)
{
    struct coll *x = c->open;

    while (x && x->number != number)
        x = x->next;
    if (x && x->kind != kind) HPS_DIE("collectives of two kinds meet");
    if (x) return x;
    x = calloc(1, sizeof *x);
    if (!x) HPS_DIE("no memory");
    *x = (struct coll){ .comm = c, .kind = kind, .number = number, .next = c->open };
    c->open = x;
    unfinished++;
    return x;
}

static struct part *begin(const char *name, MPI_Comm comm, enum kind kind)
{
    struct op *op = fake_op(name);
    struct comm *c = fake_comm(comm);

    op->member = fake_rank(c);
    op->coll = find(c, kind, c->ncoll[op->member]++);
    struct part *p = &op->coll->part[op->member];
    p->op = op;
    p->name = name;
    for (int r = 0; r < c->n; r++)
        if (op->coll->part[r].op && strcmp(op->coll->part[r].name, name) != 0)
            HPS_DIE("%s meets %s", name, op->coll->part[r].name);
    return p;
}

/* The part is complete. */
static struct op *begun(struct part *p)
{
    struct coll *x = p->op->coll;
    struct coll **at = &x->comm->open;

    if (++x->nbegun < x->comm->n) return p->op;
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    for (int r = 0; r < x->comm->n; r++)
        fake_under_way(x->part[r].op, FAKE_COLL);
    return p->op;
}

/* ---- results ---- */

static void make_comm(struct coll *x, int color)
{
    struct comm *c;
    MPI_Comm handle = fake_comm_new(&c);
    bool in[FIBERS_MAX] = { false };

    for (;;) {
        int next = -1;
        for (int r = 0; r < x->comm->n; r++)
            if (!in[r] && x->part[r].color == color &&
                (next < 0 || x->part[r].key < x->part[next].key))
                next = r;
        if (next < 0) return;
        in[next] = true;
        x->part[next].result = handle;
        c->fiber[c->n++] = x->comm->fiber[next];
    }
}

static void make_comms(struct coll *x)
{
    for (int r = 0; r < x->comm->n; r++)
        x->part[r].result = MPI_COMM_NULL;
    for (int r = 0; r < x->comm->n; r++)
        if (x->part[r].color != MPI_UNDEFINED && x->part[r].result == MPI_COMM_NULL)
            make_comm(x, x->part[r].color);
}

static void pack(struct coll *x)
{
    x->packed = true;
    if (x->kind == SPLIT) make_comms(x);
    for (int i = 0; i < x->comm->n; i++)
        for (int j = 0; j < x->comm->n; j++)
            if (x->part[i].out[j].piece) x->part[i].packed[j] = area_pack(&x->part[i].out[j]);
}

#define FOLD_AS(T)                                                                                 \
    do {                                                                                           \
        T *a = (T *)(void *)to, *b = (T *)(void *)from;                                            \
        for (size_t i = 0; i < bytes / sizeof(T); i++)                                             \
            a[i] = op == MPI_SUM ? a[i] + b[i]                                                     \
                 : op == MPI_MAX ? (a[i] > b[i] ? a[i] : b[i])                                     \
                 : op == MPI_MIN ? (a[i] < b[i] ? a[i] : b[i]) : (T)(a[i] && b[i]);                \
    } while (0)

static void fold(char *to, char *from, size_t bytes, MPI_Datatype type, MPI_Op op)
{
    if (op != MPI_SUM && op != MPI_MAX && op != MPI_MIN && op != MPI_LAND)
        HPS_DIE("an operation that this MPI has not");
    if (type == MPI_DOUBLE)
        FOLD_AS(double);
    else if (type == MPI_FLOAT)
        FOLD_AS(float);
    else if (type == MPI_INT)
        FOLD_AS(int);
    else if (type == MPI_LONG_LONG)
        FOLD_AS(long long);
    else if (type == MPI_UNSIGNED_LONG_LONG)
        FOLD_AS(unsigned long long);
    else if (type == MPI_C_BOOL)
        FOLD_AS(bool);
    else
        HPS_DIE("no sums of this datatype");
}

static void take_fold(struct coll *x, int r)
{
    struct part *p = &x->part[r];
    size_t bytes = x->part[0].out[r].bytes;

    if (!p->in[0].piece) return;
    char *sum = calloc(bytes + 1, 1);
    if (!sum) HPS_DIE("no memory");
    memcpy(sum, x->part[0].packed[r], bytes);
    for (int i = 1; i < (x->scan ? r + 1 : x->comm->n); i++) {
        if (x->part[i].out[r].bytes != bytes) HPS_DIE("sums of two lengths meet");
        fold(sum, x->part[i].packed[r], bytes, x->type, x->op);
    }
    area_unpack(&p->in[0], sum);
    free(sum);
}

static void take_moved(struct coll *x, int r)
{
    for (int i = 0; i < x->comm->n; i++) {
        if (x->part[i].out[r].bytes != x->part[r].in[i].bytes)
            HPS_DIE("%s: %zu bytes from %d to %d, which waits for %zu", x->part[r].name,
                    x->part[i].out[r].bytes, i, r, x->part[r].in[i].bytes);
        if (x->part[r].in[i].bytes > 0) area_unpack(&x->part[r].in[i], x->part[i].packed[r]);
    }
}

static void end(struct coll *x)
{
    for (int i = 0; i < x->comm->n; i++)
        for (int j = 0; j < x->comm->n; j++) {
            free(x->part[i].out[j].piece);
            free(x->part[i].in[j].piece);
            free(x->part[i].packed[j]);
        }
    free(x);
    unfinished--;
}

void fake_coll_arrive(struct op *op)
{
    struct coll *x = op->coll;

    if (!x->packed) pack(x);
    if (x->kind == SPLIT)
        *x->part[op->member].made = x->part[op->member].result;
    else if (x->kind == FOLD)
        take_fold(x, op->member);
    else
        take_moved(x, op->member);
    fake_done(op);
    op->coll = NULL;
    if (++x->ndone == x->comm->n) end(x);
}

void fake_coll_end_run(void)
{
    if (unfinished > 0) HPS_DIE("%d collectives have not ended", unfinished);
}

/* ---- communicators ---- */

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    *rank = fake_rank(fake_comm(comm));
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *n)
{
    *n = fake_comm(comm)->n;
    return MPI_SUCCESS;
}

static int split(const char *name, MPI_Comm comm, int color, int key, MPI_Comm *made)
{
    struct part *p = begin(name, comm, SPLIT);

    p->color = color;
    p->key = key;
    p->made = made;
    return fake_wait(begun(p));
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
    return split("MPI_Comm_split", comm, color, key, made);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made)
{
    (void)type;
    (void)info;
    return split("MPI_Comm_split_type", comm, fake_host(fibers_me()), key, made);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made)
{
    return split("MPI_Comm_dup", comm, 0, 0, made);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    struct comm *c = fake_comm(*comm);

    fibers_pass();
    fake_rank(c);
    if (++c->nfreed > c->n) HPS_DIE("a communicator is freed twice");
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int MPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    fake_comm(comm);
    *group = (MPI_Group)(intptr_t)comm;
    return MPI_SUCCESS;
}

int MPI_Group_size(MPI_Group group, int *n)
{
    *n = fake_comm((MPI_Comm)(intptr_t)group)->n;
    return MPI_SUCCESS;
}

int MPI_Group_translate_ranks(MPI_Group from, int n, const int *rank, MPI_Group to, int *there)
{
    const struct comm *a = fake_comm((MPI_Comm)(intptr_t)from);
    const struct comm *b = fake_comm((MPI_Comm)(intptr_t)to);

    for (int i = 0; i < n; i++) {
        there[i] = MPI_UNDEFINED;
        for (int r = 0; r < b->n; r++)
            if (b->fiber[r] == a->fiber[rank[i]]) there[i] = r;
    }
    return MPI_SUCCESS;
}

int MPI_Group_free(MPI_Group *group)
{
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

/* ---- collectives ---- */

static struct op *barrier(const char *name, MPI_Comm comm)
{
    return begun(begin(name, comm, MOVE));
}

int MPI_Barrier(MPI_Comm comm)
{
    return fake_wait(barrier("MPI_Barrier", comm));
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    return fake_give(barrier("MPI_Ibarrier", comm), request);
}

int MPI_Bcast(void *x, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    struct part *p = begin("MPI_Bcast", comm, MOVE);
    int all = fake_comm(comm)->n, r = p->op->member;

    for (int j = 0; j < all && r == root; j++)
        if (j != root) p->out[j] = area_of(x, 0, n, type);
    if (r != root) p->in[root] = area_of(x, 0, n, type);
    return fake_wait(begun(p));
}

/* root < 0: all have the result. */
static struct op *sum(struct part *p, const void *from, void *to, int n, MPI_Datatype type,
                      MPI_Op op, int root)
{
    struct coll *x = p->op->coll;

    x->type = type;
    x->op = op;
    if (from == MPI_IN_PLACE) from = to;
    for (int j = 0; j < x->comm->n; j++)
        if (root < 0 || j == root) p->out[j] = area_of(from, 0, n, type);
    if (root < 0 || p->op->member == root) p->in[0] = area_of(to, 0, n, type);
    return begun(p);
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return fake_wait(sum(begin("MPI_Allreduce", comm, FOLD), from, to, n, type, op, -1));
}

int MPI_Iallreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request)
{
    return fake_give(sum(begin("MPI_Iallreduce", comm, FOLD), from, to, n, type, op, -1), request);
}

int MPI_Reduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm)
{
    return fake_wait(sum(begin("MPI_Reduce", comm, FOLD), from, to, n, type, op, root));
}

int MPI_Scan(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct part *p = begin("MPI_Scan", comm, FOLD);

    p->op->coll->scan = true;
    return fake_wait(sum(p, from, to, n, type, op, -1));
}

int MPI_Gather(const void *from, int n, MPI_Datatype type, void *to, int each, MPI_Datatype kind,
               int root, MPI_Comm comm)
{
    struct part *p = begin("MPI_Gather", comm, MOVE);

    p->out[root] = area_of(from, 0, n, type);
    for (int i = 0; i < p->op->coll->comm->n && p->op->member == root; i++)
        p->in[i] = area_of(to, (size_t)(i * each), each, kind);
    return fake_wait(begun(p));
}

/* Parts of a buffer, one for each member: equal ones, or by count and place. */
struct slices {
    const void *base;
    const int *count, *at;
    int each;
    MPI_Datatype type;
};

static struct area slice(const struct slices *s, int i)
{
    if (s->count) return area_of(s->base, (size_t)s->at[i], s->count[i], s->type);
    return area_of(s->base, (size_t)(i * s->each), s->each, s->type);
}

/* same: all get the first slice. */
static struct op *exchange(const char *name, MPI_Comm comm, struct slices out, bool same,
                           struct slices in)
{
    struct part *p = begin(name, comm, MOVE);
    bool in_place = out.base == MPI_IN_PLACE;

    for (int j = 0; j < p->op->coll->comm->n; j++) {
        p->out[j] = in_place ? slice(&in, p->op->member) : slice(&out, same ? 0 : j);
        p->in[j] = slice(&in, j);
    }
    return begun(p);
}

int MPI_Allgather(const void *from, int n, MPI_Datatype type, void *to, int each,
                  MPI_Datatype kind, MPI_Comm comm)
{
    return fake_wait(exchange("MPI_Allgather", comm, (struct slices){ from, NULL, NULL, n, type },
                              true, (struct slices){ to, NULL, NULL, each, kind }));
}

int MPI_Iallgather(const void *from, int n, MPI_Datatype type, void *to, int each,
                   MPI_Datatype kind, MPI_Comm comm, MPI_Request *request)
{
    return fake_give(exchange("MPI_Iallgather", comm, (struct slices){ from, NULL, NULL, n, type },
                              true, (struct slices){ to, NULL, NULL, each, kind }), request);
}

int MPI_Allgatherv(const void *from, int n, MPI_Datatype type, void *to, const int *count,
                   const int *at, MPI_Datatype kind, MPI_Comm comm)
{
    return fake_wait(exchange("MPI_Allgatherv", comm, (struct slices){ from, NULL, NULL, n, type },
                              true, (struct slices){ to, count, at, 0, kind }));
}

int MPI_Alltoall(const void *from, int n, MPI_Datatype type, void *to, int each,
                 MPI_Datatype kind, MPI_Comm comm)
{
    return fake_wait(exchange("MPI_Alltoall", comm, (struct slices){ from, NULL, NULL, n, type },
                              false, (struct slices){ to, NULL, NULL, each, kind }));
}

int MPI_Ialltoall(const void *from, int n, MPI_Datatype type, void *to, int each,
                  MPI_Datatype kind, MPI_Comm comm, MPI_Request *request)
{
    return fake_give(exchange("MPI_Ialltoall", comm, (struct slices){ from, NULL, NULL, n, type },
                              false, (struct slices){ to, NULL, NULL, each, kind }), request);
}

int MPI_Alltoallv(const void *from, const int *n, const int *from_at, MPI_Datatype type, void *to,
                  const int *count, const int *at, MPI_Datatype kind, MPI_Comm comm)
{
    return fake_wait(exchange("MPI_Alltoallv", comm, (struct slices){ from, n, from_at, 0, type },
                              false, (struct slices){ to, count, at, 0, kind }));
}

int MPI_Ialltoallv(const void *from, const int *n, const int *from_at, MPI_Datatype type, void *to,
                   const int *count, const int *at, MPI_Datatype kind, MPI_Comm comm,
                   MPI_Request *request)
{
    return fake_give(exchange("MPI_Ialltoallv", comm, (struct slices){ from, n, from_at, 0, type },
                              false, (struct slices){ to, count, at, 0, kind }), request);
}
