/* dense.c - shares of dense weights from servers to the ranks of a worker, gradients back. A server
 * sends copies, since it applies other workers' gradients while they travel. */
#include "ps/dense.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/wait.h"
#include "data/data.h"

/* ---- a server's weights ---- */

struct hps_dense_weights {
    struct hps_slice *slice;            /* of all layers                          */
    int me, n;                          /* server `me` of n                       */
    size_t first, end;                  /* its share                              */
    long long version, held;            /* gradients applied to it; in its grad   */
};

static size_t share_of(size_t nparam, int n, int j)
{
    return (size_t)hps_share((long long)nparam, n, j);
}

enum hps_status hps_dense_weights_new(struct hps_dense_weights **out, const struct hps_net *net,
                                      const struct hps_team *team, struct hps_dev *dev,
                                      const struct hps_train_opt *train, uint64_t seed)
{
    struct hps_dense_weights *w = hps_mem_new(1, sizeof *w);
    struct hps_slice_opt opt = { 0, net->L - 1, 0, 1, train, seed, true };
    int rank;

    HPS_MPI(MPI_Comm_rank(team->world, &rank));
    w->n = team->nserver;
    while (team->server[w->me] != rank)
        w->me++;
    enum hps_status st = hps_slice_new(&w->slice, net, dev, &opt);
    if (!st) {
        w->first = share_of(w->slice->nparam, w->n, w->me);
        w->end = share_of(w->slice->nparam, w->n, w->me + 1);
    }
    *out = w;
    return st;
}

void hps_dense_weights_free(struct hps_dense_weights *w)
{
    if (!w) return;
    hps_slice_free(w->slice);
    hps_mem_free(w);
}

struct hps_slice *hps_dense_slice(const struct hps_dense_weights *w)
{
    return w->slice;
}

/* Shares of x (nparam) from the servers that have them. */
static void gather(const struct hps_dense_weights *w, float *x, MPI_Comm servers)
{
    int *count = hps_mem_new((size_t)w->n, sizeof *count);
    int *at = hps_mem_new((size_t)w->n, sizeof *at);

    assert(w->slice->nparam <= INT_MAX);
    for (int j = 0; j < w->n; j++) {
        at[j] = (int)share_of(w->slice->nparam, w->n, j);
        count[j] = (int)share_of(w->slice->nparam, w->n, j + 1) - at[j];
    }
    HPS_MPI(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x, count, at, MPI_FLOAT, servers));
    hps_mem_free(count);
    hps_mem_free(at);
}

void hps_dense_gather(struct hps_dense_weights *w, MPI_Comm servers)
{
    float *plane = hps_mem_new(w->slice->nparam, sizeof *plane);

    gather(w, w->slice->param, servers);
    for (int p = 0; p < hps_slice_nplane(w->slice); p++) {
        hps_slice_states_out(w->slice, p, plane);
        gather(w, plane, servers);
        hps_slice_states_in(w->slice, p, plane);
    }
    hps_mem_free(plane);
}

/* ---- a channel ---- */

/* What one rank of the worker and one server exchange for a stage: weights [first, end) of the
 * stage's, of which the rank pushes gradients [push, push_end). */
struct piece {
    int peer, tag;                      /* rank in comm; of its messages          */
    int part;                           /* stage, by hps_team_part                */
    size_t first, end, push, push_end;
    size_t base;                        /* where the stage begins in all weights  */
    unsigned char *code;                /* its gradients encoded; NULL: as fp32   */
};

/* Running states of a stage, which the first server has. */
struct states {
    int peer, tag, part;
    size_t n, base;                     /* numbers; where they begin in all       */
    bool pushes;                        /* the rank is the first replica          */
    double *pair;                       /* (2, n) as pushed                       */
    float *value;                       /* (n) as pulled                          */
};

enum { TAG_WEIGHTS, TAG_STATES, NTAG };
enum kind { PULL, PUSH };

struct hps_dense {
    MPI_Comm comm;                      /* servers in order, then ranks; owned    */
    struct hps_dense_weights *weights;  /* of a server; else NULL                 */
    struct hps_slice *stage[HPS_MY_STAGES];     /* of a rank                      */
    int npiece, nstates, nrequest;
    struct piece *piece;
    struct states *states;
    MPI_Request *request;               /* (npiece + nstates) of either kind      */
    float *out, *in;                    /* of a server: copies of its share, gradients; of a
                                           rank of a GPU: weights and gradients in host memory */
    long long version;                  /* of a server: at the pull               */
    const struct hps_codec_ops *codec;  /* of gradients                           */
    bool coded;                         /* of a server: they are to be decoded    */
    double bytes;
    struct hps_message_count count;
};

/* The ranks in comm of n ranks of the world. To free. */
static int *ranks_in(MPI_Comm comm, MPI_Comm world, int n, const int *r)
{
    int *at = hps_mem_new((size_t)n, sizeof *at);
    MPI_Group some, all;

    HPS_MPI(MPI_Comm_group(comm, &some));
    HPS_MPI(MPI_Comm_group(world, &all));
    HPS_MPI(MPI_Group_translate_ranks(all, n, r, some, at));
    HPS_MPI(MPI_Group_free(&some));
    HPS_MPI(MPI_Group_free(&all));
    return at;
}

/* Where the weights and the running states of the layers before l end in those of all. */
static void offsets(const struct hps_net *net, int l, size_t *param, size_t *running)
{
    *param = *running = 0;
    for (int i = 0; i < l; i++) {
        *param += net->layer[i].nparam;
        *running += net->layer[i].nrunning;
    }
}

/* How a stage meets server j, seen from replica p of k: the share of the server, cut to the stage.
 * Empty: end <= first. */
static struct piece meet(size_t first, size_t end, size_t all, int N, int j, int p, int k)
{
    size_t a = share_of(all, N, j), b = share_of(all, N, j + 1);
    struct piece x = { .base = first };

    a = a > first ? a : first;
    b = b < end ? b : end;
    x.first = a - first;
    x.end = b > a ? b - first : x.first;
    x.push = x.first + share_of(x.end - x.first, k, p);
    x.push_end = x.first + share_of(x.end - x.first, k, p + 1);
    return x;
}

/* The pieces between replica p of stage s and server j, which are me and `peer`. */
static void add(struct hps_dense *d, const struct hps_net *net, const struct hps_plan *plan,
                const struct hps_team *team, int s, int p, int j, int peer)
{
    const struct hps_plan_stage *g = &plan->stage[s];
    size_t first, end, all, r0, r1, rall;

    offsets(net, g->first, &first, &r0);
    offsets(net, g->last + 1, &end, &r1);
    offsets(net, net->L, &all, &rall);
    int part = hps_team_part(team, s);
    struct piece x = meet(first, end, all, team->nserver, j, p, hps_team_nreplica(team, s));
    x.peer = peer;
    x.part = part;
    x.tag = part * NTAG + TAG_WEIGHTS;
    if (x.end > x.first && hps_codec_converts(d->codec))
        x.code = hps_mem_new(d->codec->bytes(x.push_end - x.push), sizeof *x.code);
    if (x.end > x.first) d->piece[d->npiece++] = x;
    if (j > 0 || r1 == r0) return;
    d->states[d->nstates++] = (struct states){
        .peer = peer, .tag = part * NTAG + TAG_STATES, .part = part, .n = r1 - r0, .base = r0,
        .pushes = p == 0, .pair = hps_mem_new(2 * (r1 - r0), sizeof(double)),
        .value = hps_mem_new(r1 - r0, sizeof(float))
    };
}

/* All pieces of this rank with the others of the channel. */
static void list(struct hps_dense *d, const struct hps_net *net, const struct hps_plan *plan,
                 const struct hps_team *team, int worker)
{
    size_t max = (size_t)(team->serves ? team->R * HPS_MY_STAGES : team->nserver * HPS_MY_STAGES);

    d->piece = hps_mem_new(max, sizeof *d->piece);
    d->states = hps_mem_new(max, sizeof *d->states);
    d->request = hps_mem_new(2 * max, sizeof *d->request);
    for (int s = 0; s < team->S; s++) {
        int k = hps_team_nreplica(team, s);
        int *peer = ranks_in(d->comm, team->world, k, team->rank[s] + worker * k);
        for (int p = 0; p < k && team->serves; p++)
            add(d, net, plan, team, s, p, d->weights->me, peer[p]);
        hps_mem_free(peer);
        for (int j = 0; j < team->nserver && hps_team_has_stage(team, s); j++)
            add(d, net, plan, team, s, team->my_replica, j, j);
    }
}

struct hps_dense *hps_dense_new(const struct hps_plan *plan, const struct hps_team *team,
                                int worker, MPI_Comm comm, struct hps_slice *const *stage,
                                struct hps_dense_weights *weights,
                                const struct hps_codec_ops *codec)
{
    struct hps_dense *d = hps_mem_new(1, sizeof *d);
    size_t floats = 0;

    HPS_MPI(MPI_Comm_dup(comm, &d->comm));
    d->weights = weights;
    d->codec = codec;
    for (int i = 0; i < team->nmine && stage; i++) {
        d->stage[i] = stage[i];
        floats += stage[i]->dev->host ? 0 : stage[i]->nparam;
    }
    list(d, weights ? weights->slice->net : stage[0]->net, plan, team, worker);
    if (weights) floats = weights->end - weights->first;
    d->out = hps_mem_new(floats, sizeof *d->out);
    d->in = hps_mem_new(floats, sizeof *d->in);
    return d;
}

void hps_dense_free(struct hps_dense *d)
{
    if (!d) return;
    if (d->nrequest > 0) hps_wait_all(d->nrequest, d->request);
    for (int i = 0; i < d->nstates; i++) {
        hps_mem_free(d->states[i].pair);
        hps_mem_free(d->states[i].value);
    }
    for (int i = 0; i < d->npiece; i++)
        hps_mem_free(d->piece[i].code);
    hps_mem_free(d->piece);
    hps_mem_free(d->states);
    hps_mem_free(d->request);
    hps_mem_free(d->out);
    hps_mem_free(d->in);
    HPS_MPI(MPI_Comm_free(&d->comm));
    hps_mem_free(d);
}

/* ---- messages ---- */

/* Host memory of the weights (or gradients) of a rank's stage. */
static float *host_of(const struct hps_dense *d, int part, enum kind kind)
{
    const struct hps_slice *s = d->stage[part];
    size_t at = part > 0 && !s->dev->host ? d->stage[0]->nparam : 0;

    if (s->dev->host) return kind == PULL ? s->param : s->grad;
    return (kind == PULL ? d->out : d->in) + at;
}

/* Where a piece's numbers lie here. */
static float *memory_of(const struct hps_dense *d, const struct piece *x, enum kind kind)
{
    size_t at = kind == PULL ? x->first : x->push;

    if (!d->weights) return host_of(d, x->part, kind) + at;
    return (kind == PULL ? d->out : d->in) + (x->base + at - d->weights->first);
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
static void move_coded(struct hps_dense *d, const struct piece *x)
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

static void move(struct hps_dense *d, enum kind kind)
{
    bool sends = (kind == PULL) == (d->weights != NULL);

    for (const struct piece *x = d->piece; x < d->piece + d->npiece; x++) {
        if (kind == PUSH && x->code) {
            move_coded(d, x);
            continue;
        }
        float *at = memory_of(d, x, kind);
        size_t n = kind == PULL ? x->end - x->first : x->push_end - x->push;
        if (n > 0 && sends) send(d, at, n, MPI_FLOAT, x->peer, x->tag);
        if (n > 0 && !sends) receive(d, at, n, MPI_FLOAT, x->peer, x->tag);
    }
    for (struct states *x = d->states; x < d->states + d->nstates; x++) {
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
    if (d->weights) {
        const struct hps_dense_weights *w = d->weights;
        memcpy(d->out, w->slice->param + w->first, (w->end - w->first) * sizeof *d->out);
        for (struct states *x = d->states; x < d->states + d->nstates; x++)
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
    for (int i = 0; i < HPS_MY_STAGES && d->stage[i]; i++)
        take_weights(d, i);
}

void hps_dense_push_begin(struct hps_dense *d, double *const *running)
{
    settle(d);
    for (int i = 0; i < HPS_MY_STAGES && d->stage[i]; i++) {
        struct hps_slice *s = d->stage[i];
        s->dev->ops->sync(s->dev);
        if (!s->dev->host)
            s->dev->ops->copy_to_host(s->dev, host_of(d, i, PUSH), s->grad,
                                      s->nparam * sizeof(float));
    }
    for (struct states *x = d->states; x < d->states + d->nstates && !d->weights; x++)
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
    for (const struct piece *x = d->piece; x < d->piece + d->npiece && d->coded; x++)
        if (x->push_end > x->push)
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
    for (const struct states *x = d->states; x < d->states + d->nstates; x++)
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
