/* bad_mpi.c - an MPI that is unlucky, to be preloaded: it stands between a program and its library
 * and counts calls, delays them, or ends a rank at one of them.
 *
 * A call is the program's own, or that of a library which it uses (HDF5), by the place to which it
 * returns; the two are counted apart, from 1 on. A look at a request that finds nothing done is no
 * call: their number is never twice the same. What is asked for is in the environment:
 *
 *   BAD_MPI_LOG=PREFIX          each rank writes PREFIX.RANK as it ends: a line "own|lib N NAME"
 *                               for each of its calls
 *   BAD_MPI_END=RANK:WHO:N:HOW  the rank does not survive call N of WHO (own, lib, any): HOW is
 *                               kill, abort, exit (with 0, without MPI_Finalize), stop (the whole
 *                               process, as by SIGSTOP) or sleep (this thread alone, for ever)
 *   BAD_MPI_MARK=FILE           is written before that: a line "WHO N NAME"
 *   BAD_MPI_DELAY=SEED          some calls begin later, some looks find nothing though it is there:
 *                               by chance, a function of the seed, the rank and the call */
#include <link.h>
#include <mpi.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum who { OWN, LIB, ANY };
static const char *const who_name[] = { "own", "lib", "any" };

static struct {
    uintptr_t first, end;               /* of the program in memory                           */
    int rank;
    FILE *log;
    bool delays;
    uint64_t seed;
    long long at;                       /* the call that this rank does not survive; 0: none  */
    enum who of;
    char how[16];
} me;
static atomic_llong calls[3], looks;

/* ---- what is asked for ---- */

/* The program comes first in the list of what is loaded. */
static int place(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    me.first = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD) continue;
        if (at < me.first) me.first = at;
        if (at + p->p_memsz > me.end) me.end = at + p->p_memsz;
    }
    return 1;
}

/* As the launcher has numbered it: also before MPI has started; -1: this is no rank. */
static int rank_of(void)
{
    static const char *const key[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID" };

    for (size_t i = 0; i < sizeof key / sizeof *key; i++)
        if (getenv(key[i])) return atoi(getenv(key[i]));
    return -1;
}

static void read_end(const char *text)
{
    char who[8];
    int rank;
    long long n;

    if (sscanf(text, "%d:%7[a-z]:%lld:%15[a-z]", &rank, who, &n, me.how) != 4) {
        fprintf(stderr, "BAD_MPI_END=%s is not RANK:WHO:N:HOW\n", text);
        _exit(99);
    }
    for (int w = OWN; w <= ANY; w++)
        if (strcmp(who, who_name[w]) == 0) me.of = (enum who)w;
    if (rank == me.rank) me.at = n;
}

__attribute__((constructor)) static void begin(void)
{
    const char *log = getenv("BAD_MPI_LOG"), *end = getenv("BAD_MPI_END");
    const char *seed = getenv("BAD_MPI_DELAY");
    char path[4096];

    me.rank = rank_of();
    dl_iterate_phdr(place, NULL);
    if (me.rank < 0) return;
    if (seed) me.seed = strtoull(seed, NULL, 10);
    me.delays = seed != NULL;
    if (end) read_end(end);
    snprintf(path, sizeof path, "%s.%d", log ? log : "", me.rank);
    if (log) me.log = fopen(path, "w");
}

__attribute__((destructor)) static void end(void)
{
    if (me.log) fclose(me.log);
}

/* ---- how a rank ends ---- */

static void mark(enum who who, long long n, const char *name)
{
    const char *path = getenv("BAD_MPI_MARK");
    FILE *f = path ? fopen(path, "w") : NULL;

    if (!f) return;
    fprintf(f, "%s %lld %s\n", who_name[who], n, name);
    fclose(f);
}

static void end_by(const char *how)
{
    if (strcmp(how, "kill") == 0) raise(SIGKILL);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "exit") == 0) _exit(0);
    if (strcmp(how, "stop") == 0) raise(SIGSTOP);
    if (strcmp(how, "sleep") == 0)
        for (;;)
            pause();
}

/* ---- chance ---- */

static uint64_t chance(uint64_t what, uint64_t n)
{
    uint64_t x = me.seed * 0x9E3779B97F4A7C15U + (uint64_t)me.rank * 0xD1B54A32D192ED03U +
                 what * 0x8CB92BA72F3D8DD7U + n * 0xAEF17502108EF2D9U;

    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
}

/* One call in eight is up to a millisecond late, one in 128 up to 16; with every third seed four or
 * 16 times that. */
static void delay(long long n)
{
    static const long times[] = { 1, 4, 16 };
    uint64_t x = chance(1, (uint64_t)n);
    long most_ns = (x % 128 == 0 ? 16000000 : x % 8 == 0 ? 1000000 : 0) * times[me.seed % 3];
    struct timespec t = { 0, most_ns ? (long)((x >> 16) % (uint64_t)most_ns) : 0 };

    if (most_ns) nanosleep(&t, NULL);
}

/* A look that finds nothing: one in two. */
static bool overlooks(void)
{
    return me.delays && chance(2, (uint64_t)++looks) % 2;
}

/* ---- a call ---- */

static enum who who_calls(const void *back)
{
    uintptr_t at = (uintptr_t)back;
    return me.first <= at && at < me.end ? OWN : LIB;
}

static void count(const void *back, const char *name)
{
    enum who who = who_calls(back);
    long long n = ++calls[who], all = ++calls[ANY];

    if (me.log) fprintf(me.log, "%s %lld %s\n", who_name[who], n, name);
    if (me.at > 0 && me.at == (me.of == ANY ? all : n) && (me.of == ANY || me.of == who)) {
        mark(who, n, name);
        end_by(me.how);
    }
    if (me.delays) delay(all);
}

#define BACK __builtin_extract_return_addr(__builtin_return_address(0))
#define CALL(name, parameters, ...) \
    int MPI_##name parameters       \
    {                               \
        count(BACK, "MPI_" #name);  \
        return PMPI_##name(__VA_ARGS__); \
    }
/* It is counted once it has found something that was `open`. */
#define LOOK(name, open, found, parameters, ...)               \
    int MPI_##name parameters                                  \
    {                                                          \
        bool waits = open;                                     \
        *(found) = 0;                                          \
        if (waits && overlooks()) return MPI_SUCCESS;          \
        int rc = PMPI_##name(__VA_ARGS__);                     \
        if (waits && *(found)) count(BACK, "MPI_" #name);      \
        return rc;                                             \
    }

static bool any_open(int n, const MPI_Request r[])
{
    while (n > 0 && r[n - 1] == MPI_REQUEST_NULL)
        n--;
    return n > 0;
}

#define BUF const void *b, int n, MPI_Datatype t
#define INTO void *to, int m, MPI_Datatype u

CALL(Init_thread, (int *argc, char ***argv, int want, int *got), argc, argv, want, got)
int MPI_Finalize(void)
{
    count(BACK, "MPI_Finalize");
    return PMPI_Finalize();
}
CALL(Abort, (MPI_Comm c, int code), c, code)
CALL(Comm_dup, (MPI_Comm c, MPI_Comm *to), c, to)
CALL(Comm_free, (MPI_Comm *c), c)
CALL(Comm_split, (MPI_Comm c, int color, int key, MPI_Comm *to), c, color, key, to)
CALL(Comm_split_type, (MPI_Comm c, int type, int key, MPI_Info info, MPI_Comm *to), c, type, key,
     info, to)
CALL(Comm_create_group, (MPI_Comm c, MPI_Group g, int tag, MPI_Comm *to), c, g, tag, to)

CALL(Send, (BUF, int to, int tag, MPI_Comm c), b, n, t, to, tag, c)
CALL(Recv, (INTO, int from, int tag, MPI_Comm c, MPI_Status *s), to, m, u, from, tag, c, s)
CALL(Isend, (BUF, int to, int tag, MPI_Comm c, MPI_Request *r), b, n, t, to, tag, c, r)
CALL(Irecv, (INTO, int from, int tag, MPI_Comm c, MPI_Request *r), to, m, u, from, tag, c, r)
CALL(Mprobe, (int from, int tag, MPI_Comm c, MPI_Message *x, MPI_Status *s), from, tag, c, x, s)
CALL(Imrecv, (INTO, MPI_Message *x, MPI_Request *r), to, m, u, x, r)
CALL(Wait, (MPI_Request *r, MPI_Status *s), r, s)
int MPI_Waitall(int n, MPI_Request r[], MPI_Status s[])
{
    if (any_open(n, r)) count(BACK, "MPI_Waitall");
    return PMPI_Waitall(n, r, s);
}
LOOK(Test, any_open(1, r), done, (MPI_Request *r, int *done, MPI_Status *s), r, done, s)
LOOK(Testall, any_open(n, r), done, (int n, MPI_Request r[], int *done, MPI_Status s[]), n, r, done,
     s)
LOOK(Iprobe, true, found, (int from, int tag, MPI_Comm c, int *found, MPI_Status *s), from, tag,
     c, found, s)

CALL(Barrier, (MPI_Comm c), c)
CALL(Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), b, n, t, root, c)
CALL(Gather, (BUF, INTO, int root, MPI_Comm c), b, n, t, to, m, u, root, c)
CALL(Gatherv, (BUF, void *to, const int k[], const int at[], MPI_Datatype u, int root, MPI_Comm c),
     b, n, t, to, k, at, u, root, c)
CALL(Scatterv, (const void *b, const int k[], const int at[], MPI_Datatype t, INTO, int root,
                MPI_Comm c), b, k, at, t, to, m, u, root, c)
CALL(Allgather, (BUF, INTO, MPI_Comm c), b, n, t, to, m, u, c)
CALL(Allgatherv, (BUF, void *to, const int k[], const int at[], MPI_Datatype u, MPI_Comm c), b, n,
     t, to, k, at, u, c)
CALL(Alltoall, (BUF, INTO, MPI_Comm c), b, n, t, to, m, u, c)
CALL(Alltoallv, (const void *b, const int n[], const int from[], MPI_Datatype t, void *to,
                 const int k[], const int at[], MPI_Datatype u, MPI_Comm c),
     b, n, from, t, to, k, at, u, c)
CALL(Reduce, (const void *b, void *to, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c), b,
     to, n, t, op, root, c)
CALL(Allreduce, (const void *b, void *to, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), b, to, n,
     t, op, c)
CALL(Scan, (const void *b, void *to, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), b, to, n, t,
     op, c)
CALL(Ibarrier, (MPI_Comm c, MPI_Request *r), c, r)
CALL(Iallgather, (BUF, INTO, MPI_Comm c, MPI_Request *r), b, n, t, to, m, u, c, r)
CALL(Iallgatherv, (BUF, void *to, const int k[], const int at[], MPI_Datatype u, MPI_Comm c,
                   MPI_Request *r), b, n, t, to, k, at, u, c, r)
CALL(Ialltoall, (BUF, INTO, MPI_Comm c, MPI_Request *r), b, n, t, to, m, u, c, r)
CALL(Ialltoallv, (const void *b, const int n[], const int from[], MPI_Datatype t, void *to,
                  const int k[], const int at[], MPI_Datatype u, MPI_Comm c, MPI_Request *r),
     b, n, from, t, to, k, at, u, c, r)
CALL(Iallreduce, (const void *b, void *to, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c,
                  MPI_Request *r), b, to, n, t, op, c, r)

CALL(File_open, (MPI_Comm c, const char *path, int mode, MPI_Info info, MPI_File *f), c, path,
     mode, info, f)
CALL(File_close, (MPI_File *f), f)
CALL(File_set_size, (MPI_File f, MPI_Offset size), f, size)
CALL(File_set_view, (MPI_File f, MPI_Offset at, MPI_Datatype e, MPI_Datatype t, const char *rep,
                     MPI_Info info), f, at, e, t, rep, info)
CALL(File_sync, (MPI_File f), f)
CALL(File_read_at, (MPI_File f, MPI_Offset at, INTO, MPI_Status *s), f, at, to, m, u, s)
CALL(File_read_at_all, (MPI_File f, MPI_Offset at, INTO, MPI_Status *s), f, at, to, m, u, s)
CALL(File_write_at, (MPI_File f, MPI_Offset at, BUF, MPI_Status *s), f, at, b, n, t, s)
CALL(File_write_at_all, (MPI_File f, MPI_Offset at, BUF, MPI_Status *s), f, at, b, n, t, s)
