/* exchange_nccl.c - rows and gradients from GPU to GPU. The rows of all micro-batches are on their
 * way from the start of the step, each micro-batch's with an event of its own: work on one begins
 * when its rows are there, whatever else still travels. */
#include "base/mem.h"
#include "ps/exchange/exchange_impl.h"

struct post {
    struct hps_nccl_message *out, *in;    /* (nout), (nin) of the next exchange */
    size_t out_cap, in_cap;
    int nout, nin;
    size_t *sent_at;                    /* (parts) the next row of `out` */
    struct hps_event **came;             /* (M) rows of each micro-batch */
    size_t came_cap;
    int ncame;
};

static void *open_nccl(struct hps_exchange *p)
{
    struct post *c = hps_mem_new(1, sizeof *c);

    c->sent_at = hps_mem_new((size_t)p->parts, sizeof *c->sent_at);
    return c;
}

static void settle(struct hps_exchange *p)
{
    p->dev->ops->stream_wait(p->dev, HPS_STREAM_COMPUTE, HPS_STREAM_PEERS);
}

static void close_nccl(struct hps_exchange *p)
{
    struct post *c = p->context;

    settle(p);
    p->dev->ops->sync(p->dev);
    for (int m = 0; m < c->ncame; m++)
        p->dev->ops->event_free(p->dev, c->came[m]);
    hps_mem_free(c->came);
    hps_mem_free(c->sent_at);
    hps_mem_free(c->out);
    hps_mem_free(c->in);
    hps_mem_free(c);
}

static void make_room(struct post *c, const struct hps_exchange *p)
{
    size_t pairs = (size_t)p->r->M * (size_t)p->parts;

    hps_mem_grow(&c->out, &c->out_cap, pairs, sizeof *c->out);
    hps_mem_grow(&c->in, &c->in_cap, pairs, sizeof *c->in);
    hps_mem_grow(&c->came, &c->came_cap, (size_t)p->r->M, sizeof *c->came);
    while (c->ncame < p->r->M)
        c->came[c->ncame++] = p->dev->ops->event_new(p->dev);
}

static void add(struct hps_nccl_message *message, int *n, const struct hps_exchange *p, int q,
                float *base, size_t row, int rows)
{
    size_t dim = (size_t)p->dim;

    if (rows > 0) hps_nccl_add(message, n, q, base + row * dim, (size_t)rows * dim);
}

static void tell(struct hps_exchange *p)
{
    struct post *c = p->context;

    p->gpus->ops->exchange(p->gpus->group, c->nout, c->out, c->nin, c->in);
    c->nout = c->nin = 0;
}

static void pull(struct hps_exchange *p)
{
    struct post *c = p->context;
    const struct hps_request_step *r = p->r;
    size_t *at = c->sent_at;

    make_room(c, p);
    for (int q = 0; q < p->parts; q++)
        at[q] = p->remote_first[q];
    p->dev->ops->stream_wait(p->dev, HPS_STREAM_PEERS, HPS_STREAM_COMPUTE);
    for (int m = 0; m < r->M; m++) {
        for (int q = 0; q < p->parts; q++) {
            int i = m * p->parts + q;
            if (q == p->me) continue;
            add(c->out, &c->nout, p, q, p->out.device, at[q], r->nsend[i]);
            add(c->in, &c->nin, p, q, p->rows.device, (size_t)p->first_of[i], r->nrecv[i]);
            at[q] += (size_t)r->nsend[i];
        }
        tell(p);
        p->dev->ops->event_record(p->dev, c->came[m], HPS_STREAM_PEERS);
    }
}

static void pulled(struct hps_exchange *p, int m)
{
    const struct post *c = p->context;
    p->dev->ops->stream_wait_event(p->dev, HPS_STREAM_COMPUTE, c->came[m]);
}

/* An owner receives the gradients of a member in the pieces in which they are sent: by
 * micro-batch. */
static void push(struct hps_exchange *p)
{
    struct post *c = p->context;
    const struct hps_request_step *r = p->r;

    for (int q = 0; q < p->parts; q++) {
        size_t at = (size_t)r->nrow + p->remote_first[q];
        for (int m = 0; m < r->M && q != p->me; m++) {
            int i = m * p->parts + q;
            add(c->out, &c->nout, p, q, p->grad.device, (size_t)p->first_of[i], r->nrecv[i]);
            add(c->in, &c->nin, p, q, p->grad.device, at, r->nsend[i]);
            at += (size_t)r->nsend[i];
        }
    }
    p->dev->ops->stream_wait(p->dev, HPS_STREAM_PEERS, HPS_STREAM_COMPUTE);
    tell(p);
}

static void poll(struct hps_exchange *p)
{
    p->gpus->ops->check_error(p->gpus->group);
}

const struct hps_exchange_ops hps_exchange_nccl = { .open = open_nccl,
                                                    .close = close_nccl,
                                                    .settle = settle,
                                                    .pull = pull,
                                                    .pulled = pulled,
                                                    .push = push,
                                                    .pushed = settle,
                                                    .poll = poll };
