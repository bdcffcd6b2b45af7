/* dense_messages.c - shares of dense weights from servers to the ranks of a worker, gradients back.
 * A server sends copies, since it applies other workers' gradients while they travel. */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/mpi_check.h"
#include "base/wait.h"
#include "ps/dense_impl.h"

enum kind { PULL, PUSH };

/* Host memory of the weights (or gradients) of a rank's stage. */
static float *host_of(const struct hps_dense *d, int part, enum kind kind)
{
    const struct hps_slice *s = d->stage[part];
    size_t at = part > 0 && !s->dev->host ? d->stage[0]->nparam : 0;

    if (s->dev->host) return kind == PULL ? s->param : s->grad;
    return (kind == PULL ? d->out : d->in) + at;
}

/* Where a piece's numbers lie here. */
static float *memory_of(const struct hps_dense *d, const struct hps_dense_piece *x, enum kind kind)
{
    size_t at = kind == PULL ? x->first : x->push;

    if (!d->weights) return host_of(d, x->part, kind) + at;
    return (kind == PULL ? d->out : d->in) + (x->at + at - x->first);
}

/* n numbers of a buffer of server `peer`, the first ones. */
static float *shared(struct hps_dense *d, int peer, int buffer, size_t n)
{
    return hps_shm_at(d->shm, peer, buffer, (n + HPS_DENSE_ROW - 1) / HPS_DENSE_ROW);
}

/* Where a rank finds a piece's numbers at the server. */
static float *shared_piece(struct hps_dense *d, const struct hps_dense_piece *x, enum kind kind)
{
    size_t at = kind == PULL ? x->at : x->at + (x->push - x->first);
    size_t n = kind == PULL ? x->end - x->first : x->push_end - x->push;

    return shared(d, x->peer, kind == PULL ? d->slot : HPS_DENSE_IN, at + n) + at;
}

static void send(struct hps_dense *d, const void *from, size_t n, MPI_Datatype type, int peer,
                 int tag)
{
    assert(n <= INT_MAX);
    HPS_MPI(MPI_Isend(from, (int)n, type, peer, tag, d->comm, &d->request[d->nrequest++]));
    size_t bytes = type == MPI_BYTE ? 1 : type == MPI_FLOAT ? sizeof(float) : sizeof(double);
    d->bytes += (double)(n * bytes);
}

static void receive(struct hps_dense *d, void *to, size_t n, MPI_Datatype type, int peer, int tag)
{
    assert(n <= INT_MAX);
    HPS_MPI(MPI_Irecv(to, (int)n, type, peer, tag, d->comm, &d->request[d->nrequest++]));
}

/* The gradients of a piece. */
static void move_coded(struct hps_dense *d, const struct hps_dense_piece *x)
{
    size_t n = x->push_end - x->push, bytes = d->codec->bytes(n);

    if (n == 0) return;
    if (d->weights) {
        receive(d, x->code, bytes, MPI_BYTE, x->peer, x->tag);
        return;
    }
    hps_message_encode(d->codec, 1, n, memory_of(d, x, PUSH), x->code, &d->count);
    hps_message_sent(d->codec, 1, n, &d->count);
    send(d, x->code, bytes, MPI_BYTE, x->peer, x->tag);
}

/* A rank reads the weights where the server wrote them, and writes its gradients there; empty
 * messages say that they are there, and, in a pull, that the rank has read those of the pull
 * before: the server may write over them in the next one. */
static void move_shared(struct hps_dense *d, const struct hps_dense_piece *x, enum kind kind)
{
    size_t n = kind == PULL ? x->end - x->first : x->push_end - x->push;
    bool sends = (kind == PULL) == (d->weights != NULL);
    int read = x->part * HPS_DENSE_NTAG + HPS_DENSE_READ;

    if (n == 0) return;
    if (kind == PUSH && sends)
        memcpy(shared_piece(d, x, PUSH), memory_of(d, x, PUSH), n * sizeof(float));
    hps_shm_release();
    if (sends) send(d, NULL, 0, MPI_FLOAT, x->peer, x->tag);
    if (sends) d->bytes += (double)(n * sizeof(float));
    if (!sends) receive(d, NULL, 0, MPI_FLOAT, x->peer, x->tag);
    if (kind == PULL && sends) receive(d, NULL, 0, MPI_FLOAT, x->peer, read);
    if (kind == PULL && !sends) send(d, NULL, 0, MPI_FLOAT, x->peer, read);
}

static void move(struct hps_dense *d, enum kind kind)
{
    bool sends = (kind == PULL) == (d->weights != NULL);

    for (const struct hps_dense_piece *x = d->piece; x < d->piece + d->npiece; x++) {
        if (x->shared || (kind == PUSH && x->code)) {
            x->shared ? move_shared(d, x, kind) : move_coded(d, x);
            continue;
        }
        float *at = memory_of(d, x, kind);
        size_t n = kind == PULL ? x->end - x->first : x->push_end - x->push;
        if (n > 0 && sends) send(d, at, n, MPI_FLOAT, x->peer, x->tag);
        if (n > 0 && !sends) receive(d, at, n, MPI_FLOAT, x->peer, x->tag);
    }
    for (struct hps_dense_states *x = d->states; x < d->states + d->nstates; x++) {
        void *at = kind == PULL ? (void *)x->value : (void *)x->pair;
        size_t n = kind == PULL ? x->n : 2 * x->n;
        MPI_Datatype type = kind == PULL ? MPI_FLOAT : MPI_DOUBLE;
        if (kind == PUSH && !x->pushes) continue;
        if (sends) send(d, at, n, type, x->peer, x->tag);
        if (!sends) receive(d, at, n, type, x->peer, x->tag);
    }
}

static void settle(struct hps_dense *d)
{
    hps_wait_all(d->nrequest, d->request);
    d->nrequest = 0;
}

void hps_dense_pull_begin(struct hps_dense *d)
{
    settle(d);
    d->slot = d->slot == HPS_DENSE_OUT ? HPS_DENSE_OUT_TOO : HPS_DENSE_OUT;
    if (d->weights) {
        const struct hps_dense_weights *w = d->weights;
        if (d->shm) d->out = shared(d, w->me, d->slot, w->end - w->first);
        memcpy(d->out, w->slice->param + w->first, (w->end - w->first) * sizeof *d->out);
        for (struct hps_dense_states *x = d->states; x < d->states + d->nstates; x++)
            memcpy(x->value, w->slice->running + x->base, x->n * sizeof *x->value);
        d->version = w->version;
    }
    for (int i = 0; i < HPS_MY_STAGES && d->stage[i]; i++)
        d->stage[i]->dev->ops->sync(d->stage[i]->dev);
    move(d, PULL);
}

/* The pulled weights and running states of a rank's stage are the device's. */
static void take_weights(struct hps_dense *d, int part)
{
    struct hps_slice *s = d->stage[part];

    if (!s->dev->host)
        s->dev->ops->copy_to_device(s->dev, s->param, host_of(d, part, PULL),
                                    s->nparam * sizeof(float));
    for (int i = 0; i < d->nstates; i++)
        if (d->states[i].part == part)
            s->dev->ops->copy_to_device(s->dev, s->running, d->states[i].value,
                                        d->states[i].n * sizeof(float));
    for (int l = s->first; l <= s->last; l++)
        hps_slice_pack(s, l);
}

void hps_dense_pull_end(struct hps_dense *d)
{
    if (d->weights) return;
    settle(d);
    hps_shm_acquire();
    for (const struct hps_dense_piece *x = d->piece; x < d->piece + d->npiece; x++)
        if (x->shared)
            memcpy(memory_of(d, x, PULL), shared_piece(d, x, PULL),
                   (x->end - x->first) * sizeof(float));
    for (int i = 0; i < HPS_MY_STAGES && d->stage[i]; i++)
        take_weights(d, i);
}

void hps_dense_push_begin(struct hps_dense *d, double *const *running)
{
    settle(d);
    if (d->weights && d->shm)
        d->in = shared(d, d->weights->me, HPS_DENSE_IN, d->weights->end - d->weights->first);
    for (int i = 0; i < HPS_MY_STAGES && d->stage[i]; i++) {
        struct hps_slice *s = d->stage[i];
        s->dev->ops->sync(s->dev);
        if (!s->dev->host)
            s->dev->ops->copy_to_host(s->dev, host_of(d, i, PUSH), s->grad,
                                      s->nparam * sizeof(float));
    }
    for (struct hps_dense_states *x = d->states; x < d->states + d->nstates && !d->weights; x++)
        if (x->pushes) memcpy(x->pair, running[x->part], 2 * x->n * sizeof *x->pair);
    move(d, PUSH);
    d->coded = d->weights && hps_codec_converts(d->codec);
}

void hps_dense_push_end(struct hps_dense *d)
{
    if (d->weights) return;
    settle(d);
    for (int i = 0; i < HPS_MY_STAGES && d->stage[i]; i++) {
        struct hps_slice *s = d->stage[i];
        s->dev->ops->zero(s->dev, s->grad, s->nparam * sizeof(float));
    }
}

/* ---- at a server ---- */

bool hps_dense_arrived(struct hps_dense *d)
{
    if (!hps_wait_arrived(d->nrequest, d->request, false)) return false;
    hps_shm_acquire();
    for (const struct hps_dense_piece *x = d->piece; x < d->piece + d->npiece && d->coded; x++)
        if (x->code && x->push_end > x->push)
            d->codec->decode(1, x->push_end - x->push, x->code, memory_of(d, x, PUSH));
    d->coded = false;
    return true;
}

double hps_dense_norm2(const struct hps_dense *d)
{
    const struct hps_dense_weights *w = d->weights;
    double sum = 0;

    assert(!d->coded);
    w->slice->dev->ops->dense->norm2(w->slice->dev, w->end - w->first, d->in, &sum);
    return sum;
}

long long hps_dense_staleness(const struct hps_dense *d)
{
    return d->weights->version - d->version;
}

void hps_dense_hold(struct hps_dense *d, float scale)
{
    struct hps_dense_weights *w = d->weights;
    struct hps_slice *s = w->slice;
    size_t n = w->end - w->first;
    float *grad = s->grad + w->first;

    assert(!d->coded);
    for (size_t i = 0; i < n; i++)
        grad[i] = (w->held > 0 ? grad[i] : 0) + scale * d->in[i];
    w->held++;
    for (const struct hps_dense_states *x = d->states; x < d->states + d->nstates; x++)
        for (size_t i = 0; i < x->n && x->pushes; i++)
            s->running[x->base + i] =
                (float)(x->pair[i] * s->running[x->base + i] + x->pair[x->n + i]);
}

void hps_dense_apply_held(struct hps_dense_weights *w, struct hps_update update)
{
    hps_slice_update_share(w->slice, w->first, w->end, update);
    w->slice->dev->ops->sync(w->slice->dev);
    w->version += w->held;
    w->held = 0;
}

double hps_dense_bytes(const struct hps_dense *d)
{
    return d->bytes;
}

const struct hps_message_count *hps_dense_count(const struct hps_dense *d)
{
    return &d->count;
}
