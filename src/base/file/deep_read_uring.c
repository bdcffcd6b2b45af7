/* deep_read_uring.c - reads by io_uring: one thread has all of them under way. */
#include <errno.h>
#include <liburing.h>
#include <string.h>

#include "base/file/deep_read_impl.h"
#include "base/mem.h"
#include "base/quit.h"

/* Reads under way; and those that are handed on before new ones begin, so that the disk never
 * waits for long. */
enum { DEPTH = 128, FEW = 16 };
/* Reads up to so many bytes have memory that the kernel knows, where it may be locked for that: a
 * quarter of what a read costs a processor is to look memory up. */
enum { KNOWN = 32 << 10 };

struct uring {
    struct io_uring ring;
    struct hps_deep_taken read[DEPTH];      /* that is under way in this slot */
    unsigned char *to[DEPTH];               /* its memory                     */
    unsigned char *known;                   /* (DEPTH, KNOWN)                 */
    bool registered;                        /* the kernel knows it            */
    struct hps_deep_room room[DEPTH];       /* for larger ones                */
    int slot[DEPTH], nslot;                 /* free ones                      */
};

/* May the kernel be asked for reads? Containers and sites forbid it, old kernels lack it. */
static bool reads(struct io_uring *ring)
{
    struct io_uring_probe *probe = io_uring_get_probe_ring(ring);
    bool can = probe && io_uring_opcode_supported(probe, IORING_OP_READ);

    if (probe) io_uring_free_probe(probe);
    return can;
}

static void register_memory(struct uring *u)
{
    u->known = hps_mem_pages((size_t)DEPTH * KNOWN);
    const struct iovec all = { u->known, (size_t)DEPTH * KNOWN };

    u->registered = io_uring_register_buffers(&u->ring, &all, 1) == 0;
}

static bool open_uring(void **context)
{
    struct uring *u = hps_mem_new(1, sizeof *u);

    if (io_uring_queue_init(DEPTH, &u->ring, 0) == 0) {
        if (reads(&u->ring)) {
            register_memory(u);
            *context = u;
            return true;
        }
        io_uring_queue_exit(&u->ring);
    }
    hps_mem_free(u);
    return false;
}

static void close_uring(void *context)
{
    struct uring *u = context;

    io_uring_queue_exit(&u->ring);
    for (int s = 0; s < DEPTH; s++)
        hps_mem_free(u->room[s].at);
    hps_mem_free(u->known);
    hps_mem_free(u);
}

static void begin(struct uring *u, const struct hps_deep_taken *read)
{
    struct io_uring_sqe *e = io_uring_get_sqe(&u->ring);
    int s = u->slot[--u->nslot];
    const struct hps_deep_batch *b = read->batch;
    const size_t bytes = hps_deep_bytes(read);

    if (!e) HPS_DIE("io_uring has no room for %d reads", DEPTH);
    if (bytes > KNOWN) hps_deep_room(&u->room[s], bytes);
    u->to[s] = bytes > KNOWN ? u->room[s].at : u->known + (size_t)s * KNOWN;
    u->read[s] = *read;
    if (u->registered && bytes <= KNOWN)
        io_uring_prep_read_fixed(e, b->fd, u->to[s], (unsigned)bytes, b->at[read->i], 0);
    else
        io_uring_prep_read(e, b->fd, u->to[s], (unsigned)bytes, b->at[read->i]);
    io_uring_sqe_set_data64(e, (uint64_t)s);
}

/* Hand on the read of a slot, which gave `result`. The few that come short are ended here. */
static void hand_on(struct uring *u, int s, int result)
{
    const struct hps_deep_taken *read = &u->read[s];
    int error = result < 0 ? -result : 0;

    if (error == EINTR || error == EAGAIN)
        error = hps_deep_pread(read, u->to[s], 0);
    else if (!error && (size_t)result < hps_deep_bytes(read))
        error = hps_deep_pread(read, u->to[s], (size_t)result);
    read->batch->arrived(read->batch->context, read->i, u->to[s], error);
}

/* Those that have come, at most a few. */
static void reap(struct hps_deep_reader *r, struct uring *u)
{
    struct io_uring_cqe *come[FEW];
    struct hps_deep_taken ended[FEW];
    unsigned n = io_uring_peek_batch_cqe(&u->ring, come, FEW);

    for (unsigned k = 0; k < n; k++) {
        int s = (int)io_uring_cqe_get_data64(come[k]);
        hand_on(u, s, come[k]->res);
        ended[k] = u->read[s];
        u->slot[u->nslot++] = s;
    }
    io_uring_cq_advance(&u->ring, n);
    if (n > 0) hps_deep_end(r, n, ended);
}

static void run(struct hps_deep_reader *r)
{
    struct uring *u = r->context;
    struct hps_deep_taken taken[DEPTH];

    for (u->nslot = 0; u->nslot < DEPTH; u->nslot++)
        u->slot[u->nslot] = u->nslot;
    for (;;) {
        size_t n = hps_deep_take(r, (size_t)u->nslot, u->nslot == DEPTH, taken);
        if (n == 0 && u->nslot == DEPTH) break;
        for (size_t k = 0; k < n; k++)
            begin(u, &taken[k]);
        int rc = io_uring_submit_and_wait(&u->ring, 1);
        if (rc < 0 && rc != -EINTR && rc != -EAGAIN && rc != -EBUSY)
            HPS_DIE("io_uring does not take reads: %s", strerror(-rc));
        reap(r, u);
    }
}

const struct hps_deep_ops hps_deep_uring = {
    .name = "io_uring",
    .nthread = 1,
    .open = open_uring,
    .close = close_uring,
    .run = run,
};
