/* exchange_mpi.c - rows and gradients as messages of MPI, through host memory. Who is near gets
 * them in memory that we share, and an empty message when they are there.
 *
 * That is enough for such memory to be free when it is written anew. An owner writes rows where its
 * reader had those of the pull before the last: it got the reader's message of the last pull, which
 * was sent behind the reading. A reader writes gradients when the owner's rows for that step have
 * come, and they left behind the owner's reading of the gradients before. */
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/wait.h"
#include "comm/team.h"
#include "ps/exchange/exchange_impl.h"

struct post {
    MPI_Datatype row;           /* a row, as sent                                                 */
    size_t *sent_at;            /* (parts) scratch: the next row of `out` to send                 */
    int *cut, *cut_at;          /* (M) scratch: a message's pieces                                */
    MPI_Request *pull;          /* (npull) receives of rows; micro-batch m's begin at pull_at[m]  */
    int *pull_at;               /* (M + 1)                                                       */
    MPI_Request *send;          /* (nsend) rows, then gradients                                  */
    MPI_Request *push;          /* (parts) receives of gradients                                 */
    size_t cut_cap, cut_at_cap, pull_cap, pull_at_cap, send_cap;
    int npull, nsend;
};

static void *open_host(struct hps_exchange *p)
{
    struct post *h = hps_mem_new(1, sizeof *h);

    HPS_MPI(MPI_Type_contiguous((int)p->codec->bytes((size_t)p->dim), MPI_BYTE, &h->row));
    HPS_MPI(MPI_Type_commit(&h->row));
    h->sent_at = hps_mem_new((size_t)p->parts, sizeof *h->sent_at);
    h->push = hps_mem_new((size_t)p->parts, sizeof(MPI_Request));
    for (int q = 0; q < p->parts; q++)
        h->push[q] = MPI_REQUEST_NULL;
    return h;
}

static void wait_sent(struct post *h)
{
    if (h->nsend > 0) hps_wait_all(h->nsend, h->send);
    h->nsend = 0;
}

static void settle(struct hps_exchange *p)
{
    wait_sent(p->context);
}

static void close_host(struct hps_exchange *p)
{
    struct post *h = p->context;

    wait_sent(h);
    hps_mem_free(h->sent_at);
    hps_mem_free(h->cut);
    hps_mem_free(h->cut_at);
    hps_mem_free(h->pull);
    hps_mem_free(h->pull_at);
    hps_mem_free(h->send);
    hps_mem_free(h->push);
    HPS_MPI(MPI_Type_free(&h->row));
    hps_mem_free(h);
}

static void make_room(struct post *h, const struct hps_exchange *p)
{
    size_t M = (size_t)p->r->M, pairs = (M + 1) * (size_t)p->parts;

    hps_mem_grow(&h->pull, &h->pull_cap, pairs, sizeof *h->pull);
    hps_mem_grow(&h->send, &h->send_cap, pairs + (size_t)p->parts, sizeof *h->send);
    hps_mem_grow(&h->pull_at, &h->pull_at_cap, M + 1, sizeof *h->pull_at);
    hps_mem_grow(&h->cut, &h->cut_cap, M, sizeof *h->cut);
    hps_mem_grow(&h->cut_at, &h->cut_at_cap, M, sizeof *h->cut_at);
}

static bool is_shm_peer(const struct hps_exchange *p, int q)
{
    return q != p->me && hps_shm_is(p->shm, q);
}

/* An empty message of this tag tells each member that shares memory: what I wrote for it is
 * there. */
static void release_to_peers(struct hps_exchange *p, int tag)
{
    struct post *h = p->context;

    hps_shm_release();
    for (int q = 0; q < p->parts; q++)
        if (is_shm_peer(p, q))
            HPS_MPI(MPI_Isend(NULL, 0, MPI_BYTE, q, tag, p->comm, &h->send[h->nsend++]));
}

static void post_rows(struct hps_exchange *p)
{
    struct post *h = p->context;
    const struct hps_request_step *r = p->r;

    h->npull = 0;
    for (int m = 0; m < r->M; m++) {
        h->pull_at[m] = h->npull;
        for (int q = 0; q < p->parts; q++) {
            int i = m * p->parts + q;
            if (m == 0 && is_shm_peer(p, q))
                HPS_MPI(MPI_Irecv(NULL, 0, MPI_BYTE, q, HPS_TAG_ROWS, p->comm,
                                  &h->pull[h->npull++]));
            if (!hps_exchange_is_remote(p, q) || r->nrecv[i] == 0) continue;
            HPS_MPI(MPI_Irecv(p->rows.host + (size_t)p->first_of[i] * (size_t)p->dim, r->nrecv[i],
                              h->row, q, HPS_TAG_ROWS + m % HPS_TAG_SPAN, p->comm,
                              &h->pull[h->npull++]));
        }
    }
    h->pull_at[r->M] = h->npull;
}

static void send_rows(struct hps_exchange *p)
{
    struct post *h = p->context;
    const struct hps_request_step *r = p->r;
    size_t dim = (size_t)p->dim, *at = h->sent_at;

    hps_mirror_to_host(&p->out, p->dev, p->nremote * dim);
    for (int q = 0; q < p->parts; q++)
        at[q] = p->remote_first[q];
    for (int m = 0; m < r->M; m++)
        for (int q = 0; q < p->parts; q++) {
            int k = r->nsend[m * p->parts + q];
            if (!hps_exchange_is_remote(p, q) || k == 0) continue;
            HPS_MPI(MPI_Isend(p->out.host + at[q] * dim, k, h->row, q,
                              HPS_TAG_ROWS + m % HPS_TAG_SPAN, p->comm, &h->send[h->nsend++]));
            at[q] += (size_t)k;
        }
}

static void pull(struct hps_exchange *p)
{
    make_room(p->context, p);
    post_rows(p);
    release_to_peers(p, HPS_TAG_ROWS);
    send_rows(p);
}

static void rows_to_device(struct hps_exchange *p, int first, int end)
{
    size_t dim = (size_t)p->dim;
    hps_mirror_to_device(&p->rows, p->dev, (size_t)first * dim, (size_t)(end - first) * dim);
}

static void pulled(struct hps_exchange *p, int m)
{
    struct post *h = p->context;
    const struct hps_request_step *r = p->r;
    int i = m * p->parts + p->me;

    hps_wait_all(h->pull_at[m + 1] - h->pull_at[m], h->pull + h->pull_at[m]);
    hps_shm_acquire();
    rows_to_device(p, r->first[m], p->first_of[i]);
    rows_to_device(p, p->first_of[i] + r->nrecv[i], r->first[m + 1]);
}

/* One message to an owner: its rows of all micro-batches, in place. */
static void send_grad(struct hps_exchange *p, int q)
{
    struct post *h = p->context;
    const struct hps_request_step *r = p->r;
    MPI_Datatype pieces;
    int n = 0;

    for (int m = 0; m < r->M; m++) {
        int i = m * p->parts + q;
        if (r->nrecv[i] == 0) continue;
        h->cut[n] = r->nrecv[i];
        h->cut_at[n++] = p->first_of[i];
    }
    if (n == 0) return;
    HPS_MPI(MPI_Type_indexed(n, h->cut, h->cut_at, h->row, &pieces));
    HPS_MPI(MPI_Type_commit(&pieces));
    HPS_MPI(MPI_Isend(p->grad.host, 1, pieces, q, HPS_TAG_PUSH, p->comm, &h->send[h->nsend++]));
    HPS_MPI(MPI_Type_free(&pieces));
}

static void push(struct hps_exchange *p)
{
    struct post *h = p->context;
    size_t dim = (size_t)p->dim, mine = (size_t)p->r->nrow;

    for (int q = 0; q < p->parts; q++)
        if (is_shm_peer(p, q))
            HPS_MPI(MPI_Irecv(NULL, 0, MPI_BYTE, q, HPS_TAG_PUSH, p->comm, &h->push[q]));
        else if (q != p->me && p->sent[q] > 0)
            HPS_MPI(MPI_Irecv(p->grad.host + (mine + p->remote_first[q]) * dim, p->sent[q], h->row,
                              q, HPS_TAG_PUSH, p->comm, &h->push[q]));
    release_to_peers(p, HPS_TAG_PUSH);
    hps_mirror_to_host(&p->grad, p->dev, mine * dim);
    for (int q = 0; q < p->parts; q++)
        if (hps_exchange_is_remote(p, q)) send_grad(p, q);
}

/* The gradients of a member that shares memory are read where it wrote them. */
static void map_grad(struct hps_exchange *p, int q)
{
    for (int m = 0; m < p->r->M; m++)
        if (p->r->nsend[m * p->parts + q] > 0) hps_exchange_piece(p, q, m, HPS_EXCHANGE_GRAD);
}

static void pushed(struct hps_exchange *p)
{
    struct post *h = p->context;
    size_t dim = (size_t)p->dim;

    hps_wait_all(p->parts, h->push);
    hps_shm_acquire();
    for (int q = 0; q < p->parts; q++)
        if (is_shm_peer(p, q)) map_grad(p, q);
    hps_mirror_to_device(&p->grad, p->dev, (size_t)p->r->nrow * dim, p->nremote * dim);
    wait_sent(h);
}

static bool arrived(struct hps_exchange *p)
{
    struct post *h = p->context;

    return hps_wait_arrived(h->npull, h->pull, false) && hps_wait_arrived(p->parts, h->push, false);
}

static void poll(struct hps_exchange *p)
{
    struct post *h = p->context;
    int done;

    HPS_MPI(MPI_Testall(h->npull, h->pull, &done, MPI_STATUSES_IGNORE));
    HPS_MPI(MPI_Testall(h->nsend, h->send, &done, MPI_STATUSES_IGNORE));
    HPS_MPI(MPI_Testall(p->parts, h->push, &done, MPI_STATUSES_IGNORE));
}

const struct hps_exchange_ops hps_exchange_mpi = { .open = open_host,
                                                   .close = close_host,
                                                   .settle = settle,
                                                   .pull = pull,
                                                   .pulled = pulled,
                                                   .push = push,
                                                   .pushed = pushed,
                                                   .arrived = arrived,
                                                   .poll = poll };
