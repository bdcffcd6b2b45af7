/* shm.c - memory shared by ranks of one host: an unnamed file in memory (memfd) of each member,
 * which the others open through /proc by its owner's process id and descriptor. Each buffer
 * reserves so much of the file's offsets and of address space that it never moves. */
#include "comm/shm.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/env.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/wait.h"
#include "base/world.h"
#include "hw/node.h"

#define GRAIN ((size_t)1 << 16)         /* a multiple of the page size */
#define FIRST ((off_t)1 << 20)          /* of the buffers in the file; before it is the key */

/* What a member sends to the others of its host; plain data. */
struct fact {
    int part;                   /* in comm                                     */
    int pid, fd;                /* fd < 0: it shares nothing                   */
    uint64_t key;               /* in the file, to recognise it                */
};

struct buffer {
    size_t row_bytes;
    off_t at;                   /* its offset in the files                     */
    char *base;                 /* HPS_SHM_MAX_ROWS rows                          */
    size_t *seen;               /* (parts) mapped bytes of each member         */
};

struct hps_shm {
    MPI_Comm host;              /* owned: ranks of the host with peers         */
    int me, parts, fd, n;
    int rows;                   /* capacity of a member: a power of two        */
    struct fact *fact;          /* (parts)                                     */
    int *slot;                  /* (parts) order of members in a buffer; < 0: no peer */
    struct buffer *buffer;      /* (n)                                         */
};

/* Is sharing forbidden: by the user, or by a limit on files, which these are? */
static bool is_forbidden(void)
{
    struct rlimit limit;

    return hps_env_is("HETERPS_SHARED_MEMORY", "0") || getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
           limit.rlim_cur != RLIM_INFINITY;
}

/* Reserve address space for all possible rows, without memory. */
static bool reserve(struct hps_shm *n, const int *dim)
{
    off_t at = FIRST;

    for (int b = 0; b < n->n; b++) {
        struct buffer *x = &n->buffer[b];
        x->row_bytes = (size_t)dim[b] * sizeof(float);
        size_t bytes = HPS_SHM_MAX_ROWS * x->row_bytes;
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void *base = mmap(NULL, bytes, PROT_NONE, flags, -1, 0);
        if (base == MAP_FAILED) return false;
        x->base = base;
        x->at = at;
        at += (off_t)bytes;
    }
    return true;
}

static bool make_file(struct hps_shm *n, uint64_t *key)
{
    n->fd = memfd_create("heterps", MFD_CLOEXEC);
    return n->fd >= 0 && getrandom(key, sizeof *key, GRND_NONBLOCK) == sizeof *key &&
           pwrite(n->fd, key, sizeof *key, 0) == sizeof *key;
}

static struct fact make(struct hps_shm *n, bool may, const int *dim)
{
    struct fact f = { .part = n->me, .pid = (int)getpid(), .fd = -1 };

    if (!may || is_forbidden()) return f;
    if (reserve(n, dim) && make_file(n, &f.key))
        f.fd = n->fd;
    else
        HPS_SAY_ALL(HPS_WARN, "this rank shares no memory with the others of %s: %s; it sends them "
                              "messages", hps_host(), strerror(errno));
    return f;
}

static int open_of(const struct fact *f)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", f->pid, f->fd);
    return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

/* Is this the right file, by its key? */
static bool reach(const struct fact *f)
{
    int fd = f->fd < 0 ? -1 : open_of(f);
    uint64_t key;

    if (fd < 0) return false;
    bool same = pread(fd, &key, sizeof key, 0) == sizeof key && key == f->key;
    close(fd);
    return same;
}

/* Which ranks of the host can map each other's files? Returns the number of peers, with this
 * rank. */
static int find_peers(struct hps_shm *n, const struct fact *mine, MPI_Comm host)
{
    int k, me, slots = 1;

    HPS_MPI(MPI_Comm_size(host, &k));
    HPS_MPI(MPI_Comm_rank(host, &me));
    struct fact *fact = hps_mem_new((size_t)k, sizeof *fact);
    int *can = hps_mem_new((size_t)k, sizeof *can), *could = hps_mem_new((size_t)k, sizeof *could);
    HPS_MPI(MPI_Allgather(mine, (int)sizeof *mine, MPI_BYTE, fact, (int)sizeof *mine, MPI_BYTE,
                          host));
    for (int i = 0; i < k; i++)
        can[i] = i != me && mine->fd >= 0 && reach(&fact[i]);
    HPS_MPI(MPI_Alltoall(can, 1, MPI_INT, could, 1, MPI_INT, host));
    for (int i = 0; i < k; i++) {
        n->fact[fact[i].part] = fact[i];
        if (can[i] && could[i]) n->slot[fact[i].part] = slots++;
    }
    hps_mem_free(fact);
    hps_mem_free(can);
    hps_mem_free(could);
    return slots;
}

/* The capacity of a member: as if all ranks of the host were peers. */
static int share_out(MPI_Comm host)
{
    int k, rows = HPS_SHM_MAX_ROWS;

    HPS_MPI(MPI_Comm_size(host, &k));
    while ((long long)rows * k > HPS_SHM_MAX_ROWS)
        rows /= 2;
    return rows;
}

/* The ranks of comm on this host, in groups of HETERPS_SHARED_RANKS where the first rank has
 * that. */
static MPI_Comm host_of(MPI_Comm comm)
{
    MPI_Comm host = hps_node_host(comm), some;
    int n = hps_env_count("HETERPS_SHARED_RANKS"), me;

    if (comm == MPI_COMM_NULL) return host;
    HPS_MPI(MPI_Bcast(&n, 1, MPI_INT, 0, host));
    if (n == 0) return host;
    HPS_MPI(MPI_Comm_rank(host, &me));
    HPS_MPI(MPI_Comm_split(host, me / n, 0, &some));
    HPS_MPI(MPI_Comm_free(&host));
    return some;
}

/* No rank may leave while others may still open its file. */
static void part(MPI_Comm *host)
{
    MPI_Request request;

    if (*host == MPI_COMM_NULL) return;
    HPS_MPI(MPI_Ibarrier(*host, &request));
    hps_wait_all(1, &request);
    HPS_MPI(MPI_Comm_free(host));
}

struct hps_shm *hps_shm_new(bool may, int nbuffer, const int *dim, MPI_Comm comm)
{
    MPI_Comm host = host_of(comm);
    int k;

    if (comm == MPI_COMM_NULL) return NULL;
    struct hps_shm *n = hps_mem_new(1, sizeof *n);
    HPS_MPI(MPI_Comm_rank(comm, &n->me));
    HPS_MPI(MPI_Comm_size(comm, &n->parts));
    n->fd = -1;
    n->n = nbuffer;
    n->fact = hps_mem_new((size_t)n->parts, sizeof *n->fact);
    n->slot = hps_mem_new((size_t)n->parts, sizeof *n->slot);
    n->buffer = hps_mem_new((size_t)nbuffer, sizeof *n->buffer);
    for (int b = 0; b < nbuffer; b++)
        n->buffer[b].seen = hps_mem_new((size_t)n->parts, sizeof(size_t));
    for (int q = 0; q < n->parts; q++)
        n->slot[q] = q == n->me ? 0 : -1;
    HPS_MPI(MPI_Comm_size(host, &k));
    struct fact mine = make(n, may && k > 1, dim);
    int slots = find_peers(n, &mine, host);
    n->rows = share_out(host);
    HPS_MPI(MPI_Comm_split(host, slots > 1 ? 0 : MPI_UNDEFINED, n->me, &n->host));
    HPS_MPI(MPI_Comm_free(&host));
    if (slots > 1) return n;
    hps_shm_free(n);
    return NULL;
}

void hps_shm_free(struct hps_shm *n)
{
    if (!n) return;
    part(&n->host);
    for (int b = 0; b < n->n; b++) {
        struct buffer *x = &n->buffer[b];
        if (x->base && munmap(x->base, HPS_SHM_MAX_ROWS * x->row_bytes) != 0)
            HPS_DIE("munmap of %zu bytes failed", HPS_SHM_MAX_ROWS * x->row_bytes);
        hps_mem_free(x->seen);
    }
    if (n->fd >= 0) close(n->fd);
    hps_mem_free(n->buffer);
    hps_mem_free(n->slot);
    hps_mem_free(n->fact);
    hps_mem_free(n);
}

bool hps_shm_is(const struct hps_shm *n, int q)
{
    return n && n->slot[q] >= 0;
}

int hps_shm_first(const struct hps_shm *n, int q)
{
    assert(hps_shm_is(n, q));
    return n->slot[q] * n->rows;
}

size_t hps_shm_rows(const struct hps_shm *n)
{
    return (size_t)n->rows;
}

/* This never shortens the file, which another member may have extended. */
static void lengthen(struct hps_shm *n, int q, struct buffer *x, size_t bytes)
{
    size_t max = (size_t)n->rows * x->row_bytes, had = x->seen[q];
    size_t want = hps_mem_room(had, bytes);
    char *base = x->base + (size_t)n->slot[q] * max;
    int fd = q == n->me ? n->fd : open_of(&n->fact[q]);

    if (fd < 0)
        hps_die_late(__FILE__, __LINE__, "memory of process %d, which shares it, cannot be opened: "
                     "%s", n->fact[q].pid, strerror(errno));
    if (bytes > max)
        HPS_DIE("more than %d rows in one step of one rank; with HETERPS_SHARED_MEMORY=0 it can "
                "work with more", n->rows);
    want = (want / GRAIN + 1) * GRAIN;
    if (want > max) want = max;
    int bad = posix_fallocate(fd, x->at, (off_t)want);
    void *at = bad ? MAP_FAILED
                   : mmap(base + had, want - had, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                          fd, x->at + (off_t)had);
    if (at == MAP_FAILED) HPS_DIE("no memory for %zu bytes that ranks of this host share", want);
    madvise(at, want - had, MADV_HUGEPAGE);     /* a hint: a failure does not matter */
    if (q != n->me) close(fd);
    x->seen[q] = want;
}

float *hps_shm_at(struct hps_shm *n, int q, int b, size_t rows)
{
    struct buffer *x = &n->buffer[b];
    size_t bytes = rows * x->row_bytes;

    assert(0 <= b && b < n->n);
    if (bytes > x->seen[q]) lengthen(n, q, x, bytes);
    return (float *)(void *)(x->base + (size_t)hps_shm_first(n, q) * x->row_bytes);
}

void hps_shm_release(void)
{
    atomic_thread_fence(memory_order_release);
}

void hps_shm_acquire(void)
{
    atomic_thread_fence(memory_order_acquire);
}
