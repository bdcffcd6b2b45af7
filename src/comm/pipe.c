/* pipe.c - for each overlap of shares a header and the rows behind it, straight from and to where
 * they lie: rows in one piece can be fetched by the receiver while the sender computes, which a
 * datatype of two blocks cannot.
 *
 * On a device that is no host, what is sent is held back until the device has made it, and copied
 * it to the host where MPI cannot read it there; what is received, until the device has read what
 * was there before. Held messages go on their way in every look (base/progress.h). */
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
#include "hw/codec.h"

struct head {
    long long step, m;
    int from, first, rows, width;       /* from: the stage that sends          */
};

/* A header and its rows under way. */
struct parcel {
    MPI_Request request[2];     /* of the header, of the rows                  */
    float *at;
    int peer;                   /* world rank                                  */
    struct head head;           /* travels                                     */
    struct head due;            /* what a received one must say                */
};

/* Messages that are not under way, or are held back, or travel, or have come and not been waited
 * for. */
enum state { IDLE, HELD, TRAVELS, HERE };

struct flight {
    enum state state;
    bool in;                    /* is received                                 */
    int m, n;                   /* the micro-batch; its parcels                */
    struct parcel *parcel;      /* (most)                                      */
    float *copy;                /* (rows, width) pinned; NULL: not needed      */
    float *to;                  /* device memory that waits for `copy`          */
    size_t floats;
    struct hps_event *free;      /* the device has done with what is overwritten */
    struct hps_event *ready;     /* what is sent has been made; copied in        */
};

struct hps_pipe {
    const struct hps_team *team;
    struct hps_dev *dev;
    int side, other;            /* the other side's stage                      */
    int from[2];                /* the stage that sends, a way                 */
    int turn;                   /* of the stage before the boundary            */
    bool direct;                /* MPI reads and writes the device's memory    */
    int width[2], flights, rows;
    int most;                   /* messages of a flight, at most               */
    MPI_Datatype row[2];
    struct flight *flight[2];   /* (flights) a way                             */
    const struct hps_codec_ops *codec;          /* in which activations and gradients travel */
    double bytes;
};

static int tag_of(const struct hps_pipe *p, int m, enum hps_way way)
{
    return HPS_TAG_PIPE + (m % HPS_TAG_SPAN * 2 + (int)way) * 2 + p->turn;
}

/* ---- a flight goes on its way ---- */

static void send_parcels(struct hps_pipe *p, enum hps_way way, struct flight *fl)
{
    for (int i = 0; i < fl->n; i++) {
        struct parcel *c = &fl->parcel[i];
        c->head = c->due;
        HPS_MPI(MPI_Isend(&c->head, sizeof c->head, MPI_BYTE, c->peer, tag_of(p, fl->m, way),
                          p->team->world, &c->request[0]));
        HPS_MPI(MPI_Isend(c->at, c->head.rows, p->row[way], c->peer, tag_of(p, fl->m, way),
                          p->team->world, &c->request[1]));
    }
}

static void receive_parcels(struct hps_pipe *p, enum hps_way way, struct flight *fl)
{
    for (int i = 0; i < fl->n; i++) {
        struct parcel *c = &fl->parcel[i];
        c->head = (struct head){ .m = -1 };
        HPS_MPI(MPI_Irecv(&c->head, sizeof c->head, MPI_BYTE, c->peer, tag_of(p, fl->m, way),
                          p->team->world, &c->request[0]));
        HPS_MPI(MPI_Irecv(c->at, c->due.rows, p->row[way], c->peer, tag_of(p, fl->m, way),
                          p->team->world, &c->request[1]));
    }
}

/* What must be reached before MPI may have its memory. */
static struct hps_event *awaited(const struct hps_pipe *p, const struct flight *fl)
{
    return fl->in && p->direct ? fl->free : fl->ready;
}

static void go(struct hps_pipe *p, enum hps_way way, struct flight *fl)
{
    assert(fl->state == HELD);
    if (fl->in)
        receive_parcels(p, way, fl);
    else
        send_parcels(p, way, fl);
    fl->state = TRAVELS;
}

/* On a host nothing is waited for. */
static void hold(struct hps_pipe *p, enum hps_way way, struct flight *fl)
{
    fl->state = HELD;
    if (p->dev->host || p->dev->ops->event_done(p->dev, awaited(p, fl))) go(p, way, fl);
}

static void look(void *pipe)
{
    struct hps_pipe *p = pipe;

    for (int way = 0; way < 2; way++)
        for (int f = 0; f < p->flights; f++) {
            struct flight *fl = &p->flight[way][f];
            if (fl->state == HELD && p->dev->ops->event_done(p->dev, awaited(p, fl)))
                go(p, (enum hps_way)way, fl);
        }
}

static void check(const struct parcel *c)
{
    const struct head *h = &c->head, *d = &c->due;

    if (memcmp(h, d, sizeof *h) == 0) return;
    HPS_DIE("rank %d got from rank %d: step %lld micro-batch %lld stage %d rows %d+%d width %d; "
            "due: step %lld micro-batch %lld stage %d rows %d+%d width %d", hps_rank(), c->peer,
            h->step, h->m, h->from, h->first, h->rows, h->width, d->step, d->m, d->from, d->first,
            d->rows, d->width);
}

/* All parcels have come: on to the device, behind what reads there what was before. */
static void take_in(struct hps_pipe *p, struct flight *fl)
{
    for (int i = 0; i < fl->n; i++)
        check(&fl->parcel[i]);
    if (fl->copy) {
        p->dev->ops->stream_wait_event(p->dev, HPS_STREAM_RECV, fl->free);
        p->dev->ops->copy_to_device_async(p->dev, HPS_STREAM_RECV, fl->to, fl->copy,
                                          fl->floats * sizeof *fl->copy);
        p->dev->ops->event_record(p->dev, fl->ready, HPS_STREAM_RECV);
    }
    fl->state = HERE;
}

/* Wait until the flight's messages are through. */
static void finish(struct hps_pipe *p, enum hps_way way, struct flight *fl)
{
    if (fl->state == HELD) {
        hps_dev_wait(p->dev, awaited(p, fl));
        if (fl->state == HELD)                          /* else it left while we waited */
            go(p, way, fl);
    }
    for (int i = 0; i < fl->n && fl->state == TRAVELS; i++)
        hps_wait_all(2, fl->parcel[i].request);
}

/* ---- making ---- */

static void open_way(struct hps_pipe *p, enum hps_way way)
{
    size_t floats = (size_t)p->rows * (size_t)p->width[way];

    int bytes = (int)p->codec->bytes((size_t)p->width[way]);

    HPS_MPI(MPI_Type_contiguous(bytes, MPI_BYTE, &p->row[way]));
    HPS_MPI(MPI_Type_commit(&p->row[way]));
    p->flight[way] = hps_mem_new((size_t)p->flights, sizeof *p->flight[way]);
    for (int f = 0; f < p->flights; f++) {
        struct flight *fl = &p->flight[way][f];
        fl->parcel = hps_mem_new((size_t)p->most, sizeof *fl->parcel);
        for (int i = 0; i < p->most; i++) {
            fl->parcel[i].request[0] = MPI_REQUEST_NULL;
            fl->parcel[i].request[1] = MPI_REQUEST_NULL;
        }
        fl->free = p->dev->ops->event_new(p->dev);
        fl->ready = p->dev->ops->event_new(p->dev);
        if (!p->dev->host && !p->direct)
            fl->copy = p->dev->ops->pin(p->dev, floats * sizeof *fl->copy);
    }
}

static void close_way(struct hps_pipe *p, enum hps_way way)
{
    for (int f = 0; f < p->flights; f++) {
        struct flight *fl = &p->flight[way][f];
        assert(fl->n == 0);
        hps_dev_wait(p->dev, fl->ready);
        p->dev->ops->event_free(p->dev, fl->free);
        p->dev->ops->event_free(p->dev, fl->ready);
        p->dev->ops->unpin(p->dev, fl->copy);
        hps_mem_free(fl->parcel);
    }
    hps_mem_free(p->flight[way]);
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
    assert(p->other >= 0 && p->other < team->S && hps_team_works(team, stage));
    p->from[HPS_WAY_FORWARD] = side == 1 ? stage : p->other;
    p->from[HPS_WAY_BACKWARD] = side == 1 ? p->other : stage;
    p->turn = hps_team_turn(team, p->from[HPS_WAY_FORWARD]);
    p->codec = hps_codec_find("fp32");
    memcpy(p->width, opt->width, sizeof p->width);
    p->flights = opt->flights;
    p->rows = opt->rows;
    p->direct = !dev->host && hps_cuda_aware();
    p->most = p->rows < team->count[p->other] ? p->rows : team->count[p->other];
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

/* The messages of a micro-batch: my share cut by the shares of the other side. Returns my rows. */
static int cut(struct hps_pipe *p, enum hps_way way, struct flight *fl, struct head head, int n,
               float *buf)
{
    const struct hps_team *t = p->team;
    int k = t->count[p->other];
    long long first = hps_share(n, t->nparts, t->my_part);
    long long end = hps_share(n, t->nparts, t->my_part + 1);
    int q = n > 0 ? (int)(first * k / n) : 0;           /* its share begins at or before mine */

    assert(end - first <= p->rows);
    fl->n = 0;
    for (long long at = first; at < end; q++) {
        long long stop = hps_share(n, k, q + 1) < end ? hps_share(n, k, q + 1) : end;
        if (stop <= at) continue;
        struct parcel *c = &fl->parcel[fl->n++];
        head.first = (int)at;
        head.rows = (int)(stop - at);
        c->peer = t->rank[p->other][q];
        c->due = head;
        c->at = buf + (size_t)(at - first) * (size_t)p->width[way];
        at = stop;
    }
    return (int)(end - first);
}

static struct flight *prepare(struct hps_pipe *p, enum hps_way way, int flight)
{
    assert(flight >= 0 && flight < p->flights);
    struct flight *fl = &p->flight[way][flight];
    assert(fl->n == 0);                                 /* the one before was waited for */
    return fl;
}

void hps_pipe_send(struct hps_pipe *p, enum hps_way way, int flight, long long step, int m, int n,
                   const float *buf)
{
    struct flight *fl = prepare(p, way, flight);
    struct head head = { step, m, p->from[way], 0, 0, p->width[way] };

    assert(p->side == (way == HPS_WAY_FORWARD ? 1 : -1));
    if (p->width[way] == 0) return;
    float *from;
    memcpy(&from, &buf, sizeof from);                   /* what is sent is only read */
    size_t floats = (size_t)cut(p, way, fl, head, n, fl->copy ? fl->copy : from)
                    * (size_t)p->width[way];
    if (fl->n == 0) return;
    fl->m = m;
    fl->in = false;
    if (fl->copy) {
        p->dev->ops->stream_wait(p->dev, HPS_STREAM_SEND, HPS_STREAM_COMPUTE);
        p->dev->ops->copy_to_host_async(p->dev, HPS_STREAM_SEND, fl->copy, buf,
                                        floats * sizeof *buf);
    }
    if (!p->dev->host)
        p->dev->ops->event_record(p->dev, fl->ready,
                                  fl->copy ? HPS_STREAM_SEND : HPS_STREAM_COMPUTE);
    hold(p, way, fl);
    p->bytes += (double)(p->codec->bytes(floats) + (size_t)fl->n * sizeof head);
}

void hps_pipe_sent(struct hps_pipe *p, enum hps_way way, int flight)
{
    struct flight *fl = &p->flight[way][flight];

    finish(p, way, fl);
    fl->state = IDLE;
    fl->n = 0;
}

void hps_pipe_recv(struct hps_pipe *p, enum hps_way way, int flight, long long step, int m, int n,
                   float *buf)
{
    struct flight *fl = prepare(p, way, flight);
    struct head head = { step, m, p->from[way], 0, 0, p->width[way] };

    assert(p->side == (way == HPS_WAY_FORWARD ? -1 : 1));
    if (p->width[way] == 0) return;
    fl->floats = (size_t)cut(p, way, fl, head, n, fl->copy ? fl->copy : buf)
                 * (size_t)p->width[way];
    if (fl->n == 0) return;
    fl->to = buf;
    fl->m = m;
    fl->in = true;
    if (!p->dev->host) p->dev->ops->event_record(p->dev, fl->free, HPS_STREAM_COMPUTE);
    hold(p, way, fl);
}

void hps_pipe_wait(struct hps_pipe *p, enum hps_way way, int flight)
{
    struct flight *fl = &p->flight[way][flight];

    finish(p, way, fl);
    if (fl->state == TRAVELS) take_in(p, fl);
    if (fl->state == HERE && fl->copy)
        p->dev->ops->stream_wait_event(p->dev, HPS_STREAM_COMPUTE, fl->ready);
    fl->state = IDLE;
    fl->n = 0;
}

static void poll_flight(struct hps_pipe *p, struct flight *fl)
{
    int done, all = 1;

    for (int i = 0; i < fl->n; i++) {
        HPS_MPI(MPI_Testall(2, fl->parcel[i].request, &done, MPI_STATUSES_IGNORE));
        all &= done;
    }
    if (all && fl->in && fl->copy) take_in(p, fl);
}

void hps_pipe_poll(struct hps_pipe *p)
{
    if (!p->dev->host) look(p);
    for (int way = 0; way < 2; way++)
        for (int f = 0; f < p->flights; f++)
            if (p->flight[way][f].state == TRAVELS) poll_flight(p, &p->flight[way][f]);
}

double hps_pipe_bytes(const struct hps_pipe *p)
{
    return p->bytes;
}
