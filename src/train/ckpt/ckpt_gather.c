/* ckpt_gather.c - all ranks of a table process its bands in the same order, so that messages
 * match by order. Chunks wait in slots to be sent, bands in two buffers to be written. */
#include "train/ckpt_gather.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/progress.h"
#include "base/thread.h"
#include "comm/team.h"

enum { BANDS = 2, MIN_SLOTS = 4, MAX_SLOTS = 64 };

/* One table, of k ranks. */
struct shared {
    struct hps_ckpt_item *item;
    struct hps_shard shard;
    int number;                 /* of the item: shifts the round robin of writers           */
    long long chunk, band;      /* rows of a chunk, of a band                               */
    long long nband, at;        /* its bands; the first one's number among those of all tables */
};

/* Band j of table t; t = n: the end. */
struct band_index {
    int t;
    long long j;
};

enum state { FREE, FULL, MOVING };

/* What the thread did with this rank's chunk of a band; other values: 1 + its slot. */
enum { NOT_YET = 0, NOTHING = MAX_SLOTS + 1, ALONE };

struct slot {
    enum state state;
    float *x;
    MPI_Request request;
};

struct gather {
    enum state state; /* FREE, MOVING: being received, FULL: to be written */
    float *x;
    struct band_index at;
    MPI_Request *request; /* (k) */
    bool *lacks;          /* (k) */
    bool some_lack;
};

struct hps_gather {
    int n;
    struct shared *shared;
    pthread_mutex_t lock;       /* of all fields below                                      */
    pthread_cond_t changed;     /* there may be a job for the thread                        */
    unsigned char *done;        /* (all bands) the state of this rank's chunk, see NOT_YET   */
    struct band_index take, out, in; /* the next chunk to take, to send; the next band to receive */
    int nslot;
    struct slot slot[MAX_SLOTS];
    struct gather band[BANDS];
    MPI_Status *status;    /* (k) scratch                               */
    float *alone;               /* a chunk without a slot                                   */
    long long nfilled, nreceived, nwritten, nmine;  /* chunks in slots; this rank's bands   */
};

/* ---- bands and chunks ---- */

static long long min(long long a, long long b)
{
    return a < b ? a : b;
}

/* The number of rows of rank p in band j. */
static long long rows_of(const struct shared *s, int p, long long j)
{
    long long left = hps_cyclic_nlocal(s->item->rows, p, s->shard.parts) - j * s->chunk;

    return left < 0 ? 0 : min(left, s->chunk);
}

static size_t chunk_floats(const struct shared *s)
{
    return (size_t)s->chunk * s->shard.stride;
}

static int writer_of(const struct shared *s, long long j)
{
    return (int)((j + s->number) % s->shard.parts);
}

static struct band_index next(const struct hps_gather *g, struct band_index p)
{
    if (++p.j < g->shared[p.t].nband) return p;
    return (struct band_index){ p.t + 1, 0 };
}

static unsigned char *done_at(const struct hps_gather *g, struct band_index p)
{
    return &g->done[g->shared[p.t].at + p.j];
}

/* ---- new ---- */

static void add(struct hps_gather *g, struct hps_ckpt_item *item, int number, long long *nband)
{
    struct hps_shard t = hps_snapshot_shard(item->snapshot);
    long long most = hps_cyclic_nlocal(item->rows, 0, t.parts), block = HPS_CYCLIC_BLOCK;
    struct shared *s = &g->shared[g->n++];

    *s = (struct shared){ .item = item, .shard = t, .number = number, .at = *nband };
    s->chunk = min(hps_snapshot_chunk(item->snapshot), (most + block - 1) / block * block);
    s->band = s->chunk * t.parts;
    s->nband = (most + s->chunk - 1) / s->chunk;
    *nband += s->nband;
    for (long long j = 0; j < s->nband; j++)
        g->nmine += writer_of(s, j) == t.part;
}

static void take_memory(struct hps_gather *g, long long nband)
{
    size_t chunk = 0, band = 0, parts = 0;

    for (int t = 0; t < g->n; t++) {
        const struct shared *s = &g->shared[t];
        size_t stride = s->shard.stride, k = (size_t)s->shard.parts;
        chunk = chunk < (size_t)s->chunk * stride ? (size_t)s->chunk * stride : chunk;
        band = band < (size_t)s->band * stride ? (size_t)s->band * stride : band;
        parts = parts < k ? k : parts;
    }
    g->nslot = parts < MIN_SLOTS ? MIN_SLOTS : parts > MAX_SLOTS ? MAX_SLOTS : (int)parts;
    for (int i = 0; i < g->nslot; i++)
        g->slot[i].x = hps_mem_new(chunk, sizeof(float));
    g->alone = hps_mem_new(chunk, sizeof(float));
    for (int i = 0; i < BANDS; i++) {
        g->band[i].x = hps_mem_new(band, sizeof(float));
        g->band[i].request = hps_mem_new(parts, sizeof(MPI_Request));
        g->band[i].lacks = hps_mem_new(parts, sizeof(bool));
    }
    g->status = hps_mem_new(parts, sizeof *g->status);
    g->done = hps_mem_new((size_t)nband, 1);
}

static bool is_shared(const struct hps_ckpt_item *item)
{
    return item->snapshot && hps_snapshot_shard(item->snapshot).parts > 1;
}

struct hps_gather *hps_gather_new(int n, struct hps_ckpt_item *item)
{
    struct hps_gather *g = hps_mem_new(1, sizeof *g);
    long long nband = 0;

    g->shared = hps_mem_new((size_t)n, sizeof *g->shared);
    for (int i = 0; i < n; i++)
        if (is_shared(&item[i]) && item[i].rows > 0) add(g, &item[i], i, &nband);
    if (g->n == 0) {
        hps_mem_free(g->shared);
        hps_mem_free(g);
        return NULL;
    }
    take_memory(g, nband);
    pthread_mutex_init(&g->lock, NULL);
    hps_cond_init(&g->changed);
    hps_progress_add(hps_gather_poll, g);
    return g;
}

void hps_gather_free(struct hps_gather *g)
{
    if (!g) return;
    hps_progress_drop(hps_gather_poll, g);
    for (int i = 0; i < g->nslot; i++)
        hps_mem_free(g->slot[i].x);
    for (int i = 0; i < BANDS; i++) {
        hps_mem_free(g->band[i].x);
        hps_mem_free(g->band[i].request);
        hps_mem_free(g->band[i].lacks);
    }
    pthread_mutex_destroy(&g->lock);
    pthread_cond_destroy(&g->changed);
    hps_mem_free(g->status);
    hps_mem_free(g->alone);
    hps_mem_free(g->done);
    hps_mem_free(g->shared);
    hps_mem_free(g);
}

/* ---- the thread ---- */

static bool write_job(struct hps_gather *g, struct hps_gather_job *job)
{
    struct gather *b = &g->band[g->nwritten % BANDS];

    if (b->state != FULL) return false;
    const struct shared *s = &g->shared[b->at.t];
    long long first = b->at.j * s->band;
    *job = (struct hps_gather_job){ .write = true, .item = s->item, .x = b->x, .first = first,
                                    .rows = min(s->band, s->item->rows - first),
                                    .chunk = chunk_floats(s),
                                    .lacks = b->some_lack ? b->lacks : NULL };
    return true;
}

/* Does the main thread, which sends the messages, wait for this thread? */
static bool pressed(const struct hps_gather *g)
{
    bool any = false;

    for (int t = g->take.t; t < g->n && !any; t++)
        any = hps_snapshot_pressed(g->shared[t].item->snapshot);
    return any;
}

static bool take_job(struct hps_gather *g, struct hps_gather_job *job)
{
    for (; g->take.t < g->n; g->take = next(g, g->take)) {
        const struct shared *s = &g->shared[g->take.t];
        struct slot *slot = &g->slot[g->nfilled % g->nslot];
        long long rows = rows_of(s, s->shard.part, g->take.j);
        bool alone = rows > 0 && slot->state != FREE;
        if (alone && !pressed(g)) return false;
        *job = (struct hps_gather_job){ .alone = alone, .item = s->item, .rows = rows,
                                        .x = alone ? g->alone : slot->x };
        if (rows > 0) return true;
        *done_at(g, g->take) = NOTHING;
    }
    return false;
}

bool hps_gather_next(struct hps_gather *g, struct hps_gather_job *job, const atomic_bool *quit)
{
    const double nap_s = 0.005;
    bool found = false, more = true;

    pthread_mutex_lock(&g->lock);
    while (!found && more && !atomic_load(quit)) {
        found = write_job(g, job) || take_job(g, job);
        more = g->take.t < g->n || g->nwritten < g->nmine;
        if (found || !more) break;
        hps_cond_wait(&g->changed, &g->lock, hps_steady_s() + nap_s);
    }
    pthread_mutex_unlock(&g->lock);
    return found;
}

void hps_gather_done(struct hps_gather *g, const struct hps_gather_job *job)
{
    pthread_mutex_lock(&g->lock);
    if (job->write) {
        g->band[g->nwritten++ % BANDS].state = FREE;
    } else {
        int slot = (int)(g->nfilled % g->nslot);
        *done_at(g, g->take) = (unsigned char)(job->alone ? ALONE : slot + 1);
        if (!job->alone) g->slot[slot].state = FULL;
        g->nfilled += !job->alone;
        g->take = next(g, g->take);
    }
    pthread_mutex_unlock(&g->lock);
}

/* ---- the main thread ---- */

/* An empty message says that the chunk was written alone. */
static void send(struct hps_gather *g, const struct shared *s, long long j, int done)
{
    long long rows = rows_of(s, s->shard.part, j);
    int to = writer_of(s, j), n = (int)(rows * (long long)s->shard.stride);

    if (done == ALONE) {
        MPI_Request none;
        HPS_MPI(MPI_Isend(NULL, 0, MPI_FLOAT, to, HPS_TAG_SAVE, s->item->comm, &none));
        HPS_MPI(MPI_Request_free(&none));
        return;
    }
    struct slot *slot = &g->slot[done - 1];
    HPS_MPI(MPI_Isend(slot->x, n, MPI_FLOAT, to, HPS_TAG_SAVE, s->item->comm, &slot->request));
    slot->state = MOVING;
}

static void send_all(struct hps_gather *g)
{
    for (; g->out.t < g->n && *done_at(g, g->out) != NOT_YET; g->out = next(g, g->out)) {
        int done = *done_at(g, g->out);
        if (done != NOTHING) send(g, &g->shared[g->out.t], g->out.j, done);
    }
}

/* Chunks arrive one behind the other, not in the order of the file: a message that is contiguous on
 * both sides is copied at once. */
static void receive(const struct hps_gather *g, struct gather *b)
{
    const struct shared *s = &g->shared[b->at.t];

    for (int p = 0; p < s->shard.parts; p++) {
        long long rows = rows_of(s, p, b->at.j);
        b->request[p] = MPI_REQUEST_NULL;
        b->lacks[p] = rows == 0;
        if (rows > 0)
            HPS_MPI(MPI_Irecv(b->x + (size_t)p * chunk_floats(s),
                              (int)(rows * (long long)s->shard.stride), MPI_FLOAT, p, HPS_TAG_SAVE,
                              s->item->comm, &b->request[p]));
    }
    b->state = MOVING;
}

static void receive_all(struct hps_gather *g)
{
    for (; g->in.t < g->n; g->in = next(g, g->in)) {
        const struct shared *s = &g->shared[g->in.t];
        struct gather *b = &g->band[g->nreceived % BANDS];
        if (writer_of(s, g->in.j) != s->shard.part) continue;
        if (b->state != FREE) return;
        b->at = g->in;
        receive(g, b);
        g->nreceived++;
    }
}

/* Has all of the band arrived, and which ranks sent empty messages? */
static bool has_come(const struct hps_gather *g, struct gather *b)
{
    const struct shared *s = &g->shared[b->at.t];
    int there, n;

    HPS_MPI(MPI_Testall(s->shard.parts, b->request, &there, g->status));
    b->some_lack = false;
    for (int p = 0; there && p < s->shard.parts; p++) {
        if (b->lacks[p]) continue;
        HPS_MPI(MPI_Get_elements(&g->status[p], MPI_FLOAT, &n));
        b->lacks[p] = n == 0;
        b->some_lack |= b->lacks[p];
    }
    return there;
}

void hps_gather_poll(void *gather)
{
    struct hps_gather *g = gather;
    bool news = false;
    int there;

    pthread_mutex_lock(&g->lock);
    send_all(g);
    for (int i = 0; i < g->nslot; i++) {
        if (g->slot[i].state != MOVING) continue;
        HPS_MPI(MPI_Test(&g->slot[i].request, &there, MPI_STATUS_IGNORE));
        if (there) g->slot[i].state = FREE;
        news |= there;
    }
    for (int i = 0; i < BANDS; i++) {
        if (g->band[i].state != MOVING || !has_come(g, &g->band[i])) continue;
        g->band[i].state = FULL;
        news = true;
    }
    receive_all(g);
    if (news) pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

bool hps_gather_sent(const struct hps_gather *g)
{
    bool sent = g->out.t == g->n;

    for (int i = 0; i < g->nslot; i++)
        sent = sent && g->slot[i].state == FREE;
    return sent;
}

void hps_gather_stop(struct hps_gather *g)
{
    bool over = false;

    for (; g->take.t < g->n; g->take = next(g, g->take)) {
        const struct shared *s = &g->shared[g->take.t];
        *done_at(g, g->take) = rows_of(s, s->shard.part, g->take.j) > 0 ? ALONE : NOTHING;
    }
    while (!over) {
        hps_gather_poll(g);
        over = hps_gather_sent(g) && g->in.t == g->n;
        for (int i = 0; i < BANDS; i++) {
            if (g->band[i].state == FULL) g->band[i].state = FREE;
            over = over && g->band[i].state == FREE;
        }
        if (!over) hps_sleep_s(0.0002);
    }
}
