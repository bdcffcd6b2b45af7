/* exchange_mpi.c - rows and gradients as messages of MPI, through host memory. Who is near gets
 * them in memory that we share, and an empty message when they are there.
 *
 * That is enough for such memory to be free when it is written anew. An owner writes rows where its
 * reader had those of the pull before the last: it got the reader's message of the last pull, which
 * was sent behind the reading. A reader writes gradients when the owner's rows for that step have
 * come, and they left behind the owner's reading of the gradients before.
 *
 * As fp32 rows and gradients are sent and received in place; encoded they lie beside it. */
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/wait.h"
#include "comm/team.h"
#include "ps/exchange/exchange_impl.h"

/* Encoded rows: what leaves, what comes. */
struct coded {
    const struct hps_codec_ops *codec;
    size_t row_bytes;
    MPI_Datatype row;           /* as sent                                                        */
    unsigned char *out, *in;    /* NULL: in place                                                 */
    size_t out_cap, in_cap;
};

struct post {
    struct coded rows;          /* out as in p->out, in as in p->rows                             */
    struct coded grad;          /* out as the first rows of p->grad, in as those behind           */
    size_t *sent_at;            /* (parts) scratch: the next row of `out` to send                 */
    int *cut, *cut_at;          /* (M) scratch: a message's pieces                                */
    MPI_Request *pull;          /* (npull) receives of rows; micro-batch m's begin at pull_at[m]  */
    int *pull_at;               /* (M + 1)                                                       */
    MPI_Request *send;          /* (nsend) rows, then gradients                                  */
    MPI_Request *push;          /* (parts) receives of gradients                                 */
    size_t cut_cap, cut_at_cap, pull_cap, pull_at_cap, send_cap;
    int npull, nsend;
};

static void open_coded(struct coded *c, const struct hps_codec_ops *codec, int dim)
{
    c->codec = codec;
    c->row_bytes = codec->bytes((size_t)dim);
    HPS_MPI(MPI_Type_contiguous((int)c->row_bytes, MPI_BYTE, &c->row));
    HPS_MPI(MPI_Type_commit(&c->row));
}

static void close_coded(struct coded *c)
{
    hps_mem_free(c->out);
    hps_mem_free(c->in);
    HPS_MPI(MPI_Type_free(&c->row));
}

/* Room for so many rows, where they are encoded. */
static void grow_coded(struct coded *c, size_t nout, size_t nin)
{
    if (!hps_codec_converts(c->codec)) return;
    hps_mem_grow(&c->out, &c->out_cap, nout * c->row_bytes, sizeof *c->out);
    hps_mem_grow(&c->in, &c->in_cap, nin * c->row_bytes, sizeof *c->in);
}

/* Where row `first` of x is sent from, or received to. */
static void *sent_at(const struct coded *c, float *x, size_t first)
{
    return (c->out ? c->out : (unsigned char *)x) + first * c->row_bytes;
}

static void *received_at(const struct coded *c, float *x, size_t first)
{
    return (c->in ? c->in : (unsigned char *)x) + first * c->row_bytes;
}

/* Rows [first, first + n) of x, which leave or came. */
static void encode(struct hps_exchange *p, enum hps_message kind, const struct coded *c, float *x,
                   size_t first, size_t n)
{
    size_t dim = (size_t)p->dim;

    if (c->out)
        hps_message_encode(c->codec, n, dim, x + first * dim, sent_at(c, x, first),
                           &p->count[kind]);
}

static void decode(const struct hps_exchange *p, const struct coded *c, float *x, size_t first,
                   size_t n)
{
    size_t dim = (size_t)p->dim;

    if (c->in && n > 0) c->codec->decode(n, dim, received_at(c, x, first), x + first * dim);
}

static void *open_host(struct hps_exchange *p)
{
    struct post *h = hps_mem_new(1, sizeof *h);

    open_coded(&h->rows, p->codec.rows, p->dim);
    open_coded(&h->grad, p->codec.gradients, p->dim);
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
    close_coded(&h->rows);
    close_coded(&h->grad);
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
    grow_coded(&h->rows, p->nremote, (size_t)p->r->nrow);
    grow_coded(&h->grad, (size_t)p->r->nrow, p->nremote);
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
            HPS_MPI(MPI_Irecv(received_at(&h->rows, p->rows.host, (size_t)p->first_of[i]),
                              r->nrecv[i], h->rows.row, q, HPS_TAG_ROWS + m % HPS_TAG_SPAN,
                              p->comm, &h->pull[h->npull++]));
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
    encode(p, HPS_MESSAGE_ROWS, &h->rows, p->out.host, 0, p->nremote);
    for (int q = 0; q < p->parts; q++)
        at[q] = p->remote_first[q];
    for (int m = 0; m < r->M; m++)
        for (int q = 0; q < p->parts; q++) {
            int k = r->nsend[m * p->parts + q];
            if (!hps_exchange_is_remote(p, q) || k == 0) continue;
            HPS_MPI(MPI_Isend(sent_at(&h->rows, p->out.host, at[q]), k, h->rows.row, q,
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
    for (int q = 0; q < p->parts; q++)
        if (hps_exchange_is_remote(p, q))
            decode(p, &h->rows, p->rows.host, (size_t)p->first_of[m * p->parts + q],
                   (size_t)r->nrecv[m * p->parts + q]);
    rows_to_device(p, r->first[m], p->first_of[i]);
    rows_to_device(p, p->first_of[i] + r->nrecv[i], r->first[m + 1]);
}

/* One message to an owner: its rows of all micro-batches, from where they lie. */
static void send_grad(struct hps_exchange *p, int q)
{
    struct post *h = p->context;
    const struct hps_request_step *r = p->r;
    MPI_Datatype pieces;
    int n = 0;

    for (int m = 0; m < r->M; m++) {
        int i = m * p->parts + q;
        if (r->nrecv[i] == 0) continue;
        encode(p, HPS_MESSAGE_GRADIENTS, &h->grad, p->grad.host, (size_t)p->first_of[i],
               (size_t)r->nrecv[i]);
        h->cut[n] = r->nrecv[i];
        h->cut_at[n++] = p->first_of[i];
    }
    if (n == 0) return;
    HPS_MPI(MPI_Type_indexed(n, h->cut, h->cut_at, h->grad.row, &pieces));
    HPS_MPI(MPI_Type_commit(&pieces));
    HPS_MPI(MPI_Isend(sent_at(&h->grad, p->grad.host, 0), 1, pieces, q, HPS_TAG_PUSH, p->comm,
                      &h->send[h->nsend++]));
    HPS_MPI(MPI_Type_free(&pieces));
}

/* Behind those of the rows that I read; NULL: there is no memory, since there are none. */
static float *gradients_of_others(const struct hps_exchange *p)
{
    return p->grad.host ? p->grad.host + (size_t)p->r->nrow * (size_t)p->dim : NULL;
}

static void push(struct hps_exchange *p)
{
    struct post *h = p->context;
    size_t dim = (size_t)p->dim, mine = (size_t)p->r->nrow;
    float *behind = gradients_of_others(p);

    for (int q = 0; q < p->parts; q++)
        if (is_shm_peer(p, q))
            HPS_MPI(MPI_Irecv(NULL, 0, MPI_BYTE, q, HPS_TAG_PUSH, p->comm, &h->push[q]));
        else if (q != p->me && p->sent[q] > 0)
            HPS_MPI(MPI_Irecv(received_at(&h->grad, behind, p->remote_first[q]), p->sent[q],
                              h->grad.row, q, HPS_TAG_PUSH, p->comm, &h->push[q]));
    release_to_peers(p, HPS_TAG_PUSH);
    if (!p->r->cached) hps_mirror_to_host(&p->grad, p->dev, mine * dim);  /* else they are there */
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
    decode(p, &h->grad, gradients_of_others(p), 0, p->nremote);
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
