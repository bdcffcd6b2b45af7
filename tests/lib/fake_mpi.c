/* fake_mpi.c - communicators, datatypes, requests, messages. The k-th message to a rank on a
 * communicator with a tag meets the k-th receive for it; when that is seen is drawn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quit.h"
#include "fake_mpi_impl.h"

struct event {
    struct op *op;
    enum arrival arrival;
};

struct type {
    size_t extent;
    int n;
    struct area area;           /* addresses from 0 on */
};

enum { NTYPE = 64, NHANDLE = 1 << 12 };

static struct {
    struct fake_mpi of;
    struct event *event;
    int nevent;
    size_t event_cap;
    struct op *op;
    struct comm *comm;
    struct comm *comm_of[NHANDLE];      /* by handle */
    struct op **op_of;                  /* (nop) by handle */
    int ncomm, nop;
    size_t op_cap;
    struct type type[NTYPE];
    bool type_used[NTYPE];
} me;

static void *room(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (!p) HPS_DIE("no memory");
    return p;
}

/* ---- handles ---- */

struct comm *fake_comm(MPI_Comm comm)
{
    intptr_t i = (intptr_t)comm - 1;

    if (i < 0 || i >= me.ncomm || !me.comm_of[i]) HPS_DIE("no communicator of this run");
    return me.comm_of[i];
}

MPI_Comm fake_comm_new(struct comm **c)
{
    if (me.ncomm == NHANDLE) HPS_DIE("too many communicators");
    *c = room(1, sizeof **c);
    (*c)->next = me.comm;
    me.comm = me.comm_of[me.ncomm++] = *c;
    return (MPI_Comm)(intptr_t)me.ncomm;
}

int fake_rank(const struct comm *c)
{
    for (int r = 0; r < c->n; r++)
        if (c->fiber[r] == fibers_me()) return r;
    HPS_DIE("not a member of the communicator");
}

struct op *fake_op(const char *name)
{
    struct op *op = room(1, sizeof *op);

    fibers_pass();
    fibers_moved();
    op->name = name;
    op->owner = fibers_me();
    op->next = me.op;
    me.op = op;
    return op;
}

int fake_give(struct op *op, MPI_Request *request)
{
    if ((size_t)me.nop == me.op_cap) {
        me.op_cap = 2 * me.op_cap + 64;
        me.op_of = realloc(me.op_of, me.op_cap * sizeof(struct op *));
        if (!me.op_of) HPS_DIE("no memory");
    }
    me.op_of[me.nop++] = op;
    *request = (MPI_Request)(intptr_t)me.nop;
    return MPI_SUCCESS;
}

static struct op *op_of(MPI_Request request)
{
    intptr_t i = (intptr_t)request - 1;

    if (i < 0 || i >= me.nop || me.op_of[i]->owner != fibers_me())
        HPS_DIE("no request of this rank");
    return me.op_of[i];
}

/* ---- what is under way ---- */

void fake_under_way(struct op *op, enum arrival arrival)
{
    if ((size_t)me.nevent == me.event_cap) {
        me.event_cap = 2 * me.event_cap + 64;
        me.event = realloc(me.event, me.event_cap * sizeof *me.event);
        if (!me.event) HPS_DIE("no memory");
    }
    me.event[me.nevent++] = (struct event){ op, arrival };
}

void fake_done(struct op *op)
{
    op->done = true;
    fibers_wake(op->owner);
}

/* The receiver has it. */
static void deliver(struct op *in)
{
    struct op *out = in->match;
    char *data = out->eager ? out->copy : area_pack(&out->area);

    area_unpack(&in->area, data);
    free(data);
    out->copy = NULL;
    fake_done(in);
    if (!out->eager) fake_under_way(out, FAKE_SENT);
}

static void arrive(uint64_t draw)
{
    int i = (int)(draw % (uint64_t)me.nevent);
    struct event e = me.event[i];

    me.event[i] = me.event[--me.nevent];
    if (e.arrival == FAKE_DELIVER)
        deliver(e.op);
    else if (e.arrival == FAKE_SENT)
        fake_done(e.op);
    else
        fake_coll_arrive(e.op);
}

static int under_way(void)
{
    return me.nevent;
}

/* ---- datatypes ---- */

static size_t size_of(MPI_Datatype type)
{
    if (type == MPI_BYTE || type == MPI_C_BOOL) return 1;
    if (type == MPI_UINT16_T) return 2;
    if (type == MPI_INT || type == MPI_FLOAT) return 4;
    if (type == MPI_DOUBLE || type == MPI_LONG_LONG || type == MPI_UNSIGNED_LONG_LONG) return 8;
    return 0;
}

static const struct type *derived(MPI_Datatype type)
{
    intptr_t i = (intptr_t)type - 1;

    if (i < 0 || i >= NTYPE || !me.type_used[i]) HPS_DIE("a datatype that this MPI has not");
    return &me.type[i];
}

/* Addresses are numbers here: those of a datatype begin at 0. */
static void add(struct area *a, uintptr_t at, size_t bytes)
{
    struct piece *last = a->n > 0 ? a->piece + a->n - 1 : NULL;

    if (bytes == 0) return;
    a->bytes += bytes;
    if (last && (uintptr_t)last->at + last->bytes == at)
        last->bytes += bytes;
    else
        a->piece[a->n++] = (struct piece){ (char *)at, bytes };
}

struct area area_of(const void *buffer, size_t at, int count, MPI_Datatype type)
{
    size_t plain = size_of(type);
    const struct type *t = plain || count == 0 ? NULL : derived(type);
    size_t extent = t ? t->extent : plain, n = (size_t)count;
    struct area a = { .piece = room(t ? n * (size_t)t->n : 1, sizeof(struct piece)) };
    uintptr_t base = (uintptr_t)buffer + at * extent;

    if (!t) add(&a, base, n * plain);
    for (size_t k = 0; t && k < n; k++)
        for (int i = 0; i < t->n; i++)
            add(&a, base + k * extent + (uintptr_t)t->area.piece[i].at, t->area.piece[i].bytes);
    return a;
}

char *area_pack(const struct area *a)
{
    char *packed = room(a->bytes, 1), *to = packed;

    for (int i = 0; i < a->n; to += a->piece[i++].bytes)
        memcpy(to, a->piece[i].at, a->piece[i].bytes);
    return packed;
}

void area_unpack(const struct area *a, const char *packed)
{
    for (int i = 0; i < a->n; packed += a->piece[i++].bytes)
        memcpy(a->piece[i].at, packed, a->piece[i].bytes);
}

static MPI_Datatype type_new(struct type t)
{
    int i = 0;

    while (i < NTYPE && me.type_used[i])
        i++;
    if (i == NTYPE) HPS_DIE("too many datatypes");
    me.type_used[i] = true;
    me.type[i] = t;
    return (MPI_Datatype)(intptr_t)(i + 1);
}

int MPI_Type_contiguous(int count, MPI_Datatype of, MPI_Datatype *type)
{
    struct area a = area_of(NULL, 0, count, of);

    *type = type_new((struct type){ a.bytes, a.n, a });
    return MPI_SUCCESS;
}

int MPI_Type_indexed(int n, const int *length, const int *at, MPI_Datatype of, MPI_Datatype *type)
{
    struct area all = { .piece = room((size_t)n, sizeof *all.piece) };
    size_t end = 0;

    for (int i = 0; i < n; i++) {
        struct area a = area_of(NULL, (size_t)at[i], length[i], of);
        if (a.n > 1) HPS_DIE("indexed pieces of pieces");
        if (a.n == 1) add(&all, (uintptr_t)a.piece[0].at, a.bytes);
        if (a.n == 1) end = (uintptr_t)a.piece[0].at + a.bytes;
        free(a.piece);
    }
    *type = type_new((struct type){ end, all.n, all });
    return MPI_SUCCESS;
}

int MPI_Type_commit(MPI_Datatype *type)
{
    derived(*type);
    return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype *type)
{
    free(derived(*type)->area.piece);
    me.type_used[(intptr_t)*type - 1] = false;
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

/* ---- messages ---- */

static bool fits(const struct op *a, const struct op *b, int my_rank)
{
    return a->sends != b->sends && a->tag == b->tag && a->peer == my_rank && b->peer == a->member;
}

static void meet(struct op *a, struct op *b)
{
    struct op *in = a->sends ? b : a, *out = a->sends ? a : b;

    if (out->area.bytes > in->area.bytes) HPS_DIE("a message is longer than its receive");
    if (out->area.bytes < in->area.bytes) HPS_DIE("a message is shorter than its receive");
    in->match = out;
    fake_under_way(in, FAKE_DELIVER);
}

/* Meet the first that fits, or wait for one behind all others. */
static void post(struct op *op, struct comm *c, const void *buffer, int count, MPI_Datatype type)
{
    struct op **at = &c->waiting;

    op->member = fake_rank(c);
    op->area = area_of(buffer, 0, count, type);
    if (op->sends) op->eager = (int)(fibers_draw() % 256) < me.of.eager;
    if (op->eager) op->copy = area_pack(&op->area);
    if (op->eager) fake_under_way(op, FAKE_SENT);
    for (int i = 0; i < op->area.n && !op->sends; i++)
        memset(op->area.piece[i].at, 0xa5, op->area.piece[i].bytes);
    while (*at && !fits(*at, op, op->member))
        at = &(*at)->waiting;
    struct op *other = *at;
    if (!other) {
        *at = op;
        return;
    }
    *at = other->waiting;
    meet(other, op);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    struct op *op = fake_op("MPI_Isend");

    op->sends = true;
    op->peer = to;
    op->tag = tag;
    post(op, fake_comm(comm), buffer, count, type);
    return fake_give(op, request);
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    struct op *op = fake_op("MPI_Irecv");

    op->peer = from;
    op->tag = tag;
    post(op, fake_comm(comm), buffer, count, type);
    return fake_give(op, request);
}

/* ---- requests ---- */

static bool is_done(MPI_Request request)
{
    return request == MPI_REQUEST_NULL || op_of(request)->done;
}

static bool are_done(int n, const MPI_Request *request)
{
    for (int i = 0; i < n; i++)
        if (!is_done(request[i])) return false;
    return true;
}

static void take_back(int n, MPI_Request *request)
{
    for (int i = 0; i < n; i++) {
        if (request[i] == MPI_REQUEST_NULL) continue;
        op_of(request[i])->tested = true;
        request[i] = MPI_REQUEST_NULL;
        fibers_moved();
    }
}

int MPI_Testall(int n, MPI_Request *request, int *done, MPI_Status *status)
{
    (void)status;
    fibers_pass();
    *done = are_done(n, request);
    if (*done)
        take_back(n, request);
    else
        fibers_look();
    return MPI_SUCCESS;
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    return MPI_Testall(1, request, done, status);
}

int MPI_Waitall(int n, MPI_Request *request, MPI_Status *status)
{
    (void)status;
    fibers_pass();
    while (!are_done(n, request))
        fibers_sleep();
    take_back(n, request);
    return MPI_SUCCESS;
}

int fake_wait(struct op *op)
{
    while (!op->done)
        fibers_sleep();
    op->tested = true;
    return MPI_SUCCESS;
}

/* ---- a run ---- */

static void begin(int rank, void *arg)
{
    (void)arg;
    me.of.body(rank, (MPI_Comm)(intptr_t)1, me.of.arg);
}

int fake_host(int fiber)
{
    return fiber / me.of.host;
}

static void end_ops(void)
{
    for (struct op *op = me.op, *next; op; op = next) {
        next = op->next;
        if (!op->done || !op->tested)
            HPS_DIE("rank %d did not wait for %s, tag %d", op->owner, op->name, op->tag);
        free(op->area.piece);
        free(op);
    }
    me.op = NULL;
    me.nop = 0;
}

static void end_comms(void)
{
    fake_coll_end_run();
    for (struct comm *c = me.comm, *next; c; c = next) {
        next = c->next;
        if (next && c->nfreed < c->n) HPS_DIE("a communicator of %d ranks was not freed", c->n);
        if (c->waiting) HPS_DIE("a message was not received");
        free(c);
    }
    me.comm = NULL;
    me.ncomm = 0;
}

bool fake_mpi_run(const struct fake_mpi *f)
{
    struct fibers fibers = { f->n, f->seed, begin, NULL, under_way, arrive };
    struct comm *world;

    me.of = *f;
    fake_comm_new(&world);
    world->n = f->n;
    for (int r = 0; r < f->n; r++)
        world->fiber[r] = r;
    if (!fibers_run(&fibers)) return false;
    if (me.nevent > 0) HPS_DIE("%d messages are under way at the end", me.nevent);
    end_comms();
    end_ops();
    return true;
}

void fake_mpi_print(void)
{
    for (const struct op *op = me.op; op; op = op->next)
        if (!op->done)
            fprintf(stderr, "rank %d: %s, peer %d tag %d member %d\n", op->owner, op->name,
                    op->peer, op->tag, op->member);
}
