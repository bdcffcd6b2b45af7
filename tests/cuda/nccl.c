/* nccl.c - see nccl.h beside it. A part of a sum and a message are a file each, whole when it has
 * its name; whoever needs it looks for it when its stream has come so far. */
#include "nccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim.h"

#define MAX_N 16                 /* ranks */
#define PATH 256

struct head {                   /* of a file */
    long n;                     /* floats    */
    int rank, members;
    char card[32];
};

struct hps_shim_comm {
    ncclUniqueId id;
    int n, me;
    long sums, given[MAX_N], taken[MAX_N];        /* so far, of each peer */
};

struct piece {
    enum { SUM, GIVE, TAKE } what;
    ncclComm_t comm;
    float *at;
    size_t n;
    int peer;
    long number;
    bool lost;                  /* it never comes */
};

struct call {                   /* what one group of calls queues */
    cudaStream_t stream;
    int n;
    bool told;                  /* my parts are there */
    struct piece piece[];
};

static char why[PATH] = "";
static ncclResult_t heard = ncclSuccess;
static int depth, grouped;
static struct piece group[4096];
static cudaStream_t group_stream;

/* ---- failures that are asked for ---- */

static long asked(const char *name)
{
    const char *word = getenv("HPS_NCCL_FAIL");
    size_t n = strlen(name);

    if (!word || strncmp(word, name, n) != 0 || (word[n] && word[n] != ':')) return 0;
    return word[n] ? atol(word + n + 1) : 1;
}

static bool fails(const char *name, long *calls)
{
    if (asked(name) == 0 || ++*calls != asked(name)) return false;
    snprintf(why, sizeof why, "it was asked for");
    return true;
}

#define FAILS(name)                                                                                \
    do {                                                                                           \
        static long calls;                                                                         \
        if (fails(name, &calls)) return ncclSystemError;                                           \
    } while (0)

/* ---- files ---- */

static void path_of(const struct piece *p, int from, int to, char *path)
{
    const char *id = p->comm->id.internal;

    if (p->what == SUM)
        snprintf(path, PATH, "%s.s.%ld.%d", id, p->number, from);
    else
        snprintf(path, PATH, "%s.m.%d.%d.%ld", id, from, to, p->number);
}

static void put_file(const char *path, struct head head, const float *x)
{
    char part[PATH + 8];

    snprintf(part, sizeof part, "%s.part", path);
    FILE *f = fopen(part, "w");
    if (!f || fwrite(&head, sizeof head, 1, f) != 1 ||
        fwrite(x, sizeof *x, (size_t)head.n, f) != (size_t)head.n || fclose(f) != 0 ||
        rename(part, path) != 0)
        hps_shim_die("NCCL's stand-in cannot write");
}

/* Its numbers, n of them, to free. */
static float *get_file(const char *path, size_t n)
{
    FILE *f = fopen(path, "r");
    float *x = calloc(n, sizeof *x);
    struct head head;

    if (!f || !x || fread(&head, sizeof head, 1, f) != 1) hps_shim_die("cannot read");
    if ((size_t)head.n != n) hps_shim_die("ranks tell NCCL unequal counts");
    if (fread(x, sizeof *x, n, f) != n) hps_shim_die("cannot read");
    fclose(f);
    return x;
}

static void wait_for(const char *path)
{
    const struct timespec nap = { 0, 200000 };

    for (int i = 0; access(path, R_OK) != 0; i++) {
        if (i > 500000) hps_shim_die("a peer does not come");
        nanosleep(&nap, NULL);
    }
}

/* ---- what a stream does ---- */

static void tell(struct piece *p)
{
    struct head head = { .n = (long)p->n };
    char path[PATH];

    if (p->what == TAKE || p->lost) return;
    path_of(p, p->comm->me, p->peer, path);
    put_file(path, head, p->at);
    if (p->what != SUM || p->number < 2) return;
    struct piece old = { SUM, p->comm, NULL, 0, 0, p->number - 2, false };
    path_of(&old, p->comm->me, 0, path);        /* all that began the last one had this one */
    remove(path);
}

static bool is_there(const struct piece *p)
{
    char path[PATH];

    for (int r = 0; r < p->comm->n; r++) {
        if (p->what == GIVE || (p->what == TAKE && r != p->peer)) continue;
        path_of(p, r, p->comm->me, path);
        if (access(path, R_OK) != 0) return false;
    }
    return true;
}

static bool ready(void *with)
{
    struct call *c = with;

    for (int i = 0; i < c->n && !c->told; i++)
        tell(&c->piece[i]);
    c->told = true;
    for (int i = 0; i < c->n; i++)
        if (!is_there(&c->piece[i])) return false;
    return true;
}

static void sum_up(const struct piece *p)
{
    char path[PATH];

    memset(p->at, 0, p->n * sizeof *p->at);
    for (int r = 0; r < p->comm->n; r++) {
        path_of(p, r, 0, path);
        float *x = get_file(path, p->n);
        for (size_t i = 0; i < p->n; i++)
            p->at[i] += x[i];
        free(x);
    }
}

static void run(void *with)
{
    const struct call *c = with;
    char path[PATH];

    for (int i = 0; i < c->n; i++) {
        const struct piece *p = &c->piece[i];
        if (p->what == SUM) sum_up(p);
        if (p->what != TAKE) continue;
        path_of(p, p->peer, p->comm->me, path);
        float *x = get_file(path, p->n);
        memcpy(p->at, x, p->n * sizeof *x);
        free(x);
        remove(path);
    }
}

/* ---- calls ---- */

ncclResult_t ncclGroupStart(void)
{
    FAILS("ncclGroupStart");
    depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    FAILS("ncclGroupEnd");
    if (depth == 0) hps_shim_die("a group of NCCL calls ends that never began");
    if (--depth > 0 || grouped == 0) return ncclSuccess;
    struct call *c = calloc(1, sizeof *c + (size_t)grouped * sizeof *c->piece);
    if (!c) hps_shim_die("no memory for a group");
    c->stream = group_stream;
    c->n = grouped;
    memcpy(c->piece, group, (size_t)grouped * sizeof *c->piece);
    grouped = 0;
    hps_shim_queue_when(c->stream, ready, run, c, free);
    return ncclSuccess;
}

static void add(struct piece p, cudaStream_t stream)
{
    if (grouped == MAX_N * 256) hps_shim_die("too many calls in a group");
    if (grouped > 0 && stream != group_stream) hps_shim_die("a group on two streams");
    if (!stream) hps_shim_die("NCCL on the stream of who names none");
    hps_shim_expect(p.at, HPS_SHIM_DEVICE);
    group_stream = stream;
    group[grouped++] = p;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t n, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    static long sums;

    FAILS("ncclAllReduce");
    if (from != to || type != ncclFloat32 || op != ncclSum) hps_shim_die("no such sum");
    sums++;
    if (asked("async") == sums) heard = ncclRemoteError;
    depth++;
    add((struct piece){ SUM, comm, to, n, 0, comm->sums++, asked("hang") == sums }, stream);
    return ncclGroupEnd();
}

static void check_message(ncclDataType_t type, int peer, ncclComm_t comm)
{
    if (type != ncclFloat32 || peer < 0 || peer >= comm->n || peer == comm->me)
        hps_shim_die("no such message");
    if (depth == 0) hps_shim_die("a message outside of a group waits for its peer alone");
}

ncclResult_t ncclSend(const void *from, size_t n, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    FAILS("ncclSend");
    check_message(type, peer, comm);
    add((struct piece){ GIVE, comm, (float *)(size_t)from, n, peer, comm->given[peer]++, false },
        stream);
    return ncclSuccess;
}

ncclResult_t ncclRecv(void *to, size_t n, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    FAILS("ncclRecv");
    check_message(type, peer, comm);
    add((struct piece){ TAKE, comm, to, n, peer, comm->taken[peer]++, false }, stream);
    return ncclSuccess;
}

/* ---- communicators ---- */

ncclResult_t ncclGetVersion(int *version)
{
    FAILS("ncclGetVersion");
    *version = 22809;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    static int made;
    const char *folder = getenv("HPS_TMP");

    FAILS("ncclGetUniqueId");
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "%s/nccl.%d.%d", folder ? folder : "/tmp",
             (int)getpid(), made++);
    return ncclSuccess;
}

static struct head meet(const struct hps_shim_comm *c, const char *what, int rank)
{
    struct head head = { .rank = c->me, .members = c->n };
    char path[PATH];
    int device;

    if (cudaGetDevice(&device) || cudaDeviceGetPCIBusId(head.card, sizeof head.card, device))
        hps_shim_die("no device");
    snprintf(path, sizeof path, "%s.%s.%d", c->id.internal, what, rank);
    if (rank == c->me)
        put_file(path, head, NULL);
    else {
        wait_for(path);
        FILE *f = fopen(path, "r");
        if (!f || fread(&head, sizeof head, 1, f) != 1) hps_shim_die("cannot read");
        fclose(f);
    }
    return head;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int n, ncclUniqueId id, int rank)
{
    struct hps_shim_comm *c = calloc(1, sizeof *c);

    FAILS("ncclCommInitRank");
    if (!c || n > MAX_N || rank < 0 || rank >= n) return ncclInvalidArgument;
    c->id = id;
    c->n = n;
    c->me = rank;
    struct head mine = meet(c, "i", rank);
    for (int r = 0; r < n; r++) {
        struct head his = meet(c, "i", r);
        if (his.members != n) return ncclInvalidArgument;
        if (r == rank || strcmp(his.card, mine.card) != 0) continue;
        snprintf(why, sizeof why, "Duplicate GPU detected : rank %d and rank %d both on %s", rank,
                 r, his.card);
        return ncclInvalidUsage;
    }
    *comm = c;
    hps_shim_serve(true);
    return ncclSuccess;
}

static void unlink_all(const struct hps_shim_comm *c, const char *what)
{
    char path[PATH];

    for (int r = 0; r < c->n; r++) {
        snprintf(path, sizeof path, "%s.%s.%d", c->id.internal, what, r);
        remove(path);
    }
}

ncclResult_t ncclCommDestroy(ncclComm_t c)
{
    struct piece old = { SUM, c, NULL, 0, 0, 0, false };
    char path[PATH];

    FAILS("ncclCommDestroy");
    hps_shim_serve(false);
    meet(c, "bye", c->me);
    for (int r = 0; r < c->n; r++)
        meet(c, "bye", r);
    for (old.number = c->sums - 2; old.number < c->sums; old.number++) {
        path_of(&old, c->me, 0, path);
        remove(path);
    }
    meet(c, "gone", c->me);
    for (int r = 0; r < c->n && c->me == 0; r++)
        meet(c, "gone", r);
    if (c->me == 0) {
        unlink_all(c, "i");
        unlink_all(c, "bye");
        unlink_all(c, "gone");
    }
    free(c);
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    (void)comm;
    FAILS("ncclCommGetAsyncError");
    *error = heard;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclInvalidUsage ? "invalid usage"
           : result == ncclRemoteError ? "remote process exited or there was a network error"
                                       : "an error of the stand-in";
}

const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return why;
}
