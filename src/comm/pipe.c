/* pipe.c - messages between stages: for each overlap of shares a header, followed by the rows, in
 * place on both sides. For contiguous rows MPI can let the receiver fetch them while the sender
 * computes, which it could not with a datatype of two blocks.
 *
 * On a GPU a send is held until the device has computed its rows and, where MPI cannot read
 * device memory, copied them to the host; a receive is held until the device has read the old
 * content of the buffer. The progress engine (base/progress.h) starts held messages. Rows are
 * encoded and decoded by the host: those of a GPU go through its memory. */
#include "comm/pipe.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/progress.h"
#include "base/quit.h"
#include "base/wait.h"
#include "base/world.h"
#include "comm/cuda_aware.h"
#include "data/data.h"

struct head {
    long long step, m;
    int from, first, rows, width;       /* from: the stage that sends          */
};

/* A header and its rows under way. */
struct message {
    MPI_Request request[2];     /* of the header, of the rows                  */
    void *at;                   /* its rows, as sent                           */
    int peer;                   /* world rank                                  */
    struct head head;           /* sent or received                            */
    struct head due;            /* the expected one                            */
};

/* The state of a slot's messages: none; held until the device is ready; under way; arrived, and not
 * waited for yet. */
enum state { IDLE, HELD, TRAVELS, HERE };

struct slot {
    enum state state;
    bool in;                    /* is received                                */
    int m, n;                   /* the micro-batch; how many messages         */
    struct message *message;    /* (max_message)                              */
    float *copy;                /* (rows, width) pinned; NULL: not needed      */
    unsigned char *code;        /* (rows, row_bytes) encoded; NULL: as fp32    */
    const float *from;          /* to encode: host memory                     */
    float *to;                  /* the device's memory to receive to          */
    size_t nrow;                /* of this rank's share                       */
    struct hps_event *free;     /* the device has read the old content        */
    struct hps_event *ready;    /* rows to send were computed; copied in      */
};

struct hps_pipe {
    const struct hps_team *team;
    struct hps_dev *dev;
    int side, other;            /* the other side's stage                      */
    int from[2];                /* the sending stage, by hps_way               */
    int part;                   /* hps_team_part of the stage before the boundary */
    bool direct;                /* MPI reads and writes the device's memory    */
    int width[2], nslot, rows;
    size_t row_bytes[2];        /* of a row as sent                            */
    int max_message;            /* upper bound of the messages of a slot       */
    MPI_Datatype row[2];
    struct slot *slot[2];       /* (nslot) in each direction                   */
    const struct hps_codec_ops *codec;      /* of activations and gradients    */
    double bytes;
    struct hps_message_count count;
};

static int tag_of(const struct hps_pipe *p, int m, enum hps_way way)
{
    return HPS_TAG_PIPE + (m % HPS_TAG_SPAN * 2 + (int)way) * 2 + p->part;
}

/* ---- messages of a slot ---- */

static void send_messages(struct hps_pipe *p, enum hps_way way, struct slot *s)
{
    if (s->code)
        hps_message_encode(p->codec, s->nrow, (size_t)p->width[way], s->from, s->code, &p->count);
    for (int i = 0; i < s->n; i++) {
        struct message *c = &s->message[i];
        c->head = c->due;
        HPS_MPI(MPI_Isend(&c->head, sizeof c->head, MPI_BYTE, c->peer, tag_of(p, s->m, way),
                          p->team->world, &c->request[0]));
        HPS_MPI(MPI_Isend(c->at, c->head.rows, p->row[way], c->peer, tag_of(p, s->m, way),
                          p->team->world, &c->request[1]));
    }
}

static void receive_messages(struct hps_pipe *p, enum hps_way way, struct slot *s)
{
    for (int i = 0; i < s->n; i++) {
        struct message *c = &s->message[i];
        c->head = (struct head){ .m = -1 };
        HPS_MPI(MPI_Irecv(&c->head, sizeof c->head, MPI_BYTE, c->peer, tag_of(p, s->m, way),
                          p->team->world, &c->request[0]));
        HPS_MPI(MPI_Irecv(c->at, c->due.rows, p->row[way], c->peer, tag_of(p, s->m, way),
                          p->team->world, &c->request[1]));
    }
}

/* The event after which MPI may use the slot's memory. */
static struct hps_event *awaited(const struct hps_pipe *p, const struct slot *s)
{
    return s->in && p->direct ? s->free : s->ready;
}

static void go(struct hps_pipe *p, enum hps_way way, struct slot *s)
{
    assert(s->state == HELD);
    if (s->in)
        receive_messages(p, way, s);
    else
        send_messages(p, way, s);
    s->state = TRAVELS;
}

/* Start the slot's messages now where the device is ready (a host always is), else later. */
static void hold(struct hps_pipe *p, enum hps_way way, struct slot *s)
{
    s->state = HELD;
    if (p->dev->host || p->dev->ops->event_done(p->dev, awaited(p, s))) go(p, way, s);
}

static void look(void *pipe)
{
    struct hps_pipe *p = pipe;

    for (int way = 0; way < 2; way++)
        for (int f = 0; f < p->nslot; f++) {
            struct slot *s = &p->slot[way][f];
            if (s->state == HELD && p->dev->ops->event_done(p->dev, awaited(p, s)))
                go(p, (enum hps_way)way, s);
        }
}

static void check(const struct message *c)
{
    const struct head *h = &c->head, *d = &c->due;

    if (memcmp(h, d, sizeof *h) == 0) return;
    HPS_DIE("rank %d got from rank %d: step %lld micro-batch %lld stage %d rows %d+%d width %d; "
            "due: step %lld micro-batch %lld stage %d rows %d+%d width %d", hps_rank(), c->peer,
            h->step, h->m, h->from, h->first, h->rows, h->width, d->step, d->m, d->from, d->first,
            d->rows, d->width);
}

/* All messages have arrived: decode them, and copy them to the device, after kernels that read the
 * old content. */
static void take_in(struct hps_pipe *p, enum hps_way way, struct slot *s)
{
    size_t width = (size_t)p->width[way];

    for (int i = 0; i < s->n; i++)
        check(&s->message[i]);
    if (s->code) p->codec->decode(s->nrow, width, s->code, s->copy ? s->copy : s->to);
    if (s->copy) {
        p->dev->ops->stream_wait_event(p->dev, HPS_STREAM_RECV, s->free);
        p->dev->ops->copy_to_device_async(p->dev, HPS_STREAM_RECV, s->to, s->copy,
                                          s->nrow * width * sizeof *s->copy);
        p->dev->ops->event_record(p->dev, s->ready, HPS_STREAM_RECV);
    }
    s->state = HERE;
}

/* Wait until the slot's messages are complete. */
static void finish(struct hps_pipe *p, enum hps_way way, struct slot *s)
{
    if (s->state == HELD) {
        hps_dev_wait(p->dev, awaited(p, s));
        if (s->state == HELD)                          /* else it was started while waiting */
            go(p, way, s);
    }
    for (int i = 0; i < s->n && s->state == TRAVELS; i++)
        hps_wait_all(2, s->message[i].request);
}

/* ---- making ---- */

static void open_way(struct hps_pipe *p, enum hps_way way)
{
    size_t floats = (size_t)p->rows * (size_t)p->width[way];

    p->row_bytes[way] = p->codec->bytes((size_t)p->width[way]);
    HPS_MPI(MPI_Type_contiguous((int)p->row_bytes[way], MPI_BYTE, &p->row[way]));
    HPS_MPI(MPI_Type_commit(&p->row[way]));
    p->slot[way] = hps_mem_new((size_t)p->nslot, sizeof *p->slot[way]);
    for (int f = 0; f < p->nslot; f++) {
        struct slot *s = &p->slot[way][f];
        s->message = hps_mem_new((size_t)p->max_message, sizeof *s->message);
        for (int i = 0; i < p->max_message; i++) {
            s->message[i].request[0] = MPI_REQUEST_NULL;
            s->message[i].request[1] = MPI_REQUEST_NULL;
        }
        s->free = p->dev->ops->event_new(p->dev);
        s->ready = p->dev->ops->event_new(p->dev);
        if (!p->dev->host && !p->direct)
            s->copy = p->dev->ops->pin(p->dev, floats * sizeof *s->copy);
        if (hps_codec_converts(p->codec))
            s->code = hps_mem_new((size_t)p->rows * p->row_bytes[way], sizeof *s->code);
    }
}

static void close_way(struct hps_pipe *p, enum hps_way way)
{
    for (int f = 0; f < p->nslot; f++) {
        struct slot *s = &p->slot[way][f];
        assert(s->n == 0);
        hps_dev_wait(p->dev, s->ready);
        p->dev->ops->event_free(p->dev, s->free);
        p->dev->ops->event_free(p->dev, s->ready);
        p->dev->ops->unpin(p->dev, s->copy);
        hps_mem_free(s->code);
        hps_mem_free(s->message);
    }
    hps_mem_free(p->slot[way]);
    HPS_MPI(MPI_Type_free(&p->row[way]));
}

enum hps_status hps_pipe_new(struct hps_pipe **pipe, const struct hps_team *team,
                             struct hps_dev *dev, const struct hps_pipe_opt *opt)
{
    struct hps_pipe *p = hps_mem_new(1, sizeof *p);
    int stage = opt->stage, side = opt->side;

    assert(side == 1 || side == -1);
    p->team = team;
    p->dev = dev;
    p->side = side;
    p->other = stage + side;
    assert(p->other >= 0 && p->other < team->S && hps_team_has_stage(team, stage));
    p->from[HPS_WAY_FORWARD] = side == 1 ? stage : p->other;
    p->from[HPS_WAY_BACKWARD] = side == 1 ? p->other : stage;
    p->part = hps_team_part(team, p->from[HPS_WAY_FORWARD]);
    p->codec = opt->codec;
    memcpy(p->width, opt->width, sizeof p->width);
    p->nslot = opt->nslot;
    p->rows = opt->rows;
    p->direct = !dev->host && hps_cuda_aware() && !hps_codec_converts(p->codec);
    int k = hps_team_nreplica(team, p->other);
    p->max_message = p->rows < k ? p->rows : k;
    open_way(p, HPS_WAY_FORWARD);
    open_way(p, HPS_WAY_BACKWARD);
    if (!dev->host) hps_progress_add(look, p);
    *pipe = p;
    return HPS_OK;
}

void hps_pipe_free(struct hps_pipe *p)
{
    if (!p) return;
    if (!p->dev->host) hps_progress_drop(look, p);
    close_way(p, HPS_WAY_FORWARD);
    close_way(p, HPS_WAY_BACKWARD);
    hps_mem_free(p);
}

/* Make the messages of a micro-batch: this rank's share, which MPI sends from or receives to
 * `memory`, divided by those of the other side. */
static void cut(struct hps_pipe *p, enum hps_way way, struct slot *s, struct head head, int n,
                void *memory)
{
    const struct hps_team *t = p->team;
    int k = hps_team_nreplica(t, p->other);
    long long first = hps_share(n, t->nreplica, t->my_replica);
    long long end = hps_share(n, t->nreplica, t->my_replica + 1);
    int q = n > 0 ? (int)(first * k / n) : 0;           /* its share begins at or before this one */

    assert(end - first <= p->rows);
    s->n = 0;
    for (long long at = first; at < end; q++) {
        long long stop = hps_share(n, k, q + 1) < end ? hps_share(n, k, q + 1) : end;
        if (stop <= at) continue;
        struct message *c = &s->message[s->n++];
        head.first = (int)at;
        head.rows = (int)(stop - at);
        c->peer = hps_team_replicas(t, p->other)[q];
        c->due = head;
        c->at = (unsigned char *)memory + (size_t)(at - first) * p->row_bytes[way];
        at = stop;
    }
    s->nrow = (size_t)(end - first);
}

/* What MPI reads or writes for a slot: buf itself, or what stands in for it. */
static void *memory_of(const struct slot *s, void *buf)
{
    return s->code ? (void *)s->code : s->copy ? (void *)s->copy : buf;
}

static struct slot *prepare(struct hps_pipe *p, enum hps_way way, int slot)
{
    assert(slot >= 0 && slot < p->nslot);
    struct slot *s = &p->slot[way][slot];
    assert(s->n == 0);                                 /* the slot is free */
    return s;
}

void hps_pipe_send(struct hps_pipe *p, enum hps_way way, int slot, long long step, int m, int n,
                   const float *buf)
{
    struct slot *s = prepare(p, way, slot);
    struct head head = { step, m, p->from[way], 0, 0, p->width[way] };

    assert(p->side == (way == HPS_WAY_FORWARD ? 1 : -1));
    if (p->width[way] == 0) return;
    float *from;
    memcpy(&from, &buf, sizeof from);                   /* a send does not write */
    cut(p, way, s, head, n, memory_of(s, from));
    if (s->n == 0) return;
    s->m = m;
    s->in = false;
    s->from = s->copy ? s->copy : buf;
    if (s->copy) {
        p->dev->ops->stream_wait(p->dev, HPS_STREAM_SEND, HPS_STREAM_COMPUTE);
        p->dev->ops->copy_to_host_async(p->dev, HPS_STREAM_SEND, s->copy, buf,
                                        s->nrow * (size_t)p->width[way] * sizeof *buf);
    }
    if (!p->dev->host)
        p->dev->ops->event_record(p->dev, s->ready,
                                  s->copy ? HPS_STREAM_SEND : HPS_STREAM_COMPUTE);
    hold(p, way, s);
    p->bytes += (double)(s->nrow * p->row_bytes[way] + (size_t)s->n * sizeof head);
    hps_message_sent(p->codec, (double)s->nrow, (size_t)p->width[way], &p->count);
}

void hps_pipe_sent(struct hps_pipe *p, enum hps_way way, int slot)
{
    struct slot *s = &p->slot[way][slot];

    finish(p, way, s);
    s->state = IDLE;
    s->n = 0;
}

void hps_pipe_recv(struct hps_pipe *p, enum hps_way way, int slot, long long step, int m, int n,
                   float *buf)
{
    struct slot *s = prepare(p, way, slot);
    struct head head = { step, m, p->from[way], 0, 0, p->width[way] };

    assert(p->side == (way == HPS_WAY_FORWARD ? -1 : 1));
    if (p->width[way] == 0) return;
    cut(p, way, s, head, n, memory_of(s, buf));
    if (s->n == 0) return;
    s->to = buf;
    s->m = m;
    s->in = true;
    if (!p->dev->host) p->dev->ops->event_record(p->dev, s->free, HPS_STREAM_COMPUTE);
    hold(p, way, s);
}

void hps_pipe_wait(struct hps_pipe *p, enum hps_way way, int slot)
{
    struct slot *s = &p->slot[way][slot];

    finish(p, way, s);
    if (s->state == TRAVELS) take_in(p, way, s);
    if (s->state == HERE && s->copy)
        p->dev->ops->stream_wait_event(p->dev, HPS_STREAM_COMPUTE, s->ready);
    s->state = IDLE;
    s->n = 0;
}

static void poll_slot(struct hps_pipe *p, enum hps_way way, struct slot *s)
{
    int done, all = 1;

    for (int i = 0; i < s->n; i++) {
        HPS_MPI(MPI_Testall(2, s->message[i].request, &done, MPI_STATUSES_IGNORE));
        all &= done;
    }
    if (all && s->in && (s->copy || s->code)) take_in(p, way, s);
}

void hps_pipe_poll(struct hps_pipe *p)
{
    if (!p->dev->host) look(p);
    for (enum hps_way way = HPS_WAY_FORWARD; way <= HPS_WAY_BACKWARD; way++)
        for (int f = 0; f < p->nslot; f++)
            if (p->slot[way][f].state == TRAVELS) poll_slot(p, way, &p->slot[way][f]);
}

double hps_pipe_bytes(const struct hps_pipe *p)
{
    return p->bytes;
}

const struct hps_message_count *hps_pipe_count(const struct hps_pipe *p)
{
    return &p->count;
}
